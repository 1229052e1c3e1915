"""Largest and smallest elements: those that tie share the gradient evenly, NaN included, as in PyTorch (FunctionsManual.cpp:
scale_grad_by_count, evenly_distribute_backward)."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.gradients.reduced import dims_of
from tierup.dialect.gradients.shapes import keepdims
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.amax(self, dim, keepdim)", "aten.amin(self, dim, keepdim)", captures=("self", "result"))
def over_dims(g: Backward) -> Gradients:
    return _shared(g, g.grad, g.results[0], 2)


@RULES.vjp("aten.aminmax(self, dim, keepdim)", captures=("self", "result0", "result1"))
def both(g: Backward) -> Gradients:
    parts = [_shared(g, grad, g.results[k], 2) for k, grad in enumerate(g.grads) if isinstance(grad, ir.Value)]
    return parts[0] if len(parts) == 1 else g.add(*parts)


@RULES.vjp("aten.max(self)", "aten.min(self)", captures=("self", "result"))
def of_all(g: Backward) -> Gradients:
    """NaNs, where there are some, share the gradient."""
    x = g.operands[0]
    mask = g.call("aten.logical_or", g.compare("eq", x, g.results[0]), g.compare("ne", x, x))
    return g.mul(mask, g.div(g.grad, g.call("aten.sum", mask, None)))


def _shared(g: Backward, gradient: ir.Value, value: ir.Value, keepdim: int) -> ir.Value:
    """The gradient of an extreme, in even parts to the elements that are equal to it; NaN where it is, as PyTorch has it."""
    dims, kept = dims_of(g, 1), bool(g.constant(keepdim))
    mask = g.compare("eq", g.operands[0], keepdims(g, value, dims, kept))
    tied = g.call("aten.sum.dim_IntList", mask, dims, True, None)
    return g.mul(mask, g.div(keepdims(g, gradient, dims, kept), tied))
