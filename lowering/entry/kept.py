"""Memory that kernels gave back and that is kept for their next calls: how much, how long, and the thread that gives it back.

A large block of the C library's goes back to the system as it is freed, and costs a page fault for each 4 kB when it is had again: more
than what a kernel does with it. So `generated/called/blocks.py` keeps those of all threads together, up to `bound` bytes; none where the
environment has TIERUP_KEPT_MEMORY=0. When no kernel has given any back for IDLE seconds, a thread returns all of them. It is there only
while something is kept, and not while the process forks: Python warns of forks beside threads.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache

from tierup.dialect.base import switches

VARIABLE = "TIERUP_KEPT_MEMORY"  # MiB
BOUND = 256  # MiB
IDLE = 2.0
SLOTS = 32
KEY = "tierup_kept_memory"  # the symbol by which generated code finds the state


class State(ctypes.Structure):
    """What generated code keeps, and how it says so: where nothing is `watched`, it has the main thread call `wake`."""

    _fields_ = (
        ("bytes", ctypes.c_int64),
        ("bound", ctypes.c_int64),
        ("given", ctypes.c_int64),  # how many blocks were ever kept: the next one's slot, and a sign that kernels run
        ("watched", ctypes.c_int64),
        ("wake", ctypes.c_int64),  # what Py_AddPendingCall takes, or 0
        ("slots", ctypes.c_int64 * 2 * SLOTS),  # address, or 0; bytes
    )


@cache
def state() -> State:
    """The state of this process, made on the first call."""
    return State(bound=int(switches.number(VARIABLE, BOUND) * (1 << 20)))


class Watcher:
    """The thread that gives memory back. It comes when a kernel has kept some, and goes with that."""

    def __init__(self) -> None:
        self._give_back: Callable[[], object] = lambda: None
        self._wake = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._start)
        self._leaves = threading.Event()
        self._thread: threading.Thread | None = None

    def ready(self, give_back: Callable[[], object]) -> None:
        """Let kernels keep memory, which `give_back` returns."""
        self._give_back = give_back
        state().wake = ctypes.cast(self._wake, ctypes.c_void_p).value or 0

    def _start(self, _: object = None) -> int:
        """Start the thread. Where there can be none, for now or as the interpreter ends, memory stays until a later kernel asks."""
        try:
            self._thread = threading.Thread(target=self._run, name="tierup-memory", daemon=True)
            self._thread.start()
        except RuntimeError:
            self._thread, state().watched = None, 0
        return 0

    def _run(self) -> None:
        known = state()
        while not self._leaves.is_set():
            before = known.given
            if not self._leaves.wait(IDLE) and known.given == before:
                self._give_back()
            if not known.bytes:
                known.watched = 0
                if not known.bytes:  # else a kernel has kept some meanwhile, and may have seen that it is watched
                    return
                known.watched = 1

    def leave(self) -> None:
        """End the thread, if there is one."""
        if (thread := self._thread) is not None and thread.is_alive():
            self._leaves.set()
            thread.join()
            self._leaves.clear()

    def come_back(self) -> None:
        """Start it again, if it was there."""
        if state().watched:
            self._start()

    def start_over(self) -> None:
        """As in a child of fork: what its parent's kernels have kept goes when its own have run."""
        self._thread, self._leaves, state().watched = None, threading.Event(), 0


watcher = Watcher()
os.register_at_fork(before=watcher.leave, after_in_parent=watcher.come_back, after_in_child=watcher.start_over)
