"""What happened to one program: counts, its last events, and why some of its speculations have no code."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tierup.dialect.base import forking
from tierup.dialect.base.records import dataclass
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account import times
from tierup.runtime.base import events
from tierup.runtime.base.errors import NotOptimized, RunsLong
from tierup.runtime.base.events import Event, EventKind
from tierup.runtime.base.once import Owner
from tierup.runtime.base.options import Options
from tierup.runtime.code.plans import NotCompiled

_EVENTS_KEPT = 64
_LONG = 0.1  # seconds of a call before it runs, which are told
# counted by reason, since the ring forgets
_OF_CALLS = (EventKind.MISS, EventKind.FALLBACK, EventKind.BAILOUT, EventKind.ERROR_EXIT, EventKind.HANDED_OVER)
# the others happen before their call is answered
_AFTER_COUNTING = (EventKind.PROFILED, EventKind.MISS, EventKind.ERROR_EXIT, EventKind.BAILOUT, EventKind.HANDED_OVER)
COUNTERS = ("misses", "profiled_runs", "interpreted", "compiles", "bailouts", "raised")


@dataclass(frozen=True, eq=False)
class EventTemplate:
    """An event but for when it was. `details`: fields of `Event`."""

    kind: EventKind
    function: str
    reason: Reason | None
    details: Mapping[str, Any]
    why: Reason | None = None  # of a miss: why no version was made for the call

    def at(self, call: int, when: float, caller: str, times: int, named: Callable[[str], str]) -> Event:
        """The event as of a call: its number, the time, the line that made it, and how often the event came in a row. `named`: what ops are
        called in its texts."""
        said: dict[str, Any] = {name: named(text) if name in ("guard", "action") else text for name, text in self.details.items()}
        return Event(self.kind, self.function, call, self.reason, time=when, times=times, caller=caller, **said)


class Named(Protocol):
    """A program, as events name it."""

    @property
    def name(self) -> str:
        """The program's name."""

    @property
    def place(self) -> str:
        """Where the user wrote it, as events say it."""


class History:
    """The account that all executors of a program share. Thread-safe. `calls()`: how many calls the program has answered. `owner`: the
    function that the program belongs to, whose calls events are numbered by; `is_inside`: the program runs within one of these calls, which
    is counted by then."""

    compiles = 0  # of all programs, roughly: who sums up those of some programs does so again when it has grown

    def __init__(self, program: Named, calls: Callable[[], int], owner: Owner, *, is_inside: bool = False) -> None:
        self._program, self.calls, self.owner, self._is_inside = program, calls, owner, is_inside
        self._lock = forking.lock()
        self._ring: deque[list[Any]] = deque(maxlen=_EVENTS_KEPT)  # template, call, time, caller, how often in a row
        self.clear()

    def clear(self) -> None:
        """Forget all counts, refusals, reasons and events."""
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.last_reason: Reason | None = None
        self.seconds_in_tier0 = 0.0  # what the last recorded run took
        self.failed_checks: dict[tuple[str, str], tuple[int, float, str]] = {}  # (op, line) -> calls, seconds, what was raised last
        self.raised_by: dict[int, int] = {}  # by the serial of the version whose check failed
        self.turned_away: dict[Reason, int] = {}  # misses by why no version was made for them
        self.refusals: dict[tuple[Reason, str, str], str] = {}  # (reason, detail, line) -> the op; in order, without repeats
        self.reasons: dict[tuple[str, Reason | None], int] = {}  # how often: ("miss", reason), ("interpreted", reason), ...
        self._ring.clear()

    @property
    def events(self) -> list[Event]:
        """The last events. They are made when they are asked for: a miss costs less than its words."""
        return [template.at(*when, self.owner.named) for template, *when in tuple(self._ring)]

    def count(self, counter: str, by: int = 1) -> None:
        """Add one to a counter of COUNTERS; or take one back."""
        with self._lock:
            self.counts[counter] += by
        if counter == "compiles":
            History.compiles += 1

    def _count_reason(self, what: str, reason: Reason | None) -> None:
        self.reasons[what, reason] = self.reasons.get((what, reason), 0) + 1

    def interpreted(self, reason: Reason) -> None:
        """Tier 0 answers a call, for a reason that is no miss."""
        self.last_reason = reason
        with self._lock:
            self.counts["interpreted"] += 1
            self._count_reason("interpreted", reason)

    def profiled(self, action: str, run: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """What a run in tier 0 gives that records. It counts though it raises, and is told when it does not; not one that is left."""
        self.count("profiled_runs")
        start = time.perf_counter()
        try:
            results = run()
        except RunsLong:
            self.count("profiled_runs", -1)
            raise
        self.seconds_in_tier0 = time.perf_counter() - start
        before = times.since_call() - self.seconds_in_tier0
        if before > _LONG:
            action = f"after {before * 1e3:.0f} ms for imports and its graph {action}"
        self.emit(EventKind.PROFILED, Reason.PROFILING, action=action, milliseconds=self.seconds_in_tier0 * 1e3)
        return results

    def refuse_tier0(self, reason: Reason, options: Options) -> None:
        """Raise NotOptimized when the options let no call run in tier 0."""
        if options.is_assertion:
            raise NotOptimized(f"{self._program.name} (at {self._program.place}) runs in tier 0: {reason.sentence}")

    def begins_compiling(self, action: str) -> None:
        """Note a compile that will be long."""
        self.emit(EventKind.COMPILING, None, action=action)

    def gave_up(self, why: NotCompiled, guards: str, action: str) -> None:
        """Note a speculation without code."""
        with self._lock:
            self.refusals[why.reason, why.detail, why.line] = why.op.removeprefix("torch.")
        self.emit(EventKind.GAVE_UP, why.reason, guard=guards, line=why.line, action=action)

    def emit(self, kind: EventKind, reason: Reason | None, **details: Any) -> None:
        """Keep an event and tell the listeners. `details`: more fields of `Event`; the line is the program's where none is given."""
        self.tell(self.template(kind, reason, **details))

    def template(self, kind: EventKind, reason: Reason | None, *, why: Reason | None = None, **details: Any) -> EventTemplate:
        """What `tell` can be told, more than once."""
        details.setdefault("line", self._program.place)
        return EventTemplate(kind, self._program.name, reason, details, why)

    def check_failed(self, op: str, line: str, error: BaseException, seconds: float, serial: int) -> None:
        """A check in native code failed, and tier 0, which ran the call again, raised. `op`, `line`: of the check, "" where not known;
        `serial`: of the version that it is in, 0 of a split."""
        message = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        with self._lock:
            count, before, _ = self.failed_checks.get((op, line), (0, 0.0, ""))
            self.failed_checks[op, line] = count + 1, before + seconds, message
            self.counts["raised"] += 1
            self.raised_by[serial] = self.raised_by.get(serial, 0) + 1
        where = {"line": line} if line else {}
        self.emit(EventKind.ERROR_EXIT, Reason.ERROR_SITE, guard=op, action=f"ran again in tier 0, which raised {message}", **where)

    def tell(self, template: EventTemplate, counter: str = "") -> int:
        """It happened now. `counter`: what there is one more of; how many that are now."""
        kind, heard, now = template.kind, events.is_heard(), 0
        with self._lock:
            if counter:
                self.counts[counter] = now = self.counts[counter] + 1
            if kind in _OF_CALLS:
                self._count_reason(kind._value_, template.reason)  # `value` is a property in Python
                if template.why is not None:
                    self.turned_away[template.why] = self.turned_away.get(template.why, 0) + 1
            if not heard and self._ring and self._ring[-1][0] is template:
                self._ring[-1][-1] += 1
                return now
        caller = events.caller() if kind in _AFTER_COUNTING else ""
        is_counted = self._is_inside or kind in _AFTER_COUNTING
        call, when = (self.owner.calls or self.calls)() + (not is_counted), time.time()
        self._ring.append([template, call, when, caller, 1])
        if heard:
            events.emit(template.at(call, when, caller, 1, self.owner.named))
        return now
