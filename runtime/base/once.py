"""What is said of a function only once, whichever of its graphs, regions and continuations it is due to."""

from __future__ import annotations

import os
import sys
import warnings

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


def warn(text: str, category: type[Warning] = RecompileLimitWarning) -> None:
    """A warning at the user's line: the first frame that is neither of this package nor of tier 0's code."""
    ours = os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "<tierup"
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(ours):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
