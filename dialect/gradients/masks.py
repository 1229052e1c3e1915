"""Values put in place of others where a mask says so."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules

RULES = Rules()


@RULES.vjp("aten.masked_fill.Scalar(self, mask, value)", captures=("mask",))
def masked_fill_number(g: Backward) -> Gradients:
    return g.sum_to(g.where(g.operands[1], 0.0, g.grad), 0)


@RULES.vjp("aten.masked_fill.Tensor(self, mask, value)", captures=("mask",))
def masked_fill(g: Backward) -> Gradients:
    mask = g.operands[1]
    return g.sum_to(g.where(mask, 0.0, g.grad), 0), None, g.sum_to(g.where(mask, g.grad, 0.0), 2)
