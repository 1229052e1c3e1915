"""Positions along an axis, from an element of an index tensor."""

from __future__ import annotations

from tierup.dialect.base import dtypes
from tierup.lowering.building.arith import INDEX, Scalar, maximum, minimum, select


def position(index: Scalar, size: Scalar, *, from_end: bool) -> Scalar:
    """`index` as a position within [0, size): clamped; `from_end`: negative ones are counted from the end. For a size of 0 the position
    is 0: the caller sees to it that nothing is there to be read. Clamped is the index itself, of which a check before says that it fits."""
    length = size.cast(dtypes.i64)
    inside = maximum(minimum(index.cast(dtypes.i64), length - 1), -length if from_end else 0)
    return (select(inside < 0, inside + length, inside) if from_end else inside).cast(INDEX)
