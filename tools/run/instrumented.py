"""Runs of a program that is instrumented: what each profile op of it saw, for the pipelines that go on from records.

    tierup-opt model.mlir --tierup-pipeline=profiling-insensitive --tierup-pipeline=instrument -o instrumented.mlir
    tierup-run instrumented.mlir --arg 'f32[4,8]' --instrument --emit=profiled > recorded.mlir
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tierup.dialect.facts import profiled
from tierup.dialect.ir.walking import callee_name, function_names, walk
from tierup.dialect.language.text import text_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes import registry
from tierup.dialect.passes.registry import PassFailure
from tierup.frontend.errors import ProgramError
from tierup.frontend.graph import GraphResult
from tierup.runtime.arguments.trees import unflatten
from tierup.runtime.compiling.regions import recorder_of, with_facts
from tierup.runtime.interpreter.tier0 import COUNT_RUN
from tierup.runtime.interpreter.translate import translate

_PROFILE = "tierup.profile"


def is_instrumented(graph: GraphResult) -> bool:
    """Whether the program has profile ops."""
    return any(op.name == _PROFILE for op in walk(graph.module.operation))


def _called(by_name: Mapping[str, ir.Operation], entry: str) -> set[str]:
    """The functions that the entry calls, and those that they call."""
    found: set[str] = set()
    pending = [entry]
    while pending:
        calls = (op for op in walk(by_name[pending.pop()]) if op.name == "func.call")
        new = {callee_name(op) for op in calls} - found
        found |= new
        pending += new
    return found


class Instrumented:
    """A program that records. One without profile ops gets one at every use of a tensor, by the pipeline `instrument`.

    Raises ProgramError for profile ops in what the entry calls, whose slots are numbered anew, and for what the passes refuse.
    """

    def __init__(self, graph: GraphResult) -> None:
        if not is_instrumented(graph):
            try:
                for name in ("profiling-insensitive", "instrument"):
                    registry.pipeline(name).run(graph.module)
            except PassFailure as e:
                raise ProgramError(f"the program cannot be instrumented: {e}") from e
        by_name = function_names(graph.module)
        for name in _called(by_name, graph.entry):
            if any(op.name == _PROFILE for op in walk(by_name[name])):
                raise ProgramError(f"@{name}, which @{graph.entry} calls, is instrumented, too: inline calls before (tierup-inline)")
        self._graph = graph
        self._tier0 = translate(graph.module, graph.entry, record=True)
        self._facts: dict[int, profiled.Fact | None] = {}
        self._record = recorder_of(self._facts)
        self._runs = 0

    def __call__(self, *arguments: object) -> Any:
        """Run the program once and record; its results, in the form that it returns them in."""
        given = self._tier0.call(*arguments, record=self._recorded)
        flat = given if isinstance(given, tuple) else () if given is None else (given,)
        return unflatten(self._graph.output, flat)

    def _recorded(self, slot: int, value: object) -> object:
        self._runs += slot == COUNT_RUN
        return self._record(slot, value)

    def text(self) -> str:
        """The program with what was recorded."""
        text = text_of(self._graph.module)
        return with_facts(text, self._graph.entry, self._facts, self._runs)
