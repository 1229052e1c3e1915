"""A program as an executor takes it: a pristine graph, and tier 0 made of it. Free of MLIR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tierup.runtime import last_plan
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.last_plan import ExecutedPlan


@dataclass(frozen=True)
class Program:
    """A pristine graph as text, and its tier 0. `names`: the flat arguments'; `place`: where the user wrote it."""

    name: str
    graph: str
    entry: str
    names: tuple[str, ...]
    tier0: Tier0
    place: str = ""

    def executed(self) -> ExecutedPlan:
        """What `last_executed_plan` says after a run in tier 0."""
        return ExecutedPlan(self.name, "tier 0")

    def run(self, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """The flat results of a call in tier 0. Raises what the program raises, with the user's line in the message."""
        result = self.tier0.call(*flat)
        last_plan.note(self)
        return result if isinstance(result, tuple) else () if result is None else (result,)
