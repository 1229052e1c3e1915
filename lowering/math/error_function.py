"""erf, erfc and the normal distribution's Phi, through the scaled erfcx(a) = exp(a**2) * erfc(a).

(1 + 2a) * erfcx(a) is one polynomial in q = (a - c) / (a + c) for all a >= 0. Source: Shepherd and Laframboise, "Chebyshev
approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < inf" (1981).
"""

from __future__ import annotations

from tierup.lowering.math.double_word import Pair, two_product
from tierup.lowering.math.emit import Emit, Float
from tierup.lowering.math.exponential import exp_near_zero, reduce_pair, scale

SWITCH = 0.75  # below it, erf is a polynomial; above, 1 - erfc


def erfc_limit(e: Emit) -> float:
    """Beyond it, erfc is 0; the end of the interval that the polynomial is fitted on."""
    return 10.2 if e.format.bits == 32 else 27.4


def erfcx(e: Emit, a: Float) -> Float:
    """exp(a**2) * erfc(a) for 0 <= a <= erfc_limit."""
    center, name = (2.0, "erfcx2") if e.format.bits == 32 else (4.0, "erfcx4")
    inverse = 1.0 / ((a + center) * e.mad(a, 2.0, 1.0))  # one division for both denominators
    q = (a - center) * (inverse * e.mad(a, 2.0, 1.0))
    return e.horner(q, e.coefficients(name)) * (inverse * (a + center))


def scaled_exp(e: Emit, factor: Float, x: Pair) -> Float:
    """factor * exp(x), rounded once when it underflows; factor near 1, x <= 0 within the range of exp."""
    k, r = reduce_pair(e, x)
    return scale(e, factor * exp_near_zero(e, r), k)


def _erfc_positive(e: Emit, a: Float) -> Float:
    square = two_product(e, a, a)
    return scaled_exp(e, erfcx(e, a), Pair(-square.hi, -square.lo))


def erfc(e: Emit, x: Float) -> Float:
    """1 - erf(x), to full relative accuracy down to the smallest numbers."""
    limit = erfc_limit(e)
    x = e.clamp(x, -limit, limit)
    tail = _erfc_positive(e, e.abs(x))
    return e.select(x < 0.0, 2.0 - tail, tail)


def erf(e: Emit, x: Float) -> Float:
    """The error function; odd, keeps -0.0."""
    a = e.abs(x)
    limit = erfc_limit(e)
    inner = e.mad(a, e.horner(a * a, e.coefficients("erf")), a)
    outer = 1.0 - _erfc_positive(e, e.select(a > limit, limit, a))
    return e.copysign(e.select(a < SWITCH, inner, outer), x)


def normal_tail(e: Emit, a: Float) -> tuple[Float, Pair]:
    """(m, y): Phi(-a) = m * exp(y), for 0 <= a <= sqrt(2) * erfc_limit. No rounding of a reaches the exponent."""
    square = two_product(e, a, a * -0.5)
    return erfcx(e, a * e.coefficients("sqrt_half")[0]) * 0.5, square
