"""Choosing between values: where, maximum and its kin, bounds, masks. At ties and on bounds as in PyTorch (docs/gradients.md)."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.mlir import ir

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


@RULES.vjp("aten.fmax(self, other)", captures=("self", "other"))
def fmax(g: Backward) -> Gradients:
    return _first_unless(g, "ge")


@RULES.vjp("aten.fmin(self, other)", captures=("self", "other"))
def fmin(g: Backward) -> Gradients:
    return _first_unless(g, "le")


def _first_unless(g: Backward, wins: str) -> Gradients:
    """A tie is the first one's, and so is a pair of which the second is NaN."""
    x, y = g.operands[:2]
    first = g.call("aten.logical_or", g.compare(wins, x, y), g.call("aten.isnan", y))
    return g.sum_to(g.where(first, g.grad, 0.0), 0), g.sum_to(g.where(first, 0.0, g.grad), 1)


# --- bounds: a value on its bound has the gradient; a NaN has none ------------------------------------------------------


@RULES.vjp("aten.clamp(self, min, max)", captures=("self", "min", "max"))
def clamp(g: Backward) -> Gradients:
    bounds = [(relation, g.number(i)) for i, relation in ((1, "ge"), (2, "le")) if not g.is_none(i)]
    inside = [g.compare(relation, g.operands[0], bound) for relation, bound in bounds]
    return g.where(_all(g, inside), g.grad, 0.0) if inside else g.grad  # NumPy takes no bounds at all, too


@RULES.vjp("aten.clamp_min(self, min)", captures=("self", "min"))
def clamp_min(g: Backward) -> Gradients:
    return g.where(g.compare("ge", g.operands[0], g.number(1)), g.grad, 0.0)


@RULES.vjp("aten.clamp_max(self, max)", captures=("self", "max"))
def clamp_max(g: Backward) -> Gradients:
    return g.where(g.compare("le", g.operands[0], g.number(1)), g.grad, 0.0)


@RULES.vjp("aten.clamp.Tensor(self, min, max)", captures=("self", "min", "max"))
def clamp_tensor(g: Backward) -> Gradients:
    """The upper bound wins where it is below the lower one."""
    if g.is_none(1) and g.is_none(2):
        return g.grad
    if g.is_none(1):
        return _bounded(g, "le", "gt", 2)
    if g.is_none(2):
        return _bounded(g, "ge", "lt", 1)
    x, low, high = g.operands[:3]
    inside = _all(g, [g.compare("ge", x, low), g.compare("le", x, high)])
    at_low = _all(g, [g.compare("lt", low, high), g.compare("lt", x, low)])
    at_high = g.call("aten.logical_or", g.compare("gt", x, high), g.compare("lt", high, low))
    return tuple(g.sum_to(g.where(where, g.grad, 0.0), i) for i, where in enumerate((inside, at_low, at_high)))


@RULES.vjp("aten.clamp_min.Tensor(self, min)", captures=("self", "min"))
def clamp_min_tensor(g: Backward) -> Gradients:
    return _bounded(g, "ge", "lt", 1)


@RULES.vjp("aten.clamp_max.Tensor(self, max)", captures=("self", "max"))
def clamp_max_tensor(g: Backward) -> Gradients:
    return _bounded(g, "le", "gt", 1)


def _bounded(g: Backward, within: str, beyond: str, bound: int) -> Gradients:
    """With one bound, operand `bound`; a tie is the value's."""
    x, limit = g.operands[0], g.operands[bound]
    of_bound = g.sum_to(g.where(g.compare(beyond, x, limit), g.grad, 0.0), bound)
    return (g.sum_to(g.where(g.compare(within, x, limit), g.grad, 0.0), 0), *[None] * (bound - 1), of_bound)


def _all(g: Backward, conditions: list[ir.Value]) -> ir.Value:
    found = conditions[0]
    for condition in conditions[1:]:
        found = g.call("aten.logical_and", found, condition)
    return found


# --- values put in place of others -------------------------------------------------------------------------------------


@RULES.vjp("aten.masked_fill.Scalar(self, mask, value)", captures=("mask",))
def masked_fill_number(g: Backward) -> Gradients:
    return g.sum_to(g.where(g.operands[1], 0.0, g.grad), 0)


@RULES.vjp("aten.masked_fill.Tensor(self, mask, value)", captures=("mask",))
def masked_fill(g: Backward) -> Gradients:
    mask = g.operands[1]
    return g.sum_to(g.where(mask, 0.0, g.grad), 0), None, g.sum_to(g.where(mask, g.grad, 0.0), 2)


@RULES.vjp("aten.fill.Tensor(self, value)")
def fill(g: Backward) -> Gradients:
    return None, g.sum_to(g.grad, 1)


@RULES.vjp("aten.nan_to_num(self, nan, posinf, neginf)", captures=("self",))
def nan_to_num(g: Backward) -> Gradients:
    return g.where(g.call("aten.isfinite", g.operands[0]), g.grad, 0.0)
