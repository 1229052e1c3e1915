"""Where elements belong in a sorted vector, and how many there are of each.

Searches take NumPy's steps in NumPy's order (npysort/binsearch.cpp), so that they agree about vectors that are not sorted, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import INDEX, Scalar, constant, maximum, minimum, select
from tierup.lowering.building.loops import nest, while_
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.pointwise.context import NotHandled, widened
from tierup.lowering.ops.tensors import Tensor


def _less(x: Scalar, y: Scalar) -> Scalar:
    """NaN is larger than all else."""
    return (x < y) | (y.differs(y) & x.equals(x)) if x.dtype.is_float else x < y


def _bucketize(c: Call) -> Tensor:
    keys, bounds, right = c.tensor(0), c.tensor(1), bool(c.known(3))
    common = dtypes.from_numpy(np.promote_types(keys.dtype.numpy, bounds.dtype.numpy)) if keys.dtype is not bounds.dtype else keys.dtype
    if common is None or bounds.rank != 1:
        raise NotHandled
    bounds, wide = bounds.cast(common), widened(common)
    size, out = bounds.size(0), tensors.empty(keys.lengths, c.dtype())

    def comes_before(x: Scalar, key: Scalar) -> Scalar:
        return ~_less(key, x) if right else _less(x, key)

    def search(positions: list[Scalar], carried: list[Any]) -> list[ir.Value]:
        made, low, high, last = carried
        key = tensors.element(keys, positions).cast(common).cast(wide)
        rises = comes_before(Scalar(last, wide), key)
        low, high = select(rises, low, b.index(0)), select(rises, size, minimum(high + 1, size))

        def step(now: list[Any]) -> list[ir.Value]:
            middle = (now[0] + now[1]) // 2
            before = comes_before(tensors.element(bounds, [middle]).cast(wide), key)
            return [select(before, middle + 1, now[0]), select(before, now[1], middle)]

        low, high = while_(lambda now: now[0] < now[1], [low, high], step)
        return [b.value("tensor.insert", [low.cast(c.dtype()), made, *positions], made.type), low, high, key]

    start = [out.value, b.index(0), size, constant(0, wide)]
    return out.holding(nest([keys.size(i) for i in range(keys.rank)], start, search)[0])


def _bincount(c: Call) -> Tensor:
    x, weights, dtype = c.tensor(0), c.optional_tensor(1), c.dtype()
    least = c.number(2, dtypes.i64)
    low, high = (
        tensors.element(t, [])
        for t in tensors.reduce(
            x,
            [0],
            [(0, dtypes.i64), (-1, dtypes.i64)],
            lambda v, so_far: [minimum(v.cast(dtypes.i64), so_far[0]), maximum(v.cast(dtypes.i64), so_far[1])],
        )
    )
    if dtype.is_float:
        tensors.assert_(x.size(0) > 0, "weights of nothing, which NumPy counts as ints")
    tensors.assert_((low >= 0) & (least >= 0), "negative numbers to count, or a negative number of them")
    size = maximum(maximum(high + 1, least), select(low < 0, constant(1, dtypes.i64), 0)).cast(INDEX)
    out = tensors.zeros(c.fitted([size]), dtype)

    def count(at: list[Scalar], carried: list[Any]) -> list[ir.Value]:
        where = maximum(tensors.element(x, at).cast(dtypes.i64), 0).cast(INDEX)
        one = constant(1, dtype) if weights is None else tensors.element(weights, at).cast(dtype)
        return [b.value("tensor.insert", [tensors.element(out.holding(carried[0]), [where]) + one, carried[0], where], carried[0].type)]

    return out.holding(nest([x.size(0)], [out.value], count)[0])


LOWERINGS: dict[str, Lowering] = {"aten.bucketize.Tensor": _bucketize, "tierup.bincount": _bincount}
