"""What passes find out about a function, for those that follow in the same run of a pipeline, as in MLIR's analysis manager.

A pass that says `keeps_analyses = True` leaves true what was found before it, or brings it up to date. After any other it is forgotten.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tierup.dialect.mlir import ir

T = TypeVar("T")
_local = threading.local()


def of(function: ir.Operation, make: Callable[[ir.Operation], T]) -> T:
    """What `make` finds out about a function: from a pass before, or anew."""
    known = getattr(_local, "known", None)
    if known is None:
        return make(function)
    key = (make, function)
    if key not in known:
        known[key] = make(function)
    found: T = known[key]
    return found


def forget() -> None:
    """All that the passes of this run found is out of date."""
    known = getattr(_local, "known", None)
    if known:
        known.clear()


@contextmanager
def kept() -> Iterator[None]:
    """Around the run of a pipeline."""
    before: dict[Any, Any] | None = getattr(_local, "known", None)
    _local.known = {}
    try:
        yield
    finally:
        _local.known = before
