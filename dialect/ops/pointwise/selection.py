"""Choosing between values: the larger one, bounds, where, filling. Gradients at ties and on bounds as in PyTorch (docs/gradients.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import Category, DType
from tierup.dialect.facts.values import Tensor, Value
from tierup.dialect.ops.pointwise.elementary import zero_gradient
from tierup.dialect.ops.pointwise.elements import Element, Elements
from tierup.dialect.ops.pointwise.elementwise import broadcast, common_dtype, fits, numpy_dtype, pointwise, refuse
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, KEPT_COMPLEX, OF_COMPLEX, Infer, Kind, Layout, Promotion, ShapeError
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels import overlap
from tierup.dialect.optable.kernels.arrays import cast, check_number, is_float
from tierup.dialect.optable.kernels.promotion import Accepts, Strength

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

# --- the larger or smaller one -----------------------------------------------------------------------------------------


@pointwise("aten.maximum(Tensor self, Tensor other) -> Tensor", promoting=2, numpy=np.maximum, exact=True, note="NaN when either is")
def maximum(m: Elements, x: Element, y: Element) -> Element:
    return m.maximum(x, y)


maximum.vjp(reads=("self", "other"))(lambda g: _extreme(g, "lt", "gt"))


@pointwise("aten.minimum(Tensor self, Tensor other) -> Tensor", promoting=2, numpy=np.minimum, exact=True, note="NaN when either is")
def minimum(m: Elements, x: Element, y: Element) -> Element:
    return m.minimum(x, y)


minimum.vjp(reads=("self", "other"))(lambda g: _extreme(g, "gt", "lt"))


def _extreme(g: Backward, loses: str, wins: str) -> Gradients:
    """A tie is shared. NaN compares with nothing: both get the gradient."""
    x, y = g.operands[:2]
    shared = g.where(g.compare("eq", x, y), g.mul(g.grad, 0.5), g.grad)
    first, second = (g.where(g.compare(how, x, y), 0.0, shared) for how in (loses, wins))
    return g.sum_to(first, "self"), g.sum_to(second, "other")


@pointwise("aten.fmax(Tensor self, Tensor other) -> Tensor", promoting=2, numpy=np.fmax, exact=True, note="NaN only when both are")
def fmax(m: Elements, x: Element, y: Element) -> Element:
    return m.fmax(x, y)


fmax.vjp(reads=("self", "other"))(lambda g: _first_unless(g, "ge"))


@pointwise("aten.fmin(Tensor self, Tensor other) -> Tensor", promoting=2, numpy=np.fmin, exact=True, note="NaN only when both are")
def fmin(m: Elements, x: Element, y: Element) -> Element:
    return m.fmin(x, y)


fmin.vjp(reads=("self", "other"))(lambda g: _first_unless(g, "le"))


def _first_unless(g: Backward, wins: str) -> Gradients:
    """A tie is the first one's, and so is a pair of which the second is NaN."""
    x, y = g.operands[:2]
    first = g.call("aten.logical_or", g.compare(wins, x, y), g.call("aten.isnan", y))
    return g.sum_to(g.where(first, g.grad, 0.0), "self"), g.sum_to(g.where(first, 0.0, g.grad), "other")


# --- bounds: a value on its bound has the gradient; a NaN has none -----------------------------------------------------


def _bounds(operands: Sequence[Any], dtype: DType | None) -> None:
    if all(v is None for v in operands[1:3]):
        raise ValueError("torch.clamp: At least one of 'min' or 'max' must not be None")
    fits(1, 2)(operands, dtype)


def _three_bools(operands: tuple[tuple[DType, Strength], ...]) -> str | None:
    bools = len(operands) == 3 and all(d.category is Category.BOOL for d, _ in operands)
    return "not implemented for bool with two bounds" if bools else None


def _clamp(m: Elements, x: Element, low: Element = None, high: Element = None) -> Element:
    if low is not None:
        x = m.maximum(x, low)
    return x if high is None else m.minimum(x, high)


@pointwise(
    "aten.clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", promoting=3, accepts=Accepts.NOT_BOOL, check=_bounds,
    numpy=np.clip, form="clamp", exact=True, note="high wins where low > high; a NaN bound gives NaN",
)  # fmt: skip
def clamp(m: Elements, x: Element, low: Element = None, high: Element = None) -> Element:
    """Between bounds that are numbers or None. ValueError when both are None or a bound does not fit the common dtype."""
    return _clamp(m, x, low, high)


@clamp.vjp(reads=("self", "min", "max"))
def _(g: Backward) -> ir.Value:
    bounds = [(relation, g.number(i)) for i, relation in (("min", "ge"), ("max", "le")) if not g.is_none(i)]
    inside = [g.compare(relation, g.operands[0], bound) for relation, bound in bounds]
    return g.where(_all(g, inside), g.grad, 0.0) if inside else g.grad  # NumPy takes no bounds at all, too


@pointwise(
    "aten.clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", promoting=3, refuse=_three_bools, check=_bounds,
    numpy=np.clip, form="clamp", exact=True,
)  # fmt: skip
def clamp_tensor(m: Elements, x: Element, low: Element = None, high: Element = None) -> Element:
    """Between bounds that are tensors or None, broadcast; NaN where any of the three is."""
    return _clamp(m, x, low, high)


@clamp_tensor.vjp(reads=("self", "min", "max"))
def _(g: Backward) -> Gradients:
    """The upper bound wins where it is below the lower one."""
    if g.is_none("min") and g.is_none("max"):
        return g.grad
    if g.is_none("min"):
        return _bounded(g, "le", "gt", "max")
    if g.is_none("max"):
        return _bounded(g, "ge", "lt", "min")
    x, low, high = g.operands[:3]
    inside = _all(g, [g.compare("ge", x, low), g.compare("le", x, high)])
    at_low = _all(g, [g.compare("lt", low, high), g.compare("lt", x, low)])
    at_high = g.call("aten.logical_or", g.compare("gt", x, high), g.compare("lt", high, low))
    return tuple(g.sum_to(g.where(where, g.grad, 0.0), i) for i, where in enumerate((inside, at_low, at_high)))


@pointwise(
    "aten.clamp_min(Tensor self, Scalar min) -> Tensor", promoting=2, accepts=Accepts.NOT_BOOL, check=fits(1), numpy=np.maximum, exact=True
)
def clamp_min(m: Elements, x: Element, low: Element) -> Element:
    return m.maximum(x, low)


clamp_min.vjp(reads=("self", "min"))(lambda g: g.where(g.compare("ge", g.operands[0], g.number("min")), g.grad, 0.0))


@pointwise(
    "aten.clamp_max(Tensor self, Scalar max) -> Tensor", promoting=2, accepts=Accepts.NOT_BOOL, check=fits(1), numpy=np.minimum, exact=True
)
def clamp_max(m: Elements, x: Element, high: Element) -> Element:
    return m.minimum(x, high)


clamp_max.vjp(reads=("self", "max"))(lambda g: g.where(g.compare("le", g.operands[0], g.number("max")), g.grad, 0.0))


@pointwise("aten.clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", promoting=2, numpy=np.maximum, exact=True)
def clamp_min_tensor(m: Elements, x: Element, low: Element) -> Element:
    return m.maximum(x, low)


clamp_min_tensor.vjp(reads=("self", "min"))(lambda g: _bounded(g, "ge", "lt", "min"))


@pointwise("aten.clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", promoting=2, numpy=np.minimum, exact=True)
def clamp_max_tensor(m: Elements, x: Element, high: Element) -> Element:
    return m.minimum(x, high)


clamp_max_tensor.vjp(reads=("self", "max"))(lambda g: _bounded(g, "le", "gt", "max"))


def _bounded(g: Backward, within: str, beyond: str, bound: str) -> Gradients:
    """With one bound, the operand named; a tie is the value's."""
    place = g.rule.operands.index(bound)
    x, limit = g.operands[0], g.operands[place]
    of_bound = g.sum_to(g.where(g.compare(beyond, x, limit), g.grad, 0.0), bound)
    return (g.sum_to(g.where(g.compare(within, x, limit), g.grad, 0.0), "self"), *[None] * (place - 1), of_bound)


def _all(g: Backward, conditions: list[ir.Value]) -> ir.Value:
    found = conditions[0]
    for condition in conditions[1:]:
        found = g.call("aten.logical_and", found, condition)
    return found


# --- where -------------------------------------------------------------------------------------------------------------


def _infer_where(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    condition, *values = operands
    shape = broadcast(ctx, operands)
    if ctx.promotion is Promotion.NUMPY:
        return Tensor(numpy_dtype("pointwise.selection:where.numpy_tier0", operands), shape)
    if read.dtype_of(condition) not in (None, dtypes.bool_):
        raise TypeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {read.dtype_of(condition)}")
    dtype = common_dtype(values)
    if dtype not in (dtypes.f16, dtypes.bf16):  # torch converts a number to these by way of float64: too large is infinite
        refuse(fits(1, 2), operands, dtype)
    return Tensor(dtype, shape)


@op(
    "aten.where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    "aten.where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    "aten.where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
    "aten.where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
    kind=Kind.POINTWISE, infer=_infer_where, tolerance=EXACT, **OF_COMPLEX,
)  # fmt: skip
def where(condition: np.ndarray, x: Any, y: Any) -> np.ndarray:
    """x where condition, else y, in their common dtype. TypeError unless the condition is bool."""
    dtype = where.dtype(condition, x, y)
    return np.where(condition, *(cast(np.asarray(v), dtype) for v in (x, y)))


where.under_numpy(form="where")(lambda condition, x, y: np.asarray(np.where(condition, x, y)))


where.overload("Scalar").no_gradient = "a choice between two numbers"


@where.vjp("self", "ScalarOther", "ScalarSelf", reads=("condition",))
def _(g: Backward) -> Gradients:
    arms = {"self": (g.grad, 0.0), "other": (0.0, g.grad)}
    return None, *(g.sum_to(g.where(g.operands[0], *arm), of) if g.is_tensor(of) else None for of, arm in arms.items())


# --- filling -----------------------------------------------------------------------------------------------------------


def _infer_fill(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, value = operands
    if isinstance(value, Tensor) and value.shape:
        raise ShapeError(f"fill only supports 0-dimension value tensor but got tensor with {len(value.shape)} dimensions")
    if ctx.promotion is Promotion.NUMPY:
        numpy_dtype("pointwise.selection:fill.numpy_tier0", operands)  # raises what it raises
    else:
        refuse(fits(1), operands, read.dtype_of(x))
    return x if isinstance(x, Tensor) else Tensor()


@op(
    "aten.fill.Scalar(Tensor self, Scalar value) -> Tensor", "aten.fill.Tensor(Tensor self, Tensor value) -> Tensor",
    kind=Kind.POINTWISE, infer=_infer_fill, layout=Layout.KEPT, tolerance=EXACT, **KEPT_COMPLEX,
)  # fmt: skip
def fill(x: np.ndarray, value: Any) -> np.ndarray:
    """x's shape, layout and dtype, every element `value` (a number or rank-0 tensor)."""
    if np.ndim(value):
        raise ValueError(f"fill only supports 0-dimension value tensor but got tensor with {np.ndim(value)} dimensions")
    check_number(value, x.dtype)
    result = overlap.empty_like(x)
    result[...] = cast(np.asarray(value), x.dtype)
    return result


@fill.under_numpy(form="fill")
def _(x: np.ndarray, value: Any) -> np.ndarray:
    """As an assignment converts it (inplace.fill_)."""
    result = np.empty_like(x)
    result[...] = value[()] if isinstance(value, np.ndarray) else value
    return result


fill.vjp("Scalar")(zero_gradient)


fill.vjp("Tensor")(lambda g: (None, g.sum_to(g.grad, "value")))


@op(
    "aten.nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    kind=Kind.POINTWISE, infer=lambda ctx, operands: read.whole(operands[0]), tolerance=EXACT,
)  # fmt: skip
def nan_to_num(x: np.ndarray, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> np.ndarray:
    """NaN becomes `nan` (0), infinities the dtype's extremes or what is told. Integers stay."""
    if not is_float(x.dtype):
        return overlap.copy(x)
    largest = dtypes.largest(x.dtype)
    values = (0.0 if nan is None else nan, largest if posinf is None else posinf, -largest if neginf is None else neginf)
    zero, high, low = (cast(np.asarray(v), x.dtype) for v in values)
    return np.where(np.isnan(x), zero, np.where(x == np.inf, high, np.where(x == -np.inf, low, x)))


@nan_to_num.under_numpy(form="nan_to_num")
def _(x: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> np.ndarray:
    return np.asarray(np.nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf))


nan_to_num.vjp(reads=("self",))(lambda g: g.where(g.call("aten.isfinite", g.operands[0]), g.grad, 0.0))
