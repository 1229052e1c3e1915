"""exp, exp2, expm1, and the pieces that other families take from them.

x = k*log(2) + r with |r| <= log(2)/2 (Cody and Waite's reduction in two parts), exp(r) = 1 + (r + r**2 P(r)), times 2**k in
two steps so that results below the normal range are rounded once. Source: Muller, "Elementary Functions", ch. 11.
"""

from __future__ import annotations

from typing import NamedTuple

from tierup.lowering.building.arith import Scalar, absolute, select
from tierup.lowering.math.double_word import Pair, fast_two_sum, two_product, two_sum
from tierup.lowering.math.emit import Emit


class Reduced(NamedTuple):
    """exp(x) = 2**k * exp(r.hi + r.lo), k an integer."""

    k: Scalar
    r: Pair


def reduce(e: Emit, x: Scalar) -> Reduced:
    """Splits off multiples of log(2). |x| must be small enough for k to be a possible (double) exponent."""
    hi, lo = e.coefficients("ln2_short")
    k = e.round_small(x * e.coefficients("log2_e")[0])
    return Reduced(k, fast_two_sum(e.mad(k, -hi, x), k * -lo))  # k * hi is exact, and so is its difference to x


def reduce_pair(e: Emit, x: Pair) -> Reduced:
    """`reduce` for an argument known to more than the format's precision."""
    hi, lo = e.coefficients("ln2_short")
    k = e.round_small(x.hi * e.coefficients("log2_e")[0])
    return Reduced(k, fast_two_sum(e.mad(k, -hi, x.hi), e.mad(k, -lo, x.lo)))


def expm1_near_zero(e: Emit, r: Pair) -> Pair:
    """exp(r) - 1 for |r| <= log(2)/2."""
    polynomial = e.horner(r.hi, e.coefficients("exp"))
    square = r.hi * r.hi
    return fast_two_sum(r.hi, e.mad(square, polynomial, r.lo))


def exp_near_zero(e: Emit, r: Pair) -> Scalar:
    """exp(r) for |r| <= log(2)/2."""
    polynomial = e.horner(r.hi, e.coefficients("exp"))
    return (r.hi + e.mad(r.hi * r.hi, polynomial, r.lo)) + 1.0


def exp_near_zero_pair(e: Emit, r: Pair) -> Pair:
    """exp(r) for |r| <= log(2)/2, to a quarter of an ulp."""
    near = expm1_near_zero(e, r)
    total = fast_two_sum(1.0, near.hi)
    return Pair(total.hi, total.lo + near.lo)


def scale(e: Emit, y: Scalar, k: Scalar) -> Scalar:
    """y * 2**k, rounded once if y is near 1; |k| up to twice the exponent range."""
    half = e.round_small(k * 0.5)
    return y * e.power_of_two(half) * e.power_of_two(k - half)


def exp_limits(e: Emit) -> tuple[float, float]:
    """Arguments beyond which exp is 0 and infinite."""
    return (-104.0, 89.0) if e.format.bits == 32 else (-746.0, 710.0)


def exp(e: Emit, x: Scalar) -> Scalar:
    """e**x. Overflows to inf, underflows gradually to 0."""
    x = e.clamp(x, *exp_limits(e))
    y, shifted = _exp_parts(e, x)
    return _scale_by_bits(e, y, shifted, x)


def exp_moderate(e: Emit, x: Scalar) -> Scalar:
    """exp(x) where neither x nor the result leaves the normal range; NaN stays."""
    y, shifted = _exp_parts(e, x)
    m = e.format.mantissa
    return y * ((shifted.bits() << m) + (e.format.exponent_bias << m)).as_float()


def exp2(e: Emit, x: Scalar) -> Scalar:
    """2**x; exact for integers."""
    low, high = (-151.0, 129.0) if e.format.bits == 32 else (-1076.0, 1025.0)
    x = e.clamp(x, low, high)
    shifted = x + e.format.magic
    fraction = x - (shifted - e.format.magic)
    hi, lo = e.coefficients("ln2")
    r = two_product(e, fraction, hi)
    y = exp_near_zero(e, Pair(r.hi, e.mad(fraction, lo, r.lo)))
    return _scale_by_bits(e, y, shifted, x)


def _exp_parts(e: Emit, x: Scalar) -> tuple[Scalar, Scalar]:
    """(y, k + magic): exp(x) = y * 2**k, y to a little below an ulp."""
    hi, lo = e.coefficients("ln2_short")
    shifted = e.mad(x, e.coefficients("log2_e")[0], e.format.magic)
    k = shifted - e.format.magic
    r = e.mad(k, -lo, e.mad(k, -hi, x))
    return e.horner(r, (1.0, 1.0, *e.coefficients("exp"))), shifted


def _scale_by_bits(e: Emit, y: Scalar, shifted: Scalar, x: Scalar) -> Scalar:
    """y * 2**k, rounded once if y is near 1, where shifted = k + magic and x has k's sign: in two steps, half the exponent range
    at first."""
    m, bias = e.format.mantissa, e.format.exponent_bias
    rest = (bias + 1) // 2
    down = x < 0.0
    moved = shifted.bits() << m
    power = moved + select(down, moved.like((bias + rest) << m), (bias - rest) << m)
    return y * power.as_float() * e.select(down, 2.0**-rest, 2.0**rest)


def expm1_pair(e: Emit, x: Scalar) -> Pair:
    """exp(x) - 1 in hi + lo, for x from -2 * precision to below the overflow of exp."""
    k, r = reduce(e, x)
    near = expm1_near_zero(e, r)
    power = e.power_of_two(k)
    return _shifted(power, 1.0, near)


def expm1(e: Emit, x: Scalar) -> Scalar:
    """e**x - 1 without cancellation; keeps -0.0."""
    low, high = (-20.0, 89.0) if e.format.bits == 32 else (-40.0, 710.0)
    k, r = reduce(e, e.clamp(x, low, high))
    near = expm1_near_zero(e, r)
    # half the result, so that 2**k stays finite for the last k before the overflow
    power = e.power_of_two(k - 1.0)
    half = _shifted(power, 0.5, near)
    result = (half.hi + half.lo) * 2.0
    return e.select(absolute(x) < 2.0 ** -(e.format.mantissa + 1), x, result)


def _shifted(power: Scalar, one: float, near: Pair) -> Pair:
    """power * (1 + near) - one."""
    whole = two_sum(power, -one)
    # |power - one| >= |power * near| unless it is 0
    total = fast_two_sum(whole.hi, power * near.hi)
    return Pair(total.hi, total.lo + (whole.lo + power * near.lo))
