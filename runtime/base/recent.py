"""A dict with a bound, which the entries used longest ago leave first."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

from tierup.dialect.base import forking

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V]):
    """In the order of use, last the entry used last. The methods here may be called by several threads."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = forking.lock()

    def use(self, key: K) -> V | None:
        """The value under a key, which is now the one used last; None when there is none."""
        with self._lock:
            if key in self:
                self.move_to_end(key)
            return self.get(key)

    def keep(self, key: K, value: V, most: int) -> list[tuple[K, V]]:
        """Have a value, now the one used last, and no more than so many: the entries that go for it."""
        with self._lock:
            self[key] = value
            self.move_to_end(key)
            return [self.popitem(last=False) for _ in range(len(self) - most)]

    def all(self) -> list[V]:
        """The values, the one used longest ago first."""
        with self._lock:
            return list(self.values())

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            super().clear()
