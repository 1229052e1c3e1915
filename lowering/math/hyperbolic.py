"""tanh, sinh, cosh, from exp and expm1; asinh, acosh, atanh, from log1p. Forms: Kahan, "Branch cuts for complex elementary
functions" (1987), and fdlibm."""

from __future__ import annotations

from tierup.lowering.building.arith import Scalar, absolute
from tierup.lowering.math.double_word import Pair, fast_two_sum, quotient, two_product, two_sum
from tierup.lowering.math.emit import Emit, in_f64
from tierup.lowering.math.exponential import exp_moderate, exp_near_zero, expm1_pair, reduce, scale
from tierup.lowering.math.logarithm import log1p_of_pair


def tanh(e: Emit, x: Scalar) -> Scalar:
    """Odd, keeps -0.0. Near 0 a polynomial, else 1 - 2 / (exp(2*|x|) + 1), where the quotient's errors count less than half."""
    a = absolute(x)
    z = a * a
    near = e.mad(a * z, e.horner(z, e.coefficients("tanh")), a)
    limit = 10.0 if e.format.bits == 32 else 20.0  # beyond it, tanh is 1 to the last bit
    far = 1.0 - 2.0 / (exp_moderate(e, e.select(a > limit, limit, a) * 2.0) + 1.0)
    return e.copysign(e.select(a < 0.625, near, far), x)


def _half_exp(e: Emit, a: Scalar) -> Scalar:
    """exp(a) / 2 for a >= 0: infinite only where cosh is."""
    k, r = reduce(e, e.select(a > 712.0, 712.0, a))
    return scale(e, exp_near_zero(e, r), k - 1.0)


@in_f64
def cosh(e: Emit, x: Scalar) -> Scalar:
    """Hyperbolic cosine."""
    half = _half_exp(e, absolute(x))
    return half + 0.25 / half


@in_f64
def sinh(e: Emit, x: Scalar) -> Scalar:
    """Hyperbolic sine; odd, keeps -0.0."""
    a = absolute(x)
    if e.narrow:
        # f64 has bits to spare for the cancellation, down to where two terms of the series do
        half = _half_exp(e, a)
        near = e.mad(a * a, a * (1.0 / 6.0), a)
        return e.copysign(e.select(a < 2.0**-10, near, half - 0.25 / half), x)
    limit = 22.0  # beyond it, exp(-a) is below half an ulp
    t = expm1_pair(e, e.select(a > limit, limit, a))
    # t / (t + 1) = 1 - exp(-a)
    other = quotient(e, t, _one_plus(t))
    total = fast_two_sum(t.hi, other.hi)
    near = (total.hi + (total.lo + (t.lo + other.lo))) * 0.5
    near = e.select(a < 2.0 ** -(e.format.mantissa // 2 + 2), a, near)
    return e.copysign(e.select(a > limit, _half_exp(e, a), near), x)


def _one_plus(t: Pair) -> Pair:
    """1 + t for t >= 0 of any size."""
    total = two_sum(t.hi, 1.0)
    return Pair(total.hi, total.lo + t.lo)


@in_f64
def asinh(e: Emit, x: Scalar) -> Scalar:
    """Inverse of sinh; odd, keeps -0.0."""
    a = absolute(x)
    big = a > 2.0**28
    square = a * a
    v = fast_two_sum(a, e.select(big, -1.0, square / ((square + 1.0).call("math.sqrt") + 1.0)))  # big: log(2a)
    result = log1p_of_pair(e, v) + e.select(big, e.coefficients("ln2")[0], 0.0)
    return e.copysign(e.select(a < 2.0 ** -(e.format.mantissa // 2 + 2), a, result), x)


@in_f64
def acosh(e: Emit, x: Scalar) -> Scalar:
    """Inverse of cosh; NaN below 1."""
    big = x > 2.0**28
    t = x - 1.0  # exact up to 2, and the error does not count beyond
    if e.narrow:
        v = Pair(e.select(big, t, t + (t * (t + 2.0)).call("math.sqrt")), e.number(0.0))
    else:
        t = e.select(big, 1.0, t)
        two = two_sum(t, 2.0)
        square = two_product(e, t, two.hi)
        s = square.hi.call("math.sqrt")
        back = two_product(e, s, s)
        lost = ((square.hi - back.hi) - back.lo) + (square.lo + t * two.lo)
        total = fast_two_sum(s, t)
        low = total.lo + lost / e.select(s.equals(0.0), 1.0, s + s)
        v = Pair(e.select(big, x - 1.0, total.hi), e.select(big, 0.0, low))
    result = log1p_of_pair(e, v) + e.select(big, e.coefficients("ln2")[0], 0.0)  # big: log(2x)
    return e.select(x < 1.0, float("nan"), result)


@in_f64
def atanh(e: Emit, x: Scalar) -> Scalar:
    """Inverse of tanh; odd, keeps -0.0; infinite at 1, NaN beyond."""
    a = absolute(x)
    twice = a + a
    result = log1p_of_pair(e, two_sum(twice, twice * a / (1.0 - a))) * 0.5
    result = e.select(a < 2.0 ** -(e.format.mantissa // 2 + 2), a, result)
    result = e.select(a.equals(1.0), float("inf"), e.select(a > 1.0, float("nan"), result))
    return e.copysign(result, x)
