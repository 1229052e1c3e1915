"""Ops whose operands are not typed by promotion alone: selection, filling, conversion."""

from __future__ import annotations

import math

import ml_dtypes

from tierup.lowering.arith import Scalar, isnan, select
from tierup.lowering.pointwise.context import Context
from tierup.lowering.pointwise.formula import Recipe


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
    largest = float(ml_dtypes.finfo(x.dtype.numpy).max)
    nan, high, low = (default if c.parameter(i) is None else c.parameter(i) for i, default in ((1, 0.0), (2, largest), (3, -largest)))
    finite = select(x.equals(math.inf), high, select(x.equals(-math.inf), low, x))
    return select(isnan(x), nan, finite)


RECIPES: dict[str, Recipe] = {
    **{f"aten.where.{k}": _where for k in ("self", "ScalarOther", "ScalarSelf", "Scalar")},
    **{f"aten.masked_fill.{k}": _masked_fill for k in ("Scalar", "Tensor")},
    **{f"aten.fill.{k}": _fill for k in ("Scalar", "Tensor")},
    **{name: _convert for name in ("aten.to.dtype", "aten.to.dtype_layout", "aten.to.other", "aten.to.prim_Device", "aten.to.device",
                                   "aten.type_as", "aten._to_copy", "prims.convert_element_type", "aten.clone")},
    "aten.copy": _copy,
    "aten.nan_to_num": _nan_to_num,
}  # fmt: skip

FIRST_ONLY = ("aten.type_as", "aten.to.other")  # the second tensor only lends its dtype
