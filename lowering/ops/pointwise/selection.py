"""Ops whose operands are not typed by promotion alone: selection, filling, conversion, division by mode."""

from __future__ import annotations

import math

from tierup.dialect.base import dtypes
from tierup.dialect.ops.pointwise import division
from tierup.lowering.building.arith import Scalar, absolute, isnan, select
from tierup.lowering.ops.pointwise.context import Context, NotHandled, Recipe, widened
from tierup.lowering.ops.pointwise.elements import SCALARS


def _where(c: Context) -> Scalar:
    yes, no = c.operand(1, c.result), c.operand(2, c.result)
    assert yes is not None and no is not None
    return select(c.own(0), yes, no)


def _masked_fill(c: Context) -> Scalar:
    value = c.operand(2, c.result)
    assert value is not None
    return select(c.own(1), value, c.own(0).cast(c.result))


def _fill(c: Context) -> Scalar:
    value = c.operand(1, c.result)
    assert value is not None
    return value


def _copy(c: Context) -> Scalar:
    value = c.operand(1, c.result)
    assert value is not None
    return value


def _convert(c: Context) -> Scalar:
    return c.own(0).cast(c.result)


def _nan_to_num(c: Context) -> Scalar:
    x = c.own(0)
    if not x.is_float:
        return x
    largest = dtypes.largest(x.dtype.numpy)
    nan, high, low = (default if c.parameter(i) is None else c.parameter(i) for i, default in ((1, 0.0), (2, largest), (3, -largest)))
    finite = select(x.equals(math.inf), high, select(x.equals(-math.inf), low, x))
    return select(isnan(x), nan, finite)


def _div_mode(c: Context) -> Scalar:
    """The result's dtype is the common one, or the float that true division gives."""
    x, y, mode = c.computed(0, c.result, True), c.computed(1, c.result, True), c.parameter(2)
    assert x is not None and y is not None
    if mode is None:
        return x / y
    quotient: Scalar = division.floor_divide.formula(SCALARS, x, y) if mode == "floor" else division.trunc_quotient(SCALARS, x, y)
    return quotient


def _isclose(c: Context) -> Scalar:
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
    common, compute = x.dtype, widened(x.dtype)

    def step(v: Scalar) -> Scalar:
        return v.cast(common).cast(compute)

    x, y = x.cast(compute), y.cast(compute)
    error = absolute(step(x - y))
    allowed = step(absolute(step(y * rtol)) + step(y.like(atol)))
    return close | ((error < math.inf) & (error <= allowed))


RECIPES: dict[str, Recipe] = {
    **{f"aten.div.{k}_mode": _div_mode for k in ("Tensor", "Scalar")},
    "aten.isclose": _isclose,
    **{f"aten.where.{k}": _where for k in ("self", "ScalarOther", "ScalarSelf", "Scalar")},
    **{f"aten.masked_fill.{k}": _masked_fill for k in ("Scalar", "Tensor")},
    **{f"aten.fill.{k}": _fill for k in ("Scalar", "Tensor")},
    **{name: _convert for name in ("aten.to.dtype", "aten.to.dtype_layout", "aten.to.other", "aten.to.prim_Device", "aten.to.device",
                                   "aten.type_as", "aten._to_copy", "prims.convert_element_type", "aten.clone")},
    "aten.copy": _copy,
    "aten.nan_to_num": _nan_to_num,
}  # fmt: skip

FIRST_ONLY = ("aten.type_as", "aten.to.other")  # the second tensor only lends its dtype
