"""Elements taken along a dim, and where they stood: the gradient goes back there. Which one of several equal ones is the op's choice."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradient, Gradients, Rules
from tierup.dialect.gradients.shapes import keepdims
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.max.dim(self, dim, keepdim)", "aten.min.dim(self, dim, keepdim)", captures=("result1",))
def with_index(g: Backward) -> Gradients:
    return _at_indices(g, 1, bool(g.constant(2)))


@RULES.vjp("aten.sort(self, dim, descending)", captures=("result1",))
def sort(g: Backward) -> Gradients:
    return _at_indices(g, 1, True)


@RULES.vjp("aten.topk(self, k, dim, largest, sorted)", captures=("result1",))
def topk(g: Backward) -> Gradients:
    return _at_indices(g, 2, True)


def _at_indices(g: Backward, dim: int, kept: bool) -> Gradient:
    """The gradient of values taken along the dim that operand `dim` says, from where result 1 says. `kept`: that dim is in the results."""
    grad = g.grads[0]
    if not isinstance(grad, ir.Value):
        return None
    d = int(g.constant(dim))
    zeros = g.cast_like(g.zeros(0), grad)  # the operand may be of ints or bools on the path taken
    return g.cast_to(g.call("aten.scatter.src", zeros, d, keepdims(g, g.results[1], [d], kept), keepdims(g, grad, [d], kept)), 0)
