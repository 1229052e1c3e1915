"""Convolutions: dialect/optable/kernels/convolution.py as products of matrices.

What windows see is laid out as columns of a matrix (im2col), which the weight is multiplied by; a transposed convolution multiplies
first, and adds each column to where it came from (col2im). Both go through the batch in blocks of samples, one where that gives BLAS
enough to do, so that columns stay in a cache and memory does not grow with the batch. A depthwise convolution has no matrix to speak of:
it is one loop over the result, unrolled over the window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tierup.dialect.base.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import Scalar
from tierup.lowering.building.loops import nest
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.movement import shape
from tierup.lowering.ops.pointwise.context import NotHandled, widened
from tierup.lowering.ops.products.contractions import multiply
from tierup.lowering.ops.reductions.sums import plus
from tierup.lowering.ops.tensors import Tensor
from tierup.lowering.ops.windows import windows
from tierup.lowering.ops.windows.windows import Window, columns

_WIDE = 256  # columns that keep BLAS busy: samples of fewer positions are taken together
_CACHED = 1 << 18  # elements of columns that are laid out at a time, where that leaves BLAS enough to do


# --- operands ----------------------------------------------------------------------------------------------------------


def _general(c: Call) -> Tensor:
    transposed = bool(c.known(6))
    return _convolution(c, [c.ints(i) for i in (3, 4, 5)], 8, c.sizes_list(7) if transposed else None)


def _plain(c: Call) -> Tensor:
    return _convolution(c, [c.ints(i) for i in (3, 4, 5)], 6)


def _transposed(c: Call) -> Tensor:
    return _convolution(c, [c.ints(i) for i in (3, 4, 7)], 6, c.sizes_list(5))


def _by_name(c: Call) -> Tensor:
    """"same" pads so that the result has the input's sizes, the odd one after."""
    kernel = c.tensor(1).lengths[2:]
    dilation = _per_axis(c.ints(5), len(kernel))
    if c.known(4) == "valid":
        return _convolution(c, [c.ints(3), [0], dilation], 6)
    totals = [(k - 1) * d for d, k in zip(dilation, kernel, strict=True)]
    pads = [(t // 2, t - t // 2) for t in totals]
    return _convolution(c, [c.ints(3), [0], dilation], 6, pads=pads)


def _per_axis(values: list[int] | None, count: int) -> list[int]:
    if not values:
        raise NotHandled
    return values * count if len(values) == 1 else values


def _convolution(
    c: Call, lists: Sequence[list[int] | None], groups: int, extra: list[Size] | None = None,
    pads: Sequence[tuple[Size, Size]] | None = None,
) -> Tensor:  # fmt: skip
    """`lists`: stride, padding, dilation; `extra`: the output padding of a transposed one; `pads` in place of padding."""
    x, weight, bias, parts = c.tensor(0), c.tensor(1), c.optional_tensor(2), c.integer(groups)
    spatial = weight.rank - 2
    stride, padding, dilation = (tuple(_per_axis(v, spatial)) for v in lists)
    window = Window(tuple(weight.lengths[2:]), stride, tuple(pads or ((p, p) for p in padding)), dilation)
    batched = x.rank == weight.rank
    x = x if batched else shape.reshaped(x, [1, *x.lengths])
    wider = None if extra is None else extra * spatial if len(extra) == 1 else extra
    if 0 in x.sizes or 0 in weight.sizes:  # nothing to multiply
        if wider is None:
            lengths = [x.length(0), weight.length(0), *_positions(x, window)]
        else:
            lengths = [x.length(0), weight.length(1) * parts, *_transposed_positions(x, window, wider)]
        made = tensors.zeros(lengths, x.dtype)
    elif wider is not None:
        if _is_depthwise(weight, parts) and _may_be_flipped(window):
            made = _depthwise_transposed(x, weight, window, wider)
        else:
            made = _scattered(x, weight, window, wider, parts)
    elif _is_depthwise(weight, parts):
        made = _depthwise(windows.padded(x, window.padding, 0), weight, window, _positions(x, window))
    elif parts > 1 and weight.sizes[0] == parts and weight.sizes[1] is not None:
        made = _one_row(windows.padded(x, window.padding, 0), weight, window, _positions(x, window))
    else:
        made = _gathered(x, weight, window, parts)
    made = _finished(made, bias, c)
    return made if batched else shape.reshaped(made, made.lengths[1:])


def _finished(made: Tensor, bias: Tensor | None, c: Call) -> Tensor:
    """The bias of each channel added, and rounded to the result's dtype."""
    if bias is None:
        return made.cast(c.dtype())
    return tensors.pointwise(made.lengths, [tensors.whole(made), (bias, [1])], c.dtype(), lambda v, w: v + w.cast(made.dtype))


# --- blocks of samples -------------------------------------------------------------------------------------------------


def _block(samples: Size, positions: Size) -> int:
    """How many samples are taken together."""
    if not isinstance(positions, int) or positions >= _WIDE // 2:
        return 1
    count = -(-_WIDE // max(positions, 1))
    if samples == 1:
        return 1
    return min(count, samples) if isinstance(samples, int) else count


Body = Callable[[Tensor, Tensor, Size], Tensor]  # (some samples of x, the result, their place in it) -> the result with theirs


def _through_batch(x: Tensor, tail: Sequence[Size], dtype: DType, count: int, body: Body) -> Tensor:
    """(samples, *tail), filled block by block."""
    samples = x.length(0)
    out = tensors.empty([samples, *tail], dtype)
    if isinstance(samples, int) and samples <= count:
        return body(x, out, 0)
    whole = isinstance(samples, int) and samples % count == 0
    blocks = (samples + (count - 1)) // count

    def one(positions: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        start = positions[0] * count
        length = count if whole or count == 1 else sizes.least(count, samples - start)
        return [body(shape.sliced(x, *shape.along(x, 0, start, length)), out.holding(carried[0]), start).value]

    return out.holding(nest([sizes.value(blocks)], [out.value], one)[0])


def _put(made: Tensor, out: Tensor, start: Size, count: Size) -> Tensor:
    """The result with what was made for `count` samples; a single sample's has no axis for samples."""
    box = shape.along(out, 0, start, count)
    return shape.inserted(made.with_sizes(sizes.known(box[1][out.rank - made.rank :])), out, *box)


def _by_channel(x: Tensor) -> Tensor:
    """(samples, channels, ...) as (channels, samples, ...): of one sample without a copy."""
    if x.sizes[0] == 1:
        return shape.reshaped(x, [x.length(1), x.length(0), *x.lengths[2:]])
    return shape.permuted(x, [1, 0, *range(2, x.rank)])


# --- convolution -------------------------------------------------------------------------------------------------------


def _positions(x: Tensor, window: Window) -> list[Size]:
    found = []
    for size, (before, after), span, stride in zip(x.lengths[2:], window.padding, window.span, window.stride, strict=True):
        reach = size + before + after - span
        found.append(reach // stride + 1)
    return found


def _transposed_positions(x: Tensor, window: Window, extra: Sequence[Size]) -> list[Size]:
    found = []
    for size, s, (before, after), span, more in zip(x.lengths[2:], window.stride, window.padding, window.span, extra, strict=True):
        reach = (size - 1) * s + span + more
        found.append(reach - before - after)
    return found


def _matrix(weight: Tensor, groups: int, rows: Size, columns_: Size) -> Tensor:
    """(rows, columns), or (groups, rows, columns)."""
    return shape.reshaped(weight, [rows, columns_] if groups == 1 else [groups, rows, columns_])


def _gathered(x: Tensor, weight: Tensor, window: Window, groups: int) -> Tensor:
    positions = _positions(x, window)
    leaving, entering = weight.length(0), weight.length(1)
    height, width = entering * sizes.product(window.kernel), sizes.product(positions)
    rows = _matrix(weight, groups, leaving // groups, height)
    is_columns = all(k == 1 for k in window.kernel) and set(window.stride) == {1} and all(p == (0, 0) for p in window.padding)
    places = sizes.product(window.kernel)
    by_place = not (isinstance(places, int) and isinstance(width, int) and places > width) or groups > 1

    block = _block(x.length(0), width)
    tile = _tile(positions, height) if by_place and block == 1 and not is_columns else None

    def matrix_of(source: Tensor, of: Sequence[Size]) -> Tensor:
        """What windows see at positions `of`, as (height, samples * positions)."""
        seen = source if is_columns else columns(source, window, of, by_place=by_place)
        across = source.length(1 if is_columns else 0) * sizes.product(of)
        if by_place:
            return shape.reshaped(seen, [height, across] if groups == 1 else [groups, height, across])
        return shape.permuted(shape.reshaped(seen, [across, height]), [1, 0])

    def some(part: Tensor, out: Tensor, start: Size) -> Tensor:
        count = part.length(0)
        source = _by_channel(part) if is_columns else windows.padded(part, window.padding, 0)
        if tile is not None:
            return by_tiles(source, out, start, tile)
        made = multiply(rows, matrix_of(source, positions))
        if count != 1:
            made = shape.permuted(shape.reshaped(made, [leaving, count, width]), [1, 0, 2])
        return _put(made, out, start, count)

    def by_tiles(source: Tensor, out: Tensor, start: Size, length: int) -> Tensor:
        """A few positions of the first spatial axis at a time."""
        stride, span, rest = window.stride[0], window.span[0], sizes.product(positions[1:])

        def one(at: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
            first = at[0] * length
            whole = isinstance(positions[0], int) and positions[0] % length == 0
            here = length if whole else sizes.least(length, positions[0] - first)
            reach = (here - 1) * stride + span
            rows_seen = shape.sliced(source, *shape.along(source, 2, first * stride, reach))
            made = multiply(rows, matrix_of(rows_seen, [here, *positions[1:]]))
            offsets: list[Size] = [start, *[0] * (out.rank - 2), first * rest]
            lengths = [1, *out.lengths[1:-1], here * rest]
            return [shape.inserted(made.with_sizes(sizes.known(lengths[1:])), out.holding(carried[0]), offsets, lengths).value]

        tiles = (positions[0] + (length - 1)) // length
        return out.holding(nest([sizes.value(tiles)], [out.value], one)[0])

    single = [leaving, width] if groups == 1 else [groups, leaving // groups, width]
    made = _through_batch(x, single if block == 1 else [leaving, width], widened(x.dtype), block, some)
    return shape.reshaped(made, [x.length(0), leaving, *positions])


def _tile(positions: Sequence[Size], height: Size) -> int | None:
    """How many positions of the first spatial axis are laid out at a time, for columns to stay in a cache; None: all of them."""
    rest = sizes.product(positions[1:])
    if not isinstance(rest, int) or not isinstance(height, int) or not rest or not height:
        return None
    most = max(_CACHED // (height * rest), -(-_WIDE // rest), 1)
    if not isinstance(positions[0], int):
        return most
    if positions[0] <= most:
        return None
    tiles = -(-positions[0] // most)
    return -(-positions[0] // tiles)


# --- groups of which each makes one channel: no matrix to multiply by ---------------------------------------------------


def _is_depthwise(weight: Tensor, groups: int) -> bool:
    """Whether each channel has weights of its own, few enough for one loop body."""
    kernel = [k for k in weight.sizes[2:] if k is not None]
    return groups > 1 and weight.sizes[:2] == (groups, 1) and len(kernel) == weight.rank - 2 and prod(kernel) <= windows.UNROLLED


def _depthwise(source: Tensor, weight: Tensor, window: Window, positions: Sequence[Size], *, flipped: bool = False) -> Tensor:
    """Each channel of the padded input with weights of its own; `flipped`: the last weight at the window's first place."""
    dtype, at = widened(source.dtype), windows.places(window)
    seen = [windows.seen(source, window, place, positions) for place in at]
    by = [_channel(weight, place) for place in (reversed(at) if flipped else at)]

    def body(*elements: Scalar) -> Scalar:
        values = [v.cast(dtype) for v in elements]
        total = values[0] * values[len(seen)]
        for v, w in zip(values[1 : len(seen)], values[len(seen) + 1 :], strict=True):
            total = total + v * w
        return total

    operands = [*map(tensors.whole, seen), *((w, [1]) for w in by)]
    return tensors.pointwise([*source.lengths[:2], *positions], operands, dtype, body)


def _may_be_flipped(window: Window) -> bool:
    spans = zip(window.padding, window.span, strict=True)
    return all(isinstance(p, int) and isinstance(span, int) and p < span for (p, _), span in spans)


def _depthwise_transposed(x: Tensor, weight: Tensor, window: Window, extra: Sequence[Size]) -> Tensor:
    """A convolution with the flipped weights, over the input with zeros around and between its elements."""
    positions = _transposed_positions(x, window, extra)
    offsets = [span - 1 - p for span, (p, _) in zip(window.span, window.padding, strict=True)]
    room = [n + (span - 1) for n, span in zip(positions, window.span, strict=True)]
    zeros = tensors.zeros([*x.lengths[:2], *room], x.dtype)
    source = shape.inserted(x, zeros, [0, 0, *offsets], x.lengths, [1, 1, *window.stride])
    plain = Window(window.kernel, (1,) * window.spatial, ((0, 0),) * window.spatial, window.dilation)
    return _depthwise(source, weight, plain, positions, flipped=True)


def _one_row(source: Tensor, weight: Tensor, window: Window, positions: Sequence[Size]) -> Tensor:
    """Each group's channels of the padded input summed with one row of weights: the weight's gradient in a depthwise convolution."""
    dtype, count, entering = widened(source.dtype), window.spatial, weight.sizes[1] or 0
    source = windows.trimmed(source, window, positions)
    lengths = [source.length(0), weight.length(0), *positions]
    rank = 2 * count + 3
    axes = [ir.AffineDimExpr.get(i) for i in range(rank)]
    of, channel, at = axes[2 : count + 2], axes[count + 2], axes[count + 3 :]
    met = [o * s + k * d for o, s, k, d in zip(of, window.stride, at, window.dilation, strict=True)]
    reads = [[axes[0], axes[1] * entering + channel, *met], [axes[1], channel, *at], axes[: count + 2]]
    out = tensors.zeros(lengths, dtype)

    def body(elements: list[Scalar], totals: list[Scalar]) -> list[Scalar]:
        v, w = (e.cast(dtype) for e in elements)
        return [plus(totals[0], v * w)]

    iterators = ["parallel"] * (count + 2) + ["reduction"] * (count + 1)
    seen, by, written = (ir.AffineMap.get(rank, 0, read) for read in reads)
    return tensors.looped([(source, seen), (weight, by)], [out], written, iterators, body)[0]


def _channel(weight: Tensor, at: Sequence[int]) -> Tensor:
    """The weights (channels) at one place of the window."""
    lengths = [weight.length(0), *[1] * (weight.rank - 1)]
    return shape.sliced(weight, [0, 0, *at], lengths, drop=range(1, weight.rank))


# --- transposed convolution --------------------------------------------------------------------------------------------


def _scattered(x: Tensor, weight: Tensor, window: Window, extra: Sequence[Size], groups: int) -> Tensor:
    positions = x.lengths[2:]
    entering, leaving = weight.length(0) // groups, weight.length(1)
    height, width = leaving * sizes.product(window.kernel), sizes.product(positions)
    rows = _matrix(weight, groups, entering, height)
    rows = shape.permuted(rows, [1, 0] if groups == 1 else [0, 2, 1])
    lengths = _transposed_positions(x, window, extra)
    reach = [n + before + after for n, (before, after) in zip(lengths, window.padding, strict=True)]
    channels = leaving * groups

    def some(part: Tensor, out: Tensor, start: Size) -> Tensor:
        count = part.length(0)
        across = count * width
        samples = shape.reshaped(_by_channel(part), [entering, across] if groups == 1 else [groups, entering, across])
        made = shape.reshaped(multiply(rows, samples), [channels, *window.kernel, count, *positions])
        summed = _added(tensors.zeros([channels, count, *reach], made.dtype), made, window, positions, count)
        offsets: list[Size] = [0, 0, *(before for before, _ in window.padding)]
        inner = shape.sliced(summed, offsets, [channels, count, *lengths], drop=[1] if count == 1 else [])
        return _put(inner if count == 1 else shape.permuted(inner, [1, 0, *range(2, inner.rank)]), out, start, count)

    return _through_batch(x, [channels, *lengths], widened(x.dtype), _block(x.length(0), width), some)


def _added(room: Tensor, columns_: Tensor, window: Window, positions: Sequence[Size], count: Size) -> Tensor:
    """Each column (channels, *kernel, samples, *positions) added to where the window saw it: (channels, samples, *room)."""
    spatial = window.spatial
    channels = columns_.length(0)
    lengths = [channels, count, *positions]

    def one(at: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        offsets: list[Size] = [0, 0, *(i * d for i, d in zip(at, window.dilation, strict=True))]
        single = [channels, *[1] * spatial, count, *positions]
        column = shape.sliced(columns_, [0, *at, *[0] * (spatial + 1)], single, drop=range(1, spatial + 1))
        return [windows.with_added(room.holding(carried[0]), tensors.whole(column), offsets, lengths, [1, 1, *window.stride]).value]

    return room.holding(nest([sizes.value(k) for k in window.kernel], [room.value], one)[0])


LOWERINGS: dict[str, Lowering] = {
    "aten.convolution": _general,
    "aten._convolution": _general,
    **{f"aten.conv{n}d": _plain for n in (1, 2, 3)},
    **{f"aten.conv{n}d.padding": _by_name for n in (1, 2, 3)},
    "aten.conv_transpose1d": _transposed,
    "aten.conv_transpose2d.input": _transposed,
    "aten.conv_transpose3d.input": _transposed,
}
