"""Views whose dims stand in another order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect.facts.values import Shape, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Aliasing, Infer, Kind, ShapeError, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.operands import refuse_axes_of_rank_0

if TYPE_CHECKING:
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_view = partial(op, kind=Kind.VIEW, aliasing=Aliasing.VIEW, tolerance=EXACT)


def _transpose(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    refuse_axes_of_rank_0(ctx, of)
    a, b = (normalise_dim(read.integer(r), len(of)) for r in rest[:2])
    out = list(of)
    if of:
        out[a], out[b] = out[b], out[a]
    return tuple(out)


@_view("aten.transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", infer=read.of_first(_transpose))
def transpose(x: np.ndarray, dim0: int, dim1: int) -> np.ndarray:
    """Two dims change places."""
    a, b = normalise_dim(dim0, x.ndim), normalise_dim(dim1, x.ndim)
    return x.swapaxes(a, b) if x.ndim else x.view()


transpose.under_numpy(form="of_known_rank")(lambda x, dim0, dim1: x.swapaxes(dim0, dim1))
transpose.vjp(reads=("dim0", "dim1"))(lambda g: g.call("aten.transpose.int", g.grad, g.number("dim0"), g.number("dim1")))


def _t(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    if len(of) > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(of)}D")
    return of[::-1]


@_view("aten.t(Tensor(a) self) -> Tensor(a)", infer=read.of_first(_t))
def t(x: np.ndarray) -> np.ndarray:
    """A matrix's transpose; ranks 0 and 1 as they are."""
    t.checked(x)
    return x.T


t.vjp()(lambda g: g.call("aten.t", g.grad))


@_view("aten.numpy_T(Tensor(a) self) -> Tensor(a)", infer=read.of_first(lambda ctx, of, rest: of[::-1]))
def numpy_T(x: np.ndarray) -> np.ndarray:
    """All dims in reverse order."""
    return x.T


numpy_T.vjp()(lambda g: g.call("aten.numpy_T", g.grad))


def _permute(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    dims = read.integers(rest[0])
    if len(dims) != len(of):
        raise ShapeError(f"permute(): input.dim() = {len(of)} is not equal to len(dims) = {len(dims)}")
    axes = [normalise_dim(d, len(of)) for d in dims]
    if len(set(axes)) != len(axes):
        raise ShapeError("permute(): duplicate dims are not allowed.")
    return tuple(of[a] for a in axes)


@_view("aten.permute(Tensor(a) self, int[] dims) -> Tensor(a)", infer=read.of_first(_permute))
def permute(x: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """Dim i of the result is dim dims[i] of x."""
    permute.checked(x, dims)
    return x.transpose(tuple(dims))


permute.under_numpy(form="of_known_rank")(lambda x, dims: x.transpose(tuple(dims)))


@permute.vjp()
def _(g: Backward) -> Gradients:
    dims = g.ints("dims")
    if dims is None:
        raise g.no_gradient("its dims are not given")
    order = [d % max(len(dims), 1) for d in dims]
    return g.call("aten.permute", g.grad, [order.index(i) for i in range(len(order))] if order else g.value([]))


def _movedim(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    refuse_axes_of_rank_0(ctx, of)
    source, destination = (normalise_dim(read.integer(r), len(of)) for r in rest[:2])
    if not of:
        return of
    others = [d for i, d in enumerate(of) if i != source]
    return (*others[:destination], of[source], *others[destination:])


@_view("aten.movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", infer=read.of_first(_movedim))
def movedim(x: np.ndarray, source: int, destination: int) -> np.ndarray:
    """One dim goes elsewhere, the others keep their order."""
    a, b = normalise_dim(source, x.ndim), normalise_dim(destination, x.ndim)
    return np.moveaxis(x, a, b) if x.ndim else x.view()


movedim.under_numpy(form="of_known_rank")(lambda x, source, destination: np.moveaxis(x, source, destination))
movedim.vjp(reads=("source", "destination"))(lambda g: g.call("aten.movedim.int", g.grad, g.number("destination"), g.number("source")))


transpose.copied_as("aten.transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor")
t.copied_as("aten.t_copy(Tensor self) -> Tensor")
permute.copied_as("aten.permute_copy(Tensor self, int[] dims) -> Tensor")
