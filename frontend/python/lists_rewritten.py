"""What is done over the arrays that the items of lists are in (`heaps.py`, `operations/growing.py`), as Python that programs may call: see
`functions/numpy_rewritten.py`. A call that is left to NumPy there is Python's here."""

from __future__ import annotations

from typing import Any

import numpy as np


def found_once(places: Any, seen: Any) -> Any:
    """Marks lists that are returned. One that is returned twice is one object, which only Python gives."""
    for i in range(len(places)):
        if seen[places[i]]:
            raise ValueError(f"{i}")
        seen[places[i]] = True


def counted(places: Any, lists: Any) -> Any:
    """How many items each of these lists has, and all have."""
    counts = np.empty(len(places), np.int64)
    total = 0
    for i in range(len(places)):
        counts[i] = lists[places[i], 1]
        total = total + int(counts[i])
    return counts, total


def strung(places: Any, lists: Any, numbers: Any, total: int) -> Any:
    """The numbers of the items of these lists, one list behind the other."""
    out, at = np.empty(total, numbers.dtype), 0
    for i in range(len(places)):
        first = int(lists[places[i], 0])
        for k in range(int(lists[places[i], 1])):
            out[at] = numbers[first + k]
            at = at + 1
    return out


def copied(out: Any, at: int, numbers: Any, first: int, count: int, step: int) -> Any:
    """Writes as many numbers of an array, from the first on, to another place, or to another array."""
    for k in range(count):
        out[at + k] = numbers[first + k * step]


def place_of(numbers: Any, first: int, count: int, of: Any, value: Any) -> int:
    """Where among so many items, numbers of a type, the first one is that equals a number; -1: nowhere."""
    for k in range(count):
        if of(numbers[first + k]) == value:
            return k
    return -1


def times_of(numbers: Any, first: int, count: int, of: Any, value: Any) -> int:
    """How many of so many items, numbers of a type, equal a number."""
    found = 0
    for k in range(count):
        if of(numbers[first + k]) == value:
            found = found + 1
    return found


def has_none(which: Any, kind: int) -> Any:
    """Whether none of some numbers, of which this says of what kind each is, is of a kind."""
    return bool(np.all(which != kind))


def of_kinds(which: Any, kind: int, these: Any, others: Any) -> Any:
    """Of each place the number that is there: these have those of a kind, others the rest."""
    return np.where(which == kind, these, others)


def turned(numbers: Any, first: int, count: int) -> Any:
    """Turns round the order of so many numbers of an array."""
    for k in range(count // 2):
        kept = numbers[first + k]
        numbers[first + k] = numbers[first + count - 1 - k]
        numbers[first + count - 1 - k] = kept


def opened(numbers: Any, first: int, count: int) -> Any:
    """Moves as many numbers, from the first on, one place up."""
    for k in range(count):
        numbers[first + count - k] = numbers[first + count - k - 1]


def closed(numbers: Any, first: int, count: int) -> Any:
    """Moves as many numbers, which stand behind the first one, one place down."""
    for k in range(count):
        numbers[first + k] = numbers[first + k + 1]


def ordered(numbers: Any, first: int, count: int) -> Any:
    """Sorts so many numbers of an array; equal ones stay in their order."""
    part = numbers[first : first + count]
    if np.any(part != part):
        raise ValueError(f"{count}")
    part[:] = np.sort(part, kind="stable")


def place_before(n: int, index: int) -> int:
    """Where in a list of `n` items one is put in before an index."""
    return max(index + n, 0) if index < 0 else min(index, n)


def within(n: int, start: int | None, stop: int | None, step: int) -> Any:
    """Where a slice of a list with `n` items begins, and how many items it has."""
    low, high = (0, n) if step > 0 else (-1, n - 1)
    first, last = (low, high) if step > 0 else (high, low)
    if start is not None:
        first = min(max(start + n if start < 0 else start, low), high)
    if stop is not None:
        last = min(max(stop + n if stop < 0 else stop, low), high)
    if step > 0:
        return first, max(0, (last - first + step - 1) // step)
    return first, max(0, (first - last - step - 1) // -step)
