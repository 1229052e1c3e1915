"""When the next bet may be compiled after one that had no code, or whose version answered nobody.

A program whose bets fail waits one call, then twice as many each time: exponential backoff, as CPython's (`pycore_backoff.h`) and other
tracing compilers have it. A version that answers calls sets it back.
"""

from __future__ import annotations

_MOST = 1 << 12  # calls


class Backoff:
    """Not thread-safe: its owner has a lock."""

    def __init__(self) -> None:
        self._wait = 0
        self._until = 0

    def allows(self, call: int) -> bool:
        """Whether a compile may begin in this call, counted from the program's first."""
        return call >= self._until

    def lost(self, call: int) -> None:
        """A compile came to nothing."""
        self._wait = min(2 * self._wait or 1, _MOST)
        self._until = call + self._wait

    def won(self) -> None:
        """A compile was worth it."""
        self._wait = 0
