"""Formulas of pointwise ops (dialect/ops/pointwise) as scalar code. `math` ops are expanded to vector code later (lowering/math).

Divisors of integers are made safe here, so that no division traps; that a zero one is reported is insert_bounds_checks' work.
"""

from __future__ import annotations

import math
from typing import Any

from tierup.dialect.base.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.dialect.ops.pointwise.elements import Elements, Parameter
from tierup.lowering.building.arith import (
    Operand,
    Scalar,
    absolute,
    complex_of,
    complex_product,
    constant,
    isnan,
    known,
    maximum,
    minimum,
    select,
    whole_power,
)
from tierup.lowering.building.loops import while_


def _static(function: Any) -> Any:
    """A function as what `Elements` declares, which gives it its type."""
    return staticmethod(function)


def _math(name: str) -> Any:
    return _static(lambda x, *others: x.call(f"math.{name}", *others))


class Scalars(Elements):
    """An element is a `Scalar`. `of_rank_0`: it is no array's, but what NumPy has as a scalar. `by_positive`: divisors of integers are
    known to be positive; `of_whole`: and dividends not to be negative."""

    def __init__(self, of_rank_0: bool = False, by_positive: bool = False, of_whole: bool = False) -> None:
        self._of_rank_0, self._by_positive, self._of_whole = of_rank_0, by_positive, of_whole

    exp, exp2, expm1, log, log2, log10, log1p = map(_math, ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"))
    sin, cos, tan, asin, acos, atan = map(_math, ("sin", "cos", "tan", "asin", "acos", "atan"))
    sinh, cosh, tanh, asinh, acosh, atanh = map(_math, ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"))
    sqrt, cbrt, erf, erfc, floor, ceil, trunc, rint = map(_math, ("sqrt", "cbrt", "erf", "erfc", "floor", "ceil", "trunc", "roundeven"))
    copysign, power = map(_math, ("copysign", "powf"))
    maximum, minimum, absolute = _static(maximum), _static(minimum), _static(absolute)
    is_nan, whole_power = _static(isnan), _static(whole_power)
    real, imag, complex = _static(lambda x: x.real), _static(lambda x: x.imag), _static(complex_of)

    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        """The angle of the point (x, y). Of two zeros the second becomes 1.0, for which the angle is the same: MLIR folds them to NaN."""
        both = x.equals(0.0) & y.equals(0.0)
        return y.call("math.atan2", select(both, constant(1.0, x.dtype).call("math.copysign", x), x))

    def logaddexp(self, x: Scalar, y: Scalar) -> Scalar:
        """log(exp(x) + exp(y)), without overflow on the way."""
        return self._log_of_sum(x, y, "math.exp", 1.0)

    def logaddexp2(self, x: Scalar, y: Scalar) -> Scalar:
        """log2(2**x + 2**y), without overflow on the way."""
        return self._log_of_sum(x, y, "math.exp2", 1 / math.log(2))

    def _log_of_sum(self, x: Scalar, y: Scalar, exp: str, log1p_scale: float) -> Scalar:
        """max + log(1 + exp(-|x - y|)); equal operands, infinities among them, give x + log 2 (npy_logaddexp)."""
        difference = x - y
        tail = (-absolute(difference)).call(exp).call("math.log1p") * log1p_scale
        larger = select(difference > 0, x, y) + tail
        return select(x.equals(y), x + constant(math.log(2) * log1p_scale, x.dtype), select(isnan(difference), difference, larger))

    def fmax(self, x: Scalar, y: Scalar) -> Scalar:
        """The larger one; of a NaN and a number the number."""
        return select(isnan(x), y, select(isnan(y), x, maximum(x, y))) if x.is_float else maximum(x, y)

    def fmin(self, x: Scalar, y: Scalar) -> Scalar:
        """The smaller one; of a NaN and a number the number."""
        return select(isnan(x), y, select(isnan(y), x, minimum(x, y))) if x.is_float else minimum(x, y)

    def negative(self, x: Scalar) -> Scalar:
        """-x; integers wrap."""
        return -x

    def product(self, x: Scalar, y: Scalar) -> Scalar:
        """x * y; integers wrap."""
        return complex_product(x, y, fused=not self._of_rank_0) if x.is_complex else x * y

    def equal(self, x: Scalar, y: Operand) -> Scalar:
        """x == y; False where one is NaN."""
        return x.equals(y)

    def differ(self, x: Scalar, y: Operand) -> Scalar:
        """x != y; True where one is NaN."""
        return x.differs(y)

    # --- integers

    def fmod(self, x: Scalar, y: Scalar) -> Scalar:
        """The remainder of x / y, with the sign of x."""
        if x.is_float:
            return x.call("arith.remf", y)
        return x.call("arith.remui" if self._of_whole or not x.signed else "arith.remsi", self._safe(x, y))

    def floor_quotient(self, x: Scalar, y: Scalar) -> Scalar:
        """x / y of integers, rounded down. By a power of 2 that is a shift, which LLVM does not see in the remainder's sign; by another
        positive number a negative x has ~(~x / y), and LLVM sees where none is negative."""
        divisor = known(y)
        if _is_power_of_2(divisor):
            return x.call("arith.shrsi" if x.signed else "arith.shrui", constant(divisor.bit_length() - 1, x.dtype))
        if self._of_whole or not x.signed:
            return x.call("arith.divui", self._safe(x, y))
        if self._by_positive or divisor is not None and divisor > 0:
            negative = x < 0
            quotient = select(negative, ~x, x).call("arith.divui", y)
            return select(negative, ~quotient, quotient)
        safe = self._safe(x, y)
        quotient = x.call("arith.divsi", safe)
        remainder = x - quotient * safe
        return select(self._is_off(remainder, safe), quotient - 1, quotient)

    def floor_remainder(self, x: Scalar, y: Scalar) -> Scalar:
        """What floor_quotient leaves of x, with the sign of y. By a power of 2 that is the last bits."""
        divisor = known(y)
        if _is_power_of_2(divisor):
            bits: Scalar = x & (divisor - 1)
            return bits
        left = self.fmod(x, y)
        return left if self._of_whole or not x.signed else select(self._is_off(left, y), left + y, left)

    def trunc_quotient(self, x: Scalar, y: Scalar) -> Scalar:
        """x / y of integers, rounded towards 0."""
        return x.call("arith.divsi" if x.signed else "arith.divui", self._safe(x, y))

    def _is_off(self, remainder: Scalar, y: Scalar) -> Scalar:
        """Whether what a quotient that is rounded towards 0 leaves has not the sign of the divisor."""
        return remainder < 0 if self._by_positive else remainder.differs(0) & ((remainder ^ y) < 0)

    def _safe(self, x: Scalar, y: Scalar) -> Scalar:
        """A divisor that never traps: 1 for 0, and for -1 under the most negative number, where 1 gives the wrapped quotient
        and the right remainder."""
        if self._by_positive:
            return y
        bad = y.equals(0)
        if x.signed:
            bad = bad | (x.equals(-(1 << (x.dtype.itemsize * 8 - 1))) & y.equals(-1))
        return select(bad, 1, y)

    def gcd(self, x: Scalar, y: Scalar) -> Scalar:
        """Euclid's, of numbers without a sign: |x| of the most negative one is it."""
        signless = [absolute(v) for v in (x, y)]

        def step(now: list[Scalar]) -> list[ir.Value]:
            return [now[1], now[0].call("arith.remui", now[1])]

        return Scalar(while_(lambda now: now[1].differs(0), signless, step)[0], x.dtype)

    def integer_power(self, x: Scalar, y: Scalar) -> Scalar:
        """Square and multiply over the bits of y."""
        result, base = constant(1, x.dtype), x
        bits = x.dtype.itemsize * 8 - (1 if x.signed else 0)
        for bit in range(bits):
            used = (y & (1 << bit)).differs(0)
            result = select(used, result * base, result)
            base = base * base
        if not x.signed:
            return result
        odd = (y & 1).differs(0)
        inverse = select(x.equals(1), constant(1, x.dtype), select(x.equals(-1), select(odd, constant(-1, x.dtype), 1), 0))
        return select(y < 0, inverse, result)

    def left_shift(self, x: Scalar, y: Scalar) -> Scalar:
        """x << y; 0 for a y below 0 or at least the width."""
        return _shift(x, y, "arith.shli", constant(0, x.dtype))

    def right_shift(self, x: Scalar, y: Scalar) -> Scalar:
        """x >> y, arithmetic; 0, or -1 for a negative x, for a y below 0 or at least the width."""
        if not x.signed:
            return _shift(x, y, "arith.shrui", constant(0, x.dtype))
        return _shift(x, y, "arith.shrsi", select(x < 0, constant(-1, x.dtype), 0))

    # --- dtypes and numbers

    def select(self, condition: Scalar, yes: Operand, no: Operand) -> Scalar:
        """yes where condition, else no. One of them may be a number."""
        return select(condition, yes, no)

    def dtype(self, x: Scalar) -> DType:
        """The dtype of an element."""
        return x.dtype

    def cast(self, x: Scalar, dtype: DType) -> Scalar:
        """An element converted as tier 0 converts."""
        return x.cast(dtype)

    def number(self, value: Parameter, like: Scalar) -> Scalar:
        """A parameter in the dtype of an element; ints wrap."""
        return like.like(value)


def _is_power_of_2(divisor: Any) -> bool:
    return type(divisor) is int and divisor > 0 and divisor & (divisor - 1) == 0


def _shift(x: Scalar, y: Scalar, name: str, beyond: Scalar) -> Scalar:
    """MLIR's shift is undefined below 0 and from the width on."""
    width = x.dtype.itemsize * 8
    inside = (y >= 0) & (y < width) if y.signed else y < width
    return select(inside, x.call(name, select(inside, y, 0)), beyond)


SCALARS, SCALARS_OF_RANK_0 = Scalars(), Scalars(of_rank_0=True)
SCALARS_BY_POSITIVE, WHOLE_BY_POSITIVE = Scalars(by_positive=True), Scalars(by_positive=True, of_whole=True)
