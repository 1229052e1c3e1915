"""log, log2, log10, log1p.

x = 2**k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = 2 atanh(s), s = f / (2 + f), arranged so that the large
part f is added last: f - (f**2/2 - s * (f**2/2 + R(s**2))). Source: the decomposition of fdlibm's e_log.c and s_log1p.c.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tierup.lowering.building.arith import Scalar, absolute
from tierup.lowering.math.double_word import Pair, fast_two_sum, product, two_sum
from tierup.lowering.math.emit import Emit


class Parts(NamedTuple):
    """x = 2**k * (1 + f), both exact."""

    k: Scalar
    f: Scalar


def split(e: Emit, x: Scalar) -> Parts:
    """Takes a positive finite x apart, below the normal range as well. Anything else gives garbage."""
    m, bias = e.format.mantissa, e.format.exponent_bias
    small = x < e.format.min_normal
    x = e.select(small, x * 2.0 ** (m + 1), x)
    half = int(e.format.numpy(math.sqrt(0.5)).view(np.int32 if e.format.bits == 32 else np.int64))
    shifted = x.bits() + ((bias << m) - half)  # carries into the exponent where the fraction passes sqrt(2)
    fraction = ((shifted & ((1 << m) - 1)) + half).as_float()
    # the exponent field, put into the low bits of 2**m, is a number without a conversion
    exponent = ((shifted >> m) | ((m + bias) << m)).as_float()
    k = exponent - e.select(small, 2.0**m + bias + m + 1, 2.0**m + bias)
    return Parts(k, fraction - 1.0)


def log1p_correction(e: Emit, f: Scalar) -> tuple[Scalar, Scalar]:
    """(a, b): log(1 + f) = f - (a - b), for f of [sqrt(1/2) - 1, sqrt(2) - 1]."""
    s = f / (f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    return half_square, s * e.mad(z, e.horner(z, e.coefficients("log")), half_square)


def log_near_one(e: Emit, f: Scalar) -> Pair:
    """log(1 + f) in hi + lo; some three bits more than a float has."""
    a, b = log1p_correction(e, f)
    return fast_two_sum(f, b - a)


def at_limits(e: Emit, x: Scalar, result: Scalar) -> Scalar:
    """The logarithm's values at 0, below 0, at infinity and NaN; `result` elsewhere."""
    result = e.select(x < float("inf"), result, x)
    result = e.select(x.equals(0.0), float("-inf"), result)
    return e.select(x < 0.0, float("nan"), result)


def log(e: Emit, x: Scalar) -> Scalar:
    """Natural logarithm: -inf at 0, NaN below."""
    k, f = split(e, x)
    hi, lo = e.coefficients("ln2_short")
    a, b = log1p_correction(e, f)
    return at_limits(e, x, e.mad(k, hi, f - (a - e.mad(k, lo, b))))


def log2(e: Emit, x: Scalar) -> Scalar:
    """Logarithm to base 2; exact for powers of two."""
    k, f = split(e, x)
    near = product(e, log_near_one(e, f), Pair(*map(e.number, e.coefficients("log2_e"))))
    total = fast_two_sum(k, near.hi)
    return at_limits(e, x, total.hi + (total.lo + near.lo))


def log10(e: Emit, x: Scalar) -> Scalar:
    """Logarithm to base 10; exact for powers of ten."""
    k, f = split(e, x)
    near = product(e, log_near_one(e, f), Pair(*map(e.number, e.coefficients("log10_e"))))
    hi, lo = e.coefficients("log10_2")
    total = fast_two_sum(k * hi, near.hi)
    return at_limits(e, x, total.hi + (total.lo + e.mad(k, lo, near.lo)))


def log1p(e: Emit, x: Scalar) -> Scalar:
    """log(1 + x) without the rounding of 1 + x; keeps -0.0."""
    result = log1p_of_pair(e, Pair(x, e.number(0.0)))
    return e.select(absolute(x) < 2.0 ** -(e.format.mantissa + 1), x, result)


def log1p_of_pair(e: Emit, x: Pair) -> Scalar:
    """log(1 + x.hi + x.lo), lo too small to change the sign or the special values; may lose the sign of a zero."""
    whole = two_sum(x.hi, 1.0)
    k, f = split(e, whole.hi)
    hi, lo = e.coefficients("ln2_short")
    a, b = log1p_correction(e, f)
    lost = (whole.lo + x.lo) / whole.hi  # log(u + v) = log(u) + v/u, to first order
    result = e.mad(k, hi, f - (a - (e.mad(k, lo, lost) + b)))
    result = e.select(x.hi < float("inf"), result, x.hi)
    result = e.select(x.hi.equals(-1.0), float("-inf"), result)
    return e.select(x.hi < -1.0, float("nan"), result)
