"""What all graphs, regions and continuations of a function share: what is said only once of it, and how its calls are numbered."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable

from tierup.dialect.base import forking
from tierup.runtime.base.errors import RecompileLimitWarning


class Once:
    """What was said of one function. Thread-safe."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._lock = forking.lock()

    def first(self, what: str) -> bool:
        """Whether this is the first time that it is asked for `what`."""
        with self._lock:
            is_first = what not in self._said
            self._said.add(what)
            return is_first


class Owner(Once):
    """The function that programs belong to. `calls`: how many it has answered; None where the program's own are all. `named`: what its ops
    are called, in a text for people, by who wrote it."""

    def __init__(self, calls: Callable[[], int] | None = None, named: Callable[[str], str] = str) -> None:
        super().__init__()
        self.calls, self.named = calls, named
        self._waited = 0.0

    @property
    def waited(self) -> float:
        """Seconds that calls have waited for compiles under a budget."""
        return self._waited

    def wait(self, seconds: float) -> None:
        """So much longer."""
        with self._lock:
            self._waited += seconds


def warn(text: str, category: type[Warning] = RecompileLimitWarning) -> None:
    """A warning at the user's line: the first frame that is neither of this package nor of tier 0's code."""
    ours = os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "<tierup"
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(ours):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
