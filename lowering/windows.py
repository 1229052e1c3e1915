"""Windows that slide over the spatial axes of tensors: padding, what windows see as columns, and how many positions there are."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tierup.dialect.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.lowering import builders as b
from tierup.lowering import sizes, tensors
from tierup.lowering.movement import shape
from tierup.lowering.pointwise.scalar import Number, constant
from tierup.lowering.sizes import Size
from tierup.lowering.tensors import Tensor


@dataclass(frozen=True)
class Window:
    """How a window slides, along each spatial axis. `kernel`: its places; `padding`: what stands before and after the input."""

    kernel: tuple[Size, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[Size, Size], ...]
    dilation: tuple[int, ...]

    @property
    def spatial(self) -> int:
        return len(self.stride)

    @property
    def span(self) -> list[Size]:
        """How many positions it reaches over."""
        return [sizes.add(sizes.mul(sizes.sub(k, 1), d), 1) for k, d in zip(self.kernel, self.dilation, strict=True)]


def known(lengths: Sequence[Size]) -> tuple[int | None, ...]:
    return tuple(v if isinstance(v, int) else None for v in lengths)


def product(lengths: Sequence[Size]) -> Size:
    total: Size = 1
    for length in lengths:
        total = sizes.mul(total, length)
    return total


def filled(lengths: Sequence[Size], number: Number, like: Tensor) -> Tensor:
    """A tensor of one number, of `like`'s dtype."""
    dynamic = [v for v in lengths if not isinstance(v, int)]
    return Tensor(tensors.filled(known(lengths), dynamic, constant(number, like.dtype)), like.dtype, known(lengths))


def empty(lengths: Sequence[Size], dtype: DType) -> Tensor:
    """A tensor of no certain elements."""
    dynamic = [v for v in lengths if not isinstance(v, int)]
    return Tensor(tensors.empty(known(lengths), dynamic, dtype), dtype, known(lengths))


def reshaped(x: Tensor, lengths: Sequence[Size]) -> Tensor:
    return shape.reshaped(x, known(lengths), lengths)


def padded(x: Tensor, pads: Sequence[tuple[Size, Size]], filler: Number) -> Tensor:
    """x with `filler` around its last axes: `pads` says for each how much before and after."""
    if all(p == (0, 0) for p in pads):
        return x
    lead = x.rank - len(pads)
    lengths = x.lengths
    room = [*lengths[:lead], *(sizes.add(sizes.add(v, p), q) for v, (p, q) in zip(lengths[lead:], pads, strict=True))]
    offsets: list[Size] = [*[0] * lead, *(p for p, _ in pads)]
    return shape.inserted(x, filled(room, filler, x), offsets, lengths, [1] * x.rank)


def places(window: Window) -> list[tuple[int, ...]]:
    """Every place of a window of known sizes."""
    return list(itertools.product(*(range(k) for k in window.kernel if isinstance(k, int))))


def seen(x: Tensor, window: Window, at: Sequence[int], positions: Sequence[Size]) -> Tensor:
    """What one place of the window meets of the padded x (n, c, *padded), at all positions: a view."""
    lead = x.rank - window.spatial
    offsets = [i * d for i, d in zip(at, window.dilation, strict=True)]
    return shape.sliced(x, [*[0] * lead, *offsets], [*x.lengths[:lead], *positions], [*[1] * lead, *window.stride])


def columns(x: Tensor, window: Window, positions: Sequence[Size], *, by_place: bool) -> Tensor:
    """What windows see of x (n, c, *padded): (c, *kernel, n, *positions) with `by_place`, else (n, *positions, c, *kernel)."""
    count = window.spatial
    n, c, *_ = x.lengths
    lead, behind = [c, *window.kernel], [n, *positions]
    lengths = [*lead, *behind] if by_place else [*behind, *lead]
    axes = [ir.AffineDimExpr.get(i) for i in range(2 * count + 2)]
    of_c, of_n = (axes[0], axes[count + 1]) if by_place else (axes[count + 1], axes[0])
    first, second = axes[1 : count + 1], axes[count + 2 :]
    at, of = (first, second) if by_place else (second, first)
    met = [o * s + k * d for k, d, o, s in zip(at, window.dilation, of, window.stride, strict=True)]
    read = ir.AffineMap.get(len(axes), 0, [of_n, of_c, *met])
    out = empty(lengths, x.dtype)
    return Tensor(b.generic([x.value], [read], out.value, lambda v: v[0]), x.dtype, out.sizes)
