"""Positions along an axis, from an element of an index tensor."""

from __future__ import annotations

from tierup.dialect.base import dtypes
from tierup.lowering.building.arith import INDEX, Scalar, maximum, minimum, select


def position(index: Scalar, size: Scalar, *, from_end: bool) -> Scalar:
    """`index` as a position within [0, size): clamped, after counting negative ones from the end when `from_end`. For a size of
    0 the position is 0: the caller sees to it that nothing is there to be read."""
    length = size.cast(dtypes.i64)
    at = index.cast(dtypes.i64)
    if from_end:
        at = select(at < 0, at + length, at)
    return maximum(minimum(at, length - 1), 0).cast(INDEX)
