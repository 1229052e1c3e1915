"""Arrays found by the memory that they lie in: of many, which may share some with one."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.lib.array_utils import byte_bounds

T = TypeVar("T")
Array = np.ndarray[Any, Any]


class Nearby(Generic[T]):
    """What belongs to arrays, in the order in which they were added. As `np.may_share_memory` it asks for the first and the last byte,
    but of each array once: asking it of all pairs of a hundred arrays takes longer than what computes them."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int, T]] = []

    def add(self, array: Array, item: T) -> None:
        """An array of any sizes; one without elements lies nowhere."""
        if array.size:
            self._spans.append((*byte_bounds(array), item))

    def of(self, array: Array) -> list[T]:
        """What belongs to the arrays that may share memory with this one."""
        if not array.size or not self._spans:
            return []
        first, last = byte_bounds(array)
        return [item for low, high, item in self._spans if low < last and first < high]
