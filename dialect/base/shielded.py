"""Work that an exception of a signal's handler must not break off: imports of C++ modules, what registers itself once, passes over IR.

    ir = shielded(lambda: import_module("torch_mlir.ir"))

Handlers run in the main thread, between any two of its steps. So the main thread has such work done by a helper thread and waits. When
the wait is interrupted the exception goes on at once, and the work goes on too: who asks again finds it done, or waits for it. A thread
whose stack is too small for a compiler waits likewise; others do their work themselves. The context variables are the caller's. A helper
thread lives on, with what it keeps for itself.

What is done here must need no lock that its caller holds, no import lock either.
"""

from __future__ import annotations

import _imp
import _thread
import atexit
import contextvars
import gc
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Generic, TypeVar, cast

from tierup.dialect.base import forking

T = TypeVar("T")
_SECONDS_TO_END = 30.0
_ENOUGH, _LEAST = 8 << 20, 1 << 20  # of a helper's stack, and of one that is good enough
_IMPORTLIB = "<frozen importlib._bootstrap>"
_HOLDERS = ("_get_module_lock", "cb", "_find_spec")  # what in it holds the import lock


def _is_deep() -> bool:
    """Whether this thread's stack is large enough for a compiler."""
    if _here.is_deep is None:
        _here.is_deep = _stack() >= _LEAST
    return _here.is_deep


def _stack() -> int:
    """The bytes of this thread's stack; where nobody says, enough. pthread_getattr_np(3), pthread_attr_getstack(3)."""
    import ctypes  # here: only other threads than the main one ask

    c, size, place = ctypes.CDLL(None), ctypes.c_size_t(), ctypes.c_void_p()
    if not hasattr(c, "pthread_getattr_np"):
        return _ENOUGH
    attributes = ctypes.create_string_buffer(256)  # a pthread_attr_t has 56 bytes, more on no system
    c.pthread_self.restype = ctypes.c_void_p
    if c.pthread_getattr_np(ctypes.c_void_p(c.pthread_self()), attributes):
        return _ENOUGH
    c.pthread_attr_getstack(attributes, ctypes.byref(place), ctypes.byref(size))
    c.pthread_attr_destroy(attributes)
    return size.value


class _Thread(threading.local):
    def __init__(self) -> None:
        self.lock = forking.lock()  # a fork waits for the work of all threads: import locks of others would stay held in the child
        self.is_deep: bool | None = None  # where nobody asked yet


_here = _Thread()


def shielded(work: Callable[[], T]) -> T:
    """What `work()` returns or raises; see above."""
    if _thread.get_ident() != threading.main_thread().ident:
        with _here.lock:
            if _is_deep():  # which imports, too
                return work()
    job = _Job(work)
    try:
        _give_back_the_import_lock()
        while not job.ended:
            if not job.handed_over:
                _helpers.take(job)
            job.done.acquire()
    finally:
        job.begins()  # interrupted before it began: nobody does it
    return job.result()


def loaded(load: Callable[[], T]) -> T:
    """What `load()`, which imports, gives, shielded and without the garbage collector: what is loaded stays, and to look at it time and
    again took a tenth of the time."""
    return shielded(lambda: _uncollected(load))


def _uncollected(load: Callable[[], T]) -> T:
    if not gc.isenabled() or gc.get_freeze_count():
        return load()
    gc.disable()
    try:
        return load()
    finally:
        gc.freeze()  # all there is becomes old, or the next collection would look at it
        gc.unfreeze()
        gc.enable()


def _give_back_the_import_lock() -> None:
    """Where an import was broken off in the main thread just after it took Python's import lock, nobody releases it, and the imports of all
    other threads would wait for ever."""
    while _imp.lock_held() and not _is_importing(sys._getframe()):
        try:
            _imp.release_lock()
        except RuntimeError:
            return  # another thread holds it, and releases it


def _is_importing(frame: FrameType | None) -> bool:
    """Whether what runs is called from where importlib holds the import lock, as a handler or a finaliser may be."""
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTLIB and frame.f_code.co_name in _HOLDERS:
            return True
        frame = frame.f_back
    return False


class _Job(Generic[T]):
    """Done once by whoever begins it first. `done` can be had when it has ended."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work, self._context = work, contextvars.copy_context()
        self._begun, self.done = _thread.allocate_lock(), _thread.allocate_lock()
        self.done.acquire()
        self.ended = self.handed_over = False
        self._value: T | None = None
        self._error: BaseException | None = None

    def begins(self) -> bool:
        return self._begun.acquire(blocking=False)

    def run(self) -> None:
        try:
            self._value = self._context.run(self._work)
        except BaseException as e:  # noqa: BLE001 - it is raised in the thread that waits
            self._error = e
        del self._work, self._context  # the thread that ran it may hold the job for a while longer, but nothing of the caller's
        self.ended = True
        self.done.release()

    def result(self) -> T:
        value, error, self._value, self._error = self._value, self._error, None, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # it holds this frame
        return cast(T, value)


@contextmanager
def _deep_enough() -> Iterator[None]:
    """Threads that are started get a stack of 8 MiB where the process, or the program, would give them less: compilers recurse."""
    limit = _thread.stack_size() or resource.getrlimit(resource.RLIMIT_STACK)[0]
    if limit >= _ENOUGH or limit == resource.RLIM_INFINITY:
        yield
        return
    before = _thread.stack_size(_ENOUGH)
    try:
        yield
    finally:
        _thread.stack_size(before)


class _Helpers:
    """Threads that wait for jobs. A job never waits for another: what that one needs may be the caller's."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job[Any]] = SimpleQueue()
        self._idle: SimpleQueue[None] = SimpleQueue()  # a token for each thread that waits
        self._running: set[_Job[Any]] = set()
        self.closed = False

    def take(self, job: _Job[Any]) -> None:
        """May be interrupted, and called again. Where there can be no further thread, the job is done here."""
        try:
            self._idle.get_nowait()
        except Empty:
            if not self._start():
                if job.begins():
                    job.run()
                return
        self._jobs.put(job)
        job.handed_over = True

    def _start(self) -> bool:
        if self.closed:
            return False
        try:
            with _deep_enough():
                _thread.start_new_thread(self._work, ())
        except RuntimeError as e:  # there may be no more threads
            if "thread" not in str(e):
                raise
            return False
        return True

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job.begins():
                self._running.add(job)
                _here.is_deep = True
                with _here.lock:
                    job.run()
                self._running.discard(job)
            del job
            if self._idle.qsize() or self.closed:
                return
            self._idle.put(None)

    def close(self) -> None:
        """Wait for what was interrupted and still runs: a thread that is killed in the midst of C++ takes the process along."""
        self.closed = True
        for job in tuple(self._running):
            if job.done.acquire(timeout=_SECONDS_TO_END):
                job.done.release()


_helpers = _Helpers()
atexit.register(lambda: _helpers.close())


def _in_child() -> None:
    global _helpers
    _helpers = _Helpers()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_in_child)
