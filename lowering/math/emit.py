"""What math functions are written in: values with operators (lowering/building/arith.py), and beside them what they are computed in.

A function is written once, and serves f32 and f64: what differs (constants, degrees) is in the `Format`. Values may be scalars or
vectors; constants are shared by all that is expanded in one function.

No op carries fastmath flags, so LLVM keeps every rounding step: the error-compensated steps of double_word.py rely on it.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Union

from tierup.dialect.base import dtypes
from tierup.lowering.building.arith import Scalar, select
from tierup.lowering.math.constants import F32, F64, Constants

LIBRARY_CALL = "tierup.library_call"  # on an op that is to be a call of a library, and is not expanded
Number = Union[Scalar, float]


@cache
def _tables() -> dict[str, dict[str, list[float]]]:
    """What benchmarks/math_fit.py fits, by name and grade: f32, f64, or narrow where f64 coefficients need be good for a float32 alone."""
    found: dict[str, dict[str, list[float]]] = json.loads(pkgutil.get_data(__package__, "coefficients.json") or "")
    return found


class Emit:
    """f32 or f64, and where constants are.

    `fused`: the target has fused multiply-add. Without it `math.fma` would become a call to libm, so products are split.
    `narrow`: f64 arithmetic on behalf of an f32 result; the shorter coefficient tables will do.
    """

    def __init__(self, constants: Constants, dtype: dtypes.DType, fused: bool = True, narrow: bool = False) -> None:
        self.constants, self.dtype, self.fused, self.narrow = constants, dtype, fused, narrow
        self.format = F32 if dtype is dtypes.f32 else F64

    def coefficients(self, name: str) -> tuple[float, ...]:
        """The table of that name for this format."""
        grades = _tables()[name]
        return tuple(grades["f32" if self.format is F32 else "narrow" if self.narrow and "narrow" in grades else "f64"])

    def number(self, x: Number) -> Scalar:
        """A number as a constant of this dtype; a value as it is."""
        return x if isinstance(x, Scalar) else self.constants.constant(x, self.dtype)

    def select(self, condition: Scalar, yes: Number, no: Number) -> Scalar:
        """yes where condition, else no."""
        return select(condition, self.number(yes), no)

    def mad(self, a: Number, b: Number, c: Number) -> Scalar:
        """a * b + c, rounded once where the target can, else twice."""
        a = self.number(a)
        return a.call("math.fma", b, c) if self.fused else a * b + c

    def horner(self, x: Scalar, table: Sequence[float]) -> Scalar:
        """The polynomial with these coefficients, lowest first."""
        total = self.number(table[-1])
        for coefficient in reversed(table[:-1]):
            total = self.mad(total, x, coefficient)
        return total

    def copysign(self, x: Number, sign: Scalar) -> Scalar:
        """|x| with the sign of `sign`."""
        return self.number(x).call("math.copysign", sign)

    def round_small(self, x: Scalar) -> Scalar:
        """To the nearest integer, |x| < 2**(mantissa - 1)."""
        return (x + self.format.magic) - self.format.magic

    def clamp(self, x: Scalar, low: float, high: float) -> Scalar:
        """x within [low, high]; NaN stays NaN."""
        x = self.select(x < low, low, x)
        return self.select(x > high, high, x)

    def power_of_two(self, k: Scalar) -> Scalar:
        """2**k for an integer k of min_exponent .. exponent_bias."""
        m = self.format.mantissa
        return (((k + self.format.magic).bits() << m) + (self.format.exponent_bias << m)).as_float()

    def through_f64(self, build: Callable[..., Scalar], *operands: Scalar) -> Scalar:
        """`build` in f64: as it stands for f64, on widened operands with its result rounded for f32."""
        if self.format is F64:
            return build(self, *operands)
        wide = Emit(self.constants, dtypes.f64, self.fused, narrow=True)
        return build(wide, *[x.cast(dtypes.f64) for x in operands]).cast(dtypes.f32)


def in_f64(function: Callable[..., Scalar]) -> Callable[..., Scalar]:
    """A function of f32 that is computed in f64, where its steps need no care."""

    @wraps(function)
    def build(e: Emit, *operands: Scalar) -> Scalar:
        return e.through_f64(function, *operands)

    return build


def fma(e: Emit, a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """a * b + c of a target without fused multiply-add, for which products of complex numbers ask."""
    return e.mad(a, b, c)
