"""Choosing between values: where, maximum, minimum, relu. Where two values tie each gets half, as in PyTorch."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules

RULES = Rules()


@RULES.vjp("aten.relu(self)", captures=("result",))
def relu(g: Backward) -> Gradients:
    return g.where(g.compare("gt", g.results[0], 0), g.grad, 0.0)


@RULES.vjp("aten.where.self(condition, self, other)", captures=("condition",))
def where(g: Backward) -> Gradients:
    condition = g.operands[0]
    return None, g.sum_to(g.where(condition, g.grad, 0.0), 1), g.sum_to(g.where(condition, 0.0, g.grad), 2)


@RULES.vjp("aten.where.ScalarOther(condition, self, other)", captures=("condition",))
def where_or_number(g: Backward) -> Gradients:
    return None, g.sum_to(g.where(g.operands[0], g.grad, 0.0), 1)


@RULES.vjp("aten.where.ScalarSelf(condition, self, other)", captures=("condition",))
def where_number_or(g: Backward) -> Gradients:
    return None, None, g.sum_to(g.where(g.operands[0], 0.0, g.grad), 2)


@RULES.vjp("aten.maximum(self, other)", captures=("self", "other"))
def maximum(g: Backward) -> Gradients:
    return _extreme(g, "lt", "gt")


@RULES.vjp("aten.minimum(self, other)", captures=("self", "other"))
def minimum(g: Backward) -> Gradients:
    return _extreme(g, "gt", "lt")


def _extreme(g: Backward, loses: str, wins: str) -> Gradients:
    """NaN compares with nothing: both get the gradient."""
    x, y = g.operands[:2]
    shared = g.where(g.compare("eq", x, y), g.mul(g.grad, 0.5), g.grad)
    return g.sum_to(g.where(g.compare(loses, x, y), 0.0, shared), 0), g.sum_to(g.where(g.compare(wins, x, y), 0.0, shared), 1)
