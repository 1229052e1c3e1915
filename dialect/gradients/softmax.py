"""Softmax and its logarithm, from the result alone: dx = y (g - sum(g y)), and g - exp(y) sum(g)."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.softmax.int(self, dim, dtype)", "aten._softmax(self, dim, half_to_float)", "aten._safe_softmax(self, dim, dtype)",
           captures=("result",))  # fmt: skip
def softmax(g: Backward) -> Gradients:
    y = g.results[0]
    return g.cast_to(g.mul(y, g.sub(g.grad, _along(g, g.mul(g.grad, y)))), 0)


@RULES.vjp("aten.log_softmax.int(self, dim, dtype)", "aten._log_softmax(self, dim, half_to_float)", captures=("result",))
def log_softmax(g: Backward) -> Gradients:
    return g.cast_to(g.sub(g.grad, g.mul(g.call("aten.exp", g.results[0]), _along(g, g.grad))), 0)


def _along(g: Backward, x: ir.Value) -> ir.Value:
    """Sums along the op's dim, of which 1 is left."""
    return g.call("aten.sum.dim_IntList", x, [int(g.constant(1))], True, None)
