"""What is said of a function only once, whichever of its graphs, regions and continuations it is due to."""

from __future__ import annotations

import threading


class Once:
    """Thread-safe."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._lock = threading.RLock()

    def first(self, what: str) -> bool:
        """Whether this is the first time that it is asked for `what`."""
        with self._lock:
            is_first = what not in self._said
            self._said.add(what)
            return is_first
