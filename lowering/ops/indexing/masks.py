"""Masks: elements where a bool tensor is true, read and written. dialect/ops/indexing/masks.py and picking.py as loops.

How many there are only the run knows, so the positions of true elements are collected first: each is stored at the end of the
list, which grows only when the element is true, so no branch is taken. A write needs no positions: it is a select.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import Category
from tierup.dialect.ir import torch_types
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import under_casts
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import INDEX, Scalar, constant, select
from tierup.lowering.building.loops import nest
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call
from tierup.lowering.ops.pointwise.context import NotHandled, widened
from tierup.lowering.ops.tensors import Tensor

Combine = Callable[[Scalar, Scalar], Scalar]  # what an element becomes: of what it is and what comes


def added(x: Scalar, y: Scalar) -> Scalar:
    """x + y."""
    return x + y


def entries(c: Call, i: int) -> list[Tensor | None]:
    """The items of a list of index tensors; None for a whole axis."""
    items = map(under_casts, c.listed(i))
    return [tensors.of_torch(v) if torch_types.is_tensor(v.type) else None for v in items]


def is_mask(index: Tensor) -> bool:
    """Whether an index tensor is a mask: bool, or uint8 as torch has it."""
    return index.dtype.category is Category.BOOL or index.dtype is dtypes.u8


def only_mask(indices: Sequence[Tensor | None]) -> tuple[Tensor, int] | None:
    """The mask and its first axis, when no tensor of positions stands beside it. Raises NotHandled for masks and positions together."""
    used = [(index, axis) for axis, index in enumerate(indices) if index is not None]
    if not any(is_mask(index) for index, _ in used):
        return None
    if len(used) != 1 or not used[0][0].rank:
        raise NotHandled
    return used[0]


def positions(mask: Tensor) -> tuple[Tensor, Scalar]:
    """(row-major positions of the true elements, as i64 and with room to spare; how many there are)."""
    store = tensors.empty([sizes.product(mask.lengths) + 1], dtypes.i64)

    def step(at: list[Scalar], carried: list[Any]) -> list[ir.Value]:
        list_, count, linear = carried
        list_ = b.value("tensor.insert", [linear.cast(dtypes.i64), list_, count], list_.type)
        true = tensors.element(mask, at).cast(dtypes.bool_)
        one = select(true, constant(1, dtypes.i64), 0).cast(INDEX)
        return [list_, count + one, linear + 1]

    list_, count, _ = nest([mask.size(i) for i in range(mask.rank)], [store.value, b.index(0), b.index(0)], step)
    return store.holding(list_), count


def unflattened(position: Scalar, lengths: Sequence[Size]) -> list[Scalar]:
    """A row-major position as one index per axis."""
    at: list[Scalar] = []
    for length in reversed(lengths[1:]):
        size = max(length, 1) if isinstance(length, int) else length  # of an empty tensor there are no positions
        at.insert(0, position % size)
        position = position // size
    return [position, *at]


def read(c: Call, x: Tensor, mask: Tensor, first: int) -> Tensor:
    """x[:, ..., mask]: the mask's axes become one, in its place."""
    found, count = positions(mask)
    lengths = [*x.lengths[:first], count, *x.lengths[first + mask.rank :]]
    axes = mask.lengths

    def body(at: list[Scalar]) -> Scalar:
        position = tensors.element(found, [at[first]]).cast(INDEX)
        return tensors.element(x, [*at[:first], *unflattened(position, axes), *at[first + 1 :]])

    return tensors.made(c.fitted(lengths), x.dtype, body)


def write(x: Tensor, mask: Tensor, first: int, values: Tensor, combine: Combine | None) -> Tensor:
    """x with x[:, ..., mask] set, or combined. Raises NotHandled for values that are told apart by the number of true elements."""
    rank = x.rank - mask.rank + 1
    places = range(rank - values.rank, rank)
    if any(size != 1 and (place == first or place < 0) for place, size in zip(places, values.sizes, strict=True)):
        raise NotHandled
    loops = [place if place < first else place + mask.rank - 1 for place in places]
    operands = [tensors.whole(x), (mask, range(first, first + mask.rank)), tensors.broadcasting(values, loops)]

    def body(old: Scalar, true: Scalar, new: Scalar) -> Scalar:
        new = new.cast(x.dtype)
        if combine is not None:
            wide = widened(x.dtype)
            new = combine(old.cast(wide), new.cast(wide)).cast(x.dtype)
        return select(true.cast(dtypes.bool_), new, old)

    return tensors.pointwise(x.lengths, operands, x.dtype, body)


def nonzero(c: Call) -> Tensor:
    """aten.nonzero: one row of indices for each element that is not zero."""
    x = c.tensor(0)
    if not x.rank:
        raise NotHandled
    found, count = positions(x)

    def body(at: list[Scalar]) -> Scalar:
        position = tensors.element(found, [at[0]]).cast(INDEX)
        chosen: Scalar | None = None
        for axis, index in enumerate(unflattened(position, x.lengths)):
            number = index.cast(dtypes.i64)
            mine = at[1].cast(dtypes.i64).equals(axis)
            chosen = number if chosen is None else select(mine, number, chosen)
        assert chosen is not None
        return chosen

    return tensors.made(c.fitted([count, x.rank]), dtypes.i64, body)


def masked_select(c: Call) -> Tensor:
    """aten.masked_select of operands of one shape: the elements where the mask is true."""
    x, mask = c.tensor(0), c.tensor(1)
    if x.rank != mask.rank or not x.rank or any((a == 1) != (m == 1) for a, m in zip(x.sizes, mask.sizes, strict=True)):
        raise NotHandled
    return read(c, x, mask, 0)
