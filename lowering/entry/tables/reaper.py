"""Lets go of versions that were taken out of a table while a call was in them, once that call is over.

The dispatcher counts calls in and out of a version and does nothing else: what happens after the last one is nobody's call to notice.
A kernel that is left running when its version is evicted is rare (only those with much work let other threads run at all), so a thread
that looks again is started for the occasion, looks less and less often, and ends when nothing waits any more.
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import Protocol

from tierup.dialect.base import forking

_FIRST_SECONDS, _MOST_SECONDS = 0.005, 1.0


class Table(Protocol):
    """What keeps versions that nobody can reach any more until no call is in them."""

    def release(self) -> None:
        """Let go of what can go."""


_lock = forking.lock()
_waiting: list[weakref.ref[Table]] = []
_thread: threading.Thread | None = None


def watch(table: Table) -> None:
    """Call `table.release()` after a while, unless the table is gone by then. It calls `watch` again when something still waits."""
    global _thread
    with _lock:
        _waiting.append(weakref.ref(table))
        if _thread is None or not _thread.is_alive():  # a forked child has no thread of its parent's
            _thread = threading.Thread(target=_reap, name="tierup-reaper", daemon=True)
            try:
                _thread.start()
            except RuntimeError:  # the system allows no more threads now: the next `watch` tries again
                _thread = None


def _reap() -> None:
    global _thread
    pause = _FIRST_SECONDS
    while True:
        time.sleep(pause)
        pause = min(2 * pause, _MOST_SECONDS)
        with _lock:
            if not _waiting:
                _thread = None
                return
            seen, _waiting[:] = list(_waiting), []
        for ref in seen:
            _release(ref)


def _release(ref: weakref.ref[Table]) -> None:
    """In a function of its own, so that no name of this thread keeps the table while it sleeps."""
    table = ref()
    if table is not None:
        table.release()
