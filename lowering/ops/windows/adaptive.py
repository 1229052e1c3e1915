"""Adaptive pooling and nearest resizing: dialect/ops/windows/adaptive.py as loops.

Window i of n over a size s is [floor(i * s / n), ceil((i + 1) * s / n)). Windows differ in size: loops go as far as the largest may, and
what lies beyond a window's end does not count. The gradient of an average looks from the input back at the result through windows of the
same kind: position i of s lies in the windows [floor(i * n / s), ceil((i + 1) * n / s)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import INDEX, Scalar, constant, isnan, minimum, select
from tierup.lowering.building.loops import nest
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.pointwise.context import NotHandled, parameter, widened
from tierup.lowering.ops.reductions.extremes import least
from tierup.lowering.ops.reductions.sums import mean, plus, shaped
from tierup.lowering.ops.tensors import Tensor

Step = Callable[[Scalar, list[Scalar], list[Size]], list[Scalar]]  # (element, so far, where it stands) -> so far


def _bounds(i: Size, size: Size, count: Size) -> tuple[Size, Size]:
    """Where window i begins and ends."""
    end = ((i + 1) * size + (count - 1)) // count
    return i * size // count, end


def _folded(
    x: Tensor, counts: Sequence[Size], kinds: Sequence[DType], start: Callable[[list[Size]], list[Scalar]], step: Step
) -> list[Tensor]:
    """For each of `counts` positions along the last axes what `step` makes of its window of x; `start` is given its first place."""
    spatial, lead = len(counts), x.rank - len(counts)
    over = x.lengths[lead:]
    lengths = [*x.lengths[:lead], *counts]
    longest = [(size + (n - 1)) // n + 1 for size, n in zip(over, counts, strict=True)]

    def first(axis: int) -> list[Size]:
        return [_bounds(b.loop_index(axis + i), size, n)[0] for i, (size, n) in enumerate(zip(over, counts, strict=True))]

    def start_of(k: int) -> Callable[[list[Scalar]], Scalar]:
        return lambda _: start(first(lead))[k]

    starts = [tensors.made(lengths, kind, start_of(k)) for k, kind in enumerate(kinds)]
    rank = x.rank + spatial
    axes = [ir.AffineDimExpr.get(i) for i in range(rank)]

    def body(_: list[Scalar], before: list[Scalar]) -> list[Scalar]:
        inside: Scalar | None = None
        at: list[Size] = []
        for i, (size, n) in enumerate(zip(over, counts, strict=True)):
            begin, end = _bounds(b.loop_index(lead + i), size, n)
            here = begin + b.loop_index(x.rank + i)
            within = sizes.value(here).cast(dtypes.i64) < sizes.value(end).cast(dtypes.i64)
            inside = within if inside is None else inside & within
            at.append(sizes.least(here, size - 1))  # what does not count is read all the same
        assert inside is not None
        after = step(tensors.element(x, [*(b.loop_index(i) for i in range(lead)), *at]), before, at)
        return [select(inside, new.cast(kind), old) for new, old, kind in zip(after, before, kinds, strict=True)]

    extent = tensors.empty(longest, x.dtype)  # says how far the loops over a window go
    inputs = [(extent, ir.AffineMap.get(rank, 0, axes[x.rank :]))]
    return tensors.looped(inputs, starts, ir.AffineMap.get(rank, 0, axes[: x.rank]), ["parallel"] * x.rank + ["reduction"] * spatial, body)


def _holds(counts: Sequence[Size], over: Sequence[Size], lead: int, dtype: DType) -> Scalar:
    """How many elements the window at the loop's position holds."""
    total: Size = 1
    for i, (size, n) in enumerate(zip(over, counts, strict=True)):
        begin, end = _bounds(b.loop_index(lead + i), size, n)
        total = total * (end - begin)
    return sizes.value(total).cast(dtypes.i64).cast(dtype)


def _asked(c: Call, spatial: int) -> list[Size] | None:
    """The sizes asked for; None where one is 0, and so is the result's. Raises NotHandled for one that only the run tells."""
    found = c.ints(1)
    if found is None or len(found) != spatial:
        raise NotHandled
    return None if 0 in found or 0 in c.tensor(0).sizes else list(found)


def _nothing(c: Call, result: int = 0) -> Tensor:
    return tensors.empty(c.fitted(c.tensor(0).lengths, result), c.dtype(result))


def _avg(spatial: int, c: Call) -> Tensor:
    x, counts = c.tensor(0), _asked(c, spatial)
    dtype, lead = widened(x.dtype), x.rank - spatial
    if all(n == 1 for n in c.ints(1) or ()):  # of empty ones, too
        found = mean(x, range(lead, x.rank), dtype)
        return shaped(found, x.dtype, x, range(lead, x.rank), True)
    if counts is None:
        return _nothing(c)
    if not x.dtype.is_float:  # taken where there is nothing to do, which the sizes do not tell here
        raise NotHandled
    over = x.lengths[lead:]
    total = _folded(x, counts, [dtype], lambda _: [constant(0, dtype)], lambda v, so_far, _: [plus(so_far[0], v.cast(dtype))])[0]
    return tensors.mapped(total, x.dtype, lambda v: v / _holds(counts, over, lead, dtype))


def _avg_backward(spatial: int, c: Call) -> Tensor:
    grad, x = c.tensor(0), c.tensor(1)
    dtype, lead = widened(x.dtype), x.rank - spatial
    if 0 in grad.sizes or 0 in x.sizes:
        return tensors.zeros(c.fitted(x.lengths), x.dtype)
    counts, over = grad.lengths[lead:], x.lengths[lead:]
    if all(n == 1 for n in counts):
        n = tensors.count(x, range(lead, x.rank))
        by = n if isinstance(n, int) else n.cast(dtype)
        return tensors.pointwise(x.lengths, [(tensors.squeezed(grad, range(lead)), range(lead))], x.dtype, lambda v: v.cast(dtype) / by)
    each = tensors.mapped(grad, dtype, lambda v: v.cast(dtype) / _holds(counts, over, lead, dtype))
    return _folded(each, over, [dtype], lambda _: [constant(0, dtype)], lambda v, so_far, _: [plus(so_far[0], v)])[0].cast(x.dtype)


def _max(spatial: int, c: Call) -> list[Tensor]:
    x, counts = c.tensor(0), _asked(c, spatial)
    if counts is None:
        return [_nothing(c, 0), _nothing(c, 1)]
    over = x.lengths[x.rank - spatial :]

    def position(at: Sequence[Size]) -> Scalar:
        total: Size = 0
        for along, size in zip(at, over, strict=True):
            total = total * size + along
        return sizes.value(total).cast(dtypes.i64)

    def step(v: Scalar, so_far: list[Scalar], at: list[Size]) -> list[Scalar]:
        larger = (v > so_far[0]) | isnan(v)
        return [select(larger, v, so_far[0]), select(larger, position(at), so_far[1])]

    return _folded(x, counts, [x.dtype, dtypes.i64], lambda at: [constant(least(x.dtype), x.dtype), position(at)], step)


# --- resizing ----------------------------------------------------------------------------------------------------------


def _upsample(c: Call) -> Tensor:
    """Position i of n is that at floor(i * size / n), computed in float32."""
    asked = c.ints(1)
    if asked is None:
        raise NotHandled
    return _resized(c.tensor(0), list(asked), [c.known(2), c.known(3)])


def _upsample_vec(c: Call) -> Tensor:
    """To sizes, or by factors of them."""
    x, asked = c.tensor(0), c.ints(1)
    if asked is not None:
        return _resized(x, list(asked), [None, None])
    by = [parameter(v) for v in c.listed(2)]
    counts: list[Size] = []
    for size, factor, known in zip(x.lengths[2:], by, c.sizes()[2:], strict=True):
        if not isinstance(factor, float) or known is None and factor != int(factor):
            raise NotHandled
        counts.append(known if known is not None else size * int(factor))
    return _resized(x, counts, by)


def _resized(x: Tensor, counts: Sequence[Size], scales: Sequence[object]) -> Tensor:
    if 0 in x.sizes:
        return tensors.empty([*x.lengths[:2], *counts], x.dtype)
    lengths = x.lengths

    def source(at: list[ir.Value]) -> Scalar:
        where = [_nearest(i, size, n, scale) for i, size, n, scale in zip(at[2:], lengths[2:], counts, scales, strict=True)]
        return tensors.element(x, [*at[:2], *where])

    found = [*lengths[:2], *counts]
    return tensors.made(found, x.dtype, source)


def _nearest(i: ir.Value, size: Size, count: Size, scale: object) -> Size:
    """The position of `size` that position i of `count` is made from; the same or twice the size is told apart, in the run if need be."""
    at, of, to = (sizes.value(v).cast(dtypes.i64) for v in (i, size, count))

    if isinstance(scale, float) and scale > 0:
        step: float | Scalar = float(np.float32(1.0 / scale))
    elif isinstance(size, int) and isinstance(count, int):
        step = float(np.float32(size) / np.float32(count))
    else:
        step = of.cast(dtypes.f32) / to.cast(dtypes.f32)
    found = minimum((at.cast(dtypes.f32) * step).call("math.floor").cast(dtypes.i64), of - 1)
    half = at.call("arith.divsi", 2)
    if isinstance(size, Scalar) or isinstance(count, Scalar):
        found = select(of.equals(to), at, select((of * 2).equals(to), half, found))
    elif count in (size, 2 * size):
        found = at if count == size else half
    return found.cast(INDEX)


def _upsample_backward(c: Call) -> Tensor:
    """Each position's gradient added to that of the position it was made from."""
    grad = c.tensor(0)
    lengths = c.sizes_list(2)
    if 0 in grad.sizes or 0 in lengths:
        raise NotHandled
    scales, dtype = [c.known(3), c.known(4)], widened(grad.dtype)
    zeros, counts = tensors.zeros(lengths, dtype), grad.lengths[2:]

    def one(at: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        into = zeros.holding(carried[0])
        where = [_nearest(i, size, n, scale) for i, size, n, scale in zip(at[2:], lengths[2:], counts, scales, strict=True)]
        place = [*at[:2], *(sizes.value(v) for v in where)]
        summed = tensors.element(into, place) + tensors.element(grad, at).cast(dtype)
        return [b.value("tensor.insert", [summed, into.value, *place], into.value.type)]

    return zeros.holding(nest([sizes.value(n) for n in grad.lengths], [zeros.value], one)[0]).cast(grad.dtype)


LOWERINGS: dict[str, Lowering] = {
    **{f"aten.adaptive_avg_pool{n}d": partial(_avg, n) for n in (1, 2, 3)},
    **{f"aten._adaptive_avg_pool{n}d": partial(_avg, n) for n in (2, 3)},
    "aten._adaptive_avg_pool2d_backward": partial(_avg_backward, 2),
    **{f"aten.adaptive_max_pool{n}d": partial(_max, n) for n in (1, 2, 3)},
    "aten.upsample_nearest2d": _upsample,
    "aten.upsample_nearest2d.vec": _upsample_vec,
    "aten.upsample_nearest2d_backward": _upsample_backward,
}
