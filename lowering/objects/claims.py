"""One process at a time makes an entry of the cache; others that want it wait for it.

    with claimed(name, there):      there(): whether the entry is there by now
        ...

Between processes of one machine a lock says who makes it (`locks.py`), between machines a claim in the second level (`shared.py`). Nobody
waits longer than `_MOST_WAIT`: then an entry is made twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tierup.lowering.objects import locks, shared, store

_MOST_WAIT = 30.0  # seconds for somebody else's compile


@contextmanager
def claimed(name: str, there: Callable[[], bool]) -> Iterator[None]:
    """While this process makes an entry. Where it cannot be told whether another does, nobody waits."""
    handle, everywhere = None, False
    with store.reporting("it is not known whether another process compiles"):
        handle, _ = locks.taken(f"{name}.claim", _MOST_WAIT)
    try:
        if shared.place() and not there():
            with store.reporting("it is not known whether another machine compiles"):
                everywhere = shared.claim(name, there)
        yield
    finally:
        with store.reporting("a claim cannot be removed"):
            locks.let_go(handle, f"{name}.claim")
        if everywhere:
            with store.reporting("a claim of all machines cannot be removed"):
                shared.let_go(name)
