"""Tier-0 kernels of adaptive pooling, whose windows share the input out among as many positions as are asked for, and of resizing.

Window i of n over a size s is [floor(i * s / n), ceil((i + 1) * s / n)). Errors as in pooling.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.kernels.axes import quiet, rounded, row_major, widened
from tierup.dialect.kernels.pooling import check_gradient_dtype, require_float
from tierup.dialect.optable import windows
from tierup.dialect.optable.core import Infer
from tierup.dialect.optable.windows import as_kernels_raise

Ints = Sequence[int]
Window = tuple[int, int]


def adaptive_avg_pool1d(x: np.ndarray, sizes: Ints) -> np.ndarray:
    """aten.adaptive_avg_pool1d: (N, C, L) or (C, L) to L = sizes[0]."""
    return _averaged("adaptive_avg_pool1d", x, sizes, 1)


def adaptive_avg_pool2d(x: np.ndarray, sizes: Ints) -> np.ndarray:
    """aten.adaptive_avg_pool2d: (N, C, H, W) or (C, H, W) to (H, W) = sizes."""
    return _averaged("adaptive_avg_pool2d", x, sizes, 2)


def adaptive_avg_pool3d(x: np.ndarray, sizes: Ints) -> np.ndarray:
    """aten.adaptive_avg_pool3d: (N, C, D, H, W) or (C, D, H, W) to (D, H, W) = sizes."""
    return _averaged("adaptive_avg_pool3d", x, sizes, 3)


def adaptive_max_pool1d(x: np.ndarray, sizes: Ints) -> tuple[np.ndarray, np.ndarray]:
    """aten.adaptive_max_pool1d: the largest and where it stands, int64."""
    return _largest("adaptive_max_pool1d", x, sizes, 1)


def adaptive_max_pool2d(x: np.ndarray, sizes: Ints) -> tuple[np.ndarray, np.ndarray]:
    """aten.adaptive_max_pool2d: the largest and where it stands, h * W + w. Of equal ones the first, of NaNs the last."""
    return _largest("adaptive_max_pool2d", x, sizes, 2)


def adaptive_max_pool3d(x: np.ndarray, sizes: Ints) -> tuple[np.ndarray, np.ndarray]:
    """aten.adaptive_max_pool3d: the largest and where it stands."""
    return _largest("adaptive_max_pool3d", x, sizes, 3)


def adaptive_avg_pool2d_backward(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
    """aten._adaptive_avg_pool2d_backward: the gradient of x, whose sizes alone are read."""
    return _spread("adaptive_avg_pool2d", grad, x, 2)


def adaptive_avg_pool3d_backward(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
    """aten._adaptive_avg_pool3d_backward: the gradient of x, whose sizes alone are read."""
    return _spread("adaptive_avg_pool3d", grad, x, 3)


def windows_over(size: int, count: int) -> list[Window]:
    """Where each of `count` windows begins and ends."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _shape(op: str, x: np.ndarray, sizes: Ints, spatial: int, *, no_channels: bool) -> tuple[int, ...]:
    with as_kernels_raise():
        found = windows.adaptively_pooled(Infer(), op, x.shape, sizes, spatial, no_channels=no_channels)
    return tuple(int(size) for size in found if isinstance(size, int))  # all of them: the operand's are


def _averaged(op: str, x: np.ndarray, sizes: Ints, spatial: int) -> np.ndarray:
    """Sums over one dim after the other, divided at the end."""
    shape = _shape(op, x, sizes, spatial, no_channels=True)
    require_float(op, x)
    total = widened(x)
    with quiet:
        for axis in range(x.ndim - spatial, x.ndim):
            parts = windows_over(x.shape[axis], shape[axis])
            along = np.empty((*total.shape[:axis], shape[axis], *total.shape[axis + 1 :]), total.dtype)
            for i, (start, end) in enumerate(parts):
                np.sum(_part(total, axis, start, end), axis=axis, out=_part(along, axis, i, i + 1).squeeze(axis))
            total = along
        return rounded(total / _counts(x.shape[-spatial:], shape[-spatial:], total.dtype), x.dtype)


def _part(x: np.ndarray, axis: int, start: int, end: int) -> np.ndarray:
    return x[(slice(None),) * axis + (slice(start, end),)]


def _counts(sizes: Ints, counts: Ints, dtype: np.dtype) -> np.ndarray:
    """How many elements each window holds."""
    total = np.ones((), dtype)
    for size, count in zip(sizes, counts, strict=True):
        total = total[..., None] * np.array([end - start for start, end in windows_over(size, count)], dtype)
    return total


def _spread(op: str, grad: np.ndarray, x: np.ndarray, spatial: int) -> np.ndarray:
    check_gradient_dtype(op, grad, x)
    if grad.ndim != x.ndim or grad.shape[:-spatial] != x.shape[:-spatial]:
        raise ValueError(f"{op}_backward: a gradient of shape {list(grad.shape)} does not fit an input of shape {list(x.shape)}")
    _shape(op, x, grad.shape[-spatial:], spatial, no_channels=True)
    require_float(op, x)
    with quiet:
        each = widened(grad) / _counts(x.shape[-spatial:], grad.shape[-spatial:], widened(grad).dtype)
        for axis in range(x.ndim - spatial, x.ndim):
            room = np.zeros((*each.shape[:axis], x.shape[axis], *each.shape[axis + 1 :]), each.dtype)
            for i, (start, end) in enumerate(windows_over(x.shape[axis], grad.shape[axis])):
                _part(room, axis, start, end)[...] += _part(each, axis, i, i + 1)
            each = room
        return rounded(each, x.dtype)


def _largest(op: str, x: np.ndarray, sizes: Ints, spatial: int) -> tuple[np.ndarray, np.ndarray]:
    shape = _shape(op, x, sizes, spatial, no_channels=False)
    require_float(op, x)
    over, wide = x.shape[-spatial:], widened(x)
    result, indices = np.empty(shape, wide.dtype), np.empty(shape, np.int64)
    positions = np.arange(int(np.prod(over))).reshape(over)
    parts = [list(enumerate(windows_over(size, count))) for size, count in zip(over, shape[-spatial:], strict=True)]
    for window in product(*parts):
        inner = tuple(slice(start, end) for _, (start, end) in window)
        seen = wide[(..., *inner)].reshape(*x.shape[:-spatial], positions[inner].size)
        nan = seen != seen
        last = seen.shape[-1] - 1 - np.argmax(nan[..., ::-1], axis=-1)
        chosen = np.where(nan.any(axis=-1), last, np.argmax(seen, axis=-1))[..., None]
        at = (..., *(i for i, _ in window))
        result[at] = np.take_along_axis(seen, chosen, -1)[..., 0]
        indices[at] = positions[inner].reshape(-1)[chosen[..., 0]]
    return rounded(result, x.dtype), indices


# --- resizing ----------------------------------------------------------------------------------------------------------


def upsample_nearest2d(x: np.ndarray, sizes: Ints, scales_h: float | None = None, scales_w: float | None = None) -> np.ndarray:
    """aten.upsample_nearest2d: (N, C, H, W) to (H, W) = sizes, each position the one at floor(i * H / sizes[0])."""
    with as_kernels_raise():
        windows.resized(Infer(), "upsample_nearest2d", x.shape, sizes, 2)
    require_float("upsample_nearest2d", x, dtypes.u8.numpy)
    rows, columns = (nearest(n, out, scale) for n, out, scale in zip(x.shape[2:], sizes, (scales_h, scales_w), strict=True))
    return row_major(x[:, :, rows[:, None], columns[None, :]])


def upsample_nearest2d_vec(x: np.ndarray, sizes: Ints | None, scales: Sequence[float] | None) -> np.ndarray:
    """aten.upsample_nearest2d.vec: the sizes, or factors of the input's."""
    if (sizes is None) == (scales is None):
        raise ValueError("upsample_nearest2d: Must specify exactly one of output_size and scale_factors")
    if sizes is not None:
        return upsample_nearest2d(x, sizes)
    assert scales is not None
    if len(scales) != 2 or x.ndim != 4:
        raise ValueError("upsample_nearest2d: expected a factor for each of two spatial dimensions of (N, C, H, W)")
    return upsample_nearest2d(x, [int(n * f) for n, f in zip(x.shape[2:], scales, strict=True)], *scales)


def upsample_nearest2d_backward(
    grad: np.ndarray, sizes: Ints, input_size: Ints, scales_h: float | None = None, scales_w: float | None = None
) -> np.ndarray:
    """aten.upsample_nearest2d_backward: each position of (N, C, H, W) = input_size gets the sum of those made from it."""
    with as_kernels_raise():
        shape = windows.resized(Infer(), "upsample_nearest2d_backward", tuple(input_size), sizes, 2)
    if grad.shape != shape:
        raise ValueError(f"upsample_nearest2d_backward: expected a gradient of shape {list(shape)}, but got {list(grad.shape)}")
    require_float("upsample_nearest2d_backward", grad, dtypes.u8.numpy)
    total = widened(grad)
    for axis, scale in ((2, scales_h), (3, scales_w)):
        room = np.zeros((*total.shape[:axis], input_size[axis], *total.shape[axis + 1 :]), total.dtype)
        np.add.at(room, (slice(None),) * axis + (nearest(input_size[axis], grad.shape[axis], scale),), total)
        total = room
    with quiet:
        return rounded(total, grad.dtype)


def nearest(size: int, count: int, scale: float | None) -> np.ndarray:
    """The position of `size` that each of `count` is made from (ATen/native/UpSample.h, nearest_idx: in float32)."""
    at = np.arange(count)
    if count == size:
        return at
    if count == 2 * size:
        return at // 2
    step = np.float32(1.0 / scale) if scale is not None and scale > 0 else np.float32(size) / np.float32(count)
    return np.minimum(np.floor(at.astype(np.float32) * step).astype(np.int64), size - 1)
