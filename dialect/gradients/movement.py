"""Elements that move: joined tensors, and tensors of which a part is replaced, as writes become where programs are values."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules

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


@RULES.vjp("aten.slice_scatter(self, src, dim, start, end, step)", captures=("dim", "start", "end", "step"))
def slice_scatter(g: Backward) -> Gradients:
    where = g.operands[2:6]
    return g.call("aten.slice_scatter", g.grad, g.zeros(1), *where), g.cast_to(g.call("aten.slice.Tensor", g.grad, *where), 1)


@RULES.vjp("aten.select_scatter(self, src, dim, index)", captures=("dim", "index"))
def select_scatter(g: Backward) -> Gradients:
    where = g.operands[2:4]
    return g.call("aten.select_scatter", g.grad, g.zeros(1), *where), g.cast_to(g.call("aten.select.int", g.grad, *where), 1)
