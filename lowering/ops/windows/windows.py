"""Windows that slide over the spatial axes of tensors: padding, what windows see as columns, and how many positions there are."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from tierup.dialect.base.dtypes import DType
from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Number, Scalar, constant
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.movement import shape
from tierup.lowering.ops.tensors import Tensor

UNROLLED = 32  # places of a window that one loop body goes through

Start = Callable[[], list[Scalar]]
Step = Callable[[Scalar, list[Scalar], Sequence[Size]], list[Scalar]]  # (element, so far, its place in the window) -> so far


@dataclass(frozen=True)
class Window:
    """How a window slides, along each spatial axis. `kernel`: its places; `padding`: what stands before and after the input."""

    kernel: tuple[Size, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[Size, Size], ...]
    dilation: tuple[int, ...]

    @property
    def spatial(self) -> int:
        """How many spatial axes there are."""
        return len(self.stride)

    @property
    def span(self) -> list[Size]:
        """How many positions it reaches over."""
        return [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]


def padded(x: Tensor, pads: Sequence[tuple[Size, Size]], filler: Number) -> Tensor:
    """x with `filler` around its last axes: `pads` says for each how much before and after."""
    if all(p == (0, 0) for p in pads):
        return x
    lead = x.rank - len(pads)
    lengths = x.lengths
    room = [*lengths[:lead], *(v + p + q for v, (p, q) in zip(lengths[lead:], pads, strict=True))]
    offsets: list[Size] = [*[0] * lead, *(p for p, _ in pads)]
    return shape.inserted(x, tensors.filled(room, constant(filler, x.dtype)), offsets, lengths)


def places(window: Window) -> list[tuple[int, ...]]:
    """Every place of a window of known sizes."""
    return list(itertools.product(*(range(k) for k in window.kernel if isinstance(k, int))))


def seen(x: Tensor, window: Window, at: Sequence[int], positions: Sequence[Size]) -> Tensor:
    """What one place of the window meets of the padded x (n, c, *padded), at all positions: a view."""
    lead = x.rank - window.spatial
    offsets = [i * d for i, d in zip(at, window.dilation, strict=True)]
    return shape.sliced(x, [*[0] * lead, *offsets], [*x.lengths[:lead], *positions], [*[1] * lead, *window.stride])


def trimmed(x: Tensor, window: Window, positions: Sequence[Size]) -> Tensor:
    """The padded x without what its windows do not reach, along axes of one position. MLIR folds these axes away, and what is left of
    `position * stride + place`, which is then read from end to end, must be as long as the window."""
    lead, lengths = x.rank - window.spatial, x.lengths
    for axis, (position, span) in enumerate(zip(positions, window.span, strict=True), start=lead):
        if position == 1:
            lengths[axis] = span
    return x if lengths == x.lengths else shape.sliced(x, [0] * x.rank, lengths)


def columns(x: Tensor, window: Window, positions: Sequence[Size], *, by_place: bool) -> Tensor:
    """What windows see of x (n, c, *padded): (c, *kernel, n, *positions) with `by_place`, else (n, *positions, c, *kernel)."""
    count, x = window.spatial, trimmed(x, window, positions)
    n, c, *_ = x.lengths
    lead, behind = [c, *window.kernel], [n, *positions]
    lengths = [*lead, *behind] if by_place else [*behind, *lead]
    axes = [ir.AffineDimExpr.get(i) for i in range(2 * count + 2)]
    of_c, of_n = (axes[0], axes[count + 1]) if by_place else (axes[count + 1], axes[0])
    first, second = axes[1 : count + 1], axes[count + 2 :]
    at, of = (first, second) if by_place else (second, first)
    met = [o * s + k * d for k, d, o, s in zip(at, window.dilation, of, window.stride, strict=True)]
    return tensors.read(x, lengths, ir.AffineMap.get(len(axes), 0, [of_n, of_c, *met]))

def folded(x: Tensor, window: Window, positions: Sequence[Size], dtypes: Sequence[DType], start: Start, step: Step) -> list[Tensor]:
    """For each position what `step` makes of all that its window sees of the padded x, one place after the other, from `start` on: tensors
    (*lead, *positions) of `dtypes`. Small windows of known sizes are unrolled, so that the loop over the last axis vectorises."""
    lead = x.rank - window.spatial
    lengths = [*x.lengths[:lead], *positions]
    at = places(window)
    if len(at) <= UNROLLED and all(isinstance(k, int) for k in window.kernel):
        views = [seen(x, window, place, positions) for place in at]

        def whole(elements: list[Scalar], _: list[Scalar]) -> list[Scalar]:
            so_far = start()
            for element, place in zip(elements, at, strict=True):
                so_far = step(element, so_far, place)
            return so_far

        identity, outs = ir.AffineMap.get_identity(len(lengths)), [tensors.empty(lengths, dtype) for dtype in dtypes]
        return tensors.looped([(view, identity) for view in views], outs, identity, ["parallel"] * len(lengths), whole)
    x = trimmed(x, window, positions)

    def start_of(i: int) -> Callable[[list[Scalar]], Scalar]:
        return lambda _: start()[i]

    starts = [tensors.made(lengths, dtype, start_of(i)) for i, dtype in enumerate(dtypes)]
    rank, spatial = len(lengths) + window.spatial, window.spatial
    axes = [ir.AffineDimExpr.get(i) for i in range(rank)]
    of, at_place = axes[lead : lead + spatial], axes[lead + spatial :]
    met = [o * s + k * d for o, s, k, d in zip(of, window.stride, at_place, window.dilation, strict=True)]
    extent = tensors.empty(window.kernel, x.dtype)  # says how far the loops over the window go
    inputs = [(x, ir.AffineMap.get(rank, 0, [*axes[:lead], *met])), (extent, ir.AffineMap.get(rank, 0, at_place))]

    def one(elements: list[Scalar], so_far: list[Scalar]) -> list[Scalar]:
        return step(elements[0], so_far, [b.loop_index(lead + spatial + i) for i in range(spatial)])

    iterators = ["parallel"] * (lead + spatial) + ["reduction"] * spatial
    return tensors.looped(inputs, starts, ir.AffineMap.get(rank, 0, axes[: lead + spatial]), iterators, one)


def with_added(into: Tensor, part: tensors.Operand, offsets: Sequence[Size], lengths: Sequence[Size], steps: Sequence[int]) -> Tensor:
    """`into` with a part added to the elements of a box."""
    before = shape.sliced(into, offsets, lengths, steps)
    summed = tensors.pointwise(before.lengths, [tensors.whole(before), part], into.dtype, lambda u, v: u + v)
    return shape.inserted(summed, into, offsets, lengths, steps)
