"""One public stream of what happened: profiled, compiled, missed, generalised, ...

    with tierup.events.subscribe(print): f(x)

Hits are not events: they cost nothing and are counted (`stats()`). Every function also keeps its last events for `explain()`.

`TIERUP_LOG=compiles,misses,bailouts,profiles` (or `all`) in the environment prints the events of these kinds to stderr as they happen, and
`perf` what each call took (`runtime/account/calls.py`).
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from enum import Enum
from types import FrameType

from tierup.dialect.base import forking
from tierup.dialect.base.records import dataclass
from tierup.dialect.base.spelling import printable
from tierup.dialect.speculation.reasons import Reason


class EventKind(Enum):
    """What happened, in the words of events and stats()."""

    PROFILED = "profiled"
    COMPILING = "compiling"
    COMPILED = "compiled"
    MISS = "miss"
    FALLBACK = "fallback"
    BAILOUT = "bailout"
    ERROR_EXIT = "error exit"
    HANDED_OVER = "handed over"
    GENERALISED = "generalised"
    EVICTED = "evicted"
    GAVE_UP = "gave up"
    POSTPONED = "postponed"
    SPLIT = "split"
    RELEASED = "released"
    DIFFERENTIATED = "differentiated"
    CUT = "cut"
    PLAIN_PYTHON = "plain Python"
    CACHE_REFUSED = "not used of the cache on disk"
    __hash__ = object.__hash__  # Enum's is a line of Python


@dataclass(frozen=True)
class Event:
    """What happened to which function, and why.

    `guard`, `expected`, `actual`: the guard that did not hold. `action`: what tierup did about it. `line`: the user's line.
    `caller`: the line of the call, where it is known. `milliseconds`: how long the action took. `times`: of misses that are alike and
    follow one another a function keeps the first, and how many they are; who listens is told of each. What is no function's has "" for it.
    """

    kind: EventKind
    function: str
    call: int
    reason: Reason | None = None
    guard: str = ""
    expected: str = ""
    actual: str = ""
    line: str = ""
    action: str = ""
    milliseconds: float = 0.0
    time: float = field(default_factory=time.time)
    times: int = 1
    caller: str = ""

    def __str__(self) -> str:
        parts = [f"call {self.call}: {self.function}: {self.kind.value}" if self.function else self.kind.value]
        if self.guard:
            parts.append(f"{self.guard} expected {self.expected}, got {self.actual}" if self.expected else self.guard)
        if self.reason:
            parts.append(self.reason.sentence)
        if self.line:
            parts.append(f"at {self.line}")
        if self.caller:
            parts.append(f"called at {self.caller}")
        if self.action:
            parts.append(f"-> {self.action}" + (f" in {self.milliseconds:.1f} ms" if self.milliseconds else ""))
        if self.times > 1:
            parts.append(f"{self.times} times in a row")
        return "; ".join(parts)


_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))


def caller() -> str:
    """The line outside of this package from which the call came that is being answered; "" when there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<tierup")):
        frame = frame.f_back
    return "" if frame is None else printable(f"{frame.f_code.co_filename}:{frame.f_lineno}")


LOG, PERF = "TIERUP_LOG", "perf"
LOGGED = {
    "compiles": (
        EventKind.COMPILING, EventKind.COMPILED, EventKind.GENERALISED, EventKind.SPLIT, EventKind.GAVE_UP, EventKind.POSTPONED,
        EventKind.EVICTED, EventKind.RELEASED, EventKind.DIFFERENTIATED, EventKind.CACHE_REFUSED,
        EventKind.CUT, EventKind.PLAIN_PYTHON,
    ),
    "misses": (EventKind.MISS, EventKind.FALLBACK, EventKind.HANDED_OVER),
    "bailouts": (EventKind.BAILOUT, EventKind.ERROR_EXIT),
    "profiles": (EventKind.PROFILED,),
}  # fmt: skip

Listener = Callable[[Event], object]


class _Subscription:
    """A listener, and whether it was said that it raises."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.has_raised = False

    def tell(self, event: Event) -> None:
        try:
            self.listener(event)
        except Exception as e:  # noqa: BLE001 - whatever it is, it is no business of the call that the event is about
            if not self.has_raised:
                self.has_raised = True
                _say_that_it_raised(self.listener, event, e)


_subscriptions: tuple[_Subscription, ...] = ()
_lock = forking.lock()


def emit(event: Event) -> None:
    """Tell every listener, in order of subscription. What a listener raises never reaches the call: it is said once, as a warning. Ctrl-C
    and other exceptions that are no `Exception` go through."""
    for subscription in _subscriptions:
        subscription.tell(event)


def _say_that_it_raised(listener: Listener, event: Event, error: Exception) -> None:
    """Warn at the listener's line."""
    name = getattr(listener, "__qualname__", None) or repr(listener)
    inside = error.__traceback__.tb_next if error.__traceback__ is not None else None
    place = (__file__, 0) if inside is None else (inside.tb_frame.f_code.co_filename, inside.tb_lineno)
    text = (
        f"the listener {name} of tierup.events raised {type(error).__name__}: {error}; it was told of: {event}. "
        "Calls go on as without it, and its further exceptions are not reported"
    )
    try:
        warnings.warn_explicit(text, RuntimeWarning, *place)
    except RuntimeWarning:  # warnings are errors here: the call must not see one all the same
        print(f"{place[0]}:{place[1]}: RuntimeWarning: {text}", file=sys.stderr)


def is_heard() -> bool:
    """Whether anybody listens."""
    return bool(_subscriptions)


@contextmanager
def subscribe(listener: Listener) -> Iterator[Listener]:
    """Call `listener(event)` for each event of any function while the block runs, from the thread where it happens. An exception of the
    listener's is a RuntimeWarning, once in the block, and nothing else."""
    global _subscriptions
    if not callable(listener):
        raise TypeError(f"subscribe takes a function that is called with each event, as `print`, not {listener!r}")
    mine = _Subscription(listener)
    with _lock:
        _subscriptions = (*_subscriptions, mine)
    try:
        yield listener
    finally:
        with _lock:
            _subscriptions = tuple(s for s in _subscriptions if s is not mine)


def log_listener(wanted: str) -> Listener:
    """A listener that prints what a value of `TIERUP_LOG` asks for to stderr, and says so of a word that it does not know."""
    words = [w.strip() for w in wanted.split(",") if w.strip()]
    for word in words:
        if word not in LOGGED and word not in ("all", PERF):
            print(f"tierup: {LOG}: unknown kind {word!r}: all, or some of {', '.join((*LOGGED, PERF))}", file=sys.stderr)
    kinds = set(EventKind) if "all" in words else {kind for word in words for kind in LOGGED.get(word, ())}

    def show(event: Event) -> None:
        if event.kind in kinds:
            print(f"tierup: {event}", file=sys.stderr)

    return show


if os.environ.get(LOG):
    _subscriptions = (_Subscription(log_listener(os.environ[LOG])),)
