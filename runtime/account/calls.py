"""Calls, as they end, for who listens: when each came in, how long it took, and by which parts.

Calls that native code answers without a line of Python are told where they are timed (`times.Samples`): all that take 2 ms or more, and
of quicker ones some, each for those since the one before. Nobody who does not listen pays for it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tierup.dialect.base import forking
from tierup.dialect.base.records import dataclass
from tierup.dialect.base.spelling import short_time
from tierup.runtime.base.events import LOG, PERF


@dataclass(frozen=True)
class Call:
    """One call of a function. `start`: seconds since 1970; `seconds`: what it took; `parts`: of that, by `times.PARTS`. `stands_for`: how
    many calls, this one included, of which only this one was timed. `thread`: its number."""

    function: str
    place: str
    start: float
    seconds: float
    parts: Mapping[str, float]
    stands_for: int = 1
    thread: int = 0

    def __str__(self) -> str:
        parts = sorted(((spent, part) for part, spent in self.parts.items() if spent > 0.01 * self.seconds), reverse=True)
        took = " + ".join(f"{part} {short_time(spent)}" for spent, part in parts)
        others = f", as {self.stands_for - 1} more before it" if self.stands_for > 1 else ""
        return f"{self.function} at {self.place}: {short_time(self.seconds)} = {took}{others}"


Listener = Callable[[Call], object]

SINCE_1970 = time.time() - time.perf_counter()
_listeners: tuple[Listener, ...] = ()
_lock = forking.lock()


def are_heard() -> bool:
    """Whether anybody listens."""
    return bool(_listeners)


def tell(function: str, place: str, start: float, seconds: float, parts: Mapping[str, float], stands_for: int = 1) -> None:
    """A call ended. `start`: by `time.perf_counter`."""
    spent = {part: took for part, took in parts.items() if took > 0}
    call = Call(function, place, SINCE_1970 + start, seconds, spent, stands_for, threading.get_native_id())
    for listener in _listeners:
        listener(call)


def listen(listener: Listener) -> Callable[[], None]:
    """Call `listener(call)` for each call from now on, from the thread that made it; what ends that."""
    global _listeners
    with _lock:
        _listeners = (*_listeners, listener)

    def end() -> None:
        global _listeners
        with _lock:
            _listeners = tuple(each for each in _listeners if each is not listener)

    return end


@contextmanager
def heard(listener: Listener) -> Iterator[None]:
    """As `listen`, while the block runs."""
    end = listen(listener)
    try:
        yield
    finally:
        end()


def log(call: Call) -> None:
    """A line of stderr, as `TIERUP_LOG=perf` asks for."""
    print(f"tierup: {call}", file=sys.stderr)


if PERF in os.environ.get(LOG, "").replace(" ", "").split(","):
    listen(log)
