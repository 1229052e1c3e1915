"""Convolutions, pooling and resizing of `tierup.ops` in a decorated function: the torch op itself."""

from __future__ import annotations

import ast

from tierup.dialect.mlir import ir
from tierup.frontend import window_ops
from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.table import Handler, function
from tierup.frontend.python.building.values import FALSE, NONE, Array, Const, IntList, Sequence, ShapeOf, Value
from tierup.frontend.python.operations.arrays import as_array, as_int, int_list
from tierup.frontend.python.operations.scalars import to_bool

ZERO, ONE, TRUE = Const(0), Const(1), Const(True)
_OVERLOAD = {1: "", 2: ".input", 3: ".input"}


def _is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def _optional(frame: Frame, node: ast.AST, value: Value) -> ir.Value:
    return frame.em.none if _is_none(value) else as_array(frame, node, value).ssa


def _ints(frame: Frame, node: ast.AST, value: Value, what: str) -> ir.Value:
    return int_list(frame, node, value, what)[0]


def _made(frame: Frame, name: str, x: Array, operands: list[ir.Value]) -> Array:
    """The result of an op that keeps the rank."""
    return Array(frame.em.torch(name, operands)[0], x.rank, x.at_least, decays=False)


def _convolution(spatial: int) -> Handler:
    def handler(
        frame: Frame, node: ast.AST, x: Value, weight: Value, bias: Value = NONE, stride: Value = ONE, padding: Value = ZERO,
        dilation: Value = ONE, groups: Value = ONE,
    ) -> Value:  # fmt: skip
        em = frame.em
        image = as_array(frame, node, x)
        operands = [image.ssa, as_array(frame, node, weight).ssa, _optional(frame, node, bias), _ints(frame, node, stride, "a stride")]
        named = isinstance(padding, Const) and isinstance(padding.value, str)
        operands.append(em.str(padding.value) if named else _ints(frame, node, padding, "a padding"))  # type: ignore[union-attr]  # a Const
        operands += [_ints(frame, node, dilation, "a dilation"), as_int(frame, node, groups, "a number of groups")]
        return _made(frame, f"aten.conv{spatial}d{'.padding' if named else ''}", image, operands)

    return handler


def _transposed(spatial: int) -> Handler:
    def handler(
        frame: Frame, node: ast.AST, x: Value, weight: Value, bias: Value = NONE, stride: Value = ONE, padding: Value = ZERO,
        output_padding: Value = ZERO, groups: Value = ONE, dilation: Value = ONE,
    ) -> Value:  # fmt: skip
        image = as_array(frame, node, x)
        operands = [image.ssa, as_array(frame, node, weight).ssa, _optional(frame, node, bias)]
        for value, what in ((stride, "a stride"), (padding, "a padding"), (output_padding, "an output padding")):
            operands.append(_ints(frame, node, value, what))
        operands += [as_int(frame, node, groups, "a number of groups"), _ints(frame, node, dilation, "a dilation")]
        return _made(frame, f"aten.conv_transpose{spatial}d{_OVERLOAD[spatial]}", image, operands)

    return handler


def _windows(frame: Frame, node: ast.AST, kernel_size: Value, stride: Value) -> list[ir.Value]:
    """The kernel size and the stride, which is the kernel size unless told."""
    kernel = _ints(frame, node, kernel_size, "a kernel size")
    return [kernel, kernel if _is_none(stride) else _ints(frame, node, stride, "a stride")]


def _largest(spatial: int) -> Handler:
    def handler(
        frame: Frame, node: ast.AST, x: Value, kernel_size: Value, stride: Value = NONE, padding: Value = ZERO, dilation: Value = ONE,
        ceil_mode: Value = FALSE,
    ) -> Value:  # fmt: skip
        image = as_array(frame, node, x)
        operands = [image.ssa, *_windows(frame, node, kernel_size, stride)]
        operands += [_ints(frame, node, padding, "a padding"), _ints(frame, node, dilation, "a dilation"), to_bool(frame, ceil_mode)]
        return _made(frame, f"aten.max_pool{spatial}d", image, operands)

    return handler


def _average(
    frame: Frame, node: ast.AST, spatial: int, x: Value, kernel_size: Value, stride: Value, padding: Value, *flags: Value
) -> tuple[Array, list[ir.Value]]:
    image = as_array(frame, node, x)
    operands = [image.ssa, *_windows(frame, node, kernel_size, stride)]
    return image, [*operands, _ints(frame, node, padding, "a padding"), *(to_bool(frame, flag) for flag in flags)]


@function(window_ops.avg_pool1d)
def avg_pool1d(
    frame: Frame, node: ast.AST, x: Value, kernel_size: Value, stride: Value = NONE, padding: Value = ZERO, ceil_mode: Value = FALSE,
    count_include_pad: Value = TRUE,
) -> Value:  # fmt: skip
    image, operands = _average(frame, node, 1, x, kernel_size, stride, padding, ceil_mode, count_include_pad)
    return _made(frame, "aten.avg_pool1d", image, operands)


def _averaged(spatial: int) -> Handler:
    def handler(
        frame: Frame, node: ast.AST, x: Value, kernel_size: Value, stride: Value = NONE, padding: Value = ZERO, ceil_mode: Value = FALSE,
        count_include_pad: Value = TRUE, divisor_override: Value = NONE,
    ) -> Value:  # fmt: skip
        image, operands = _average(frame, node, spatial, x, kernel_size, stride, padding, ceil_mode, count_include_pad)
        divisor = frame.em.none if _is_none(divisor_override) else as_int(frame, node, divisor_override, "a divisor")
        return _made(frame, f"aten.avg_pool{spatial}d", image, [*operands, divisor])

    return handler


def _resized(name: str, spatial: int, *rest: None) -> Handler:
    """An op that is told the sizes of its result; a number is meant for all of them."""

    def handler(frame: Frame, node: ast.AST, x: Value, output_size: Value) -> Value:
        image = as_array(frame, node, x)
        if isinstance(output_size, (Sequence, IntList, ShapeOf)):
            asked = _ints(frame, node, output_size, "an output size")
        else:
            asked = frame.em.int_list([as_int(frame, node, output_size, "an output size")] * spatial)
        return _made(frame, name, image, [image.ssa, asked, *(frame.em.none for _ in rest)])

    return handler


for _spatial in (1, 2, 3):
    function(getattr(window_ops, f"conv{_spatial}d"))(_convolution(_spatial))
    function(getattr(window_ops, f"conv_transpose{_spatial}d"))(_transposed(_spatial))
    function(getattr(window_ops, f"max_pool{_spatial}d"))(_largest(_spatial))
    function(getattr(window_ops, f"adaptive_avg_pool{_spatial}d"))(_resized(f"aten.adaptive_avg_pool{_spatial}d", _spatial))
for _spatial in (2, 3):
    function(getattr(window_ops, f"avg_pool{_spatial}d"))(_averaged(_spatial))
function(window_ops.upsample_nearest2d)(_resized("aten.upsample_nearest2d", 2, None, None))
