"""Max and average pooling: those of dialect/ops/windows as loops over the result, which look at the window's places one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import Scalar, constant, isnan, maximum, minimum, select
from tierup.lowering.building.loops import nest
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.movement import shape
from tierup.lowering.ops.pointwise.context import NotHandled, widened
from tierup.lowering.ops.reductions.extremes import least
from tierup.lowering.ops.reductions.sums import plus
from tierup.lowering.ops.tensors import Tensor
from tierup.lowering.ops.windows import windows
from tierup.lowering.ops.windows.windows import Window

# --- operands ----------------------------------------------------------------------------------------------------------


def _window(c: Call, spatial: int, first: int, dilation: int | None) -> Window:
    """Kernel size, stride and padding, from operand `first` on; `dilation`: where that stands."""
    lists = [c.ints(i) for i in (first, first + 1, first + 2)] + [[1] if dilation is None else c.ints(dilation)]
    if any(v is None for v in lists):
        raise NotHandled
    kernel, stride, padding, spread = (tuple(v * spatial if len(v) == 1 else v) for v in lists if v is not None)
    return Window(kernel, stride or kernel, tuple((p, p) for p in padding), spread)


def _positions(x: Tensor, window: Window, ceil: bool) -> list[Size]:
    found: list[Size] = []
    for size, (p, _), span, stride in zip(x.lengths[-window.spatial :], window.padding, window.span, window.stride, strict=True):
        reach = size + (p + p) - span
        if not ceil:
            found.append(reach // stride + 1)
            continue
        within = (size + p - 1) // stride  # the last that begins in the input or before it
        found.append(sizes.least((reach + (stride - 1)) // stride, within) + 1)
    return found


def _reached(x: Tensor, window: Window, positions: Sequence[Size]) -> list[tuple[Size, Size]]:
    """What windows see before and after the input."""
    pads: list[tuple[Size, Size]] = []
    for size, n, (p, _), span, stride in zip(
        x.lengths[-window.spatial :], positions, window.padding, window.span, window.stride, strict=True
    ):
        reach = (n - 1) * stride + span
        pads.append((p, sizes.greatest(reach - (size + p), 0)))
    return pads


def _padded(x: Tensor, window: Window, positions: Sequence[Size], ceil: bool, filler: int | float | bool) -> Tensor:
    return windows.padded(x, _reached(x, window, positions) if ceil else window.padding, filler)


# --- the largest -------------------------------------------------------------------------------------------------------


def _max(spatial: int, indices: bool, c: Call) -> list[Tensor]:
    x, window, ceil = c.tensor(0), _window(c, spatial, 1, 4), bool(c.known(5))
    positions = _positions(x, window, ceil)
    source = _padded(x, window, positions, ceil, least(x.dtype))
    dtype, lead = widened(x.dtype), x.rank - spatial
    lengths = x.lengths[lead:]

    def position(at: Sequence[Size]) -> Scalar:
        """Where a place of the window stands in the input, as one number."""
        total: Size = 0
        for i, (place, (p, _)) in enumerate(zip(at, window.padding, strict=True)):
            along = b.loop_index(lead + i) * window.stride[i] + place * window.dilation[i] - p
            total = total * lengths[i] + along
        return sizes.value(total).cast(dtypes.i64)

    def first_inside() -> Scalar:
        """The position of the window's first place that is no padding: what stands for a window of nothing but the least number."""
        places: list[Size] = []
        for i, (p, _) in enumerate(window.padding):
            missing = sizes.greatest(p - b.loop_index(lead + i) * window.stride[i], 0)
            places.append((missing + (window.dilation[i] - 1)) // window.dilation[i])
        return position(places)

    def start() -> list[Scalar]:
        return [constant(least(x.dtype), dtype), *([first_inside()] if indices else [])]

    def step(v: Scalar, so_far: list[Scalar], at: Sequence[Size]) -> list[Scalar]:
        value = v.cast(dtype)
        larger = value > so_far[0]
        if dtype.is_float:
            larger = larger | isnan(value)
        chosen = [value, *([position(at)] if indices else [])]
        return [select(larger, new, old) for new, old in zip(chosen, so_far, strict=True)]

    return windows.folded(source, window, positions, [x.dtype, *([dtypes.i64] if indices else [])], start, step)


# --- averages ----------------------------------------------------------------------------------------------------------


def _divided(v: Scalar, by: int | Scalar) -> Scalar:
    return v / by if v.is_float else v.call("arith.divsi", by)


def _divisor(x: Tensor, window: Window, ceil: bool, include: bool, override: int | None, dtype: DType) -> int | None:
    """What sums are divided by, where that is one number for all positions."""
    if override is not None:
        return override
    kernel = [k for k in window.kernel if isinstance(k, int)]
    padded = any(p != (0, 0) for p in window.padding)
    return prod(kernel) if not ceil and (include or not padded) else None


def _count(x: Tensor, window: Window, include: bool, dtype: DType) -> Scalar:
    """How many places of the window at the loop's position stand in the input, or in it and its padding."""
    lead = x.rank - window.spatial
    total: Scalar | None = None
    for i, (p, _) in enumerate(window.padding):
        size = x.size(lead + i).cast(dtypes.i64)
        first = (b.loop_index(lead + i).cast(dtypes.i64) * window.stride[i]) - p
        end = minimum(first + window.kernel[i], size + p)
        along = end - first if include else minimum(end, size) - maximum(first, 0)
        total = along if total is None else total * along
    assert total is not None
    return total.cast(dtype)


def _averaging(c: Call, spatial: int, first: int) -> tuple[Window, bool, bool, int | None]:
    """(window, ceil_mode, count_include_pad, divisor_override), whose first operand is `first`."""
    override = c.known(first + 5) if spatial > 1 else None
    if override is not None and type(override) is not int:
        raise NotHandled
    return _window(c, spatial, first, None), bool(c.known(first + 3)), bool(c.known(first + 4)), override


def _avg(spatial: int, c: Call) -> Tensor:
    x = c.tensor(0)
    window, ceil, include, override = _averaging(c, spatial, 1)
    positions = _positions(x, window, ceil)
    dtype = widened(x.dtype)
    source = _padded(x, window, positions, ceil, 0)
    summed = windows.folded(
        source, window, positions, [dtype], lambda: [constant(0, dtype)], lambda v, so_far, _: [plus(so_far[0], v.cast(dtype))]
    )[0]
    return _shared_out(summed, x, window, ceil, include, override)


def _shared_out(summed: Tensor, x: Tensor, window: Window, ceil: bool, include: bool, override: int | None) -> Tensor:
    """Numbers of positions divided, in the input's dtype."""
    divisor = _divisor(x, window, ceil, include, override, summed.dtype)

    def divide(v: Scalar) -> Scalar:
        return _divided(v, divisor if divisor is not None else _count(x, window, include, summed.dtype))

    return tensors.mapped(summed, x.dtype, divide)


def _avg_backward(spatial: int, c: Call) -> Tensor:
    grad, x = c.tensor(0), c.tensor(1)
    window, ceil, include, override = _averaging(c, spatial, 2)
    positions = grad.lengths[-spatial:]
    dtype, lead = widened(x.dtype), x.rank - spatial
    wide = grad.cast(dtype)
    like = Tensor(x.value, dtype, x.sizes)
    each = _shared_out(wide, like, window, ceil, include, override)
    pads = _reached(x, window, positions) if ceil else list(window.padding)
    room_lengths = [*x.lengths[:lead], *(v + p + q for v, (p, q) in zip(x.lengths[lead:], pads, strict=True))]
    room = tensors.zeros(room_lengths, each.dtype)
    spread = _spread(room, each, window, positions)
    return shape.sliced(spread, [*[0] * lead, *(p for p, _ in pads)], x.lengths).cast(x.dtype)


def _spread(room: Tensor, each: Tensor, window: Window, positions: Sequence[Size]) -> Tensor:
    """Each position's number added to all that its window saw: in a loop over the window's places, or over the positions where it is known
    that they are fewer."""
    lead = room.rank - window.spatial
    kernel = list(window.kernel)
    known = [v for v in positions if isinstance(v, int)]
    by_place = len(known) < len(positions) or prod(k for k in kernel if isinstance(k, int)) <= prod(known)
    outer, far = (kernel, window.dilation) if by_place else (positions, window.stride)
    inner, near = (positions, window.stride) if by_place else (kernel, window.dilation)

    def one(at: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        offsets: list[Size] = [*[0] * lead, *(i * f for i, f in zip(at, far, strict=True))]
        if by_place:
            part = tensors.whole(each)
        else:
            single = [*room.lengths[:lead], *[1] * window.spatial]
            part = shape.sliced(each, [*[0] * lead, *at], single, drop=range(lead, each.rank)), range(lead)
        return [windows.with_added(room.holding(carried[0]), part, offsets, [*room.lengths[:lead], *inner], [*[1] * lead, *near]).value]

    return room.holding(nest([sizes.value(k) for k in outer], [room.value], one)[0])


LOWERINGS: dict[str, Lowering] = {
    **{f"aten.max_pool{n}d": partial(_max, n, False) for n in (1, 2, 3)},
    **{f"aten.max_pool{n}d_with_indices": partial(_max, n, True) for n in (1, 2, 3)},
    **{f"aten.avg_pool{n}d": partial(_avg, n) for n in (1, 2, 3)},
    **{f"aten.avg_pool{n}d_backward": partial(_avg_backward, n) for n in (2, 3)},
}
