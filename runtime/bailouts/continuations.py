"""Where a run goes on when an assumption fails: the executors of a guarded program's continuations, each made when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tierup.dialect.base import forking
from tierup.dialect.facts import profiled
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account.history import History
from tierup.runtime.bailouts.site_log import SiteLog
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.options import Options
from tierup.runtime.base.protocols import MakeExecutor, ProgramExecutor
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling import steps
from tierup.runtime.compiling.scheduling.backoff import Postponing
from tierup.runtime.faults import faults
from tierup.runtime.programs.program import Program

if TYPE_CHECKING:
    from tierup.runtime.compiling.bailouts import Guarded


def deeper(options: Options) -> Options:
    """The options of a function as its continuations see them: `bailout_depth` is one less, and a program may be run in tier 0."""
    return replace(options, bailout_depth=max(options.bailout_depth - 1, 0), strict=False)


class Tally:
    """How many versions the continuations of a program had compiled."""

    compiles = 0


class Continuations:
    """The rest of a guarded program from each of its bailouts. Thread-safe."""

    def __init__(self, code: Guarded, name: str, log: SiteLog, history: History, make: MakeExecutor) -> None:
        self.code = code
        self.name, self._log, self._history, self._make = name, log, history, make
        self._postponed = Postponing(history)
        self._lock = forking.lock()
        self._here = threading.local()
        self._executors: dict[int, ProgramExecutor] = {}
        self.lost: dict[int, int] = {}  # how often each assumption failed
        self.tally = Tally()
        self._summed_up_at = -1
        self.is_due = False  # whether some assumption failed too often

    def go_on(self, index: int, live: tuple[Any, ...]) -> tuple[Any, ...]:
        """What the program gives, as values, when the assumption of this index fails. `live`: the bailout's operands. Raises what the rest
        of the program raises; no argument of the call has been written."""
        self.was_left = True
        assumption, actual = self.code.assumptions[index], profiled.observe(live[0])
        due = not faults.loses_on_purpose() and self._log.lost(assumption.slots, actual)
        with self._lock:
            self.lost[index] = self.lost.get(index, 0) + 1
            self.is_due |= due
        executor = self._executors.get(index) or self._executor(index)
        self._history.emit(
            EventKind.BAILOUT,
            Reason.ASSUMPTION_FAILED,
            guard=assumption.what,
            expected=str(assumption.fact),
            actual=str(actual),
            line=assumption.place,
            action="went on " + ("natively" if executor.versions else "in tier 0") + (", and the assumption is dropped" if due else ""),
        )
        try:
            return executor.call(live)
        finally:
            if self._summed_up_at != History.compiles:
                self._summed_up_at = History.compiles
                self.tally.compiles = sum(each.stats().compiles for each in self.executors.values())

    @property
    def was_left(self) -> bool:
        """Whether the last call in this thread left at a bailout; to be set to False before a call."""
        return getattr(self._here, "left", False)

    @was_left.setter
    def was_left(self, value: bool) -> None:
        self._here.left = value

    def _executor(self, index: int) -> ProgramExecutor:
        assumption = self.code.assumptions[index]
        what, action = "what goes on where an assumption fails", "the program runs again in tier 0"
        found = self._postponed.made(what, assumption.what, action, lambda: steps.bailouts.continuation(self.code, index))
        if isinstance(found, NotCompiled):
            raise found
        place = assumption.place
        made = self._make(Program(f"{self.name}, from {place or f'bailout {index}'}", *found, place))
        with self._lock:
            return self._executors.setdefault(index, made)

    def by_index(self) -> dict[int, Callable[..., Any]]:
        """What a guarded program's source calls where the assumption of an index fails."""

        def of(index: int) -> Callable[..., Any]:
            def go_on(*live: Any) -> Any:
                results = self.go_on(index, live)
                return results[0] if len(results) == 1 else results

            return go_on

        return {index: of(index) for index in range(len(self.code.assumptions))}

    @property
    def executors(self) -> dict[int, ProgramExecutor]:
        """The continuations that there are, by the indices of their bailouts."""
        return dict(self._executors)


