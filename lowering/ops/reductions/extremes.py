"""Maxima and minima and where they are: dialect/optable/families/extremes.py as loops. NaN wins, the first one counts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import SIGNED_INDEX, Number, Scalar, isnan, maximum, minimum, of, select
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering, axes_of
from tierup.lowering.ops.reductions.sums import shaped
from tierup.lowering.ops.tensors import Tensor, widened


def least(dtype: DType) -> Number:
    """What any element is at least."""
    if dtype.is_float:
        return -math.inf
    return 0 if dtype in (dtypes.u8, dtypes.bool_) else -(1 << (dtype.itemsize * 8 - 1))


def greatest(dtype: DType) -> Number:
    """What any element is at most."""
    if dtype.is_float:
        return math.inf
    if dtype is dtypes.bool_:
        return 1
    return 255 if dtype is dtypes.u8 else (1 << (dtype.itemsize * 8 - 1)) - 1


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
    return tensors.reduce(x, axes, [(start, dtype)], lambda v, acc: [pick(acc[0], v.cast(dtype))])[0]


def _extreme(of_maximum: bool, dims: bool) -> Lowering:
    def lower(c: Call) -> list[Tensor]:
        x = c.tensor(0)
        axes = axes_of(c.ints(1), x.rank) if dims else axes_of(None, x.rank)
        keepdim = dims and bool(c.known(2))
        return [shaped(extreme(x, axes, of_maximum), x.dtype, x, axes, keepdim)]

    return lower


def _aminmax(c: Call) -> list[Tensor]:
    x = c.tensor(0)
    axes = axes_of(c.ints(1), x.rank)
    return [shaped(extreme(x, axes, largest), x.dtype, x, axes, bool(c.known(2))) for largest in (False, True)]


def _positions(x: Tensor, axes: Sequence[int], of_maximum: bool) -> list[Tensor]:
    """(extremes in the widened dtype, row-major positions of the first ones among `axes`)."""
    refuse_empty(x, axes)
    dtype = widened(x.dtype)
    sizes = {axis: x.size(axis) for axis in axes[1:]}  # read before the loop

    def step(v: Scalar, acc: list[Scalar]) -> list[Scalar]:
        best, at = acc
        element = v.cast(dtype)
        better = element > best if of_maximum else element < best
        if dtype.is_float:
            better = better | (isnan(element) & ~isnan(best))
        here = b.loop_index(axes[0])
        for axis in axes[1:]:
            here = here * sizes[axis] + b.loop_index(axis)
        position = here.cast(dtypes.i64)
        return [select(better, element, best), select(better, position, at)]

    return tensors.reduce(x, axes, [(least(dtype) if of_maximum else greatest(dtype), dtype), (0, dtypes.i64)], step)


def _with_index(of_maximum: bool) -> Lowering:
    def lower(c: Call) -> list[Tensor]:
        x = c.tensor(0)
        if not x.rank:
            zero = tensors.reduce(x, [], [(0, dtypes.i64)], lambda v, acc: acc)[0]
            return [x, zero]
        axes = axes_of(c.ints(1), x.rank)
        values, positions = _positions(x, axes, of_maximum)
        keepdim = bool(c.known(2))
        return [shaped(values, x.dtype, x, axes, keepdim), shaped(positions, dtypes.i64, x, axes, keepdim)]

    return lower


def _index(of_maximum: bool) -> Lowering:
    def lower(c: Call) -> list[Tensor]:
        x = c.tensor(0)
        if not x.rank:
            return tensors.reduce(x, [], [(0, dtypes.i64)], lambda v, acc: acc)
        axes = axes_of(c.ints(1), x.rank)
        return [shaped(_positions(x, axes, of_maximum)[1], dtypes.i64, x, axes, bool(c.known(2)))]

    return lower


LOWERINGS: dict[str, Lowering] = {
    "aten.amax": _extreme(True, dims=True),
    "aten.amin": _extreme(False, dims=True),
    "aten.max": _extreme(True, dims=False),
    "aten.min": _extreme(False, dims=False),
    "aten.aminmax": _aminmax,
    "aten.max.dim": _with_index(True),
    "aten.min.dim": _with_index(False),
    "aten.argmax": _index(True),
    "aten.argmin": _index(False),
}
