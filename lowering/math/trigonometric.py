"""sin, cos, tan for every finite argument, without a branch or a table in memory.

Reduction after Payne and Hanek, "Radian reduction for trigonometric functions" (1983): x * 2/pi is needed modulo 4 only, so
the pieces of 2/pi that make multiples of 4 are skipped and the next few are multiplied exactly. The window of pieces is
found by halving: a handful of selects instead of a gather. f32 runs in f64, where each product with 29 bits is exact.
The polynomials on |r| <= pi/4 follow fdlibm's k_sin.c and k_cos.c in carrying the reduced argument's low part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tierup.lowering.building.arith import Scalar, absolute
from tierup.lowering.math.double_word import Pair, fast_two_sum, product, quotient, two_product, two_sum
from tierup.lowering.math.emit import Emit, in_f64


class Reduced(NamedTuple):
    """x = quadrant * pi/2 + r modulo 2*pi, |r| a little above pi/4 at most; only the last two bits of quadrant count."""

    quadrant: Scalar
    r: Pair


def reduce(e: Emit, a: Scalar) -> Reduced:
    """Takes multiples of pi/2 off a finite a >= 0; infinity and NaN give a NaN r."""
    turns = _quarter_turns_narrow(e, a) if e.narrow else _quarter_turns(e, a)
    k = e.round_small(turns.hi)
    hi, lo = e.coefficients("half_pi")
    fraction = fast_two_sum(turns.hi - k, turns.lo)
    if e.narrow:
        r = Pair(fraction.hi * hi, fraction.lo)
    else:
        r = product(e, fraction, Pair(e.number(hi), e.number(lo)))
    return Reduced((k + e.format.magic).bits(), r)


def _window(e: Emit, a: Scalar, bits: int, extra: int, count: int) -> tuple[Scalar, list[Scalar]]:
    """The `count` pieces of 2/pi that matter for a, and a scaled to fit: a / 2**(bits * skipped).

    A piece may be skipped when a >= 2**(bits * skipped + extra): its product is a multiple of 4.
    """
    table = [e.number(c) for c in e.coefficients("two_over_pi")]
    steps = [s for s in (16, 8, 4, 2, 1) if s <= len(table) - count]
    for i, step in enumerate(steps):
        skip = a >= 2.0 ** (bits * step + extra)
        a = e.select(skip, a * 2.0 ** (-bits * step), a)
        needed = min(count + sum(steps[i + 1 :]), len(table))
        table = [e.select(skip, table[j + step], table[j]) if j + step < len(table) else table[j] for j in range(needed)]
    return a, table


def _modulo_4(e: Emit, x: Scalar) -> Scalar:
    return x - (x * 0.25).call("math.roundeven") * 4.0


def _quarter_turns_narrow(e: Emit, a: Scalar) -> Pair:
    """a * 2/pi modulo 4 for an a of f32's precision and range."""
    a, table = _window(e, a, bits=29, extra=25, count=4)
    p = [a * 2.0 ** (-29 * i) * piece for i, piece in enumerate(table)]  # exact: 24 bits times 29
    # after reduction p[0], p[1] <= 2; p[2] < 2**-3, p[3] < 2**-32
    s = two_sum(_modulo_4(e, p[0]), _modulo_4(e, p[1]))
    return Pair(s.hi, p[2] + (s.lo + p[3]))


def _quarter_turns(e: Emit, a: Scalar) -> Pair:
    """a * 2/pi modulo 4 to some 2**-126."""
    a, table = _window(e, a, bits=53, extra=54, count=5)
    p = [two_product(e, a * 2.0 ** (-53 * i), piece) for i, piece in enumerate(table[:4])]
    last = a * 2.0 ** (-53 * 4) * table[4]
    # magnitudes: p[0].lo < 2**54, p[1].hi < 2**54, p[1].lo and p[2].hi < 2, p[2].lo and p[3].hi < 2**-52, the rest < 2**-105
    terms = [_modulo_4(e, p[0].lo), _modulo_4(e, p[1].hi), p[1].lo, p[2].hi, p[2].lo, p[3].hi]
    return _sum(_modulo_4(e, p[0].hi), terms, p[3].lo + last)


def _sum(first: Scalar, rest: Sequence[Scalar], tail: Scalar) -> Pair:
    """first + sum(rest) + tail with every rounding error kept: the leading terms may cancel to nothing."""
    errors: list[Scalar] = []
    total = first
    for term in rest:
        total, error = two_sum(total, term)
        errors.append(error)
    low = errors[0]
    for error in errors[1:]:
        low, lost = two_sum(low, error)
        tail = tail + lost
    s = two_sum(total, low)
    return Pair(s.hi, s.lo + tail)


def sin_near_zero(e: Emit, r: Pair) -> Pair:
    """sin(r), |r| <= pi/4, to a quarter of an ulp."""
    z = r.hi * r.hi
    cube = z * r.hi
    if e.narrow:
        return Pair(e.mad(cube, e.horner(z, e.coefficients("sin")), r.hi), e.number(0.0))
    return fast_two_sum(r.hi, e.mad(cube, e.horner(z, e.coefficients("sin")), e.mad(z * -0.5, r.lo, r.lo)))


def cos_near_zero(e: Emit, r: Pair) -> Pair:
    """cos(r), |r| <= pi/4, to a quarter of an ulp."""
    z = r.hi * r.hi
    half = z * 0.5
    polynomial = e.horner(z, e.coefficients("cos"))
    if e.narrow:
        return Pair(e.mad(z * z, polynomial, 1.0 - half), e.number(0.0))
    top = fast_two_sum(1.0, -half)
    return fast_two_sum(top.hi, top.lo + e.mad(z * z, polynomial, -(r.hi * r.lo)))


def _flip(e: Emit, y: Scalar, sign_in_bit_1: Scalar) -> Scalar:
    """-y where bit 1 is set."""
    sign = (sign_in_bit_1 << (e.format.bits - 2)) & (1 << (e.format.bits - 1))
    return (y.bits() ^ sign).as_float()


@in_f64
def sin(e: Emit, x: Scalar) -> Scalar:
    """Sine; odd, keeps -0.0; NaN at infinity."""
    a = absolute(x)
    q, r = reduce(e, a)
    y = e.select((q & 1).equals(0), sin_near_zero(e, r).hi, cos_near_zero(e, r).hi)
    y = _flip(e, y, q)
    # the products of the reduction may underflow for arguments whose sine is the argument
    return e.select(a < 2.0**-27, x, (y.bits() ^ (x.bits() & (1 << (e.format.bits - 1)))).as_float())


@in_f64
def cos(e: Emit, x: Scalar) -> Scalar:
    """Cosine; NaN at infinity."""
    q, r = reduce(e, absolute(x))
    y = e.select((q & 1).equals(0), cos_near_zero(e, r).hi, sin_near_zero(e, r).hi)
    return _flip(e, y, q + 1)


@in_f64
def tan(e: Emit, x: Scalar) -> Scalar:
    """Tangent; odd, keeps -0.0; NaN at infinity."""
    a = absolute(x)
    q, r = reduce(e, a)
    s, c = sin_near_zero(e, r), cos_near_zero(e, r)
    even = (q & 1).equals(0)
    if e.narrow:
        y = e.select(even, s.hi, c.hi) / e.select(even, c.hi, -s.hi)
    else:
        numerator = Pair(e.select(even, s.hi, c.hi), e.select(even, s.lo, c.lo))
        denominator = Pair(e.select(even, c.hi, -s.hi), e.select(even, c.lo, -s.lo))
        y = quotient(e, numerator, denominator).hi
    return e.select(a < 2.0**-27, x, (y.bits() ^ (x.bits() & (1 << (e.format.bits - 1)))).as_float())
