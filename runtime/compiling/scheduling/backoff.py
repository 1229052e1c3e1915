"""When the next speculation may be compiled after one that had no code, or whose version answered nobody.

A program whose speculations fail waits one call, then twice as many each time: exponential backoff, as CPython's (`pycore_backoff.h`) and
other tracing compilers have it. A version that answers calls sets it back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account.history import History
from tierup.runtime.base.events import EventKind
from tierup.runtime.code.plans import NotCompiled, failures_are_refusals

T = TypeVar("T")
_MOST = 1 << 12  # calls


class Backoff:
    """Not thread-safe: its owner has a lock."""

    def __init__(self) -> None:
        self._wait = 0
        self._until = 0

    def allows(self, call: int) -> bool:
        """Whether a compile may begin in this call, counted from the program's first."""
        return call >= self._until

    def lost(self, call: int) -> None:
        """A compile came to nothing."""
        self._wait = min(2 * self._wait or 1, _MOST)
        self._until = call + self._wait

    def won(self) -> None:
        """A compile was worth it."""
        self._wait = 0


class Postponing:
    """What one part of an executor could not make because something ran out: that is told, and it is tried again some calls later."""

    def __init__(self, history: History) -> None:
        self._history, self._backoff = history, Backoff()
        self.is_open = False  # whether it is to be tried again

    @property
    def waits(self) -> bool:
        """Whether it is too early to try again. Asks all executors of the program for their calls: no lock of theirs is held."""
        return self.is_open and not self._backoff.allows(self._history.calls())

    def made(self, what: str, guards: str, action: str, make: Callable[[], T]) -> T | NotCompiled:
        """What `make` gives; or why there is nothing, which is told. It is tried again where `is_open` then. `action`: what is done when it
        is not, for people."""
        try:
            with failures_are_refusals(what):
                found = make()
        except NotCompiled as e:
            self._failed(e, guards, action)
            return e
        self.is_open = False
        self._backoff.won()
        return found

    def _failed(self, why: NotCompiled, guards: str, action: str) -> None:
        self.is_open = why.reason is Reason.NO_RESOURCES
        if self.is_open:
            self._backoff.lost(self._history.calls())
            self._history.emit(EventKind.POSTPONED, why.reason, guard=guards, action=f"tried again later: {why.detail}")
        else:
            self._history.gave_up(why, guards, action)
