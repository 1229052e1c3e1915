"""Arithmetic on sizes and positions: Python ints while they are known, values of type index when not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Union

from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import SIGNED_INDEX, Scalar, of, select

Size = Union[int, Scalar]  # with operators either way: `//` and `%` of numbers that are not negative


def value(size: Size) -> Scalar:
    """As a value of type index."""
    return b.index(size) if isinstance(size, int) else size


def least(x: Size, y: Size) -> Size:
    """The smaller of two sizes."""
    return min(x, y) if isinstance(x, int) and isinstance(y, int) else value(x).call("arith.minsi", y)


def greatest(x: Size, y: Size) -> Size:
    """The larger of two sizes."""
    return max(x, y) if isinstance(x, int) and isinstance(y, int) else value(x).call("arith.maxsi", y)


def from_end(position: Size, length: Size) -> Size:
    """A position counted from the end when it is negative."""
    if isinstance(position, int):
        return length + position if position < 0 else position
    return select(of(position, SIGNED_INDEX) < 0, position + length, position)


def clamped(position: Size, length: Size) -> Size:
    """Within [0, length]."""
    return greatest(least(position, length), 0)


def known(lengths: Sequence[Size]) -> tuple[int | None, ...]:
    """The numbers among sizes, None for those of the run: a type's."""
    return tuple(v if isinstance(v, int) else None for v in lengths)


def product(lengths: Sequence[Size]) -> Size:
    """All sizes multiplied: 1 for none."""
    return math.prod(lengths)
