"""Where elements belong in a sorted vector, lines between points of one, and how many there are of each.

Searches take NumPy's steps in NumPy's order (npysort/binsearch.cpp), so that they agree about vectors that are not sorted, too. Where many
are made in a vector that is in order, which is looked at first, each halves what is left without a branch: nothing foretells where keys
belong.
"""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import INDEX, Scalar, constant, maximum, minimum, select
from tierup.lowering.building.loops import either, nest, while_
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.pointwise.context import NotHandled, widened
from tierup.lowering.ops.tensors import Tensor

_MOST_WRITTEN_OUT = 1 << 16  # bounds, if that is how many there are: a step for each doubling


def _less(x: Scalar, y: Scalar) -> Scalar:
    """NaN is larger than all else."""
    return (x < y) | (y.differs(y) & x.equals(x)) if x.dtype.is_float else x < y


Place = tuple[Scalar, Scalar, Scalar]  # what a search leaves the next one: from, up to, for which key


def _searched(bounds: Tensor, key: Scalar, before: Place, right: bool) -> Place:
    """How many bounds come before a key, and that twice or more. `before`: of the search before."""
    size, wide = bounds.size(0), key.dtype

    def comes_before(x: Scalar, y: Scalar) -> Scalar:
        return ~_less(y, x) if right else _less(x, y)

    def step(now: list[Any]) -> list[ir.Value]:
        middle = (now[0] + now[1]) // 2
        is_before = comes_before(tensors.element(bounds, [middle]).cast(wide), key)
        return [select(is_before, middle + 1, now[0]), select(is_before, now[1], middle)]

    low, high, last = before
    rises = comes_before(Scalar(last, wide), key)
    span = [select(rises, low, b.index(0)), select(rises, size, minimum(high + 1, size))]
    return (*while_(lambda now: now[0] < now[1], span, step), key)


def _nothing_searched(bounds: Tensor, wide: DType) -> Place:
    return b.index(0), bounds.size(0), constant(0, wide)


def _searched_in_order(bounds: Tensor, key: Scalar, right: bool) -> Scalar:
    """As `_searched`, the number alone, in steps that are the same for every key. `bounds`: in order, one at least, none of them NaN."""

    def is_before(at: Scalar) -> Scalar:
        bound = tensors.element(bounds, [at]).cast(key.dtype)
        return ~(bound > key) if right else ~(bound >= key)  # of a NaN for a key, all are

    def step(now: list[Any]) -> list[Scalar]:
        low, left = now
        half = left >> 1
        return [low + half * is_before(low + half - 1).cast(INDEX), left - half]

    size = bounds.sizes[0]
    found = [b.index(0), bounds.size(0)]
    if size is None or size > _MOST_WRITTEN_OUT:
        found = while_(lambda now: now[1] > 1, found, step)
    else:
        for _ in range((size - 1).bit_length()):
            found = step(found)
    return found[0] + is_before(found[0]).cast(INDEX)


def _in_order(bounds: Tensor) -> Scalar:
    """Whether each bound is at most the next, and none is NaN."""
    first = tensors.element(bounds, [b.index(0)])

    def rises(at: list[Scalar], so_far: list[Any]) -> list[ir.Value]:
        return [so_far[0] & (tensors.element(bounds, [at[0]]) <= tensors.element(bounds, [at[0] + 1]))]

    found: Scalar = nest([bounds.size(0) - 1], [first.equals(first)], rises)[0]
    return found


def _bucketize(c: Call) -> Tensor:
    keys, bounds, right = c.tensor(0), c.tensor(1), bool(c.known(3))
    common = dtypes.from_numpy(np.promote_types(keys.dtype.numpy, bounds.dtype.numpy)) if keys.dtype is not bounds.dtype else keys.dtype
    if common is None or bounds.rank != 1:
        raise NotHandled
    bounds, wide, out = bounds.cast(common), widened(common), tensors.empty(keys.lengths, c.dtype())

    def search(positions: list[Scalar], carried: list[Any]) -> list[ir.Value]:
        key = tensors.element(keys, positions).cast(common).cast(wide)
        found = _searched(bounds, key, (carried[1], carried[2], carried[3]), right)
        return [b.value("tensor.insert", [found[0].cast(c.dtype()), carried[0], *positions], carried[0].type), *found]

    def quickly(positions: list[Scalar], carried: list[Any]) -> list[ir.Value]:
        key = tensors.element(keys, positions).cast(common).cast(wide)
        found = _searched_in_order(bounds, key, right)
        return [b.value("tensor.insert", [found.cast(c.dtype()), carried[0], *positions], carried[0].type)]

    loops = [keys.size(i) for i in range(keys.rank)]

    def one_by_one() -> list[ir.Value]:
        return nest(loops, [out.value, *_nothing_searched(bounds, wide)], search)[:1]

    if not keys.rank:
        return out.holding(one_by_one()[0])
    many = (bounds.size(0) > 0) & (bounds.size(0) <= reduce(mul, loops))
    (in_order,) = either(many, [b.integer_type(1)], lambda: [_in_order(bounds)], lambda: [many])
    return out.holding(either(in_order, [out.value.type], lambda: nest(loops, [out.value], quickly), one_by_one)[0])


def _interp(c: Call) -> Tensor:
    """arr_interp (compiled_base.c), of points in order: others are NumPy's."""
    x, xp, fp = c.tensor(0), c.tensor(1), c.tensor(2)
    size, out = xp.size(0), tensors.empty(x.lengths, dtypes.f64)
    last, has_lines = maximum(size, 1) - 1, size > 1

    def rises(at: list[Scalar], so_far: list[Any]) -> list[ir.Value]:
        return [so_far[0] & (tensors.element(xp, [at[0]]) <= tensors.element(xp, [at[0] + 1]))]

    tensors.assert_(nest([last], [has_lines], rises)[0], "points to interpolate between that are not in order")
    ends = [tensors.element(fp, [at]) if c.parameter(i) is None else c.number(i, dtypes.f64) for i, at in ((3, b.index(0)), (4, last))]

    def one(positions: list[Scalar], carried: list[Any]) -> list[ir.Value]:
        key = tensors.element(x, positions)
        found = _searched_in_order(xp, key, right=True)
        at = minimum(maximum(found, 1), last) - 1
        x0, x1, y0, y1 = (tensors.element(t, [at + more]) for t in (xp, fp) for more in (0, 1))
        slope = (y1 - y0) / (x1 - x0)
        value, other = slope * (key - x0) + y0, slope * (key - x1) + y1
        other = select(other.differs(other) & y0.equals(y1), y0, other)
        value = select(x0.equals(key), y0, select(value.differs(value), other, value))
        value = select(found > last, tensors.element(fp, [last]), value)
        value = select(key < tensors.element(xp, [b.index(0)]), ends[0], select(key > tensors.element(xp, [last]), ends[1], value))
        value = select(key.differs(key), key, value)
        return [b.value("tensor.insert", [value, carried[0], *positions], carried[0].type)]

    loops = [x.size(i) for i in range(x.rank)]
    return out.holding(nest([select(has_lines, b.index(1), 0), *loops], [out.value], lambda at, carried: one(at[1:], carried))[0])


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


LOWERINGS: dict[str, Lowering] = {"aten.bucketize.Tensor": _bucketize, "tierup.bincount": _bincount, "tierup.interp": _interp}
