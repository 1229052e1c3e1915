"""Tensors side by side. Each gets its part of the gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.base.exceptions import ValueUnanswerable
from tierup.dialect.facts.values import List, Shape, Tensor, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, OF_COMPLEX, Infer, InferRule, Kind, Layout, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.define import DefinedOp, op
from tierup.dialect.optable.kernels.arrays import cast, in_rows
from tierup.dialect.optable.kernels.promotion import promote
from tierup.dialect.optable.operands import or_unknown

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients
    from tierup.dialect.ops.gradients.emitter import Operand

Tensors = Sequence[np.ndarray]

_op = partial(op, kind=Kind.MOVEMENT, tolerance=EXACT, **OF_COMPLEX)


@cache
def _numpy_common(*known: DType) -> DType | None:
    return dtypes.from_numpy(np.result_type(*(d.numpy for d in known)))


def _common(ctx: Infer, tensors: Sequence[Value]) -> DType | None:
    """All count alike, whatever their rank."""
    known = [d for d in map(read.dtype_of, tensors) if d is not None]
    if len(known) < len(tensors):
        return None
    return _numpy_common(*known) if ctx.promotion is Promotion.NUMPY else reduce(promote, known)


def _joined(what: str, sized: Callable[[Infer, Sequence[Value], Value], Shape]) -> InferRule:
    """`sized` gives the shape, of the tensors and the dim."""
    known = or_unknown(sized)

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        tensors = or_unknown(read.items)(operands[0])
        if tensors is None:
            return Tensor()
        if not tensors:
            raise ShapeError(f"{what} expects a non-empty list of tensors")
        return Tensor(_common(ctx, tensors), known(ctx, tensors, read.given(operands, 1, 0)))

    return infer


def _in_common(op: DefinedOp[Any], tensors: Tensors, *dim: int) -> list[np.ndarray]:
    """The tensors, which fit, in the dtype of what they are joined to. TypeError for one that programs cannot hold."""
    dtype = op.dtype(tensors, *dim)
    return [cast(x, dtype) for x in tensors]


def _cat(ctx: Infer, tensors: Sequence[Value], dim: Value) -> Shape:
    return _concatenated(ctx, [read.shape(t) for t in tensors], read.integer(dim))


def _concatenated(ctx: Infer, shapes: Sequence[Shape], dim: int) -> Shape:
    for i, of in enumerate(shapes):
        if not of:
            raise ShapeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    kept = list(shapes) if ctx.promotion is Promotion.NUMPY else [s for s in shapes if s != (0,)]
    if not kept:
        return (0,)
    rank = len(kept[0])
    axis = normalise_dim(dim, rank)
    out, total = list(kept[0]), kept[0][axis]
    for of in kept[1:]:
        if len(of) != rank:
            raise ShapeError(f"Tensors must have same number of dimensions: got {rank} and {len(of)}")
        total = total + of[axis]
        for i, size in enumerate(of):
            if i != axis:
                out[i] = ctx.equal(out[i], size, f"Sizes of tensors must match except in dimension {axis}")
    out[axis] = total
    return tuple(out)


@_op(
    "aten.cat(Tensor[] tensors, int dim=0) -> Tensor", infer=_joined("cat", _cat), layout=Layout.DENSE,
    note="vectors of size 0 fit anything",
)  # fmt: skip
def cat(tensors: Tensors, dim: int = 0) -> np.ndarray:
    """Along an existing dim, in the common dtype. Vectors of size 0 fit anything (torch keeps that for old programs)."""
    parts = _in_common(cat, tensors, dim)
    kept = [x for x in parts if x.shape != (0,)]
    joined = np.concatenate(kept, dim) if kept else parts[0].copy()
    if all(map(_has_channels_last, parts)):
        return np.moveaxis(in_rows(np.moveaxis(joined, 1, -1)), -1, 1)
    return in_rows(joined)


def _has_channels_last(x: np.ndarray) -> bool:
    """Whether PyTorch takes an array for images whose channels lie behind the other dims, as its results lie then: is_channels_last_strides
    of c10/core/MemoryFormat.h."""
    if x.ndim not in (4, 5) or not x.size or not x.strides[1]:
        return False
    least = 0
    for dim in (1, *range(x.ndim - 1, 1, -1), 0):
        if x.strides[dim] < least or (dim == 0 and least == x.strides[1]):
            return False
        least = x.strides[dim] * x.shape[dim]
    return True


cat.under_numpy(form="joined")(lambda tensors, dim=0: np.concatenate(tensors, dim))


@cat.vjp(reads=("dim",))
def _(g: Backward) -> Gradients:
    dim = g.number("dim")
    if not g.has_items("tensors"):
        sizes = g.built(_count(g), "!torch.list<int>", lambda i: g.size_of(g.item(g.like("tensors"), i), dim))
        return _as_list(g, g.call("aten.split_with_sizes", g.grad, sizes, dim, type_="!torch.list<vtensor>"))
    start = g.value(0)
    parts = []
    for tensor in g.items("tensors"):
        if g.tensor(tensor).rank == 1 and g.tensor(g.grad).rank not in (None, 1):
            parts.append(g.zeros_like(tensor))  # a vector of size 0, which fits anything
            continue
        end = g.call("aten.add.int", start, g.size_of(tensor, dim), type_="!torch.int")
        parts.append(g.cast_like(g.call("aten.slice.Tensor", g.grad, dim, start, end, 1), tensor))
        start = end
    return (parts,)


def _as_list(g: Backward, gradients: ir.Value) -> Gradients:
    """The gradients of a list whose length the run knows, each in the dtype of its tensor."""
    tensors = g.like("tensors")
    known = g.known(tensors)
    dtype = known.element.dtype if isinstance(known, List) and isinstance(known.element, Tensor) else None
    if dtype is not None and g.tensor(g.grad).dtype is dtype:
        return gradients
    return g.built(_count(g), "!torch.list<vtensor>", lambda i: g.cast_like(g.item(gradients, i), g.item(tensors, i)))


def _count(g: Backward) -> ir.Value:
    return g.call("aten.len.t", g.like("tensors"), type_="!torch.int")


def _stack(ctx: Infer, tensors: Sequence[Value], dim: Value) -> Shape:
    first = read.shape(tensors[0])
    axis = normalise_dim(read.integer(dim), len(first) + 1)
    for i, of in enumerate(map(read.shape, tensors)):
        if len(of) != len(first):
            raise ShapeError(f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(of)} at entry {i}")
        first = tuple(ctx.equal(a, b, "stack expects each tensor to be equal size") for a, b in zip(first, of, strict=True))
    return (*first[:axis], len(tensors), *first[axis:])


@_op("aten.stack(Tensor[] tensors, int dim=0) -> Tensor", infer=_joined("stack", _stack), layout=Layout.DENSE)
def stack(tensors: Tensors, dim: int = 0) -> np.ndarray:
    """Along a new dim, in the common dtype."""
    return in_rows(np.stack(_in_common(stack, tensors, dim), dim))


@stack.under_numpy(form="joined")
def _(tensors: Tensors, dim: int = 0) -> np.ndarray:
    if len({x.shape for x in tensors}) > 1:  # np.array and np.stack, of which this is, have words of their own for that
        raise ValueUnanswerable("all input arrays must have the same shape")
    return np.stack(tensors, dim)


@stack.vjp(reads=("dim",))
def _(g: Backward) -> Gradients:
    dim = g.number("dim")
    if not g.has_items("tensors"):
        of = g.like("tensors")
        return g.built(_count(g), "!torch.list<vtensor>", lambda i: g.cast_like(g.call("aten.select.int", g.grad, dim, i), g.item(of, i)))
    return ([g.cast_like(g.call("aten.select.int", g.grad, dim, i), tensor) for i, tensor in enumerate(g.items("tensors"))],)


def _hstack(ctx: Infer, tensors: Sequence[Value], _: Value) -> Shape:
    whole = [read.shape(t) or (1,) for t in tensors]
    return _concatenated(ctx, whole, 0 if len(whole[0]) == 1 else 1)


@_op("aten.hstack(Tensor[] tensors) -> Tensor", infer=_joined("hstack", _hstack))
def hstack(tensors: Tensors) -> np.ndarray:
    """Along dim 1, vectors along dim 0, scalars as vectors."""
    whole = [np.atleast_1d(x) for x in tensors]
    return cat(whole, 0 if whole and whole[0].ndim == 1 else 1)


hstack.under_numpy(form="joined")(lambda tensors: np.hstack(tensors))


@hstack.vjp()
def _(g: Backward) -> Gradients:
    """Vectors are joined along their dim, numbers as vectors, others along dim 1."""
    rank = g.tensor(g.grad).rank
    dim: Operand
    if rank is not None:
        dim = min(rank, 2) - 1
    else:
        dim = g.minus(g.call("prim.min.int", g.call("aten.dim", g.grad, type_="!torch.int"), 2, type_="!torch.int"), 1)
    return _own_parts(g, dim, lambda tensor: g.size_of(g.call("aten.atleast_1d", tensor), dim))


def _column_stack(ctx: Infer, tensors: Sequence[Value], _: Value) -> Shape:
    return _concatenated(ctx, [(*(s or (1,)), 1) if len(s) < 2 else s for s in map(read.shape, tensors)], 1)


@_op("aten.column_stack(Tensor[] tensors) -> Tensor", infer=_joined("column_stack", _column_stack))
def column_stack(tensors: Tensors) -> np.ndarray:
    """Along dim 1, vectors and scalars as columns."""
    return cat([x.reshape(-1, 1) if x.ndim < 2 else x for x in tensors], 1)


column_stack.under_numpy(form="joined")(lambda tensors: np.column_stack(tensors))


@column_stack.vjp()
def _(g: Backward) -> Gradients:
    """Vectors and numbers are columns."""

    def width(tensor: ir.Value) -> Operand:
        rank = g.tensor(tensor).rank
        if rank is None:
            return g.size_of(g.alike("aten.column_stack", [tensor]), 1)
        return g.size_of(tensor, 1) if rank > 1 else 1

    return _own_parts(g, 1, width)


def _own_parts(g: Backward, dim: Operand, width: Callable[[ir.Value], Operand]) -> Gradients:
    """Parts of the gradient in the tensors' own shapes."""
    start, parts = g.value(0), []
    for tensor in g.items("tensors"):
        end = g.call("aten.add.int", start, width(tensor), type_="!torch.int")
        part = g.call("aten.slice.Tensor", g.grad, dim, start, end, 1)
        parts.append(g.cast_like(g.call("aten.reshape", part, g.size(tensor)), tensor))
        start = end
    return (parts,)
