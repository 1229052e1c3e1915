"""Convolutions and their transposes. windows.py has their shapes, kernels/convolution.py computes them, convolution_gradients.py has what
their gradients share. ValueError for shapes that do not fit, TypeError for different dtypes and bools, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.ops.products import one_dtype
from tierup.dialect.ops.windows.convolution_gradients import cut_off, gradients, sliding, spatial_of
from tierup.dialect.optable import windows
from tierup.dialect.optable.core import Infer, Kind, ShapeError, Tolerance, format_shape
from tierup.dialect.optable.define import DefinedOp, define, read_schema
from tierup.dialect.optable.kernels.convolution import convolved
from tierup.dialect.optable.operands import flag, given, integer, integers, is_none, lifted, or_unknown, shape, sizes, text

if TYPE_CHECKING:
    from tierup.dialect.ops.gradients.core import Backward, Gradients

Window = Callable[[str, Sequence[Value], Shape], windows.Convolution]  # of what an op is called, its operands and its weight's shape


def _numbers(operands: Sequence[Value], i: int, default: int) -> tuple[int, ...]:
    return integers(given(operands, i, default))


def _general(op: str, operands: Sequence[Value], weight: Shape) -> windows.Convolution:
    stride, padding, dilation = (_numbers(operands, i, default) for i, default in ((3, 1), (4, 0), (5, 1)))
    transposed, extra, groups = flag(given(operands, 6, 0)), sizes(given(operands, 7, 0)), integer(given(operands, 8, 1))
    return windows.convolution(op, len(weight), stride, padding, dilation, transposed, extra, groups)


def _plain(op: str, operands: Sequence[Value], weight: Shape) -> windows.Convolution:
    stride, padding, dilation = (_numbers(operands, i, default) for i, default in ((3, 1), (4, 0), (5, 1)))
    return windows.convolution(op, len(weight), stride, padding, dilation, groups=integer(given(operands, 6, 1)))


def _named(op: str, operands: Sequence[Value], weight: Shape) -> windows.Convolution:
    padding = text(operands[4]) if len(operands) > 4 else "valid"
    stride, dilation, groups = _numbers(operands, 3, 1), _numbers(operands, 5, 1), integer(given(operands, 6, 1))
    return windows.named_padding(op, padding, weight[2:], stride, dilation, groups)


def _transposed(op: str, operands: Sequence[Value], weight: Shape) -> windows.Convolution:
    stride, padding, dilation = (_numbers(operands, i, default) for i, default in ((3, 1), (4, 0), (7, 1)))
    extra, groups = sizes(given(operands, 5, 0)), integer(given(operands, 6, 1))
    return windows.convolution(op, len(weight), stride, padding, dilation, True, extra, groups)


def _defined(schema: str, window: Window, spatial: int | None = None, note: str = "") -> DefinedOp[Any]:
    """`spatial`: how many dims the op has, and then it takes an input without a batch; None: as many as the weight says."""
    said = read_schema(schema)[0].split(".")[1].lstrip("_")

    @or_unknown
    def result(ctx: Infer, operands: Sequence[Value]) -> Shape:
        x, weight, bias = shape(operands[0]), shape(operands[1]), given(operands, 2)
        if spatial is not None and len(x) not in (spatial + 1, spatial + 2):
            raise ShapeError(f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {said}, but got {format_shape(x)}")
        if spatial is not None and len(weight) != spatial + 2:
            raise ShapeError(f"{said}: expected a weight of rank {spatial + 2}, but got {format_shape(weight)}")
        of = window(said, operands, weight)
        batched = spatial is None or len(x) == spatial + 2
        made = windows.convolved(ctx, said, x if batched else (1, *x), weight, None if is_none(bias) else shape(bias), of)
        return made if batched else made[1:]

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        return Tensor(one_dtype(said, operands[0], operands[1], given(operands, 2)), result(ctx, operands))

    def tier0(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, *rest: Any) -> np.ndarray:
        operands = (x, weight, bias, *rest)
        made = defined.checked(*operands).shape
        of = window(said, [lifted(v) for v in operands], weight.shape)
        return convolved(x, weight, bias, of, made) if x.ndim == weight.ndim else convolved(x[None], weight, bias, of, (1, *made))[0]

    defined = define(schema, tier0, kind=Kind.PRODUCT, infer=infer, tolerance=Tolerance(4.0, 1.0), window=1, note=note)
    return defined


# --- of any number of dims -----------------------------------------------------------------------------------------------


_NO_CHANNELS = "of no input channels it is the bias, where PyTorch's result has no channels"

convolution = _defined(
    "aten.convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, "
    "int[] output_padding, int groups) -> Tensor", _general, note=_NO_CHANNELS,
)  # fmt: skip
_convolution = _defined(
    "aten._convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, "
    "int[] output_padding, int groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
    _general, note=_NO_CHANNELS,
)  # fmt: skip


@convolution.vjp(reads=("input", "weight"))
@_convolution.vjp(reads=("input", "weight"))
def _(g: Backward) -> Gradients:
    names = ("stride", "padding", "dilation")
    rank = g.rank("weight")
    spatial = rank - 2 if rank is not None else max(len(g.ints(name) or [0]) for name in names)
    of = sliding(g, spatial, names, transposed=bool(g.constant("transposed")))
    grad = g.grad
    if rank is None and spatial == 1:  # of several dims, one number for all of them: that this is not meant is for the run to see
        grad = g.call("aten.permute", grad, [0, 1, 2])
    return gradients(g, of, grad, spatial + 2)


# --- of a known number of dims -------------------------------------------------------------------------------------------


conv1d = _defined(
    "aten.conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, int[1] dilation=1, int groups=1) "
    "-> Tensor", _plain, 1,
)  # fmt: skip
conv2d = _defined(
    "aten.conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, int groups=1) "
    "-> Tensor", _plain, 2,
)  # fmt: skip
conv3d = _defined(
    "aten.conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] dilation=1, int groups=1) "
    "-> Tensor", _plain, 3,
)  # fmt: skip


@conv1d.vjp(reads=("input", "weight"))
@conv2d.vjp(reads=("input", "weight"))
@conv3d.vjp(reads=("input", "weight"))
def _(g: Backward) -> Gradients:
    return gradients(g, sliding(g, spatial_of(g), ("stride", "padding", "dilation")), g.grad, g.rank("input"))


_UNEVEN = "where \"same\" pads an odd number, one more stands after"

conv1d_padding = _defined(
    'aten.conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, str padding="valid", int[1] dilation=1, '
    "int groups=1) -> Tensor", _named, 1, _UNEVEN,
)  # fmt: skip
conv2d_padding = _defined(
    'aten.conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, str padding="valid", int[2] dilation=1, '
    "int groups=1) -> Tensor", _named, 2, _UNEVEN,
)  # fmt: skip
conv3d_padding = _defined(
    'aten.conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, str padding="valid", int[3] dilation=1, '
    "int groups=1) -> Tensor", _named, 3, _UNEVEN,
)  # fmt: skip


@conv1d_padding.vjp(reads=("input", "weight"))
@conv2d_padding.vjp(reads=("input", "weight"))
@conv3d_padding.vjp(reads=("input", "weight"))
def _(g: Backward) -> Gradients:
    """The input is padded first, for "same" may do so unevenly."""
    of = sliding(g, spatial_of(g), ("stride", None, "dilation"))
    if g.text("padding") == "valid":
        return gradients(g, of, g.grad, g.rank("input"))
    pads = cut_off(g, of)
    of_padded, of_weight, of_bias = gradients(g, of, g.grad, g.rank("input"), g.call("aten.constant_pad_nd", g.operands[0], pads, 0))
    return g.call("aten.constant_pad_nd", of_padded, [g.minus(0, p) for p in pads], 0), of_weight, of_bias


# --- transposed ----------------------------------------------------------------------------------------------------------


conv_transpose1d = _defined(
    "aten.conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, int[1] output_padding=0, "
    "int groups=1, int[1] dilation=1) -> Tensor", _transposed, 1,
)  # fmt: skip
conv_transpose2d_input = _defined(
    "aten.conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, "
    "int[2] output_padding=0, int groups=1, int[2] dilation=1) -> Tensor", _transposed, 2,
)  # fmt: skip
conv_transpose3d_input = _defined(
    "aten.conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, "
    "int[3] output_padding=0, int groups=1, int[3] dilation=1) -> Tensor", _transposed, 3,
)  # fmt: skip


@conv_transpose1d.vjp(reads=("input", "weight"))
@conv_transpose2d_input.vjp(reads=("input", "weight"))
@conv_transpose3d_input.vjp(reads=("input", "weight"))
def _(g: Backward) -> Gradients:
    return gradients(g, sliding(g, spatial_of(g), ("stride", "padding", "dilation"), transposed=True), g.grad, g.rank("input"))
