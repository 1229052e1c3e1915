"""Lists of many numbers as arrays, which programs read in their place.

    [0.5, 1.5, ...]              "float"                       [0.5 1.5 ...]
    [[1, 2], [], [3], ...]       ("list", "int")               [0 2 2 3 ...]  where each inner list begins, and the end   [1 2 3 ...]
    [0, 0.5, ...]                ("either", "int", "float")    [0 1 ...]  which kind each is   [0 0 ...]   [0.0 0.5 ...]
    [(0, 4, 0.5), ...]           ("tuple", "int", "int", "float")     [0 ...]   [4 ...]   [0.5 ...]

Free of MLIR: read on every call that the native entry does not take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

FEWEST = 17  # numbers of a list that is read so: with fewer, programs have use for each, as an axis or a size
_MOST_PLACES = 16  # of a tuple
NUMBER_TYPES = {"bool": bool, "int": int, "float": float}

Kind = str | tuple[Any, ...]
"""Of the items of a list: a number's, or a list's or tuple's, and of what is in it."""


def columns_of(items: list[Any], fewest: int = 1) -> tuple[Kind, list[np.ndarray]] | None:
    """The kind of a list's items, and their numbers, as arrays of float64, int64 or bool. None for a list of fewer numbers, and where they
    are too large, or something else."""
    first = items[0] if items else None
    if type(first) in _NAMES:
        return _numbers(items) if len(items) >= fewest else None
    if type(first) not in (list, tuple):
        return None
    found = _columns(items)
    return None if found is None or sum(map(len, found[1])) < fewest else found


def dtype_of(kind: str) -> np.dtype:
    """Of the array of such numbers."""
    return np.dtype(NUMBER_TYPES[kind])


def kinds_in(kind: Kind) -> Iterator[str]:
    """What the arrays have for such items: where inner lists begin are ints."""
    if isinstance(kind, str):
        yield kind
        return
    if kind[0] in ("list", "either"):
        yield "int"
    for inner in kind[1:]:
        yield from kinds_in(inner)


_NAMES = {of: name for name, of in NUMBER_TYPES.items()}


def _numbers(items: Sequence[Any]) -> tuple[Kind, list[np.ndarray]] | None:
    kinds = set(map(type, items))
    if not kinds <= _NAMES.keys():
        return None
    try:
        if len(kinds) == 1:
            [kind] = kinds
            return _NAMES[kind], [np.array(items, kind)]
        names = [name for name, of in NUMBER_TYPES.items() if of in kinds]
        return ("either", *names), by_kinds(items, names)
    except OverflowError:
        return None


def by_kinds(items: Sequence[Any], names: Sequence[str]) -> list[np.ndarray]:
    """Numbers of these kinds: of which each is, and for each kind those that are of it, zeros elsewhere. Raises OverflowError for an int
    of more than 64 bits."""
    types = list(map(type, items))
    which = np.array(list(map([NUMBER_TYPES[name] for name in names].index, types)))
    made = [which]
    for kind in (NUMBER_TYPES[name] for name in names):
        made.append(np.array([v if of is kind else 0 for v, of in zip(items, types, strict=True)], kind))
    return made


def _columns(items: Sequence[Any]) -> tuple[Kind, list[np.ndarray]] | None:
    """As `columns_of`, of items of which there is one."""
    kind = type(items[0])
    if kind not in (list, tuple):
        return _numbers(items)
    if len(set(map(type, items))) > 1:
        return None
    counts = list(map(len, items))
    if kind is list:
        flat = list(chain.from_iterable(items))
        inner = _columns(flat) if flat else None
        return None if inner is None else (("list", inner[0]), [np.cumsum([0, *counts]), *inner[1]])
    if min(counts) != max(counts) or not 0 < counts[0] <= _MOST_PLACES:
        return None
    places = [_numbers(place) for place in zip(*items, strict=True)]
    kinds = tuple([place[0] for place in places if place is not None and isinstance(place[0], str)])
    return None if len(kinds) < len(places) else (("tuple", *kinds), [place[1][0] for place in places if place is not None])
