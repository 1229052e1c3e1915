"""atan, atan2, asin, acos.

atan: quotients above tan(pi/8) are turned by pi/4, atan(t) = pi/4 + atan((t - 1) / (t + 1)), and those above 1 reflected.
asin: beyond 1/2, pi/2 - 2 asin(sqrt((1 - x) / 2)), as in fdlibm's e_asin.c, with the square root's rounding error kept.
"""

from __future__ import annotations

from tierup.lowering.building.arith import Scalar, absolute
from tierup.lowering.math.double_word import Pair, fast_two_sum, quotient, two_product
from tierup.lowering.math.emit import Emit, in_f64

TAN_EIGHTH = 0.41421353816986084  # a little below tan(pi/8); the polynomial's interval ends a little above


def _minus(a: Pair, b: Pair) -> Pair:
    """a - b for |a| >= |b|."""
    s = fast_two_sum(a.hi, -b.hi)
    return Pair(s.hi, s.lo + (a.lo - b.lo))


def _constant(e: Emit, name: str) -> Pair:
    hi, lo = e.coefficients(name)
    return Pair(e.number(hi), e.number(lo))


def _angle(e: Emit, y: Scalar, x: Scalar) -> Pair:
    """The angle of (x, y), x > 0 or y > 0, neither infinite nor NaN, neither negative: 0 .. pi/2."""
    steep = y > x
    low, high = e.select(steep, x, y), e.select(steep, y, x)
    turned = low > high * TAN_EIGHTH
    if e.narrow:
        t = Pair(e.select(turned, low - high, low) / e.select(turned, low + high, high), e.number(0.0))
    else:
        difference, total = fast_two_sum(-high, low), fast_two_sum(high, low)
        numerator = Pair(e.select(turned, difference.hi, low), e.select(turned, difference.lo, 0.0))
        denominator = Pair(e.select(turned, total.hi, high), e.select(turned, total.lo, 0.0))
        t = quotient(e, numerator, denominator)
    z = t.hi * t.hi
    base = _constant(e, "quarter_pi")
    s = fast_two_sum(e.select(turned, base.hi, 0.0), t.hi)
    tail = e.mad(z * t.hi, e.horner(z, e.coefficients("atan")), t.lo + e.select(turned, base.lo, 0.0))
    angle = fast_two_sum(s.hi, s.lo + tail)
    reflected = _minus(_constant(e, "half_pi"), angle)
    return Pair(e.select(steep, reflected.hi, angle.hi), e.select(steep, reflected.lo, angle.lo))


@in_f64
def atan(e: Emit, x: Scalar) -> Scalar:
    """Arc tangent; odd, keeps -0.0."""
    a = absolute(x)
    # beyond 2**60 the angle is pi/2 to the last bit, and products of a stay finite
    angle = _angle(e, e.select(a > 2.0**60, 2.0**60, a), e.number(1.0))
    return e.copysign(angle.hi + angle.lo, x)


@in_f64
def atan2(e: Emit, y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y), with C's values for zeros and infinities."""
    ay, ax = absolute(y), absolute(x)
    high = e.select(ay > ax, ay, ax)
    infinite = high.equals(float("inf"))
    # only the quotient counts: infinities become 1 (against 0, or each other), a zero pair (0, 1)
    py, px = (e.select(infinite, e.select(v.equals(float("inf")), 1.0, 0.0), v) for v in (ay, ax))
    px = e.select(high.equals(0.0), 1.0, px)
    if not e.narrow:
        # keeps sums and products finite, and the errors of products above the smallest numbers
        factor = e.select(high > 2.0**990, 2.0**-100, e.select(high < 1.0, 2.0**600, 1.0))
        py, px = py * e.select(infinite, 1.0, factor), px * e.select(infinite, 1.0, factor)
    angle = _angle(e, py, px)
    opposite = _minus(_constant(e, "pi"), angle)
    left = e.copysign(1.0, x) < 0.0
    result = e.select(left, opposite.hi + opposite.lo, angle.hi + angle.lo)
    return e.select(x.compare("uno", y), x + y, e.copysign(result, y))


def _asin_parts(e: Emit, a: Scalar) -> tuple[Pair, Pair]:
    """(small, half): asin(a) for a <= 1/2, and asin(sqrt((1 - a) / 2)) for a >= 1/2; the other one is garbage."""
    big = a > 0.5
    z = e.select(big, (1.0 - a) * 0.5, a * a)
    s = e.select(big, z.call("math.sqrt"), a)
    tail = s * (z * e.horner(z, e.coefficients("asin")))
    if e.narrow:
        return Pair(s, tail), Pair(s, tail)
    square = two_product(e, s, s)
    lost = ((z - square.hi) - square.lo) / e.select(s.equals(0.0), 1.0, s + s)
    return Pair(s, tail), Pair(s, tail + lost)


@in_f64
def asin(e: Emit, x: Scalar) -> Scalar:
    """Arc sine; odd, keeps -0.0; NaN beyond 1."""
    a = absolute(x)
    small, half = _asin_parts(e, a)
    outer = _minus(_constant(e, "half_pi"), Pair(half.hi * 2.0, half.lo * 2.0))
    return e.copysign(e.select(a > 0.5, outer.hi + outer.lo, small.hi + small.lo), x)


@in_f64
def acos(e: Emit, x: Scalar) -> Scalar:
    """Arc cosine; NaN beyond 1."""
    a = absolute(x)
    small, half = _asin_parts(e, a)
    signed = Pair(e.copysign(small.hi, x), e.copysign(small.lo, x))
    inner = _minus(_constant(e, "half_pi"), signed)
    twice = Pair(half.hi * 2.0, half.lo * 2.0)
    opposite = _minus(_constant(e, "pi"), twice)
    outer = e.select(x < 0.0, opposite.hi + opposite.lo, twice.hi + twice.lo)
    return e.select(a > 0.5, outer, inner.hi + inner.lo)
