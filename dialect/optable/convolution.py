"""Convolutions and their transposes. windows.py has their shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.ir.values import Shape, Tensor, Value
from tierup.dialect.optable import windows
from tierup.dialect.optable.core import Infer, InferRule, Kind, Op, ShapeError, Tolerance, format_shape
from tierup.dialect.optable.operands import flag, given, integer, integers, is_none, or_unknown, shape, sizes, text
from tierup.dialect.optable.products import one_dtype

Read = Callable[[Sequence[Value], Shape], windows.Convolution]  # of an op's operands and its weight's shape


def _numbers(operands: Sequence[Value], i: int, default: int) -> tuple[int, ...]:
    return integers(given(operands, i, default))


def _general(op: str) -> Read:
    """convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)."""

    def read(operands: Sequence[Value], weight: Shape) -> windows.Convolution:
        stride, padding, dilation = (_numbers(operands, i, default) for i, default in ((3, 1), (4, 0), (5, 1)))
        transposed, extra, groups = flag(given(operands, 6, 0)), sizes(given(operands, 7, 0)), integer(given(operands, 8, 1))
        return windows.convolution(op, len(weight), stride, padding, dilation, transposed, extra, groups)

    return read


def _plain(op: str) -> Read:
    """conv2d(input, weight, bias, stride, padding, dilation, groups)."""

    def read(operands: Sequence[Value], weight: Shape) -> windows.Convolution:
        stride, padding, dilation = (_numbers(operands, i, default) for i, default in ((3, 1), (4, 0), (5, 1)))
        return windows.convolution(op, len(weight), stride, padding, dilation, groups=integer(given(operands, 6, 1)))

    return read


def _named(op: str) -> Read:
    """conv2d.padding(input, weight, bias, stride, padding: str, dilation, groups)."""

    def read(operands: Sequence[Value], weight: Shape) -> windows.Convolution:
        padding = text(operands[4]) if len(operands) > 4 else "valid"
        stride, dilation, groups = _numbers(operands, 3, 1), _numbers(operands, 5, 1), integer(given(operands, 6, 1))
        return windows.named_padding(op, padding, weight[2:], stride, dilation, groups)

    return read


def _transposed(op: str) -> Read:
    """conv_transpose2d.input(input, weight, bias, stride, padding, output_padding, groups, dilation)."""

    def read(operands: Sequence[Value], weight: Shape) -> windows.Convolution:
        stride, padding, dilation = (_numbers(operands, i, default) for i, default in ((3, 1), (4, 0), (7, 1)))
        extra, groups = sizes(given(operands, 5, 0)), integer(given(operands, 6, 1))
        return windows.convolution(op, len(weight), stride, padding, dilation, True, extra, groups)

    return read


def _rule(op: str, read: Read, spatial: int | None) -> InferRule:
    """`spatial`: how many dims the op has, and then it takes an input without a batch; None: as many as the weight says."""

    @or_unknown
    def result(ctx: Infer, operands: Sequence[Value]) -> Shape:
        x, weight, bias = shape(operands[0]), shape(operands[1]), given(operands, 2)
        if spatial is not None and len(x) not in (spatial + 1, spatial + 2):
            raise ShapeError(f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {op}, but got {format_shape(x)}")
        if spatial is not None and len(weight) != spatial + 2:
            raise ShapeError(f"{op}: expected a weight of rank {spatial + 2}, but got {format_shape(weight)}")
        of = read(operands, weight)
        batched = spatial is None or len(x) == spatial + 2
        made = windows.convolved(ctx, op, x if batched else (1, *x), weight, None if is_none(bias) else shape(bias), of)
        return made if batched else made[1:]

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        return Tensor(one_dtype(op, operands[0], operands[1], given(operands, 2)), result(ctx, operands))

    return infer


_SUMMED = Tolerance(4.0, 1.0)
_NO_CHANNELS = "of no input channels it is the bias, where PyTorch's result has no channels"

_UNEVEN = "where \"same\" pads an odd number, one more stands after"


def _row(name: str, kernel: str, read: Read, spatial: int | None = None, note: str = "") -> Op:
    infer = _rule(name.partition(".")[0], read, spatial)
    return Op(f"aten.{name}", Kind.PRODUCT, f"convolution.{kernel}", infer, tolerance=_SUMMED, note=note)


ROWS = (
    _row("convolution", "convolution", _general("convolution"), note=_NO_CHANNELS),
    _row("_convolution", "internal_convolution", _general("convolution"), note=_NO_CHANNELS),
    *(_row(f"conv{n}d", f"conv{n}d", _plain(f"conv{n}d"), n) for n in (1, 2, 3)),
    *(_row(f"conv{n}d.padding", f"conv{n}d_padding", _named(f"conv{n}d"), n, _UNEVEN) for n in (1, 2, 3)),
    *(_row(f"conv_transpose{n}d{suffix}", f"conv_transpose{n}d", _transposed(f"conv_transpose{n}d"), n)
      for n, suffix in ((1, ""), (2, ".input"), (3, ".input"))),
)  # fmt: skip

