"""A fork waits while the thread of background compiles is at work in this process, or a worker is being started.

A child of fork has none of its parent's other threads, but all locks and pipes as they left them. What that thread holds now and
then (of LLVM, of dispatch tables) would stay held in the child for ever; while it waits for a worker, it holds nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class NoFork:
    """A context manager, and the opposite of it, `lifted`, within. A fork by the thread that is in it goes on."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before, after_in_parent=self._after, after_in_child=self._in_child)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    @contextmanager
    def lifted(self) -> Iterator[None]:
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()

    def _before(self) -> None:
        self._lock.acquire()

    def _after(self) -> None:
        self._lock.release()

    def _in_child(self) -> None:
        self._lock.release()  # the thread that forked is the one that took it, and lives on here


no_fork = NoFork()
