"""Passes over a program that no call waits for: what `compile="background"` leaves to the thread of compiles beside whole versions.

Recording graphs, cuts and plans are made of Python's own passes for the most part, so that a thread of this process will do: calls go on
beside it. A version is asked of a worker process (`job.py`), since MLIR's pipelines and LLVM keep the interpreter lock.
"""

from __future__ import annotations

import contextvars
import weakref
from collections.abc import Callable

from tierup.dialect.base import forking
from tierup.dialect.base.forking import no_fork
from tierup.runtime.account import times
from tierup.runtime.account.history import History
from tierup.runtime.account.times import COMPILING, During
from tierup.runtime.compiling.scheduling.background import queue
from tierup.runtime.faults import faults
from tierup.runtime.programs.context import Context


class Later:
    """What one part of an executor has asked for. `part` and `context` are held weakly: a function that is deleted is let go.
    Thread-safe."""

    def __init__(self, context: Context, part: object) -> None:
        self._context, self._part = weakref.ref(context), weakref.ref(part)
        self._pending: set[object] = set()
        self._lock = forking.lock()

    def has(self, key: object) -> bool:
        """Whether work is asked for under this name and not done yet."""
        with self._lock:
            found = key in self._pending
        if found:
            queue.wake()  # a child of fork has no thread at first
        return found

    def ask(self, key: object, work: Callable[..., object], *arguments: object) -> None:
        """Have `work(part, *arguments)` done, which handles its failures, unless it was asked for already; under the options and faults of
        this thread."""
        if self.has(key):
            return
        with self._lock:
            if key in self._pending:
                return
            self._pending.add(key)
        queue.submit(_Job(self, self._context, self._part, key, work, arguments))

    def done(self, key: object) -> None:
        """Note that the work under this name is over: it can be asked for again."""
        with self._lock:
            self._pending.discard(key)


class _Job:
    """See `background.Job`."""

    def __init__(
        self,
        later: Later,
        context: weakref.ref[Context],
        part: weakref.ref[object],
        key: object,
        work: Callable[..., object],
        arguments: tuple[object, ...],
    ) -> None:
        self._later, self._executor, self._part, self._key, self._work, self._arguments = later, context, part, key, work, arguments
        self._variables, self._faults = contextvars.copy_context(), faults.captured()
        self._times = times.of_background()

    def drop(self) -> None:
        """What comes of it is an entry in tables that nobody reads any more."""

    def is_for(self, history: History) -> bool:
        context = self._executor()
        return context is not None and context.history is history

    def urgency(self) -> int | None:
        context = self._executor()
        return None if context is None or context.closed else context.calls()

    def run(self) -> None:
        try:
            with During(COMPILING, self._times), no_fork:
                self._variables.run(self._under_faults)
        finally:
            self._later.done(self._key)

    def _under_faults(self) -> None:
        part = self._part()
        if part is not None:
            with faults.carried(self._faults):
                self._work(part, *self._arguments)
