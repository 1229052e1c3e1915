"""Sums and means: each element of the operand gets the gradient of what it went into."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.gradients.shapes import keepdims
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.sum(self, dtype)")
def sum_all(g: Backward) -> Gradients:
    return _spread(g, g.grad)


@RULES.vjp("aten.sum.dim_IntList(self, dim, keepdim, dtype)")
def sum_dims(g: Backward) -> Gradients:
    return _spread(g, keepdims(g, g.grad, g.ints(1), bool(g.constant(2))))


@RULES.vjp("aten.mean(self, dtype)")
def mean_all(g: Backward) -> Gradients:
    return _spread(g, g.div(g.grad, g.call("aten.numel", g.like(0), type_="!torch.int")))


@RULES.vjp("aten.mean.dim(self, dim, keepdim, dtype)")
def mean_dims(g: Backward) -> Gradients:
    dims = g.ints(1)
    if not dims or g.rank(0) == 0:
        count = g.call("aten.numel", g.like(0), type_="!torch.int")
    else:
        count = g.size_of(g.like(0), dims[0])
        for d in dims[1:]:
            count = g.call("aten.mul.int", count, g.size_of(g.like(0), d), type_="!torch.int")
    return _spread(g, keepdims(g, g.div(g.grad, count), dims, bool(g.constant(2))))


@RULES.vjp("aten._grad_sum_to_size(self, size)")
def sum_to_size(g: Backward) -> Gradients:
    return _spread(g, g.grad)


def _spread(g: Backward, gradient: ir.Value) -> ir.Value:
    return g.cast_to(g.expand(gradient, g.operand_size(0)), 0)
