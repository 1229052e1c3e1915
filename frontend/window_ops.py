"""The functions of `tierup.ops` with windows that slide over images: convolutions, pooling, resizing.

Images are (batch, channels, *spatial), or (channels, *spatial) without a batch. Kernel sizes, strides, paddings and dilations are an int
for all spatial axes or one for each. Arrays that meet have one dtype. Free of MLIR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike

from tierup.dialect import kernels, optable

Ints = Union[int, Sequence[int]]


@cache
def kernel_of(op: str) -> Callable[..., np.ndarray]:
    """Tier 0's function for an op of torch."""
    row = optable.lookup(op)
    assert row is not None, op
    return kernels.resolve(row.kernel)


def _list(value: Ints) -> list[int]:
    return [value] if isinstance(value, (int, np.integer)) else list(value)


def _each(value: Ints, count: int) -> list[int]:
    return [value] * count if isinstance(value, (int, np.integer)) else list(value)


def _convolved(
    spatial: int, x: ArrayLike, weight: np.ndarray, bias: np.ndarray | None, stride: Ints, padding: Ints | str, dilation: Ints, groups: int
) -> np.ndarray:
    named = isinstance(padding, str)
    kernel = kernel_of(f"aten.conv{spatial}d{'.padding' if named else ''}")
    pads: Any = padding if isinstance(padding, str) else _list(padding)
    return kernel(np.asarray(x), weight, bias, _list(stride), pads, _list(dilation), groups)


def conv1d(
    x: ArrayLike, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1,
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """Convolution (correlation) of (N, C, L) with a weight (O, C / groups, k). `padding`: zeros at both ends, "valid" or "same"."""
    return _convolved(1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: ArrayLike, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1,
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """Convolution (correlation) of (N, C, H, W) with a weight (O, C / groups, kH, kW). `padding`: zeros around, "valid" or "same"."""
    return _convolved(2, x, weight, bias, stride, padding, dilation, groups)


def conv3d(
    x: ArrayLike, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1,
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """Convolution (correlation) of (N, C, D, H, W) with a weight (O, C / groups, kD, kH, kW)."""
    return _convolved(3, x, weight, bias, stride, padding, dilation, groups)


def _transposed(
    spatial: int, x: ArrayLike, weight: np.ndarray, bias: np.ndarray | None, stride: Ints, padding: Ints, output_padding: Ints, groups: int,
    dilation: Ints,
) -> np.ndarray:  # fmt: skip
    kernel = kernel_of(f"aten.conv_transpose{spatial}d" + (".input" if spatial > 1 else ""))
    return kernel(np.asarray(x), weight, bias, _list(stride), _list(padding), _list(output_padding), groups, _list(dilation))


def conv_transpose1d(
    x: ArrayLike, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0,
    groups: int = 1, dilation: Ints = 1,
) -> np.ndarray:  # fmt: skip
    """The transpose of conv1d: (N, C, L) with a weight (C, O / groups, k)."""
    return _transposed(1, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    x: ArrayLike, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0,
    groups: int = 1, dilation: Ints = 1,
) -> np.ndarray:  # fmt: skip
    """The transpose of conv2d: (N, C, H, W) with a weight (C, O / groups, kH, kW)."""
    return _transposed(2, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    x: ArrayLike, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0,
    groups: int = 1, dilation: Ints = 1,
) -> np.ndarray:  # fmt: skip
    """The transpose of conv3d: (N, C, D, H, W) with a weight (C, O / groups, kD, kH, kW)."""
    return _transposed(3, x, weight, bias, stride, padding, output_padding, groups, dilation)


def _largest(
    spatial: int, x: ArrayLike, kernel_size: Ints, stride: Ints | None, padding: Ints, dilation: Ints, ceil_mode: bool
) -> np.ndarray:
    kernel = kernel_of(f"aten.max_pool{spatial}d")
    strides = [] if stride is None else _list(stride)
    return kernel(np.asarray(x), _list(kernel_size), strides, _list(padding), _list(dilation), ceil_mode)


def max_pool1d(
    x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False
) -> np.ndarray:
    """The largest of each window over (N, C, L); NaN stays. The stride is the kernel size unless told."""
    return _largest(1, x, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False
) -> np.ndarray:
    """The largest of each window over (N, C, H, W); NaN stays. The stride is the kernel size unless told."""
    return _largest(2, x, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False
) -> np.ndarray:
    """The largest of each window over (N, C, D, H, W); NaN stays. The stride is the kernel size unless told."""
    return _largest(3, x, kernel_size, stride, padding, dilation, ceil_mode)


def _averaged(
    spatial: int, x: ArrayLike, kernel_size: Ints, stride: Ints | None, padding: Ints, *rest: Any,
) -> np.ndarray:  # fmt: skip
    kernel = kernel_of(f"aten.avg_pool{spatial}d")
    return kernel(np.asarray(x), _list(kernel_size), [] if stride is None else _list(stride), _list(padding), *rest)


def avg_pool1d(
    x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> np.ndarray:
    """The mean of each window over (N, C, L). `count_include_pad`: the zeros of the padding count. Floats or int64."""
    return _averaged(1, x, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:  # fmt: skip
    """The mean of each window over (N, C, H, W); its sum over `divisor_override` if given. Floats or int64."""
    return _averaged(2, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:  # fmt: skip
    """The mean of each window over (N, C, D, H, W); its sum over `divisor_override` if given. Floats or int64."""
    return _averaged(3, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool1d(x: ArrayLike, output_size: Ints) -> np.ndarray:
    """Means of windows that share the last axis of (N, C, L) out among `output_size` positions. Floats only."""
    return kernel_of("aten.adaptive_avg_pool1d")(np.asarray(x), _each(output_size, 1))


def adaptive_avg_pool2d(x: ArrayLike, output_size: Ints) -> np.ndarray:
    """Means of windows that share (N, C, H, W) out among `output_size` positions; 1 for all of an image. Floats only."""
    return kernel_of("aten.adaptive_avg_pool2d")(np.asarray(x), _each(output_size, 2))


def adaptive_avg_pool3d(x: ArrayLike, output_size: Ints) -> np.ndarray:
    """Means of windows that share (N, C, D, H, W) out among `output_size` positions. Floats only."""
    return kernel_of("aten.adaptive_avg_pool3d")(np.asarray(x), _each(output_size, 3))


def upsample_nearest2d(x: ArrayLike, output_size: Ints) -> np.ndarray:
    """(N, C, H, W) resized to (H, W) = `output_size`, each position the one at floor(i * H / H'). Floats or uint8."""
    return kernel_of("aten.upsample_nearest2d")(np.asarray(x), _each(output_size, 2), None, None)
