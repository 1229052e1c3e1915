"""Tier-0 kernels of max and average pooling: one pass over the result for each place in the window.

Common errors, as in PyTorch: ValueError for windows that do not fit, TypeError for dtypes that an op refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.kernels.axes import is_float, name_of, quiet, rounded, widened
from tierup.dialect.optable import windows
from tierup.dialect.optable.core import Infer
from tierup.dialect.optable.windows import Pooling, as_kernels_raise

Ints = Sequence[int]


def max_pool1d(
    x: np.ndarray, kernel: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,), ceil_mode: bool = False
) -> np.ndarray:
    """aten.max_pool1d: (N, C, L) or (C, L), of floats. NaN stays."""
    of, shape = _pooling("max_pool1d", 1, x, kernel, stride, padding, dilation, ceil_mode)
    require_float("max_pool1d", x)
    return _largest(x, of, shape)


def max_pool2d(
    x: np.ndarray, kernel: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,), ceil_mode: bool = False
) -> np.ndarray:
    """aten.max_pool2d: (N, C, H, W) or (C, H, W). NaN stays."""
    of, shape = _pooling("max_pool2d", 2, x, kernel, stride, padding, dilation, ceil_mode)
    _refuse_bool("max_pool2d", x)
    return _largest(x, of, shape)


def max_pool3d(
    x: np.ndarray, kernel: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,), ceil_mode: bool = False
) -> np.ndarray:
    """aten.max_pool3d: (N, C, D, H, W) or (C, D, H, W). NaN stays."""
    of, shape = _pooling("max_pool3d", 3, x, kernel, stride, padding, dilation, ceil_mode)
    _refuse_bool("max_pool3d", x)
    return _largest(x, of, shape)


def max_pool1d_with_indices(
    x: np.ndarray, kernel: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,), ceil_mode: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """aten.max_pool1d_with_indices: also where each value stands, int64. Of equal ones the first, of NaNs the last."""
    return _with_indices("max_pool1d", 1, x, kernel, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    x: np.ndarray, kernel: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,), ceil_mode: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """aten.max_pool2d_with_indices: also where each value stands, h * W + w."""
    return _with_indices("max_pool2d", 2, x, kernel, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    x: np.ndarray, kernel: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,), ceil_mode: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """aten.max_pool3d_with_indices: also where each value stands, (d * H + h) * W + w."""
    return _with_indices("max_pool3d", 3, x, kernel, stride, padding, dilation, ceil_mode)


def avg_pool1d(
    x: np.ndarray, kernel: Ints, stride: Ints = (), padding: Ints = (0,), ceil_mode: bool = False, count_include_pad: bool = True
) -> np.ndarray:
    """aten.avg_pool1d: (N, C, L) or (C, L)."""
    return _averaged("avg_pool1d", 1, x, kernel, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    x: np.ndarray, kernel: Ints, stride: Ints = (), padding: Ints = (0,), ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:  # fmt: skip
    """aten.avg_pool2d: (N, C, H, W) or (C, H, W)."""
    return _averaged("avg_pool2d", 2, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    x: np.ndarray, kernel: Ints, stride: Ints = (), padding: Ints = (0,), ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:  # fmt: skip
    """aten.avg_pool3d: (N, C, D, H, W) or (C, D, H, W)."""
    return _averaged("avg_pool3d", 3, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool2d_backward(
    grad: np.ndarray, x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int | None,
) -> np.ndarray:  # fmt: skip
    """aten.avg_pool2d_backward: the gradient of x, whose sizes alone are read."""
    return _spread("avg_pool2d", 2, grad, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d_backward(
    grad: np.ndarray, x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int | None,
) -> np.ndarray:  # fmt: skip
    """aten.avg_pool3d_backward: the gradient of x, whose sizes alone are read."""
    return _spread("avg_pool3d", 3, grad, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


# --- operands ----------------------------------------------------------------------------------------------------------


def _pooling(
    op: str, spatial: int, x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[Pooling, tuple[int, ...]]:
    with as_kernels_raise():
        of = windows.pooling(op, spatial, kernel, stride, padding, dilation, ceil_mode)
        found = windows.pooled(Infer(), op, x.shape, of)
    return of, tuple(int(size) for size in found if isinstance(size, int))  # all of them: the operand's are


def require_float(op: str, x: np.ndarray, *also: np.dtype) -> None:
    """Raises TypeError."""
    if not is_float(x.dtype) and x.dtype not in also:
        raise TypeError(f'"{op}" not implemented for {name_of(x.dtype)!r}')


def check_gradient_dtype(op: str, grad: np.ndarray, x: np.ndarray) -> None:
    """Raises TypeError where a gradient is not of its input's dtype."""
    if grad.dtype != x.dtype:
        raise TypeError(f"{op}_backward: expected a gradient of dtype {name_of(x.dtype)}, but got {name_of(grad.dtype)}")


def _refuse_bool(op: str, x: np.ndarray) -> None:
    if x.dtype == np.bool_:
        raise TypeError(f'"{op}" not implemented for {name_of(x.dtype)!r}')


def least(dtype: np.dtype) -> object:
    """The number below all others."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return dtype.type(-np.inf)


def _places(of: Pooling, shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[object, ...]]]:
    """Each place in the window, with what of the padded input it meets."""
    for at in product(*map(range, of.kernel)):
        first = [i * d for i, d in zip(at, of.dilation, strict=True)]
        yield at, (..., *(slice(f, f + (n - 1) * s + 1, s) for f, n, s in zip(first, shape[-of.spatial :], of.stride, strict=True)))


def _room(of: Pooling, x: np.ndarray, shape: tuple[int, ...], filler: object) -> tuple[np.ndarray, tuple[object, ...]]:
    """Memory for the input and all that windows reach beyond it, and where the input stands in it."""
    n = of.spatial
    inner = tuple(slice(p, p + size) for p, size in zip(of.padding, x.shape[-n:], strict=True))
    reach = ((count - 1) * s + span for count, s, span in zip(shape[-n:], of.stride, of.span, strict=True))
    sizes = tuple(max(r, p + size) for r, p, size in zip(reach, of.padding, x.shape[-n:], strict=True))
    return np.full((*x.shape[:-n], *sizes), filler, x.dtype), (..., *inner)


def _padded(of: Pooling, x: np.ndarray, shape: tuple[int, ...], filler: object) -> np.ndarray:
    room, inner = _room(of, x, shape, filler)
    if room.shape == x.shape:
        return x
    room[inner] = x
    return room


# --- the largest -------------------------------------------------------------------------------------------------------


def _largest(x: np.ndarray, of: Pooling, shape: tuple[int, ...]) -> np.ndarray:
    wide = widened(x)
    result = np.full(shape, least(wide.dtype), wide.dtype)
    padded = _padded(of, wide, shape, least(wide.dtype))
    for _, where in _places(of, shape):
        np.maximum(result, padded[where], out=result)
    return rounded(result, x.dtype)


def _with_indices(
    op: str, spatial: int, x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[np.ndarray, np.ndarray]:
    of, shape = _pooling(op, spatial, x, kernel, stride, padding, dilation, ceil_mode)
    _refuse_bool(op, x)
    wide = widened(x)
    result = np.full(shape, least(wide.dtype), wide.dtype)
    first = [np.arange(n) * s - p for n, s, p in zip(shape[-spatial:], of.stride, of.padding, strict=True)]
    within = [f + np.maximum(-(f // d), 0) * d for f, d in zip(first, of.dilation, strict=True)]  # the first place of the input
    indices = np.broadcast_to(_flat(within, x.shape[-spatial:]), shape).copy()
    padded = _padded(of, wide, shape, least(wide.dtype))
    for at, where in _places(of, shape):
        seen = padded[where]
        larger = (seen > result) | (seen != seen)
        positions = _flat([f + i * d for f, i, d in zip(first, at, of.dilation, strict=True)], x.shape[-spatial:])
        np.copyto(result, seen, where=larger)
        np.copyto(indices, positions, where=larger)
    return rounded(result, x.dtype), indices


def _flat(positions: Sequence[np.ndarray], sizes: tuple[int, ...]) -> np.ndarray:
    """Positions along each dim as one number for each combination."""
    total = np.zeros((1,) * len(sizes), np.int64)
    for i, (along, size) in enumerate(zip(positions, sizes, strict=True)):
        total = total * size + along.reshape(-1, *(1,) * (len(sizes) - 1 - i))
    return total


# --- averages ----------------------------------------------------------------------------------------------------------


def _averaged(
    op: str, spatial: int, x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int | None,
) -> np.ndarray:  # fmt: skip
    of, shape = _pooling(op, spatial, x, kernel, stride, padding, (1,), ceil_mode)
    require_float(op, x, dtypes.i64.numpy)
    divisor = _divisor(op, of, x.shape, shape, count_include_pad, divisor_override)
    wide = widened(x)
    padded = _padded(of, wide, shape, 0)
    total = np.zeros(shape, wide.dtype)
    with quiet:
        for _, where in _places(of, shape):
            total += padded[where]
        return rounded(_divided(total, divisor), x.dtype)


def _spread(
    op: str, spatial: int, grad: np.ndarray, x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> np.ndarray:  # fmt: skip
    of, shape = _pooling(op, spatial, x, kernel, stride, padding, (1,), ceil_mode)
    require_float(op, x, dtypes.i64.numpy)
    check_gradient_dtype(op, grad, x)
    if grad.shape != shape:
        raise ValueError(f"{op}_backward: expected a gradient of shape {list(shape)}, but got {list(grad.shape)}")
    wide = widened(x)
    room, inner = _room(of, wide, shape, 0)
    with quiet:
        each = _divided(widened(grad), _divisor(op, of, x.shape, shape, count_include_pad, divisor_override))
        for _, where in _places(of, shape):
            room[where] += each
        return rounded(room[inner], x.dtype).copy()


def _divisor(
    op: str, of: Pooling, sizes: tuple[int, ...], shape: tuple[int, ...], count_include_pad: bool, override: int | None
) -> np.ndarray | int:
    """What sums are divided by: the number of places of each window that stand in the input, or in it and its padding."""
    if override is not None:
        if override == 0:
            raise ValueError(f"{op}: divisor must be not zero")
        return override
    n = of.spatial
    counts = []
    for size, count, k, s, p in zip(sizes[-n:], shape[-n:], of.kernel, of.stride, of.padding, strict=True):
        start = np.arange(count) * s - p
        end = np.minimum(start + k, size + p)
        counts.append(end - start if count_include_pad else np.minimum(end, size) - np.maximum(start, 0))
    if all((c == k).all() for c, k in zip(counts, of.kernel, strict=True)):
        return prod(of.kernel)
    total = counts[0]
    for more in counts[1:]:
        total = total[..., None] * more
    return total


def _divided(total: np.ndarray, by: np.ndarray | int) -> np.ndarray:
    """total / by; of integers the quotient towards zero."""
    if total.dtype.kind != "i":
        return total / np.asarray(by, total.dtype)
    quotient = np.abs(total) // np.abs(by)
    return np.where((total < 0) == (np.asarray(by) < 0), quotient, -quotient)
