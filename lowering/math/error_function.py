"""erf, erfc and the normal distribution's Phi, through the scaled erfcx(a) = exp(a**2) * erfc(a).

erfcx(a) = t * P(t), t = 1 / (a + c), is one polynomial for all a >= 1/2. Source of the form: Shepherd and Laframboise,
"Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < inf" (1981).
"""

from __future__ import annotations

from tierup.lowering.building.arith import Scalar, absolute
from tierup.lowering.math.double_word import Pair, product, reciprocal, two_product, two_sum
from tierup.lowering.math.emit import Emit
from tierup.lowering.math.exponential import exp_near_zero_pair, reduce_pair, scale

SWITCH = 0.75  # below it, erf is a polynomial; above, 1 - erfc
ERFC_SWITCH = 0.5  # below it, erfc is 1 - erf


def erfc_limit(e: Emit) -> float:
    """Beyond it, erfc is 0; the end of the interval that the polynomial is fitted on."""
    return 10.2 if e.format.bits == 32 else 27.4


def erfcx(e: Emit, a: Scalar) -> Pair:
    """exp(a**2) * erfc(a) for 1/2 <= a <= erfc_limit, to nearly half an ulp."""
    center, name = (2.0, "erfcx2") if e.format.bits == 32 else (4.0, "erfcx4")
    t = reciprocal(e, two_sum(a, center))
    polynomial = e.horner((t.hi - e.coefficients("erfcx_middle")[0]) + t.lo, e.coefficients(name))
    whole = two_product(e, t.hi, polynomial)
    return Pair(whole.hi, e.mad(t.lo, polynomial, whole.lo))


def times_exp(e: Emit, factor: Pair, x: Pair) -> Scalar:
    """factor * exp(x), rounded once, when it underflows too; factor near 1, x <= 0 within the range of exp."""
    k, r = reduce_pair(e, x)
    total = product(e, exp_near_zero_pair(e, r), factor)
    return scale(e, total.hi, k)


def erf_near_zero(e: Emit, x: Scalar) -> Scalar:
    """erf(x) for |x| <= SWITCH."""
    return e.mad(x, e.horner(x * x, e.coefficients("erf")), x)


def erfc_tail(e: Emit, a: Scalar) -> Scalar:
    """erfc(a) for ERFC_SWITCH <= a <= erfc_limit."""
    square = two_product(e, a, a)
    return times_exp(e, erfcx(e, a), Pair(-square.hi, -square.lo))


def erfc(e: Emit, x: Scalar) -> Scalar:
    """1 - erf(x), to full relative accuracy down to the smallest numbers."""
    limit = erfc_limit(e)
    x = e.clamp(x, -limit, limit)
    a = absolute(x)
    tail = erfc_tail(e, a)
    return e.select(a < ERFC_SWITCH, 1.0 - erf_near_zero(e, x), e.select(x < 0.0, 2.0 - tail, tail))


def erf(e: Emit, x: Scalar) -> Scalar:
    """The error function; odd, keeps -0.0."""
    a = absolute(x)
    limit = erfc_limit(e)
    outer = 1.0 - erfc_tail(e, e.select(a > limit, limit, a))
    return e.copysign(e.select(a < SWITCH, erf_near_zero(e, a), outer), x)
