"""Maxima and minima and where they are: dialect/ops/reductions/extremes.py as loops. NaN wins, the first one counts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import SIGNED_INDEX, Number, Scalar, constant, isnan, maximum, minimum, of, select
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Lowering
from tierup.lowering.ops.movement import shape
from tierup.lowering.ops.pointwise.context import widened
from tierup.lowering.ops.reductions.sums import Reduction, over
from tierup.lowering.ops.tensors import Tensor


def least(dtype: DType) -> Number:
    """What any element is at least."""
    return -math.inf if dtype.is_float else dtype.range[0]


def greatest(dtype: DType) -> Number:
    """What any element is at most."""
    return math.inf if dtype.is_float else dtype.range[1]


def refuse_empty(x: Tensor, axes: Sequence[int]) -> None:
    """An error site for a run-time size of 0; static ones are refused by inference."""
    for axis in axes:
        if x.sizes[axis] is None:
            tensors.assert_(of(x.size(axis), SIGNED_INDEX) > 0, "expected the reduced dims to have non-zero sizes")


def extreme(x: Tensor, axes: Sequence[int], of_maximum: bool) -> Tensor:
    """The largest or smallest elements, in f32 for the halves."""
    refuse_empty(x, axes)
    dtype = widened(x.dtype)
    pick = maximum if of_maximum else minimum
    start = least(dtype) if of_maximum else greatest(dtype)
    return tensors.reduce(x, axes, [(start, dtype)], lambda v, acc: [pick(v.cast(dtype), acc[0])])[0]


def _extreme(of_maximum: bool) -> Reduction:
    return lambda c, axes: extreme(c.tensor(0), axes, of_maximum)


def _positions(x: Tensor, axes: Sequence[int], of_maximum: bool) -> list[Tensor]:
    """(extremes in the widened dtype, row-major positions of the first ones among `axes`)."""
    if not x.rank:
        return [x, tensors.zeros([], dtypes.i64)]
    refuse_empty(x, axes)
    dtype = widened(x.dtype)
    sizes = {axis: x.size(axis) for axis in axes[1:]}  # read before the loop

    def step(v: Scalar, acc: list[Scalar]) -> list[Scalar]:
        best, at = acc
        element = v.cast(dtype)
        better = element > best if of_maximum else element < best
        if dtype.is_float:
            better = better | (isnan(element) & ~isnan(best))
        return [select(better, element, best), select(better, _place(axes, sizes), at)]

    return tensors.reduce(x, axes, [(least(dtype) if of_maximum else greatest(dtype), dtype), (0, dtypes.i64)], step)


def _first(x: Tensor, axes: Sequence[int], of_maximum: bool) -> Tensor:
    """The second of `_positions`. Along the innermost axis in two loops, one for the extreme and one for the first element that is it: each
    runs in vectors, which one that carries both does not. Positions are i32 meanwhile where all are known to be: there are instructions for
    the least of these, and as many in a vector as there are f32."""
    if x.rank > 1 and len(axes) == x.rank:  # positions are those of one row
        x, axes = shape.flattened(x), [0]
    if not x.rank or x.rank - 1 not in axes:
        return _positions(x, axes, of_maximum)[1]
    best = extreme(x, axes, of_maximum)
    kept = tensors.kept_axes(x.rank, axes)
    sizes = {axis: x.size(axis) for axis in axes[1:]}  # read before the loop
    elements = tensors.count(x, axes)
    dtype = dtypes.i32 if isinstance(elements, int) and elements < 1 << 30 else dtypes.i64
    nowhere = constant(1 << dtype.itemsize * 8 - 2, dtype)  # not the greatest int: of a minimum with that LLVM makes a branch: no vectors

    def step(elements: list[Scalar], acc: list[Scalar]) -> list[Scalar]:
        element = elements[0].cast(best.dtype)
        found = element.equals(elements[1])
        if best.dtype.is_float:
            found = found | isnan(element)
        return [minimum(acc[0], select(found, _place(axes, sizes).cast(dtype), nowhere))]

    inputs = [(x, ir.AffineMap.get_identity(x.rank)), (best, tensors.dims_map(x.rank, kept))]
    iterators = ["parallel" if i in kept else "reduction" for i in range(x.rank)]
    outs = [tensors.filled([x.length(i) for i in kept], nowhere)]
    return tensors.mapped(tensors.looped(inputs, outs, tensors.dims_map(x.rank, kept), iterators, step)[0], dtypes.i64)


def _place(axes: Sequence[int], sizes: dict[int, Scalar]) -> Scalar:
    """The row-major position among `axes` of where the loop is; `sizes`: of all but the first of them."""
    here = b.loop_index(axes[0])
    for axis in axes[1:]:
        here = here * sizes[axis] + b.loop_index(axis)
    return here.cast(dtypes.i64)


def _with_index(of_maximum: bool) -> Reduction:
    return lambda c, axes: _positions(c.tensor(0), axes, of_maximum)


def _index(of_maximum: bool) -> Reduction:
    return lambda c, axes: _first(c.tensor(0), axes, of_maximum)


LOWERINGS: dict[str, Lowering] = {
    "aten.amax": over(_extreme(True), 1),
    "aten.amin": over(_extreme(False), 1),
    "aten.max": over(_extreme(True)),
    "aten.min": over(_extreme(False)),
    "aten.aminmax": over(lambda c, axes: [extreme(c.tensor(0), axes, largest) for largest in (False, True)], 1),
    "aten.max.dim": over(_with_index(True), 1),
    "aten.min.dim": over(_with_index(False), 1),
    "aten.argmax": over(_index(True), 1),
    "aten.argmin": over(_index(False), 1),
}
