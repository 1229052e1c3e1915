"""How windows slide over the spatial sizes of a tensor: the shapes of convolutions and pooling, for rules and kernels alike.

Sizes may be symbolic. What a symbolic size must not fall below is a tie of the size and its maximum with the bound: an equality that
guards can check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import Dim, at_least, floordiv, maximum, minimum
from tierup.dialect.facts.values import Shape
from tierup.dialect.optable.core import Infer, ShapeError, format_shape

Pairs = tuple[tuple[Dim, Dim], ...]  # per spatial dim: before and after


def per_axis(op: str, what: str, values: Sequence[int], count: int) -> tuple[int, ...]:
    """One number for each of `count` spatial dims; a single one is meant for all. Raises ShapeError."""
    if len(values) not in (1, count):
        raise ShapeError(f"{op}: expected {what} to be a single integer value or a list of {count} values, but got {what}={list(values)}")
    return tuple(values) if len(values) == count else (values[0],) * count


def require_at_least(ctx: Infer, size: Dim, least: Dim, message: str) -> None:
    """size >= least: checked now when both are known, else a tie. Raises ShapeError."""
    if isinstance(size, int) and isinstance(least, int):
        if size < least:
            raise ShapeError(message)
    elif not at_least(size - least, 0):
        ctx.equal(maximum(size, least), size, message)


def _all_at_least(op: str, what: str, values: Sequence[int], least: int) -> None:
    if any(v < least for v in values):
        raise ShapeError(f"{op}: {'negative' if least == 0 else 'non-positive'} {what} is not supported, but got {list(values)}")


# --- convolution -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Convolution:
    """How a window slides, one number per spatial dim. Build it with `convolution`."""

    stride: tuple[int, ...]
    padding: Pairs
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[Dim, ...]
    groups: int

    @property
    def spatial(self) -> int:
        """How many spatial dims the window slides along."""
        return len(self.stride)

    def span(self, kernel: Sequence[Dim]) -> tuple[Dim, ...]:
        """How many positions a window reaches over, first to last."""
        return tuple(d * (k - 1) + 1 for d, k in zip(self.dilation, kernel, strict=True))


def convolution(
    op: str, rank: int, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
    transposed: bool = False, output_padding: Sequence[Dim] = (0,), groups: int = 1,
) -> Convolution:  # fmt: skip
    """The operands of aten.convolution, checked. `rank`: the weight's. Raises ShapeError."""
    count = rank - 2
    if count < 1:
        raise ShapeError(f"{op}: weight should have at least three dimensions")
    if count > 3:
        raise ShapeError(f"{op}: convolutions have 1, 2 or 3 spatial dimensions, but weight has {rank}")
    if groups < 1:
        raise ShapeError(f"{op}: non-positive groups is not supported")
    s, p, d = (per_axis(op, what, v, count) for what, v in (("stride", stride), ("padding", padding), ("dilation", dilation)))
    if len(output_padding) not in (1, count):
        raise ShapeError(f"{op}: expected output_padding to be a single integer value or a list of {count} values")
    o = tuple(output_padding) if len(output_padding) == count else (output_padding[0],) * count
    _all_at_least(op, "stride", s, 1)
    _all_at_least(op, "padding", p, 0)
    _all_at_least(op, "dilation", d, 1)
    _all_at_least(op, "output_padding", [v for v in o if isinstance(v, int)], 0)
    if transposed and any(isinstance(v, int) and v >= max(a, b) for v, a, b in zip(o, s, d, strict=True)):
        raise ShapeError(f"{op}: output padding must be smaller than either stride or dilation, but got {list(o)}, {list(s)}, {list(d)}")
    return Convolution(s, tuple((v, v) for v in p), d, transposed, o if transposed else (0,) * count, groups)


def named_padding(op: str, padding: str, kernel: Sequence[Dim], stride: Sequence[int], dilation: Sequence[int], groups: int) -> Convolution:
    """A convolution padded by name: "valid" not at all, "same" to the input's sizes, the odd one after. Raises ShapeError."""
    of = convolution(op, len(kernel) + 2, stride, [0], dilation, groups=groups)
    if padding not in ("same", "valid"):
        raise ShapeError(f"{op}: Invalid padding string: '{padding}'")
    if padding == "valid":
        return of
    if any(s != 1 for s in of.stride):
        raise ShapeError(f"{op}: padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(of.dilation, kernel, strict=True)]  # of a kernel without places: refused in `convolved`
    return replace(of, padding=tuple((floordiv(t, 2), t - floordiv(t, 2)) for t in totals))


def convolved(ctx: Infer, op: str, x: Shape, weight: Shape, bias: Shape | None, of: Convolution) -> Shape:
    """The shape of a convolution's result; x has a batch. Raises ShapeError."""
    count = of.spatial
    if len(x) != count + 2:
        raise ShapeError(f"{op}: Expected {count + 2}-dimensional input for {count + 2}-dimensional weight, but got {format_shape(x)}")
    groups, kernel = of.groups, weight[2:]
    divisible = weight[0]
    require_at_least(ctx, divisible, groups, f"{op}: Given groups={groups}, expected weight to be at least {groups} at dimension 0")
    if groups > 1:
        ctx.equal(divisible % groups, 0, f"{op}: Given groups={groups}, expected weight to be divisible by {groups} at dimension 0")
    entering = weight[0] if of.transposed else weight[1] * groups
    leaving = weight[1] * groups if of.transposed else weight[0]
    ctx.equal(x[1], entering, f"{op}: Given groups={groups}, weight of size {format_shape(weight)}, the channels of the input do not fit")
    if bias is not None:
        if len(bias) != 1:
            raise ShapeError(f"{op}: expected bias to be 1-dimensional, but got {format_shape(bias)}")
        ctx.equal(bias[0], leaving, f"{op}: expected bias to have an element for each channel of the result")
    for k in kernel:
        require_at_least(ctx, k, 1, f"{op}: Kernel size should be greater than zero, but got {format_shape(kernel)}")
    sizes = []
    spans = of.span(kernel)
    for i, (size, span) in enumerate(zip(x[2:], spans, strict=True)):
        require_at_least(ctx, size, 1, f"{op}: expected an input with positions, but got {format_shape(x)}")
        before, after = of.padding[i]
        if of.transposed:
            made = (size - 1) * of.stride[i] + span - before - after + of.output_padding[i]
            require_at_least(ctx, made, 0, f"{op}: padding takes away more than there is of dimension {i + 2}")
        else:
            padded = size + before + after
            message = f"{op}: Kernel size can't be greater than actual input size: padded {padded}, kernel {span}"
            require_at_least(ctx, padded, span, message)
            made = floordiv(padded - span, of.stride[i]) + 1
        sizes.append(made)
    return (x[0], leaving, *sizes)


# --- pooling -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pooling:
    """Windows of `kernel`, one number per spatial dim. Build it with `pooling`."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    ceil_mode: bool = False

    @property
    def spatial(self) -> int:
        """How many spatial dims the window slides along."""
        return len(self.kernel)

    @property
    def span(self) -> tuple[int, ...]:
        """How many positions a window reaches over in each spatial dim, first to last."""
        return tuple(d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel, strict=True))


def pooling(
    op: str, spatial: int, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], ceil_mode: bool
) -> Pooling:
    """The operands of a pooling op, checked; no stride is the kernel's size. Raises ShapeError."""
    k = per_axis(op, "kernel_size", kernel, spatial)
    s = per_axis(op, "stride", stride, spatial) if len(stride) else k
    p, d = per_axis(op, "padding", padding, spatial), per_axis(op, "dilation", dilation, spatial)
    _all_at_least(op, "kernel size", k, 1)
    _all_at_least(op, "stride", s, 1)
    _all_at_least(op, "dilation", d, 1)
    _all_at_least(op, "padding", p, 0)
    found = Pooling(k, s, p, d, ceil_mode)
    if any(pad > span // 2 for pad, span in zip(p, found.span, strict=True)):
        raise ShapeError(f"{op}: pad should be at most half of effective kernel size, but got pad={list(p)}, kernel_size={list(k)}")
    return found


def pooled(ctx: Infer, op: str, x: Shape, of: Pooling, *, no_channels: bool = False) -> Shape:
    """The shape of a pooling's result. x has a batch or not; `no_channels`: it may have none. Raises ShapeError."""
    count = of.spatial
    check_pooled(ctx, op, x, count, no_channels=no_channels)
    sizes = []
    for i, size in enumerate(x[-count:]):
        reach = size + 2 * of.padding[i] - of.span[i]
        if of.ceil_mode:  # the last window begins within the input or the padding before it
            made = minimum(floordiv(reach + of.stride[i] - 1, of.stride[i]), floordiv(size + of.padding[i] - 1, of.stride[i])) + 1
            reach = reach + of.stride[i] - 1
        else:
            made = floordiv(reach, of.stride[i]) + 1
        require_at_least(ctx, reach, 0, f"{op}: Output size is too small: input {size}, window {of.span[i]}")
        sizes.append(made)
    return (*x[:-count], *sizes)


def check_pooled(ctx: Infer, op: str, x: Shape, spatial: int, *, no_channels: bool = False) -> None:
    """Raises ShapeError, or IndexError as eager does, unless x is (C, *spatial) or (N, C, *spatial), of which only N may be 0."""
    if op == "avg_pool2d" and len(x) < 3:  # eager counts the channels before it asks how many axes there are
        raise IndexError(f"{op}: Dimension out of range, of {format_shape(x)}: a tensor of rank 3 or 4 is expected")
    if len(x) not in (spatial + 1, spatial + 2):
        raise ShapeError(f"{op}: Expected a tensor of rank {spatial + 1} or {spatial + 2}, but got {format_shape(x)}")
    for size in x[-spatial if no_channels else -spatial - 1 :]:
        require_at_least(ctx, size, 1, f"{op}: Expected only the batch to be empty, but got {format_shape(x)}")


def adaptively_pooled(ctx: Infer, op: str, x: Shape, sizes: Sequence[Dim], spatial: int) -> Shape:
    """The shape of an adaptive pooling's result: as many positions as asked for. An average of all there is takes tensors of more
    dimensions, and empty ones. Raises ShapeError, or IndexError for an average of dimensions that are not there."""
    if len(sizes) != spatial:
        raise ShapeError(f"{op}: output_size must be {spatial} numbers, but got {list(sizes)}")
    for size in sizes:
        require_at_least(ctx, size, 0, f"{op}: elements of output_size must be greater than or equal to 0, but got {list(sizes)}")
    if "avg" in op and all(size == 1 for size in sizes) and (spatial > 1 or 2 <= len(x) <= 3):
        if len(x) < spatial:
            raise IndexError(f"{op}: Dimension out of range, of {format_shape(x)}")
        return (*x[:-spatial], *sizes)
    check_pooled(ctx, op, x, spatial, no_channels=True)
    for size in () if op.endswith(("avg_pool1d", "avg_pool2d")) else x[1:]:
        require_at_least(ctx, size, 1, f"{op}: Expected only the first dimension to be empty, but got {format_shape(x)}")
    return (*x[:-spatial], *sizes)


def resized(ctx: Infer, op: str, x: Shape, sizes: Sequence[Dim], spatial: int) -> Shape:
    """The shape of (N, C, *spatial) resized. Raises ShapeError."""
    if len(sizes) != spatial or len(x) != spatial + 2:
        raise ShapeError(f"{op}: expected {spatial} sizes for a tensor of rank {spatial + 2}, but got {list(sizes)} for {format_shape(x)}")
    for size in (*x[2:], *sizes):
        require_at_least(ctx, size, 1, f"{op}: Input and output sizes should be greater than 0, but got {format_shape(x)}, {list(sizes)}")
    return (*x[:2], *sizes)
