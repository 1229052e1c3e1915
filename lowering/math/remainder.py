"""The remainder of a division, C's fmod: exact.

Source of the short way: Muller et al., "Handbook of Floating-Point Arithmetic", ch. 4.
"""

from __future__ import annotations

import math

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import INDEX, Scalar, absolute, constant, minimum, of, select
from tierup.lowering.building.loops import carried, either
from tierup.lowering.math.constants import F64, Format
from tierup.lowering.math.emit import Emit

_BITS = 64  # of the integers


def remf(e: Emit, x: Scalar, y: Scalar) -> Scalar:
    """What the whole quotient leaves of x, with its sign; NaN of an infinite x, and of y = 0.

    |x| / |y|, rounded, has the whole part n of the true quotient, or n + 1 where that is nearly there. While these are whole numbers of the
    dtype, |x| - n |y| is a float, and so is |x| - (n + 1) |y| then, which is close to 0: a fused multiply-add rounds neither.
    """
    if not e.fused:
        return _by_long_division(x, y, e.format)
    a, d = absolute(x), absolute(y)
    n = (a / d).call("math.trunc")

    def short() -> list[Scalar]:
        left = e.mad(-n, d, a)
        left = e.select(left < 0.0, left + d, left)
        return [e.copysign(e.select(a < d, a, left), x)]  # of an infinite d no product counts

    (found,) = either(n < 2.0**e.format.mantissa, [x.type], short, lambda: [_by_long_division(x, y, e.format)])
    return of(found, x.dtype)


def _by_long_division(x: Scalar, y: Scalar, form: Format) -> Scalar:
    """Of mantissas as integers, 11 bits of the quotient at a time, of f32 40: the schoolbook's, as fmod of musl and of FreeBSD's msun have
    it, who take one bit at a time. Magnitudes compare as the floats do; infinity is the largest number, NaN is beyond it."""
    a, d = _magnitude(x, form), _magnitude(y, form)
    infinity, nothing = constant(2 * form.exponent_bias + 1 << form.mantissa, dtypes.u64), constant(0, dtypes.u64)
    undefined = (a >= infinity) | d.equals(nothing) | (d.cast(dtypes.i64) > infinity)
    smaller = a < d
    most = _BITS - form.mantissa - 1  # bits that a remainder may be shifted without loss
    (exponent, left), (least, divisor) = _parts(a, form), _parts(d, form)
    divisor = select(undefined, 1, divisor)
    bits = select(undefined | smaller, nothing, exponent - least)
    steps = (bits + (most - 1)) // most

    def step(number: Scalar, carried: list[Scalar]) -> list[Scalar]:
        done = number.cast(dtypes.u64) * most
        return [(of(carried[0], dtypes.u64) << minimum(bits - done, most)) % divisor]

    (left,) = carried((b.index(0), steps.cast(INDEX), b.index(1)), [left % divisor], step)
    found = _scaled(of(left, dtypes.u64), least - (form.exponent_bias + form.mantissa), x.dtype)
    found = select(smaller, x, found.call("math.copysign", x))
    return select(undefined, math.nan, found)


def _magnitude(x: Scalar, form: Format) -> Scalar:
    """The bits without the sign, in 64."""
    return x.bits().cast(dtypes.u64) & ((1 << form.bits - 1) - 1)


def _parts(magnitude: Scalar, form: Format) -> tuple[Scalar, Scalar]:
    """Exponent and mantissa; what is denormal has the least exponent, and no leading one."""
    exponent = magnitude >> form.mantissa
    mantissa = magnitude & ((1 << form.mantissa) - 1)
    denormal = exponent.equals(0)
    leading = mantissa | (1 << form.mantissa)
    return select(denormal, 1, exponent), select(denormal, mantissa, leading)


def _scaled(number: Scalar, exponent: Scalar, dtype: DType) -> Scalar:
    """number * 2**exponent, which the dtype has: computed in f64, in two steps, since not every power of two is a normal number there."""
    form = F64
    found = number.cast(dtypes.f64)
    half = exponent.call("arith.shrsi", 1)
    for power in (half, exponent - half):
        found = found * ((power + form.exponent_bias) << form.mantissa).convert("arith.bitcast", dtypes.f64)
    return found.cast(dtype)
