"""One process at a time makes an entry of the cache; others that want it wait for it.

    with claimed(name, there):      there(): whether the entry is there by now
        ...

Between processes of one machine a lock on a file of the folder says who makes it: the system lets go of it when its process ends, however
that comes. Between machines a claim in the second level does (`shared.py`). Nobody waits longer than `_MOST_WAIT`: then an entry is made
twice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tierup.lowering.objects import shared, store
from tierup.lowering.objects.folder import UNFINISHED, folder, made

_MOST_WAIT = 30.0  # seconds for somebody else's compile
_LOOK = 0.01  # seconds


@contextmanager
def claimed(name: str, there: Callable[[], bool]) -> Iterator[None]:
    """While this process makes an entry. Where it cannot be told whether another does, nobody waits."""
    handle, everywhere = _taken(name), False
    try:
        if shared.place() and not there():
            with store.reporting("it is not known whether another machine compiles"):
                everywhere = shared.claim(name, there)
        yield
    finally:
        if everywhere:
            with store.reporting("a claim of all machines cannot be removed"):
                shared.let_go(name)
        if handle is not None:
            _let_go(handle, name)


def _taken(name: str) -> int | None:
    """The lock of a name, when this process has it; None where that took too long, or cannot be told."""
    if os.name != "posix":
        return None
    import fcntl  # here: not on all systems

    with store.reporting("it is not known whether another process compiles"):
        path, until = os.path.join(made(folder()), f"{name}.claim{UNFINISHED}"), time.monotonic() + _MOST_WAIT
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(path, handle):
                    return handle
                late = False
            except BlockingIOError:
                late = time.monotonic() > until
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)
            if late:
                return None
            time.sleep(_LOOK)
    return None


def _is_at(path: str, handle: int) -> bool:
    """Whether the file that was locked is the one that others find: who had it before has removed it."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(handle))
    except FileNotFoundError:
        return False


def _let_go(handle: int, name: str) -> None:
    with store.reporting("a claim cannot be removed"):
        try:
            store.remove(os.path.join(made(folder()), f"{name}.claim{UNFINISHED}"))
        finally:
            os.close(handle)
