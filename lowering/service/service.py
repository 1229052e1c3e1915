"""Compiling in another process: starts workers (`lowering/service/worker.py`) when they are needed, and outlives them.

    service = Service()
    result = service.call("tierup.runtime.compiling.version", "produce", graph, ...)

Why another process: MLIR's passes hold Python's lock, LLVM keeps memory of every compile (some 90 kB; `COMPILES_PER_WORKER` bounds
it), and a crash in a compiler must not take the user's process along. A worker that dies in a request fails that request, with what
it printed, and no other; the next request starts a new one. A worker is recycled after a number of requests, or when it has grown.

Free of MLIR. Locks are held for bookkeeping only, never while a worker works.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from typing import Any

from tierup.dialect.base import forking
from tierup.lowering.base.errors import CompilerCrashed, WorkerUnavailable
from tierup.lowering.service.process import Process, Worker, workers

COMPILES_PER_WORKER = 500  # 45 MB of what LLVM keeps, and starting anew costs half a second
LARGEST_WORKER = 1 << 30  # bytes: a fresh one that has compiled takes 190 MB
SECONDS_PER_CALL = 300.0


_log = logging.getLogger("tierup.service")


def _closed() -> CompilerCrashed:
    """Not WorkerUnavailable: nobody is to compile in this process instead, which is about to end."""
    return CompilerCrashed("the service was closed", "crash", "")


class Service:
    """Workers of one process, one at a time: further callers wait. `niceness`: how far other processes go before them.
    `preload`: "module:function", which a worker calls before its first request. `shared_name`: of the shared compiler that is
    asked first (`shared.py`); one that is started ends after `shared_seconds` without work."""

    def __init__(
        self,
        *,
        compiles: int = COMPILES_PER_WORKER,
        largest: int = LARGEST_WORKER,
        limit: float = SECONDS_PER_CALL,
        niceness: int = 0,
        preload: str = "",
        shared_name: str = "",
        shared_seconds: float = 600.0,
    ) -> None:
        self._compiles, self._largest, self._limit = compiles, largest, limit
        self._niceness, self._preload = niceness, preload
        self._shared, self._seconds = shared_name, shared_seconds
        self._begin()
        _services.add(self)

    def _begin(self) -> None:
        self._lock = forking.lock()
        self._room = forking.Lock()  # no Semaphore: one that a signal's handler breaks off as it is taken stays taken
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._closed = False

    @property
    def pids(self) -> tuple[int, ...]:
        """The workers there are now."""
        with self._lock:
            return tuple(w.pid for w in (*self._idle, *self._busy))

    @property
    def has_answered(self) -> bool:
        """Whether a worker that is there has answered: one that has not may still be starting, though it has said hello."""
        with self._lock:
            return any(w.has_answered for w in (*self._idle, *self._busy))

    def start(self) -> None:
        """Have a worker ready: a thread starts it, and who calls meanwhile waits for that one. Nothing where there is one already."""
        with self._lock:
            if self._closed or self._idle or self._busy:
                return
        try:
            threading.Thread(target=self._start_early, name="tierup-starts-worker", daemon=True).start()
        except RuntimeError as e:  # there can be no more threads
            _log.debug("no worker is started early: %s", e)

    def _start_early(self) -> None:
        with self._room:
            try:
                self._give_back(self._take(), 0)
            except (WorkerUnavailable, CompilerCrashed) as e:  # who calls is told
                _log.debug("no worker is started early: %s", e)

    def call(self, module: str, function: str, *arguments: object, reproducer: str = "", limit: float | None = None) -> Any:
        """What a function returns in a worker, or raises.

        All of it is pickled; an exception that cannot be arrives as RemoteError. Raises CompilerCrashed, with `reproducer`, when the
        worker dies or takes longer than `limit` seconds, and WorkerUnavailable when there is none. A worker that somebody killed is not
        to blame: another is asked, once.
        """
        if getattr(_inside, "a_call", False):  # of a signal's handler, or of `__del__`: the one that runs would wait for itself
            raise WorkerUnavailable("this thread waits for a worker already")
        _inside.a_call = True
        try:
            return self._call((module, function, arguments), reproducer, self._limit if limit is None else limit)
        finally:
            _inside.a_call = False

    def _call(self, request: tuple[object, ...], reproducer: str, limit: float, again: bool = True) -> Any:
        with self._room:
            worker, is_lost = self._take(not again), False
            try:
                succeeded, value, size = worker.call(request, limit)
            except (EOFError, OSError) as e:
                said = self._end(worker)
                if not (again and worker.was_killed):
                    raise CompilerCrashed(f"the process that compiled is gone: {said}", "crash", reproducer) from e
                is_lost = True
            except BaseException:
                self._end(worker)  # it may still answer, to nobody
                raise
            else:
                self._give_back(worker, size)
        if is_lost:
            return self._call(request, reproducer, limit, again=False)
        if succeeded:
            return value
        raise value

    def _take(self, own: bool = False) -> Worker:
        with self._lock:
            if self._closed:
                raise _closed()
            worker = self._idle.pop() if self._idle else None
            if worker is not None:
                self._busy.add(worker)
        if worker is not None and not worker.alive:  # ended by somebody while it had nothing to do
            self._end(worker)
            worker = None
        if worker is None:
            worker = self._start(own)
        return worker

    def _new(self, own: bool) -> Worker:
        if self._shared and not own:
            from tierup.lowering.service import shared  # here: few processes share one, and what it imports takes a while

            try:
                return shared.Connection(self._shared, self._niceness)
            except WorkerUnavailable as e:
                _log.debug("%s", e)
                try:
                    shared.start(self._shared, self._preload, self._seconds)
                except OSError as failed:
                    _log.debug("no shared compiler is started: %s", failed)
        return Process(self._niceness, self._preload)

    def _start(self, own: bool) -> Worker:
        worker = self._new(own)
        with self._lock:
            self._busy.add(worker)  # `close` ends it from now on
            closed = self._closed
        if closed:
            self._end(worker)
            raise _closed()
        try:
            worker.greet()
        except WorkerUnavailable:
            with self._lock:
                self._busy.discard(worker)
            if self._closed:
                raise _closed() from None
            if not worker.is_own:
                return self._start(own=True)
            raise
        except BaseException:
            self._end(worker)
            raise
        return worker

    def _give_back(self, worker: Worker, size: int) -> None:
        with self._lock:
            keep = not self._closed and worker.calls < self._compiles and size < self._largest
            if keep:
                self._busy.discard(worker)
                self._idle.append(worker)
        if not keep:
            self._end(worker)

    def _end(self, worker: Worker) -> str:
        with self._lock:
            self._busy.discard(worker)
        return worker.end()

    def end_idle(self) -> None:
        """End the workers that have nothing to do; a later call starts another."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def close(self) -> None:
        """End all workers. Calls that wait for one, and later ones, raise CompilerCrashed."""
        with self._lock:
            self._closed = True
            there = [*self._busy, *self._idle]
        for worker in there:
            worker.kill("it was closed")  # an idle one may still be importing, for a second or two
            worker.wait()  # no process is left behind by an interpreter that ends
        self.end_idle()


_inside = threading.local()
_services: weakref.WeakSet[Service] = weakref.WeakSet()


def _close_all() -> None:
    for one in list(_services):
        one.close()


def _in_child() -> None:
    for one in list(_services):
        one._begin()  # a lock may have been held by a thread that this process does not have
    for worker in list(workers):
        worker.forget()
    workers.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
