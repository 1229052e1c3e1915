"""Views: the same memory under another shape. In gradients it is seen the other way round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EITHER, EXACT, Aliasing, Infer, InferRule, Kind, Layout, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.define import DefinedOp, op
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.sizes import is_one, reshaped

if TYPE_CHECKING:
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_view = partial(op, kind=Kind.VIEW, aliasing=Aliasing.VIEW, layout=Layout.KEPT, tolerance=EXACT)
_may_view = partial(op, kind=Kind.VIEW, aliasing=Aliasing.MAY_VIEW, layout=Layout.KEPT, tolerance=EXACT)
_STRIDES = "tier 0 raises ValueError where strides allow no view"


def _reshape(op: str) -> InferRule:
    """view and reshape: sizes may be known where the operand's are not."""

    @or_unknown
    def sized(ctx: Infer, x: Value, wanted: Value) -> Shape:
        sizes = read.sizes_or_none(wanted)
        if isinstance(x, Tensor) and x.shape is None:
            if any(s is None or s == -1 for s in sizes):
                raise read.Unknown
            return tuple(s for s in sizes if s is not None)
        return reshaped(ctx, op, read.product(read.shape(x)), sizes)

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        return Tensor(read.dtype_of(operands[0]), sized(ctx, operands[0], operands[1]))

    return infer


def _sizes(op: DefinedOp[Any], x: np.ndarray, sizes: Sequence[int]) -> Sequence[int]:
    """`sizes`, with the one -1 among them replaced."""
    return sizes if math.prod(sizes) == x.size and min(sizes, default=0) >= 0 else op.checked(x, sizes).shape


@_view("aten.view(Tensor(a) self, int[] size) -> Tensor(a)", infer=_reshape("view"), strided=True, note=_STRIDES)
def view(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """ValueError where the strides allow no view of these sizes."""
    wanted = _sizes(view, x, sizes)
    try:
        return np.reshape(x, wanted, copy=False)
    except ValueError:
        raise ValueError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        ) from None


@_may_view("aten.reshape(Tensor(a) self, int[] shape) -> Tensor(a)", infer=_reshape("reshape"))
def reshape(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """A view where strides allow one, else a copy."""
    return x.reshape(_sizes(reshape, x, sizes))


reshape.under_numpy(form="as_is")(lambda x, sizes: x.reshape(tuple(sizes)))


@_may_view("aten._unsafe_view(Tensor self, int[] size) -> Tensor", infer=_reshape("view"))
def unsafe_view(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    return reshape(x, sizes)


@_view("aten._reshape_alias(Tensor(a) self, int[] size, int[] stride) -> Tensor(a)", infer=_reshape("view"), strided=True, note=_STRIDES)
def reshape_alias(x: np.ndarray, sizes: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """A view of these sizes, whose strides (in elements) the caller has computed. ValueError where the view has others."""
    result = view(x, sizes)
    for size, stride, wanted in zip(result.shape, result.strides, strides, strict=True):
        if size > 1 and stride != wanted * x.itemsize:
            raise ValueError(f"_reshape_alias: strides {list(strides)} are not those of a view of sizes {list(sizes)}")
    return result


def like_other(rule: Callable[[Infer, Shape, Shape], Shape]) -> InferRule:
    """The rule of an op that takes its sizes from operand 1, a tensor."""
    return read.of_first(lambda ctx, of, rest: rule(ctx, of, read.shape(rest[0])))


def _reshape_as(ctx: Infer, of: Shape, other: Shape) -> Shape:
    return reshaped(ctx, "reshape_as", read.product(of), other)


@_may_view("aten.reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", infer=like_other(_reshape_as), looked_at=(1,))
def reshape_as(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    return reshape(x, other.shape)


def _flatten(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    first = normalise_dim(read.integer(read.given(rest, 0, 0)), len(of))
    last = normalise_dim(read.integer(read.given(rest, 1, -1)), len(of))
    if first > last:
        raise ShapeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return (*of[:first], read.product(of[first : last + 1]), *of[last + 1 :])


@_may_view(
    "aten.flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", infer=read.of_first(_flatten),
    may_be_operand=(Promotion.TORCH,),
)  # fmt: skip
def flatten(x: np.ndarray, start: int = 0, end: int = -1) -> np.ndarray:
    """Dims start to end become one; rank 0 becomes rank 1. A view where strides allow one; x itself where there is one such dim."""
    found = flatten.checked(x, start, end).shape
    return x.reshape(found) if x.ndim != len(found) else x


def _unflatten(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = normalise_dim(read.integer(rest[0]), len(of))
    wanted = read.sizes_or_none(rest[1])
    if not wanted:
        raise ShapeError("unflatten: sizes must be non-empty")
    if not of:
        raise IndexError("unflatten() cannot be applied to a 0-dim tensor")
    return (*of[:axis], *reshaped(ctx, "unflatten", of[axis], wanted), *of[axis + 1 :])


@_view("aten.unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)", infer=read.of_first(_unflatten))
def unflatten(x: np.ndarray, dim: int, sizes: Sequence[int]) -> np.ndarray:
    """One dim becomes several; one size may be -1."""
    return np.reshape(x, unflatten.checked(x, dim, sizes).shape, copy=False)


@_view(
    "aten.squeeze(Tensor(a) self) -> Tensor(a)", infer=read.of_first(lambda ctx, of, rest: tuple(d for d in of if not is_one(d))),
    may_be_operand=(Promotion.NUMPY,),
)  # fmt: skip
def squeeze(x: np.ndarray) -> np.ndarray:
    """All dims of size 1 go. Another array also where none does."""
    return x.squeeze().view()


squeeze.under_numpy(form="squeezed")(lambda x: x.squeeze())


def _squeeze_dim(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = normalise_dim(read.integer(rest[0]), len(of))
    if not of:
        return of
    if is_one(of[axis]):
        return (*of[:axis], *of[axis + 1 :])
    if ctx.promotion is Promotion.NUMPY:
        raise ShapeError("cannot select an axis to squeeze out which has size not equal to one")
    return of


@_view(
    "aten.squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", infer=read.of_first(_squeeze_dim),
    note="a dim that is not 1 stays; under NumPy's rules a ValueError",
)  # fmt: skip
def squeeze_dim(x: np.ndarray, dim: int) -> np.ndarray:
    """The dim goes if its size is 1."""
    return np.reshape(x, squeeze_dim.checked(x, dim).shape, copy=False)


squeeze_dim.under_numpy(form="squeezed_dim")(lambda x, dim: x.squeeze(dim))


def _unsqueeze(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = normalise_dim(read.integer(rest[0]), len(of) + 1)
    return (*of[:axis], 1, *of[axis:])


@_view("aten.unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", infer=read.of_first(_unsqueeze))
def unsqueeze(x: np.ndarray, dim: int) -> np.ndarray:
    """A dim of size 1, at `dim` of the result."""
    return x.reshape(*x.shape[: (axis := normalise_dim(dim, x.ndim + 1))], 1, *x.shape[axis:], copy=False)


unsqueeze.under_numpy(form="as_is")(lambda x, dim: np.expand_dims(x, dim))
unsqueeze.vjp(reads=("dim",))(lambda g: g.call("aten.squeeze.dim", g.grad, g.number("dim")))


def _at_least(rank: int) -> InferRule:
    return read.of_first(lambda ctx, of, rest: (*(1,) * (rank - len(of)), *of))


atleast_1d = _view("aten.atleast_1d(Tensor self) -> Tensor", infer=_at_least(1), may_be_operand=EITHER)(lambda x: np.atleast_1d(x))


@_view("aten.atleast_2d(Tensor self) -> Tensor", infer=_at_least(2), may_be_operand=EITHER)
def atleast_2d(x: np.ndarray) -> np.ndarray:
    """A vector becomes a row."""
    return np.atleast_2d(x)


def _reshape_gradient(g: Backward) -> Gradients:
    return g.call("aten.reshape", g.grad, g.operand_size("self"))


for _each in (view, reshape, unsafe_view, reshape_alias, reshape_as, flatten, unflatten, squeeze, squeeze_dim, atleast_1d, atleast_2d):
    _each.vjp()(_reshape_gradient)

reshape.copied_as("aten.view_copy(Tensor self, int[] size) -> Tensor")
squeeze.copied_as("aten.squeeze_copy(Tensor self) -> Tensor")
squeeze_dim.copied_as("aten.squeeze_copy.dim(Tensor self, int dim) -> Tensor")
unsqueeze.copied_as("aten.unsqueeze_copy(Tensor self, int dim) -> Tensor")
