"""Views in which elements are seen more than once: each gets the sum of the gradients of all places where it is seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect.facts.values import List, Shape, Tensor, Value
from tierup.dialect.ops.movement.views import like_other
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Aliasing, Infer, Kind, Promotion, ShapeError
from tierup.dialect.optable.define import op
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.sizes import expanded

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_view = partial(op, kind=Kind.VIEW, aliasing=Aliasing.VIEW, tolerance=EXACT)


def _expand(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    wanted = read.sizes_or_none(rest[0])
    if ctx.promotion is Promotion.NUMPY and any(isinstance(w, int) and w < 0 for w in wanted):
        raise ShapeError("all elements of broadcast shape must be non-negative")
    return expanded(ctx, "expand", of, wanted)


@_view("aten.expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)", infer=read.of_first(_expand))
def expand(x: np.ndarray, sizes: Sequence[int], implicit: bool = False) -> np.ndarray:
    """Dims of size 1 become any size, -1 keeps one, new dims come in front. Whoever writes is to ask whether an element shows more than
    once (`overlap.py`)."""
    wanted = expand.checked(x, sizes).shape
    if math.prod(wanted) == x.size:
        return np.reshape(x, wanted, copy=False)
    new = len(wanted) - x.ndim
    steps = [0] * new + [s if n == m else 0 for n, m, s in zip(x.shape, wanted[new:], x.strides, strict=True)]
    return np.lib.stride_tricks.as_strided(x, wanted, steps, writeable=x.flags.writeable)


@expand.under_numpy(form="locked")
def _(x: np.ndarray, sizes: Sequence[int], implicit: bool = False) -> np.ndarray:
    """Read-only."""
    return np.broadcast_to(x, tuple(sizes))


@_view(
    "aten.expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", infer=like_other(lambda ctx, x, y: expanded(ctx, "expand_as", x, y)),
    looked_at=(1,),
)  # fmt: skip
def expand_as(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    return expand(x, other.shape)


@_view("aten.broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)", infer=read.of_first(_expand))
def broadcast_to(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    return expand(x, sizes)


@broadcast_to.under_numpy(form="locked")
def _(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Read-only."""
    return np.broadcast_to(x, tuple(sizes))


def _expand_gradient(g: Backward) -> Gradients:
    return g.sum_to(g.grad, "self")


for _each in (expand, expand_as, broadcast_to):
    _each.vjp()(_expand_gradient)

expand.copied_as("aten.expand_copy(Tensor self, int[] size, *, bool implicit=False) -> Tensor")


def _broadcast_tensors(ctx: Infer, operands: Sequence[Value]) -> List:
    tensors = or_unknown(read.items)(operands[0])
    if tensors is None:
        return List(None, Tensor())
    common = ctx.broadcast([t.shape if isinstance(t, Tensor) else None for t in tensors])
    return List(tuple(Tensor(read.dtype_of(t), common) for t in tensors))


@_view("aten.broadcast_tensors(Tensor[] tensors) -> Tensor[]", infer=_broadcast_tensors, native=False)
def broadcast_tensors(tensors: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Each expanded to their common shape, itself where it has that."""
    sizes = [to.shape for to in broadcast_tensors.checked(tensors).items]
    return [x if x.shape == size else expand(x, size) for x, size in zip(tensors, sizes, strict=True)]


def _like(g: Backward, gradient: ir.Value, tensor: ir.Value) -> ir.Value:
    if g.same_shape(gradient, tensor):
        return gradient
    return g.call("aten._grad_sum_to_size", gradient, g.size(tensor))


def _listed(g: Backward) -> Sequence[ir.Value | None]:
    """The gradients of the tensors of a list. Raises NoGradient when it is a value itself, as that of a list that grows is."""
    found = g.grads[0]
    if found is None or g.is_value(found):
        raise g.no_gradient("the list of its results is used as a whole: unpack it")
    return found


@broadcast_tensors.vjp()
def _(g: Backward) -> Gradients:
    return ([None if grad is None else _like(g, grad, tensor) for grad, tensor in zip(_listed(g), g.items("tensors"), strict=False)],)


@or_unknown
def _grid(tensors: Sequence[Value], mode: str | None) -> Shape:
    shapes = [read.shape(t) for t in tensors]
    if any(len(s) > 1 for s in shapes):
        raise ShapeError("torch.meshgrid: Expected 0D or 1D tensors in the tensor list")
    if mode is None:
        raise read.Unknown
    out = [read.product(s) for s in shapes]
    return tuple(out[i] for i in _order(len(out), mode))


def _order(count: int, mode: str) -> list[int]:
    """Which tensor lies along each dim."""
    order = list(range(count))
    if mode == "xy":
        order[:2] = order[:2][::-1]
    return order


def _meshgrid(ctx: Infer, operands: Sequence[Value]) -> List:
    tensors = or_unknown(read.items)(operands[0])
    mode = or_unknown(read.text)(operands[1]) if len(operands) > 1 else "ij"
    if mode not in (None, "ij", "xy"):
        raise ShapeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {mode}')
    if tensors is None:
        return List(None, Tensor())
    if not tensors:
        raise ShapeError("meshgrid expects a non-empty TensorList")
    known = {d for d in map(read.dtype_of, tensors) if d is not None}
    if len(known) > 1:
        raise TypeError("meshgrid expects all tensors to have the same dtype")
    grid = _grid(tensors, mode)
    return List(tuple(Tensor(read.dtype_of(t), grid) for t in tensors))


@_view(
    "aten.meshgrid(Tensor[] tensors) -> Tensor[]", "aten.meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
    infer=_meshgrid, native=False,
)  # fmt: skip
def meshgrid(tensors: Sequence[np.ndarray], indexing: str = "ij") -> list[np.ndarray]:
    """Vectors and scalars of one dtype expanded along a dim each; "xy" exchanges the first two dims."""
    found = meshgrid.checked(tensors, indexing).items
    order = _order(len(tensors), indexing)
    along = [[-1 if i == j else 1 for j in order] for i in range(len(tensors))]
    return [expand(x.reshape(dims, copy=False), to.shape) for x, dims, to in zip(tensors, along, found, strict=True)]


@meshgrid.vjp()
def _(g: Backward) -> Gradients:
    """Each tensor lies along one dim, and is repeated along the others."""
    tensors = g.items(0)
    along = _order(len(tensors), g.text("indexing") if len(g.operands) > 1 else "ij")
    found: list[ir.Value | None] = []
    for i, grad in enumerate(_listed(g)):
        others = [d for d in range(len(tensors)) if d != along[i]]
        if grad is not None and others:
            grad = g.call("aten.sum.dim_IntList", grad, others, False, None)
        found.append(None if grad is None else g.call("aten.reshape", grad, g.size(tensors[i])))
    return (found,)
