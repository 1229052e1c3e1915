"""Elements that move: joined tensors, and tensors of which a part is replaced, as writes become where programs are values."""

from __future__ import annotations

from collections.abc import Callable

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.gradients.emitter import Operand
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.cat(tensors, dim)", captures=("dim",))
def cat(g: Backward) -> Gradients:
    start = g.value(0)
    dim = g.number(1)
    parts = []
    for tensor in g.items(0):
        end = g.call("aten.add.int", start, g.size_of(tensor, dim), type_="!torch.int")
        parts.append(g.cast_like(g.call("aten.slice.Tensor", g.grad, dim, start, end, 1), tensor))
        start = end
    return (parts,)


@RULES.vjp("aten.stack(tensors, dim)", captures=("dim",))
def stack(g: Backward) -> Gradients:
    dim = g.number(1)
    return ([g.cast_like(g.call("aten.select.int", g.grad, dim, i), tensor) for i, tensor in enumerate(g.items(0))],)


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
