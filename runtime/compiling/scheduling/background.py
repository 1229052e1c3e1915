"""Compiles that no call waits for: a queue, and one thread that has them done, those of the most-called function first.

The thread starts with the first job and ends, with the worker it asked, when there has been none for a while. A child of fork takes
the queue along and starts a thread of its own when it next has to do with it; the job in progress begins again there.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

from tierup.dialect.base import forking
from tierup.runtime.account.history import History
from tierup.runtime.compiling.processes import workers

_SECONDS_IDLE = 30.0
_SECONDS_TO_END = 30.0


class Job(Protocol):
    """A compile. `urgency`: the larger the earlier, None when nobody wants it any more. `is_for`: whether the program with that
    history asked for it. `run` handles its own failures. `drop`, from any thread: what comes of it is not wanted any more."""

    def is_for(self, history: History) -> bool:
        """Whether the program with that history asked for it."""

    def urgency(self) -> int | None:
        """The larger, the earlier it is run; None when nobody wants it any more."""

    def run(self) -> None:
        """Do it, and handle its own failures."""

    def drop(self) -> None:
        """What comes of it is not wanted any more. To be called from any thread."""


Wanted = Callable[[Job], bool]


class Queue:
    """Jobs in waiting, and the thread that runs them one by one. No lock is held while a job runs."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self._running: Job | None = None
        self._begin()

    def _begin(self) -> None:
        self._lock = forking.lock()  # taken by itself: a signal's handler that raises as a Condition is entered leaves it taken for ever
        self._changed = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, job: Job) -> bool:
        """False when there can be no thread at the moment that runs it: the next `wake` sees to that."""
        with self._lock:
            self._jobs.append(job)
            self._changed.notify_all()
        return self.wake()

    def wake(self) -> bool:
        """See to it that there is a thread when there are jobs: a child of fork has none at first. False when there can be none."""
        with self._lock:
            if self._jobs and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="tierup-compiles", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # the system allows no more threads
                    self._thread = None
                    return False
        return True

    def wait(self, timeout: float | None, wanted: Wanted = lambda _: True) -> bool:
        """Wait until no job that is `wanted` waits or runs. False when the seconds are over first."""
        self.wake()
        until = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            while any(wanted(job) for job in self._jobs) or (self._running is not None and wanted(self._running)):
                if self._thread is threading.current_thread():
                    return False  # a listener of events that waits for itself
                left = None if until is None else until - time.monotonic()
                if self._closed or (left is not None and left <= 0) or (self._thread is None and self._running is None):
                    return False
                self._changed.wait(left)
        return True

    def _next(self) -> Job | None:
        """The next job to run, None when the thread is to end."""
        with self._lock:
            while not self._closed:
                waiting = [(urgency, job) for job in self._jobs if (urgency := job.urgency()) is not None]
                self._jobs = [job for _, job in waiting]
                if waiting:
                    self._running = max(waiting, key=lambda pair: pair[0])[1]  # the first of equals: the oldest
                    self._jobs.remove(self._running)
                    return self._running
                self._changed.notify_all()  # jobs that nobody wants are as good as done
                if not self._changed.wait(_SECONDS_IDLE) and not self._jobs:
                    break
            self._thread = None
            return None

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                job.run()
            except BaseException:  # noqa: BLE001 - a fault of tierup's own, or a listener's: said as for any thread, and the next job runs
                threading.excepthook(threading.ExceptHookArgs([*sys.exc_info(), threading.current_thread()]))
            with self._lock:
                self._running = None
                del job  # a function that is deleted must not live on here: not even until this thread comes to it after those that wait
                self._changed.notify_all()
        workers.in_background().end_idle()

    def close(self) -> None:
        """Let nothing begin any more, and end what runs."""
        with self._lock:
            self._closed = True
            self._jobs.clear()
            self._changed.notify_all()
            thread, running = self._thread, self._running
        if running is not None:
            running.drop()
            workers.close()
        if thread is not None:
            # a compile in this process can't be ended, and a thread that is killed in the midst of C++ takes the process along
            thread.join(_SECONDS_TO_END)

    def after_fork(self) -> None:
        """In a child of fork: put the job that ran back as the next one, and begin without a thread, which `wake` starts."""
        if self._running is not None:
            self._jobs.insert(0, self._running)
        self._running = None
        self._begin()


queue = Queue()
atexit.register(queue.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=queue.after_fork)


def wait_for_compiles(timeout: float | None = None) -> bool:
    """Wait until all compiles in the background that calls have asked for are done, or `timeout` seconds are over: then False.

    What they gave is in force then. A later call may ask for more.
    """
    return queue.wait(timeout)
