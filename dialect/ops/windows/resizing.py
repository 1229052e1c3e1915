"""Images made larger or smaller: each position is that of the nearest of the input, which gets the sum of its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.ops.windows.pooling import SUMMED, floats
from tierup.dialect.optable import windows
from tierup.dialect.optable.core import EXACT, Infer, Kind, ShapeError
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.arrays import in_rows, quiet, rounded, widened
from tierup.dialect.optable.operands import Unknown, dtype_of, is_none, items, number, or_unknown, shape, sizes

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_op = partial(op, kind=Kind.REDUCTION)


def _dtype(x: Value, name: str = "upsample_nearest2d") -> DType | None:
    return floats(name, dtype_of(x), dtypes.u8)


def _nearest(size: int, count: int, scale: float | None) -> np.ndarray:
    """The position of `size` that each of `count` is made from (ATen/native/UpSample.h, nearest_idx: in float32)."""
    at = np.arange(count)
    if count == size:
        return at
    if count == 2 * size:
        return at // 2
    step = np.float32(1.0 / scale) if scale is not None and scale > 0 else np.float32(size) / np.float32(count)
    found: np.ndarray = np.minimum(np.floor(at.astype(np.float32) * step).astype(np.int64), size - 1)
    return found


@or_unknown
def _resized(ctx: Infer, x: Value, to: Value) -> Shape:
    return windows.resized(ctx, "upsample_nearest2d", shape(x), sizes(to), 2)


def _infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return Tensor(_dtype(operands[0]), _resized(ctx, operands[0], operands[1]))


@_op(
    "aten.upsample_nearest2d(Tensor self, int[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor", infer=_infer,
    tolerance=EXACT,
)  # fmt: skip
def upsample_nearest2d(x: np.ndarray, sizes: Sequence[int], scales_h: float | None = None, scales_w: float | None = None) -> np.ndarray:
    """(N, C, H, W) to (H, W) = sizes, each position the one at floor(i * H / sizes[0])."""
    upsample_nearest2d.checked(x, sizes)
    rows, columns = (_nearest(n, out, scale) for n, out, scale in zip(x.shape[2:], sizes, (scales_h, scales_w), strict=True))
    return in_rows(x[:, :, rows[:, None], columns[None, :]])


upsample_nearest2d.vjp()(lambda g: _gathered(g, _scales(g)))


def _scales(g: Backward) -> list[float | None]:
    return [None if g.is_none(which) else float(g.constant(which)) for which in ("scales_h", "scales_w")]


def _gathered(g: Backward, scales: Sequence[float | None]) -> ir.Value:
    made = [g.size_of(g.grad, 2), g.size_of(g.grad, 3)]
    return g.call("aten.upsample_nearest2d_backward", g.grad, made, g.operand_size(0), *scales)


@or_unknown
def _resized_by(ctx: Infer, x: Value, to: Value, factors: Value) -> Shape:
    if is_none(to) == is_none(factors):
        raise ShapeError("upsample_nearest2d: Must specify exactly one of output_size and scale_factors")
    if not is_none(to):
        return windows.resized(ctx, "upsample_nearest2d", shape(x), sizes(to), 2)
    of, by = shape(x), [number(f) for f in items(factors)]
    if len(by) != 2 or len(of) != 4:
        raise ShapeError("upsample_nearest2d: expected a factor for each of two spatial dimensions of (N, C, H, W)")
    made = []
    for size, factor in zip(of[2:], by, strict=True):
        if factor == int(factor):
            made.append(size * int(factor))
        elif isinstance(size, int):
            made.append(int(size * factor))
        else:
            raise Unknown
    return windows.resized(ctx, "upsample_nearest2d", of, made, 2)


@_op(
    "aten.upsample_nearest2d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor", tolerance=EXACT,
    infer=lambda ctx, operands: Tensor(_dtype(operands[0]), _resized_by(ctx, *operands[:3])),
)  # fmt: skip
def upsample_nearest2d_vec(x: np.ndarray, sizes: Sequence[int] | None, scales: Sequence[float] | None) -> np.ndarray:
    """The sizes, or factors of the input's."""
    made = upsample_nearest2d_vec.checked(x, sizes, scales)
    return upsample_nearest2d(x, made.shape[2:], *(scales or ()))


upsample_nearest2d_vec.vjp()(lambda g: _gathered(g, g.floats("scale_factors") or (None, None)))


@or_unknown
def _unresized(ctx: Infer, grad: Value, to: Value, of: Value) -> Shape:
    made = windows.resized(ctx, "upsample_nearest2d_backward", sizes(of), sizes(to), 2)
    found = shape(grad)
    if len(found) != 4:
        raise ShapeError(f"upsample_nearest2d_backward: expected a gradient of rank 4, but got one of rank {len(found)}")
    for a, b in zip(found, made, strict=True):
        ctx.equal(a, b, "upsample_nearest2d_backward: the gradient has not the result's shape")
    return sizes(of)


@_op(
    "aten.upsample_nearest2d_backward(Tensor grad_output, int[2] output_size, int[4] input_size, float? scales_h=None, "
    "float? scales_w=None) -> Tensor", tolerance=SUMMED,
    infer=lambda ctx, operands: Tensor(_dtype(operands[0], "upsample_nearest2d_backward"), _unresized(ctx, *operands[:3])),
)  # fmt: skip
def upsample_nearest2d_backward(
    grad: np.ndarray, sizes: Sequence[int], input_size: Sequence[int], scales_h: float | None = None, scales_w: float | None = None
) -> np.ndarray:
    """Each position of (N, C, H, W) = input_size gets the sum of those made from it."""
    upsample_nearest2d_backward.checked(grad, sizes, input_size)
    total = widened(grad)
    for axis, scale in ((2, scales_h), (3, scales_w)):
        room = np.zeros((*total.shape[:axis], input_size[axis], *total.shape[axis + 1 :]), total.dtype)
        where: Any = (slice(None),) * axis + (_nearest(input_size[axis], grad.shape[axis], scale),)
        np.add.at(room, where, total)
        total = room
    with quiet:
        return rounded(total, grad.dtype)


@upsample_nearest2d_backward.vjp()
def _(g: Backward) -> Gradients:
    given = g.like("grad_output")
    return g.call("aten.upsample_nearest2d", g.grad, [g.size_of(given, 2), g.size_of(given, 3)], *_scales(g))
