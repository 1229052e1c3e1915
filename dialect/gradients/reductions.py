"""Sums and means: each element of the operand gets the gradient of what it went into."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.gradients.reduced import count, dims_of
from tierup.dialect.gradients.shapes import keepdims
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.sum(self, dtype)")
def sum_all(g: Backward) -> Gradients:
    return _spread(g, g.grad)


@RULES.vjp("aten.sum.dim_IntList(self, dim, keepdim, dtype)")
def sum_dims(g: Backward) -> Gradients:
    return _spread(g, keepdims(g, g.grad, dims_of(g, 1), bool(g.constant(2))))


@RULES.vjp("aten.mean(self, dtype)")
def mean_all(g: Backward) -> Gradients:
    return _spread(g, g.div(g.grad, count(g, None)))


@RULES.vjp("aten.mean.dim(self, dim, keepdim, dtype)")
def mean_dims(g: Backward) -> Gradients:
    dims = dims_of(g, 1)
    return _spread(g, keepdims(g, g.div(g.grad, count(g, dims)), dims, bool(g.constant(2))))


@RULES.vjp("aten._grad_sum_to_size(self, size)")
def sum_to_size(g: Backward) -> Gradients:
    gradient, rank = g.grad, g.rank(0)
    for _ in range(max((g.tensor(gradient).rank or 0) - rank, 0) if rank is not None else 0):
        gradient = g.call("aten.squeeze.dim", gradient, 0)
    return _spread(g, gradient)


@RULES.vjp("aten.trace(self)")
def trace(g: Backward) -> Gradients:
    rows, columns = (g.size_of(g.like(0), d) for d in (0, 1))
    return g.cast_to(g.mul(g.call("aten.eye.m", rows, columns, g.dtype(g.grad), None, None, None), g.grad), 0)


def _spread(g: Backward, gradient: ir.Value) -> ir.Value:
    return g.cast_to(g.expand(gradient, g.operand_size(0)), 0)
