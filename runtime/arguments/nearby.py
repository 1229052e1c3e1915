"""Arrays found by the memory that they lie in: of many, which may share some with one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tierup.dialect.optable.kernels import torch_tensors

T = TypeVar("T")
Array = np.ndarray[Any, Any]


class Nearby(Generic[T]):
    """What belongs to arrays, in the order in which they were added. As `np.may_share_memory` it asks for the first and the last byte,
    but of each array once: asking it of all pairs of a hundred arrays takes longer than what computes them."""

    def __init__(self) -> None:
        self._lows: list[int] = []  # where each begins, ascending
        self._spans: list[tuple[int, int, T]] = []  # beside each: where it ends, its number, what belongs to it
        self._reach: list[int] = []  # beside each: how far it or one before it goes

    def add(self, array: Array, item: T) -> None:
        """An array of any sizes; one without elements lies nowhere."""
        if not array.size:
            return
        low, high = _bounds(array)
        i = bisect_left(self._lows, low)
        self._spans.insert(i, (high, len(self._spans), item))
        self._lows.insert(i, low)
        self._reach.insert(i, max(high, self._reach[i - 1]) if i else high)
        for k in range(i + 1, len(self._reach)):
            if self._reach[k] >= high:
                break
            self._reach[k] = high

    def of(self, array: Array) -> list[T]:
        """What belongs to the arrays that may share memory with this one."""
        if not array.size or not self._spans:
            return []
        first, last = _bounds(array)
        i, found = bisect_left(self._lows, last), []
        while i and self._reach[i - 1] > first:
            i -= 1
            if self._spans[i][0] > first:
                found.append(self._spans[i][1:])
        return [item for _, item in sorted(found, key=lambda each: each[0])]


def lie_apart(new: Sequence[Array], old: Iterable[Array]) -> bool:
    """Whether none of the new arrays shares memory with another or with an old one. False where that is not certain."""
    spans = [(*_bounds(array), is_new) for arrays, is_new in ((new, True), (old, False)) for array in arrays if array.size]
    spans.sort()
    end = end_of_new = 0
    for low, high, is_new in spans:
        if low < (end if is_new else end_of_new):
            return False
        end = max(end, high)
        if is_new:
            end_of_new = high
    return True


def root_of(array: Array) -> Array:
    """The array that NumPy made it of, by views."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _bounds(array: Array) -> tuple[int, int]:
    """The first byte, and that behind the last. PyTorch says of a tensor where it lies in a tenth of the time."""
    first = torch_tensors.address(array.base) if array.flags.c_contiguous else None
    return byte_bounds(array) if first is None else (first, first + array.nbytes)
