"""A table with a bound, the least recently used out."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from tierup.dialect.base import forking

T = TypeVar("T")


class Recent(Generic[T]):
    """Thread-safe: its lock is held for no more than a look."""

    def __init__(self) -> None:
        self._lock = forking.lock()
        self._items: OrderedDict[object, T] = OrderedDict()

    def get(self, key: object) -> T | None:
        """The value under a key, which is now the one used last; None when there is none."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def put(self, key: object, value: T, bound: int) -> list[T]:
        """What is dropped for it."""
        with self._lock:
            self._items[key] = value
            return [self._items.popitem(last=False)[1] for _ in range(len(self._items) - bound)]

    def all(self) -> list[T]:
        """Least recently used first."""
        with self._lock:
            return list(self._items.values())

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._items.clear()
