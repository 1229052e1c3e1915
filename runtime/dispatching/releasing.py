"""`release_graphs`: what a function needs for compiling is let go some time after its last compile.

One thread waits for all functions, since a function whose calls are all native runs no Python that could look at a clock. It starts
with the first function that waits and ends with the last. The clock is the monotonic one.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
import time
import weakref

from tierup.dialect.base import forking
from tierup.runtime.base.protocols import ProgramExecutor


class Waiting:
    """Executors and when their graphs go. `again`, for one that waits already, starts its time anew."""

    def __init__(self) -> None:
        self.start_over()

    def start_over(self) -> None:
        """Nothing waits, no thread runs: as in a child of fork."""
        self._lock = forking.lock()  # taken by itself: a signal's handler that raises as a Condition is entered leaves it taken for ever
        self._changed = threading.Condition(self._lock)
        self._heap: list[tuple[float, int, weakref.ref[ProgramExecutor]]] = []
        self._due: weakref.WeakKeyDictionary[ProgramExecutor, float] = weakref.WeakKeyDictionary()
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    def put(self, executor: ProgramExecutor, delay: float) -> None:
        """Release `executor` when `delay` seconds have passed without another `put` of it."""
        due = time.monotonic() + delay
        with self._lock:
            self._due[executor] = due
            heapq.heappush(self._heap, (due, next(self._numbers), weakref.ref(executor)))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tierup-release", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # the system allows no more threads now: the next `put` tries again
                    self._thread = None
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._heap:
                    self._thread = None
                    return
                due, _, ref = self._heap[0]
                left = due - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                heapq.heappop(self._heap)
                executor = ref()
                is_due = executor is not None and self._due.get(executor) == due  # else it was put again
            if executor is not None and is_due:
                executor.release()
            del executor


waiting = Waiting()
os.register_at_fork(after_in_child=waiting.start_over)
