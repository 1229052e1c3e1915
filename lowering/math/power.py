"""pow with float and integer exponents.

x**y = exp(y * log(x)), where log(x) must be known to some 64 bits for a result in f64: atanh's series in hi + lo, as in
Muller et al., "Handbook of Floating-Point Arithmetic", ch. 11. f32 runs in plain f64. Special values as in C's Annex F.
"""

from __future__ import annotations

from tierup.dialect.base import dtypes
from tierup.lowering.building.arith import Scalar, absolute, whole_power
from tierup.lowering.math.constants import known_number
from tierup.lowering.math.double_word import Pair, add, fast_two_sum, product, quotient, two_product
from tierup.lowering.math.emit import Emit
from tierup.lowering.math.exponential import exp, exp2, exp_limits, exp_near_zero, reduce_pair, scale
from tierup.lowering.math.logarithm import log1p_correction, split


def log_pair(e: Emit, x: Scalar) -> Pair:
    """log(x) in hi + lo for a positive finite x, to some 2**-65 (narrow: 2**-44), relative to the larger of 1 and log(x)."""
    k, f = split(e, x)
    short, rest = e.coefficients("ln2_short")
    if e.narrow:
        a, b = log1p_correction(e, f)
        return Pair(e.mad(k, short, f - (a - e.mad(k, rest, b))), e.number(0.0))
    s = quotient(e, Pair(f, e.number(0.0)), fast_two_sum(2.0, f))
    square = product(e, s, s)
    tail = e.horner(square.hi, e.coefficients("atanh_tail"))
    fifth, third = (Pair(e.number(hi), e.number(lo)) for hi, lo in (e.coefficients("fifth"), e.coefficients("third")))
    series = add(third, product(e, square, add(fifth, Pair(square.hi * tail, square.lo * tail))))
    near = add(s, product(e, product(e, s, square), series))
    whole = fast_two_sum(k * short, near.hi * 2.0)
    return fast_two_sum(whole.hi, whole.lo + e.mad(k, rest, near.lo * 2.0))


def power_of_magnitude(e: Emit, a: Scalar, y: Scalar) -> Scalar:
    """a**y for a >= 0; y finite or not."""
    # |log(a)| >= 2**-53 unless it is 0, so a larger |y| changes nothing, and infinity times 0 is kept out
    y = e.clamp(y, -(2.0**66), 2.0**66)
    log = log_pair(e, a)
    result = exp(e, y * log.hi) if e.narrow else _exp_of_product(e, y, log)
    up = y > 0.0
    result = e.select(a.equals(0.0), e.select(up, 0.0, float("inf")), result)
    return e.select(a.equals(float("inf")), e.select(up, float("inf"), 0.0), result)


def _exp_of_product(e: Emit, y: Scalar, log: Pair) -> Scalar:
    """exp(y * log), y * log finite."""
    top = two_product(e, y, log.hi)
    p = fast_two_sum(top.hi, e.mad(y, log.lo, top.lo))
    low, high = exp_limits(e)
    outside = (p.hi < low) | (p.hi > high)
    k, r = reduce_pair(e, Pair(e.clamp(p.hi, low, high), e.select(outside, 0.0, p.lo)))
    return scale(e, exp_near_zero(e, r), k)


def _powf(e: Emit, x: Scalar, y: Scalar) -> Scalar:
    half = y * 0.5
    integer = y.call("math.floor").equals(y)
    odd = integer & half.call("math.floor").differs(half)
    negative = e.copysign(1.0, x) < 0.0
    result = power_of_magnitude(e, absolute(x), y)
    result = e.select(negative & odd, -result, result)
    # a finite negative base has integer powers only
    result = e.select((x < 0.0) & (x > float("-inf")) & ~integer, float("nan"), result)
    result = e.select(x.compare("uno", y), x + y, result)
    return e.select(x.equals(1.0) | y.equals(0.0), 1.0, result)


def powf(e: Emit, x: Scalar, y: Scalar) -> Scalar:
    """x**y as C's pow: 1 for y = 0 or x = 1 whatever the other; NaN for a negative x and a y that is no integer."""
    number = known_number(y)
    if number is not None:
        short = power_of_constant(e, x, number)
        if short is not None:
            return short
    if known_number(x) == 2.0:
        return exp2(e, y)
    return e.through_f64(_powf, x, y)


def fpowi(e: Emit, x: Scalar, n: Scalar) -> Scalar:
    """x**n for an integer n of any width."""
    number = known_number(n)
    if number is not None:
        short = power_of_constant(e, x, float(number))
        if short is not None:
            return short

    def general(f64: Emit, base: Scalar) -> Scalar:
        y = n.cast(dtypes.f64)
        odd = n.convert("arith.trunci", dtypes.bool_)  # n itself: a large one is rounded in y
        result = power_of_magnitude(f64, absolute(base), y)
        result = f64.select((f64.copysign(1.0, base) < 0.0) & odd, -result, result)
        # a NaN base has left no trace in the bits that log took apart
        result = f64.select(base.differs(base), base, result)
        return f64.select(base.equals(1.0) | y.equals(0.0), 1.0, result)

    return e.through_f64(general, x)


def power_of_constant(e: Emit, x: Scalar, y: float) -> Scalar | None:
    """x**y for a y that has a shorter way, as accurate as powf; else None."""
    if y == 0.0:
        return e.number(1.0)
    if y == 1.0:
        return x
    if y == 2.0:
        return x * x
    if y == -1.0:
        return 1.0 / x
    if abs(y) in (0.5, 1.5):
        if e.format.bits == 32 and y != 0.5:
            return e.through_f64(lambda wide, w: _root_power(wide, w, y), x)
        return _root_power(e, x, y)
    if not abs(y) <= 64 or y != int(y):  # NaN goes the long way
        return None
    n = int(abs(y))
    if e.format.bits == 32:
        # in f64, 64 roundings stay far below f32's half ulp, and no result that f32 can hold overflows on the way

        def chain(wide: Emit, w: Scalar) -> Scalar:
            power = whole_power(w, n)
            return power if y > 0 else 1.0 / power

        return e.through_f64(chain, x)
    return whole_power(x, n) if 0 < y <= 4 else None


def _root_power(e: Emit, x: Scalar, y: float) -> Scalar:
    """x to the power of 0.5, 1.5, -0.5 or -1.5, by its root: two or three roundings, and no step leaves the range that the result is in."""
    base = x + 0.0  # unlike sqrt, pow(-0.0, y) has no sign, and pow(-inf, y) is not NaN
    root = base.call("math.sqrt")
    if y < 0:
        root = 1.0 / root
    if abs(y) == 1.5:
        root = root * base if y > 0 else root / base
    return e.select(x.equals(float("-inf")), float("inf") if y > 0 else 0.0, root)
