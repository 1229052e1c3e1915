"""Locks between the processes of a machine: one at a time has a name. The system lets go of a lock when its process ends, however that
comes."""

from __future__ import annotations

import os
import time

from tierup.lowering.objects.folder import UNFINISHED, folder, made

_LOOK = 0.01  # seconds


def taken(name: str, longest: float) -> tuple[int | None, bool]:
    """(the lock of a name, to be let go of; whether another process had it until now). None where that took longer than so many seconds,
    or where there are no such locks. Raises Refused, OSError."""
    if os.name != "posix":
        return None, False
    import fcntl  # here: not on all systems

    path, until, waited = _path(name), time.monotonic() + longest, False
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, handle):
                return handle, waited
        except BlockingIOError:
            waited = True
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if time.monotonic() > until:
            return None, True
        if waited:
            time.sleep(_LOOK)


def let_go(handle: int | None, name: str) -> None:
    """Others may have it. Raises Refused, OSError."""
    if handle is not None:
        try:
            os.unlink(_path(name))
        except FileNotFoundError:  # the cache was emptied
            pass
        finally:
            os.close(handle)


def _path(name: str) -> str:
    return os.path.join(made(folder()), f"{name}.lock{UNFINISHED}")


def _is_at(path: str, handle: int) -> bool:
    """Whether the file that was locked is the one that others find: who had it before has removed it."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(handle))
    except FileNotFoundError:
        return False
