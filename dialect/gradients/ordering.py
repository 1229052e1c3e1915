"""Elements taken along a dim, and where they stood: the gradient goes back there. Which one of several equal ones is the op's choice."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.optable.extremes import at_indices

RULES = Rules()


@RULES.vjp("aten.sort(self, dim, descending)", captures=("result1",))
def sort(g: Backward) -> Gradients:
    return at_indices(g, True)


@RULES.vjp("aten.topk(self, k, dim, largest, sorted)", captures=("result1",))
def topk(g: Backward) -> Gradients:
    return at_indices(g, True)
