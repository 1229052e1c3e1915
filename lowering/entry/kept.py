"""Memory that kernels gave back and that is kept for their next calls: how much, how long, and the thread that gives it back.

A large block of the C library's goes back to the system as it is freed, and costs a page fault for each 4 kB when it is had again: more
than what a kernel does with it. So `generated/blocks.py` keeps those of all threads together, up to `bound` bytes; none where the
environment has TIERUP_KEPT_MEMORY=0. When no kernel has given any back for IDLE seconds, a thread returns all of them. It sleeps
without a clock while nothing is kept.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from functools import cache

from tierup.dialect.base import forking, switches

VARIABLE = "TIERUP_KEPT_MEMORY"  # MiB
BOUND = 256  # MiB
IDLE = 2.0
SLOTS = 32
KEY = "tierup_kept_memory"  # the symbol by which generated code finds the state


class State(ctypes.Structure):
    """What generated code keeps, and what it says to the thread that gives it back. `watched`: that one need not be woken."""

    _fields_ = (
        ("bytes", ctypes.c_int64),
        ("bound", ctypes.c_int64),
        ("given", ctypes.c_int64),  # how many blocks were ever kept: the next one's slot, and a sign that kernels run
        ("watched", ctypes.c_int64),
        ("wake", ctypes.c_int64 * 4),  # a sem_t
        ("slots", ctypes.c_int64 * 2 * SLOTS),  # address, or 0; bytes
    )


@cache
def state() -> State:
    """The state of this process, made on the first call."""
    return State(bound=int(switches.number(VARIABLE, BOUND) * (1 << 20)))


class Watcher:
    """The thread that gives memory back. It starts when the first kernel that may keep some is loaded."""

    def __init__(self) -> None:
        self._lock = forking.lock()
        self._give_back: Callable[[], object] | None = None
        self._runs = False

    def start(self, give_back: Callable[[], object] | None = None) -> None:
        """Start it, if it does not run. Where the system allows no more threads, the next call tries again."""
        with self._lock:
            self._give_back = give_back or self._give_back
            if self._runs or self._give_back is None or state().bound == 0:
                return
            try:
                threading.Thread(target=self._run, args=(self._give_back,), name="tierup-memory", daemon=True).start()
                self._runs = True
            except RuntimeError:
                self._runs = False

    def start_over(self) -> None:
        """As in a child of fork, which has its parent's blocks and none of its threads."""
        self._runs, state().watched = False, 0
        self.start()

    @staticmethod
    def _run(give_back: Callable[[], object]) -> None:
        library, known = ctypes.CDLL(None), state()  # CDLL: calls wait without the interpreter lock
        while True:
            while known.bytes:
                known.watched, before = 1, known.given
                time.sleep(IDLE)
                if known.given == before:
                    give_back()
            known.watched = 0
            if not known.bytes:
                library.sem_wait(ctypes.byref(known.wake))


watcher = Watcher()
os.register_at_fork(after_in_child=watcher.start_over)
