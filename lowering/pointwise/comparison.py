"""Comparisons, truth and bits: the formulas of dialect/kernels/comparison.py on scalars."""

from __future__ import annotations

import math
from collections.abc import Callable

from tierup.dialect import dtypes
from tierup.lowering.arith import Scalar, absolute, constant, isnan, select
from tierup.lowering.pointwise.context import Context, NotHandled, opmath
from tierup.lowering.pointwise.formula import Formula, Recipe


def _compare(how: str) -> Formula:
    return lambda x, y: x.compare(how, y)


def _truth(x: Scalar) -> Scalar:
    return x.cast(dtypes.bool_)


def logical_and(x: Scalar, y: Scalar) -> Scalar:
    return _truth(x) & _truth(y)


def logical_or(x: Scalar, y: Scalar) -> Scalar:
    return _truth(x) | _truth(y)


def logical_xor(x: Scalar, y: Scalar) -> Scalar:
    return _truth(x) ^ _truth(y)


def logical_not(x: Scalar) -> Scalar:
    return ~_truth(x)


def _shift(x: Scalar, y: Scalar, name: str, beyond: Callable[[Scalar], Scalar]) -> Scalar:
    """A shift below 0 or at least the width gives what NumPy gives; MLIR's is undefined there."""
    width = x.dtype.itemsize * 8
    inside = (y >= 0) & (y < width) if y.signed else y < width
    return select(inside, x.call(name, select(inside, y, 0)), beyond(x))


def left_shift(x: Scalar, y: Scalar) -> Scalar:
    return _shift(x, y, "arith.shli", lambda x: constant(0, x.dtype))


def right_shift(x: Scalar, y: Scalar) -> Scalar:
    if not x.signed:
        return _shift(x, y, "arith.shrui", lambda x: constant(0, x.dtype))
    return _shift(x, y, "arith.shrsi", lambda x: select(x < 0, constant(-1, x.dtype), 0))


def _of_float(formula: Callable[[Scalar], Scalar], of_integer: bool) -> Formula:
    return lambda x: formula(x) if x.is_float else constant(of_integer, dtypes.bool_)


def signbit(x: Scalar) -> Scalar:
    if not x.is_float:
        return x < 0
    return constant(1.0, x.dtype).call("math.copysign", x) < 0


def isclose(c: Context) -> Scalar:
    """|x - y| <= atol + |rtol*y|, each step rounded to the dtype as tier 0's ops round."""
    x, y = c.own(0), c.own(1)
    rtol, atol, equal_nan = (c.parameter(i) if i < len(c) else default for i, default in ((2, 1e-5), (3, 1e-8), (4, False)))
    if isinstance(equal_nan, Scalar):
        raise NotHandled
    close = x.equals(y)
    if type(rtol) is float and type(atol) is float and not (rtol or atol):
        return close | (isnan(x) & isnan(y)) if x.is_float and equal_nan is True else close
    if not x.is_float:
        x, y = (v.cast(dtypes.i64).cast(dtypes.f32) if v.is_bool else v.cast(dtypes.f32) for v in (x, y))
    elif equal_nan is True:
        close = close | (isnan(x) & isnan(y))
    common, compute = x.dtype, opmath(x.dtype)

    def step(v: Scalar) -> Scalar:
        return v.cast(common).cast(compute)

    x, y = x.cast(compute), y.cast(compute)
    error = absolute(step(x - y))
    allowed = step(absolute(step(y * rtol)) + step(y.like(atol)))
    return close | ((error < math.inf) & (error <= allowed))


FORMULAS: dict[str, Formula] = {
    **{f"aten.{how}.{kind}": _compare(how) for how in ("eq", "ne", "lt", "le", "gt", "ge") for kind in ("Tensor", "Scalar")},
    "aten.logical_and": logical_and,
    "aten.logical_or": logical_or,
    "aten.logical_xor": logical_xor,
    "aten.logical_not": logical_not,
    **{name: (lambda x, y: x & y)
       for name in ("aten.bitwise_and.Tensor", "aten.bitwise_and.Scalar", "aten.__and__.Tensor", "aten.__and__.Scalar")},
    **{name: (lambda x, y: x | y) for name in ("aten.bitwise_or.Tensor", "aten.bitwise_or.Scalar", "aten.__or__.Tensor")},
    **{name: (lambda x, y: x ^ y) for name in ("aten.bitwise_xor.Tensor", "aten.bitwise_xor.Scalar")},
    "aten.bitwise_not": lambda x: ~x,
    **{name: left_shift for name in ("aten.bitwise_left_shift.Tensor", "aten.__lshift__.Scalar")},
    **{name: right_shift for name in ("aten.bitwise_right_shift.Tensor", "aten.__rshift__.Scalar")},
    "aten.isnan": _of_float(isnan, False),
    "aten.isinf": _of_float(lambda x: absolute(x).equals(math.inf), False),
    "aten.isfinite": _of_float(lambda x: absolute(x) < math.inf, True),
    "aten.isposinf": _of_float(lambda x: x.equals(math.inf), False),
    "aten.isneginf": _of_float(lambda x: x.equals(-math.inf), False),
    "aten.signbit": signbit,
}  # fmt: skip

RECIPES: dict[str, Recipe] = {"aten.isclose": isclose}
