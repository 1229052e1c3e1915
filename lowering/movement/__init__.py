"""Views and movement of elements as loops, slices and reshapes: what `tierup-lower-movement` puts in place of torch ops."""

from __future__ import annotations

from functools import cache

from tierup.lowering.call import Lowering
from tierup.lowering.movement import joining, patterns, views


@cache
def lowerings() -> dict[str, Lowering]:
    """All lowerings by op name."""
    return {name: f for family in (views, joining, patterns) for name, f in family.LOWERINGS.items()}
