"""Elements that move: joined tensors, and tensors of which a part is replaced, as writes become where programs are values."""

from __future__ import annotations

from collections.abc import Callable

from tierup.dialect.autodiff.list_gradients import TYPE, built, item
from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.gradients.emitter import Operand
from tierup.dialect.ir.values import List, Tensor
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.cat(tensors, dim)", captures=("dim",))
def cat(g: Backward) -> Gradients:
    dim = g.number(1)
    if not g.has_items(0):
        sizes = built(g, _count(g), "!torch.list<int>", lambda i: g.size_of(item(g, g.like(0), i), dim))
        return _as_list(g, g.call("aten.split_with_sizes", g.grad, sizes, dim, type_=TYPE))
    start = g.value(0)
    parts = []
    for tensor in g.items(0):
        if g.tensor(tensor).rank == 1 and g.tensor(g.grad).rank not in (None, 1):
            parts.append(g.zeros_like(tensor))  # a vector of size 0, which fits anything
            continue
        end = g.call("aten.add.int", start, g.size_of(tensor, dim), type_="!torch.int")
        parts.append(g.cast_like(g.call("aten.slice.Tensor", g.grad, dim, start, end, 1), tensor))
        start = end
    return (parts,)


@RULES.vjp("aten.stack(tensors, dim)", captures=("dim",))
def stack(g: Backward) -> Gradients:
    dim = g.number(1)
    if not g.has_items(0):
        return _as_list(g, g.call("aten.unbind.int", g.grad, dim, type_=TYPE))
    return ([g.cast_like(g.call("aten.select.int", g.grad, dim, i), tensor) for i, tensor in enumerate(g.items(0))],)


def _as_list(g: Backward, gradients: ir.Value) -> Gradients:
    """The gradients of a list whose length the run knows, each in the dtype of its tensor."""
    known = g.known(g.like(0))
    dtype = known.element.dtype if isinstance(known, List) and isinstance(known.element, Tensor) else None
    if dtype is not None and g.tensor(g.grad).dtype is dtype:
        return gradients
    return built(g, _count(g), TYPE, lambda i: g.cast_like(item(g, gradients, i), item(g, g.like(0), i)))


def _count(g: Backward) -> ir.Value:
    return g.call("aten.len.t", g.like(0), type_="!torch.int")


@RULES.vjp("aten.hstack(tensors)")
def hstack(g: Backward) -> Gradients:
    """Vectors are joined along their dim, numbers as vectors, others along dim 1."""
    rank = g.tensor(g.grad).rank
    dim: int | ir.Value
    if rank is not None:
        dim = min(rank, 2) - 1
    else:
        most = g.call("prim.min.int", g.call("aten.dim", g.grad, type_="!torch.int"), 2, type_="!torch.int")
        dim = g.call("aten.sub.int", most, 1, type_="!torch.int")
    return _joined(g, dim, lambda tensor: g.size_of(g.call("aten.atleast_1d", tensor), dim))


@RULES.vjp("aten.column_stack(tensors)")
def column_stack(g: Backward) -> Gradients:
    """Vectors and numbers are columns."""

    def width(tensor: ir.Value) -> Operand:
        rank = g.tensor(tensor).rank
        if rank is None:
            return g.size_of(g.alike("aten.column_stack", [tensor]), 1)
        return g.size_of(tensor, 1) if rank > 1 else 1

    return _joined(g, 1, width)


def _joined(g: Backward, dim: Operand, width: Callable[[ir.Value], Operand]) -> Gradients:
    """Parts of the gradient in the tensors' own shapes."""
    start, parts = g.value(0), []
    for tensor in g.items(0):
        end = g.call("aten.add.int", start, width(tensor), type_="!torch.int")
        part = g.call("aten.slice.Tensor", g.grad, dim, start, end, 1)
        parts.append(g.cast_like(g.call("aten.reshape", part, g.size(tensor)), tensor))
        start = end
    return (parts,)


@RULES.vjp("aten.slice_scatter(self, src, dim, start, end, step)", captures=("dim", "start", "end", "step"))
def slice_scatter(g: Backward) -> Gradients:
    where = g.operands[2:6]
    return g.call("aten.slice_scatter", g.grad, g.zeros(1), *where), g.cast_to(g.call("aten.slice.Tensor", g.grad, *where), 1)


@RULES.vjp("aten.select_scatter(self, src, dim, index)", captures=("dim", "index"))
def select_scatter(g: Backward) -> Gradients:
    where = g.operands[2:4]
    return g.call("aten.select_scatter", g.grad, g.zeros(1), *where), g.cast_to(g.call("aten.select.int", g.grad, *where), 1)


@RULES.vjp("aten.diagonal_scatter(self, src, offset, dim1, dim2)", captures=("offset", "dim1", "dim2"))
def diagonal_scatter(g: Backward) -> Gradients:
    where = [g.number(name) for name in ("offset", "dim1", "dim2")]
    kept = g.call("aten.diagonal_scatter", g.grad, g.zeros("src"), *where)
    return kept, g.cast_to(g.call("aten.diagonal_copy", g.grad, *where), "src")
