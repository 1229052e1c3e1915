"""How long a compile in this process may take: looked at between passes, since none can be ended in its midst."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_until: ContextVar[tuple[float, float] | None] = ContextVar("tierup_deadline", default=None)


class TookTooLong(Exception):
    """A compile that was given up."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Passes in the block are to be done in so many seconds; inside of another such block its seconds count."""
    if _until.get() is not None:
        yield
        return
    token = _until.set((time.monotonic() + seconds, seconds))
    try:
        yield
    finally:
        _until.reset(token)


def check() -> None:
    """Raise TookTooLong when the seconds are over."""
    found = _until.get()
    if found is not None and time.monotonic() > found[0]:
        raise TookTooLong(f"it took longer than {found[1]:g} s (the option compile_limit)")
