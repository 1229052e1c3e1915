"""Locks and fork: a child of fork finds every lock of tierup's free, what they guard whole, and no import in the midst.

    _lock = lock()              # in place of threading.RLock()

A child has none of its parent's other threads, but all locks as they were held: one that another thread held would stay held for ever.
So a fork first takes all locks that were made here, and both processes let go of them afterwards. It waits for one while it holds none,
so no order among them matters. Who has held one for `_MOST_SECONDS` is not waited for: the child gets that lock anew. Of imports it takes
the one lock that each begins with, and waits until those that have begun are through.
"""

from __future__ import annotations

import _imp
import _thread
import importlib
import logging  # has hooks of fork, too: what is registered later takes its locks first, and to log is a step of what we wait for
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info < (3, 14):
    Lock = threading.RLock
else:

    class Lock(_thread.RLock):
        """From Python 3.14 on a signal's handler may raise between what `with` calls and its block, and the lock would stay taken."""

        def __enter__(self) -> bool:
            before = self._recursion_count()
            try:
                return self.acquire()
            except BaseException:
                while self._recursion_count() > before:
                    self.release()
                raise



_MOST_SECONDS = 30.0
_SECONDS_TO_LOOK_AGAIN = 0.001
# numpy imports parts of itself when they are used
_IMPORTED = ("tierup", "torch_mlir", "llvmlite", "numpy", "ml_dtypes", "scipy_openblas32")
_locks: set[weakref.ref[Any]] = set()
_forking = threading.RLock()  # one thread at a time
_taken: list[Any] = []  # by the thread that forks
_adopted: list[Any] = []
_imports_held = 0  # how often the thread that forks has taken the lock of imports


def lock() -> Lock:
    """A reentrant lock that a child of fork finds free. Not for one that is held while other threads are waited for."""
    made = Lock()
    _locks.add(weakref.ref(made, _locks.discard))
    return made


def adopt(foreign: Any) -> None:
    """Treat another library's reentrant lock, which lives as long as the process, as one of these."""
    if foreign not in _adopted:
        _adopted.append(foreign)


no_fork = lock()
"""Held by the thread of background compiles, and while a worker is started: other threads do not fork meanwhile."""


@contextmanager
def fork_allowed() -> Iterator[None]:
    """Within `no_fork`: let go of it meanwhile."""
    no_fork.release()
    try:
        yield
    finally:
        no_fork.acquire()


def _all() -> list[Any]:
    return [*_adopted, *(found for ref in tuple(_locks) if (found := ref()) is not None)]


def _take_all() -> None:
    """Before a fork. What an exception of a signal's handler leaves taken here is its thread's own, and let go of at the next fork."""
    until = time.monotonic() + _MOST_SECONDS
    if not _forking.acquire(timeout=_MOST_SECONDS):
        return
    while time.monotonic() < until:
        held = _first_held()
        if held is None:
            _hold_imports()
            if not _others_import():
                return
            _release_all()
            time.sleep(_SECONDS_TO_LOOK_AGAIN)
        elif held.acquire(timeout=max(0.0, until - time.monotonic())):
            held.release()
    _take_those_free()


def _first_held() -> Any:
    """None when all locks are this thread's now; else one that another holds, and none is."""
    seen: set[int] = set()
    while True:  # locks may be made meanwhile
        new = [found for found in _all() if id(found) not in seen]
        if not new:
            return None
        for found in new:
            if not found.acquire(blocking=False):
                _release_all()
                return found
            _taken.append(found)
            seen.add(id(found))


def _hold_imports() -> None:
    """Let no other thread begin an import, which it does by looking up the module's lock under this one."""
    global _imports_held
    _imp.acquire_lock()
    _imports_held += 1


def _let_imports_go() -> None:
    global _imports_held
    while _imports_held:
        _imports_held -= 1
        _imp.release_lock()


def _others_import() -> bool:
    """Whether other threads are importing what a child needs: it would find the locks of these modules held. A module has a lock only
    while somebody has looked it up."""
    module_locks = getattr(importlib._bootstrap, "_module_locks", {})
    for name, ref in module_locks.copy().items():
        if name.partition(".")[0] in _IMPORTED:
            found = ref()
            if found is not None and getattr(found, "owner", None) != threading.get_ident():
                return True
    return False


def _take_those_free() -> None:
    for found in _all():
        if found.acquire(blocking=False):
            _taken.append(found)


def _release_all() -> None:
    _let_imports_go()
    while _taken:
        _taken.pop().release()


def _in_parent() -> None:
    _release_all()
    if _forking._is_owned():  # type: ignore[attr-defined]  # threading.Condition asks it, too
        _forking.release()


def _in_child() -> None:
    ours = {id(found) for found in _taken}
    others = [found for found in (_forking, *_all()) if id(found) not in ours]
    _release_all()
    for found in others:
        found._at_fork_reinit()  # as the standard library does with its own: whoever held it is not in this process


assert logging
if sys.platform != "win32":
    os.register_at_fork(before=_take_all, after_in_parent=_in_parent, after_in_child=_in_child)
