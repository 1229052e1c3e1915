"""Elements that a mask of truth values names. It broadcasts with the tensor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.ops.indexing.by_tensors import put_gradient, same_dtype
from tierup.dialect.ops.movement.padding import check_element
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Infer, Kind, ShapeError
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.arrays import Number, cast, element

if TYPE_CHECKING:
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_op = partial(op, kind=Kind.MOVEMENT, tolerance=EXACT)


def _broadcast(ctx: Infer, op: str, x: Value, mask: Value) -> Shape | None:
    if read.dtype_of(mask) not in (None, dtypes.bool_):
        raise TypeError(f"{op} only supports boolean masks, but got mask with dtype {read.dtype_of(mask)}")
    return ctx.broadcast([t.shape if isinstance(t, Tensor) else None for t in (x, mask)], f"{op}: self and mask do not broadcast:")


def _masked_fill(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, mask, value = operands[:3]
    made = Tensor(read.dtype_of(x), _broadcast(ctx, "masked_fill", x, mask))
    if not isinstance(value, Tensor):
        check_element(value, read.dtype_of(x))
    elif value.rank:
        raise ShapeError(f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.rank} dimension(s).")
    return made


def _filled(x: np.ndarray, mask: np.ndarray, made: Tensor, filler: np.generic | np.ndarray) -> np.ndarray:
    sizes: Any = made.shape
    result = np.broadcast_to(x, sizes).copy()
    np.copyto(result, filler, where=mask)
    return result


@_op("aten.masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", infer=_masked_fill)
def masked_fill(x: np.ndarray, mask: np.ndarray, value: Number) -> np.ndarray:
    """`value` where the mask is true. ValueError where the dtype cannot hold it."""
    return _filled(x, mask, masked_fill.checked(x, mask, value), element(value, x.dtype))


masked_fill.vjp(reads=("mask",))(lambda g: g.sum_to(g.where(g.operands[1], 0.0, g.grad), "self"))


@_op("aten.masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", infer=_masked_fill)
def masked_fill_tensor(x: np.ndarray, mask: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The value is a rank-0 tensor, converted to x's dtype."""
    return _filled(x, mask, masked_fill_tensor.checked(x, mask, value), cast(value, x.dtype)[()])


@masked_fill_tensor.vjp(reads=("mask",))
def _(g: Backward) -> Gradients:
    mask = g.operands[1]
    return g.sum_to(g.where(mask, 0.0, g.grad), "self"), None, g.sum_to(g.where(mask, g.grad, 0.0), "value")


def _masked_select(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, mask = operands[:2]
    _broadcast(ctx, "masked_select", x, mask)
    return Tensor(read.dtype_of(x), (ctx.fresh(),))


@_op("aten.masked_select(Tensor self, Tensor mask) -> Tensor", infer=_masked_select)
def masked_select(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """A vector of the elements where the mask is true."""
    masked_select.checked(x, mask)
    whole, where = np.broadcast_arrays(x, mask)
    picked: np.ndarray = whole[where]
    return picked


@masked_select.vjp(reads=("mask",))
def _(g: Backward) -> Gradients:
    """Where one of the two broadcast, the places are those of both."""
    mask, places = g.operands[1], g.zeros("self")
    if not g.same_shape(mask, places):
        places = g.where(mask, places, 0.0)
        mask = g.expand(mask, g.size(places))
        places = g.zeros_like(places)
    return g.sum_to(put_gradient(g, places, g.value([mask]), g.grad), "self")


def _masked_scatter(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, mask, source = operands[:3]
    made = Tensor(read.dtype_of(x), _broadcast(ctx, "masked_scatter", x, mask))
    same_dtype(x, source, "masked_scatter: expected self and source to have same dtypes")
    return made


@_op("aten.masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", infer=_masked_scatter, native=False, raises=True)
def masked_scatter(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    """The source's elements in order, where the mask is true. ValueError when there are too few."""
    made = masked_scatter.checked(x, mask, source)
    where = np.broadcast_to(mask, made.shape)
    count = int(np.count_nonzero(where))
    if source.size < count:
        raise ValueError("masked_scatter: Number of elements of source < number of ones in mask")
    result = np.broadcast_to(x, made.shape).copy()
    result[where] = source.reshape(-1)[:count]
    return result


@masked_scatter.vjp(reads=("mask",))
def _(g: Backward) -> Gradients:
    """Of the source as many elements are read as the mask has places."""
    mask = g.operands[1]
    taken = g.call("aten.masked_select", g.grad, mask)
    flat = g.call("aten.zeros", [g.call("aten.numel", g.like("source"), type_="!torch.int")], g.dtype(g.grad), None, None, None)
    flat = g.call("aten.slice_scatter", flat, taken, 0, 0, g.size_of(taken, 0), 1)
    return g.sum_to(g.where(mask, 0.0, g.grad), "self"), None, g.cast_to(g.call("aten.reshape", flat, g.operand_size("source")), "source")
