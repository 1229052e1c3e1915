"""Positions along an axis, from an element of an index tensor."""

from __future__ import annotations

from tierup.dialect import dtypes
from tierup.dialect.mlir import ir
from tierup.lowering import builders as b
from tierup.lowering.pointwise.scalar import Scalar, maximum, minimum, select


def position(index: Scalar, size: ir.Value, *, from_end: bool) -> ir.Value:
    """`index` as a position within [0, size): clamped, after counting negative ones from the end when `from_end`. For a size of
    0 the position is 0: the caller sees to it that nothing is there to be read."""
    length = Scalar(b.index_to_i64(size), dtypes.i64)
    at = index.cast(dtypes.i64)
    if from_end:
        at = select(at < 0, at + length, at)
    at = maximum(minimum(at, length - 1), 0)
    return b.value("arith.index_cast", [at.value], b.index_type())


def element(tensor: ir.Value, at: list[ir.Value]) -> ir.Value:
    return b.value("tensor.extract", [tensor, *at], ir.ShapedType(tensor.type).element_type)
