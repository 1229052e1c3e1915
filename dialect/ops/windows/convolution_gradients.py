"""Gradients of convolutions: the input's is the transposed convolution of the result's, the weight's a correlation of the two.

Both are convolutions again, so that they have gradients themselves. Sizes that only the run tells stay numbers of the program.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.values import Int

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward
    from tierup.dialect.ops.gradients.emitter import Operand


@dataclass(frozen=True)
class Sliding:
    """How the forward op's window slides: a number per spatial dim. `extra`: its output padding, None where only the run tells it."""

    stride: list[int]
    padding: list[int]
    dilation: list[int]
    groups: int
    transposed: bool = False
    extra: list[int] | None = None


def sliding(g: Backward, spatial: int, names: Sequence[str | None], transposed: bool = False) -> Sliding:
    """`names`: the operands that say stride, padding and dilation; None: 0. One number is meant for all dims."""
    stride, padding, dilation = ((g.ints(name) if name is not None else None) or [0] for name in names)
    extra = g.known_ints("output_padding") if "output_padding" in g.rule.operands else None  # gradients of these have sizes there
    stride, padding, dilation = (v * spatial if len(v) == 1 else v for v in (stride, padding, dilation))
    extra = extra * spatial if extra is not None and len(extra) == 1 else extra
    return Sliding(stride, padding, dilation, int(g.constant("groups")), transposed, extra)


def spatial_of(g: Backward) -> int:
    """How many spatial dims an op has by its name."""
    found = re.search(r"(\d)d", g.rule.op)
    assert found is not None
    return int(found[1])


def _size(g: Backward, value: ir.Value, dim: int) -> Operand:
    """A size, as a number where it is known."""
    shape = g.tensor(value).shape
    size = None if shape is None else shape[dim]
    if isinstance(size, int):
        return size
    made = g.size_of(value, dim)
    known = g.known(made)
    return known.value if isinstance(known, Int) and isinstance(known.value, int) else made


def cut_off(g: Backward, of: Sliding) -> list[Operand]:
    """What "same" pads with, as aten.constant_pad_nd takes it."""
    pads: list[Operand] = []
    for i in reversed(range(len(of.stride))):
        total = g.times(of.dilation[i], g.minus(_size(g, g.like("weight"), 2 + i), 1))
        before = total // 2 if isinstance(total, int) else g.call("aten.floordiv.int", total, 2, type_="!torch.int")
        pads += [before, g.minus(total, before)]
    return pads


def gradients(
    g: Backward, window: Sliding, incoming: ir.Value, rank: int | None, padded: ir.Value | None = None
) -> tuple[ir.Value | None, ir.Value | None, ir.Value | None]:
    """Of input, weight and bias. `rank`: the input's, where it is known. `padded`: what the window slides over, if not the input."""
    spatial = len(window.stride)
    operand = g.operands[0] if padded is None else padded
    x, grad, weight = _batched(g, operand, spatial, rank), _batched(g, incoming, spatial, rank), g.operands[1]
    of_bias = None if g.is_none(2) else g.call("aten.sum.dim_IntList", grad, [0, *range(2, spatial + 2)], False, None)
    slid = (window.stride, window.padding, window.dilation)
    zeros = [0] * spatial
    longer: Sequence[int | None] = window.extra or [None] * spatial
    if window.transposed:
        of_x = g.call("aten.convolution", grad, weight, None, *slid, False, zeros, window.groups)
        of_x = _cut(g, of_x, x, [e is None or e >= s for e, s in zip(longer, window.stride, strict=True)])
        of_weight = _correlated(g, grad, x, window)
    else:
        extra = [_left_over(g, x, grad, weight, window, i) for i in range(spatial)]
        of_x = g.call("aten.convolution", grad, weight, None, *slid, True, extra, window.groups)
        of_weight = _correlated(g, x, grad, window)
    if rank != spatial + 2:
        of_x = g.call("aten.reshape", of_x, g.size(operand))
    return of_x, of_weight, of_bias


def _batched(g: Backward, value: ir.Value, spatial: int, rank: int | None) -> ir.Value:
    """With a batch dim, which the forward op may lack."""
    if rank == spatial + 2:
        return value
    if rank == spatial + 1:
        return g.call("aten.unsqueeze", value, 0)
    return g.call("aten.reshape", value, [-1, *(_size(g, value, d) for d in range(-spatial - 1, 0))])


def _left_over(g: Backward, x: ir.Value, grad: ir.Value, weight: ir.Value, window: Sliding, i: int) -> Operand:
    """How many positions of the (padded) input no window reaches: what the transpose has to add."""
    stride, padding, dilation = window.stride[i], window.padding[i], window.dilation[i]
    if stride == 1:
        return 0
    reached = g.times(stride, g.minus(_size(g, grad, 2 + i), 1))
    inner = g.minus(g.minus(_size(g, x, 2 + i), 1), reached)
    return g.minus(g.minus(inner, -2 * padding), g.times(dilation, g.minus(_size(g, weight, 2 + i), 1)))


def _correlated(g: Backward, seen: ir.Value, by: ir.Value, window: Sliding) -> ir.Value:
    """The weight's gradient: `seen`, over which the window slides, at all places of the window summed with `by`, one number per position.
    Each group's channels of `seen` are a batch, samples are channels, and stride and dilation change parts."""
    spatial, groups = len(window.stride), window.groups
    if groups == 1:
        inputs, weights = g.call("aten.transpose.int", seen, 0, 1), g.call("aten.transpose.int", by, 0, 1)
    else:
        inputs, weights = _by_group(g, seen, groups, spatial, [2, 1, 0]), _by_group(g, by, groups, spatial, [1, 2, 0])
    made = g.call("aten.convolution", inputs, weights, None, window.dilation, window.padding, window.stride, False, [0] * spatial, groups)
    larger = [s != 1 for s in window.stride]
    if window.transposed:
        longer: Sequence[int | None] = window.extra or [None] * spatial
        larger = [e is None or e >= d for e, d in zip(longer, window.dilation, strict=True)]
    return g.call("aten.transpose.int", _cut(g, made, g.operands[1], larger), 0, 1)


def _by_group(g: Backward, value: ir.Value, groups: int, spatial: int, order: list[int]) -> ir.Value:
    """(N, G * C, *spatial), taken as (N, G, C, *spatial), in another order: then the first two of three, or the last two, are one."""
    sizes = [_size(g, value, d) for d in range(spatial + 2)]
    channels = sizes[1] // groups if isinstance(sizes[1], int) else g.call("aten.floordiv.int", sizes[1], groups, type_="!torch.int")
    apart = g.call("aten.reshape", value, [sizes[0], groups, channels, *sizes[2:]])
    moved = g.call("aten.permute", apart, [*order, *range(3, spatial + 3)])
    first, second = (channels, g.times(groups, sizes[0])) if order[0] == 2 else (sizes[1], sizes[0])
    return g.call("aten.reshape", moved, [first, second, *sizes[2:]])


def _cut(g: Backward, value: ir.Value, like: ir.Value, larger: list[bool]) -> ir.Value:
    """The first of its positions, as many as `like` has along the spatial dims where there may be more."""
    for i, cut in enumerate(larger):
        if cut and _size(g, value, 2 + i) != (wanted := _size(g, like, 2 + i)):
            value = g.call("aten.slice.Tensor", value, 2 + i, 0, wanted, 1)
    return value
