"""What happened to one program: counts, its last events, and why some of its bets have no code."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tierup.dialect import forking
from tierup.dialect.records import dataclass
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime import events
from tierup.runtime.errors import NotOptimized
from tierup.runtime.events import Event, EventKind
from tierup.runtime.explaining.plans import NotCompiled
from tierup.runtime.once import Once
from tierup.runtime.options import Options
from tierup.runtime.program import Program

_EVENTS_KEPT = 64
_OF_CALLS = (EventKind.MISS, EventKind.FALLBACK, EventKind.BAILOUT, EventKind.ERROR_EXIT)  # counted by reason, since the ring forgets
# the others happen before their call is answered
_AFTER_COUNTING = (EventKind.PROFILED, EventKind.MISS, EventKind.ERROR_EXIT, EventKind.BAILOUT)
COUNTERS = ("misses", "profiled_runs", "interpreted", "compiles", "bailouts")


@dataclass(frozen=True, eq=False)
class Happening:
    """An event but for when it was. `details`: fields of `Event`."""

    kind: EventKind
    function: str
    reason: Reason | None
    details: Mapping[str, Any]

    def at(self, call: int, when: float, caller: str, times: int) -> Event:
        return Event(self.kind, self.function, call, self.reason, time=when, times=times, caller=caller, **self.details)


class History:
    """The account that all executors of a program share. Thread-safe. `calls()`: how many calls the program has answered. `once`: what was
    said of the function that the program belongs to."""

    compiles = 0  # of all programs, roughly: who sums up those of some programs does so again when it has grown

    def __init__(self, program: Program, calls: Callable[[], int], once: Once) -> None:
        self._program, self.calls, self.once = program, calls, once
        self._lock = forking.lock()
        self._ring: deque[list[Any]] = deque(maxlen=_EVENTS_KEPT)  # happening, call, time, caller, how often in a row
        self.clear()

    def clear(self) -> None:
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.last_reason: Reason | None = None
        self.refusals: dict[tuple[Reason, str, str], str] = {}  # (reason, detail, line) -> the op; in order, without repeats
        self.reasons: dict[tuple[str, Reason | None], int] = {}  # how often: ("miss", reason), ("interpreted", reason), ...
        self._ring.clear()

    @property
    def events(self) -> list[Event]:
        """The last events. They are made when they are asked for: a miss costs less than its words."""
        return [happening.at(*when) for happening, *when in tuple(self._ring)]

    def count(self, counter: str) -> None:
        with self._lock:
            self.counts[counter] += 1
        if counter == "compiles":
            History.compiles += 1

    def _count_reason(self, what: str, reason: Reason | None) -> None:
        self.reasons[what, reason] = self.reasons.get((what, reason), 0) + 1

    def interpret(self, flat: tuple[Any, ...], reason: Reason, program: Program | None = None) -> tuple[Any, ...]:
        """Answer a call in tier 0, for a reason that is no miss. `program`: what runs, when it is not the pristine graph."""
        self.last_reason = reason
        with self._lock:
            self.counts["interpreted"] += 1
            self._count_reason("interpreted", reason)
        return (self._program if program is None else program).run(flat)

    def taken_over(
        self, flat: tuple[Any, ...], program: Program, options: Options, count: Callable[[], None] | None = None
    ) -> tuple[Any, ...]:
        """Run a call again that native code left at an error site, having written nothing. An exception is what that was for; a result is
        none of native code's: `count` is told, and an assertion refuses it before anything is written."""
        action, raises = "ran again in tier 0", False
        told = count or (lambda: self.emit(EventKind.ERROR_EXIT, Reason.HANDED_OVER, action=action))
        if options.is_assertion:
            try:
                program.run(tuple(value.copy() if isinstance(value, np.ndarray) else value for value in flat))
            except Exception:
                raises = True  # the run below raises it, with what it writes before
            if not raises:
                told()
                self.refuse_tier0(Reason.HANDED_OVER, options)
        try:
            results = program.run(flat)
        except BaseException:
            self.emit(EventKind.ERROR_EXIT, Reason.ERROR_SITE, action=action)
            raise
        told()
        return results

    def refuse_tier0(self, reason: Reason, options: Options) -> None:
        """Raise NotOptimized when the options let no call run in tier 0."""
        if options.is_assertion:
            raise NotOptimized(f"{self._program.name} (at {self._program.place}) runs in tier 0: {reason.sentence}")

    def gave_up(self, why: NotCompiled, guards: str, action: str) -> None:
        """Note a bet without code."""
        with self._lock:
            self.refusals[why.reason, why.detail, why.line] = why.op.removeprefix("torch.")
        self.emit(EventKind.GAVE_UP, why.reason, guard=guards, line=why.line, action=action)

    def emit(self, kind: EventKind, reason: Reason | None, **details: Any) -> None:
        """Keep an event and tell the listeners. `details`: more fields of `Event`; the line is the program's where none is given."""
        self.tell(self.happening(kind, reason, **details))

    def happening(self, kind: EventKind, reason: Reason | None, **details: Any) -> Happening:
        """What `tell` can be told, more than once."""
        details.setdefault("line", self._program.place)
        return Happening(kind, self._program.name, reason, details)

    def tell(self, happening: Happening, counter: str = "") -> int:
        """It happened now. `counter`: what there is one more of; how many that are now."""
        kind, heard, now = happening.kind, events.is_heard(), 0
        with self._lock:
            if counter:
                self.counts[counter] = now = self.counts[counter] + 1
            if kind in _OF_CALLS:
                self._count_reason(kind._value_, happening.reason)  # `value` is a property in Python
            if not heard and self._ring and self._ring[-1][0] is happening:
                self._ring[-1][-1] += 1
                return now
        caller = events.caller() if kind in _AFTER_COUNTING else ""
        call, when = self.calls() + (kind not in _AFTER_COUNTING), time.time()
        self._ring.append([happening, call, when, caller, 1])
        if heard:
            events.emit(happening.at(call, when, caller, 1))
        return now
