"""What differentiation does with each op of the op table: how its gradient is made, or why it has none."""

from __future__ import annotations

from enum import Enum

from tierup.dialect.ops import gradients
from tierup.dialect.ops.gradients import by_torch
from tierup.dialect.optable.core import Op
from tierup.dialect.passes.autodiff.reverse.reverse import CONTAINERS


class Gradient(Enum):
    """How an op's gradient is made."""

    RULE = "by its rule"
    ITEMS = "item by item"  # lists and tuples: reverse.py
    FUNCTIONAL = "that of the op that computes the new value"  # writes are made values first
    PYTORCH = "by PyTorch's autograd, in an op of its own"
    NONE = "none by nature"  # the row says why


def gradient_of(row: Op) -> Gradient | None:
    """How the gradient of an op is made; None when it has none yet, and differentiating it is an error."""
    if row.writes:
        return Gradient.FUNCTIONAL
    if gradients.lookup(row.name) is not None:
        return Gradient.RULE
    if f"torch.{row.name}" in CONTAINERS:
        return Gradient.ITEMS
    if row.differentiable and by_torch.rule_of(row.name) is not None:
        return Gradient.PYTORCH
    return Gradient.NONE if row.why_no_gradient is not None else None
