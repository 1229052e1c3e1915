"""scatter, scatter_add, scatter_reduce, index_put, NumPy's ufunc.at: dialect/ops/indexing as loops over the index, in its order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.dialect.ops.indexing.folds import FOLDS
from tierup.dialect.ops.indexing.scatter_reductions import REDUCTIONS
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import INDEX, Scalar, constant, maximum
from tierup.lowering.building.loops import nest
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call
from tierup.lowering.ops.indexing import masks
from tierup.lowering.ops.indexing.gathers import index_axes, listed, longest
from tierup.lowering.ops.indexing.masks import Combine, added
from tierup.lowering.ops.indexing.positions import position
from tierup.lowering.ops.pointwise.context import NotHandled, widened
from tierup.lowering.ops.pointwise.elements import SCALARS
from tierup.lowering.ops.tensors import Tensor


def _store(x: Tensor, target: ir.Value, at: list[ir.Value], value: Scalar, combine: Combine | None) -> ir.Value:
    """`target` with one element set, or combined with what it was (the halves in f32, rounded each time, as NumPy's and torch's do)."""
    if combine is not None:
        wide = widened(x.dtype)
        value = combine(tensors.element(x.holding(target), at).cast(wide), value.cast(wide)).cast(x.dtype)
    return b.value("tensor.insert", [value, target, *at], target.type)


def _read(x: Tensor, positions: Sequence[Scalar]) -> Scalar:
    """An element of a tensor that broadcasts to the last of the positions."""
    last = positions[len(positions) - x.rank :]
    return tensors.element(x, [0 if size == 1 else p for p, size in zip(last, x.sizes, strict=True)])


def unless_empty(count: Scalar, x: Tensor, axes: Sequence[int]) -> Scalar:
    """A number of turns, but 0 where the run finds one of the axes of x that are indexed empty: a check has failed, and an index has no
    place that it could be clamped to."""
    for axis in axes:
        if x.sizes[axis] is None:
            count = count * sizes.least(x.size(axis), 1)
    return count


def _scatter(source: str) -> Callable[[Call], Tensor]:
    """`source`: "tensor", "number", or "added"."""

    def lower(c: Call) -> Tensor:
        values = c.number(3, c.tensor(0).dtype) if source == "number" else c.tensor(3)
        return _scattered(c, c.tensor(0), values, added if source == "added" else None)

    return lower


def _scattered(c: Call, x: Tensor, values: Tensor | Scalar, combine: Combine | None) -> Tensor:
    """x with values set, or combined, where the operands 1 and 2 say, a dim and an index."""
    index, dims = c.tensor(2), c.ints(1)
    if dims is None or not x.rank or index.rank != x.rank:
        raise NotHandled
    if 0 in x.sizes or 0 in index.sizes:
        return x
    axis, limits = dims[0] % x.rank, [x.size(i) for i in range(x.rank)]

    def step(positions: list[Scalar], carried: list[ir.Value]) -> list[ir.Value]:
        at = list(positions)
        at[axis] = position(tensors.element(index, positions), limits[axis], from_end=False)
        value = tensors.element(values, positions) if isinstance(values, Tensor) else values
        return [_store(x, carried[0], at, value, combine)]

    loops = [index.size(i) for i in range(x.rank)]
    loops[axis] = unless_empty(loops[axis], x, [axis])
    return x.holding(nest(loops, [x.value], step)[0])


def _scatter_reduce(c: Call) -> Tensor:
    x, of, includes = c.tensor(0), REDUCTIONS.get(str(c.known(4))), bool(c.known(5))
    if of is None:
        raise NotHandled
    start = x if includes else _scattered(c, x, constant(of.neutral(x.dtype), x.dtype), None)
    made = _scattered(c, start, c.tensor(3), partial(FOLDS[of.fold].combine, SCALARS))
    if c.known(4) != "mean":
        return made
    ones = tensors.zeros(x.lengths, dtypes.i64)
    if includes:
        ones = tensors.mapped(ones, dtypes.i64, lambda v: v + 1)
    counts = _scattered(c, ones, constant(1, dtypes.i64), added)

    def divided(total: Scalar, count: Scalar) -> Scalar:
        total, count = total.cast(widened(x.dtype)), maximum(count, 1).cast(widened(x.dtype))
        return total / count if total.is_float else SCALARS.floor_quotient(total, count)

    return tensors.pointwise(x.lengths, [tensors.whole(made), tensors.whole(counts)], x.dtype, divided)


def _index_put(c: Call) -> Tensor:
    return _put(c, added if c.known(3) else None)


def _ufunc_at(c: Call) -> Tensor:
    return _put(c, partial(FOLDS[str(c.known(3))].combine, SCALARS))


def _put(c: Call, combine: Combine | None) -> Tensor:
    x, values = c.tensor(0), c.tensor(2)
    if 0 in x.sizes:
        return x
    mask = masks.only_mask(masks.entries(c, 1))
    if mask is not None:
        return masks.write(x, *mask, values, combine) if _is_one_for_all(x, *mask, values) else _put_in_order(x, *mask, values, combine)
    indices = listed(c, 1)
    axes, rank = index_axes(x, indices)
    used = [index for index in indices if index is not None]
    place = {axis: i for i, axis in enumerate(axes)}
    lengths = [x.size(i) for i in range(x.rank)]
    loops = []
    for kind, k in axes:
        tensor, axis = (x, k) if kind == "x" else longest(used, k - rank)
        loops.append(tensor.size(axis))
    if loops:
        loops[0] = unless_empty(loops[0], x, [i for i, index in enumerate(indices) if index is not None])
    def step(positions: list[Scalar], carried: list[ir.Value]) -> list[ir.Value]:
        of_indices = [positions[place["index", k]] for k in range(rank)]
        at = []
        for i in range(x.rank):
            index = indices[i] if i < len(indices) else None
            at.append(positions[place["x", i]] if index is None else position(_read(index, of_indices), lengths[i], from_end=True))
        return [_store(x, carried[0], at, _read(values, positions).cast(x.dtype), combine)]

    return x.holding(nest(loops, [x.value], step)[0])


def _is_one_for_all(x: Tensor, mask: Tensor, first: int, values: Tensor) -> bool:
    """Whether values do not differ along the axis that stands for the mask's true elements."""
    axis = values.rank - (x.rank - mask.rank + 1) + first
    return axis < 0 or values.sizes[axis] == 1


def _put_in_order(x: Tensor, mask: Tensor, first: int, values: Tensor, combine: Combine | None) -> Tensor:
    """x[:, ..., mask] set, or combined, one value for each true element. Where their number is another than that of the values the
    bounds check has noticed."""
    rank = x.rank - mask.rank + 1
    if values.rank > rank:
        raise NotHandled
    (found, count), axes = masks.positions(mask), mask.lengths
    along = values.length(first - (rank - values.rank))
    loops = [x.size(i) for i in range(first)] + [sizes.value(sizes.least(count, along))]
    loops += [x.size(i) for i in range(first + mask.rank, x.rank)]

    def step(positions: list[Scalar], carried: list[ir.Value]) -> list[ir.Value]:
        linear = tensors.element(found, [positions[first]]).cast(INDEX)
        at = [*positions[:first], *masks.unflattened(linear, axes), *positions[first + 1 :]]
        return [_store(x, carried[0], at, _read(values, positions).cast(x.dtype), combine)]

    return x.holding(nest(loops, [x.value], step)[0])


LOWERINGS: dict[str, Callable[[Call], Tensor]] = {
    "aten.scatter.src": _scatter("tensor"),
    "aten.scatter.value": _scatter("number"),
    "aten.scatter_add": _scatter("added"),
    "aten.scatter_reduce.two": _scatter_reduce,
    "tierup.at": _ufunc_at,
    "aten.index_put": _index_put,
    "aten.index_put.hacked_twin": _index_put,
    "aten._unsafe_index_put.hacked_twin": _index_put,
}

