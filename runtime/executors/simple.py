"""The simple executor's plan: the program after the passes that need no record, in tier 0. What runs when no version may be made.

The ancestor's executor at bailout depth 0 does the same: it never profiles, and what it runs is one graph for all calls.
"""

from __future__ import annotations

from tierup.dialect.base import forking
from tierup.runtime.account.history import History
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling import steps
from tierup.runtime.compiling.scheduling.backoff import Postponing
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.programs.program import Program


class SimplePlan:
    """Made when it is first asked for. Thread-safe."""

    def __init__(self, program: Program, history: History) -> None:
        self._program, self._history = program, history
        self._lock = forking.lock()
        self._made: Program | None = None
        self._postponed = Postponing(history)

    @property
    def made(self) -> Program | None:
        """The program that runs, None before the first call."""
        return self._made

    def program(self) -> Program:
        """The optimised program; the pristine one where the passes refuse it, or its graph was released."""
        if self._made is None and not self._postponed.waits:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made or self._program

    def _make(self) -> Program | None:
        program, what = self._program, "the simple plan"

        def make() -> tuple[str, Tier0]:
            return steps.specialized.insensitive(program.graph, program.entry)

        found = self._postponed.made(what, what, "the pristine graph runs", make)
        if isinstance(found, NotCompiled):
            return None if self._postponed.is_open else program
        text, tier0 = found
        return Program(program.name, text, program.entry, program.names, tier0, program.place)
