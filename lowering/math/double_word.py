"""Numbers as unevaluated sums hi + lo of two floats: error-free sums and products, and what is built from them.

Sources: Dekker, "A floating-point technique for extending the available precision" (1971); Knuth, TAOCP 2, 4.2.2; Muller
et al., "Handbook of Floating-Point Arithmetic", ch. 4 and 14. Every step must be rounded on its own: none of these
identities survives reassociation or contraction.
"""

from __future__ import annotations

from typing import NamedTuple

from tierup.lowering.building.arith import Scalar
from tierup.lowering.math.emit import Emit, Number


class Pair(NamedTuple):
    """hi + lo with |lo| <= ulp(hi) / 2."""

    hi: Scalar
    lo: Scalar


def fast_two_sum(a: Number, b: Scalar) -> Pair:
    """a + b exactly, if |a| >= |b| or a is 0."""
    hi = a + b
    return Pair(hi, b - (hi - a))


def two_sum(a: Scalar, b: Number) -> Pair:
    """a + b exactly, in any order of magnitude."""
    hi = a + b
    back = hi - a
    return Pair(hi, (a - (hi - back)) + (-back + b))


def two_product(e: Emit, a: Scalar, b: Number) -> Pair:
    """a * b exactly, barring underflow; without fused multiply-add |a|, |b| must stay below 2**(exponent_bias - mantissa)."""
    b = e.number(b)
    hi = a * b
    if e.fused:
        return Pair(hi, e.mad(a, b, -hi))
    (ah, al), (bh, bl) = _split(e, a), _split(e, b)
    return Pair(hi, ((ah * bh - hi) + ah * bl + al * bh) + al * bl)


def _split(e: Emit, a: Scalar) -> Pair:
    """Veltkamp's split into two halves of at most mantissa/2 bits."""
    c = a * (2.0 ** ((e.format.mantissa + 2) // 2) + 1)
    hi = c - (c - a)
    return Pair(hi, a - hi)


def quotient(e: Emit, a: Pair, b: Pair) -> Pair:
    """a / b to nearly twice the precision: one division, corrected by its residual."""
    q = a.hi / b.hi
    p = two_product(e, q, b.hi)
    residual = ((a.hi - p.hi) - p.lo) + (a.lo - q * b.lo)
    return fast_two_sum(q, residual / b.hi)


def reciprocal(e: Emit, a: Pair) -> Pair:
    """1 / a to nearly twice the precision."""
    q = 1.0 / a.hi
    p = two_product(e, q, a.hi)
    return Pair(q, q * (((1.0 - p.hi) - p.lo) - q * a.lo))


def product(e: Emit, a: Pair, b: Pair) -> Pair:
    """a * b to nearly twice the precision."""
    p = two_product(e, a.hi, b.hi)
    return fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi))


def add(a: Pair, b: Pair) -> Pair:
    """a + b to nearly twice the precision if |a| >= |b| or the signs agree."""
    s = two_sum(a.hi, b.hi)
    return fast_two_sum(s.hi, s.lo + (a.lo + b.lo))
