"""The functions of `tierup.ops` with windows that slide over images: convolutions, pooling, resizing.

Images are (batch, channels, *spatial), or (channels, *spatial) without a batch. Kernel sizes, strides, paddings and dilations are an int
for all spatial axes or one for each. Arrays that meet have one dtype. Free of MLIR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

import numpy as np
from numpy.typing import ArrayLike

from tierup.frontend.op_calls import Operand, array, ints, run

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "conv1d", "conv2d",
    "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "max_pool1d", "max_pool2d", "max_pool3d", "upsample_nearest2d",
]  # fmt: skip
Ints = Union[int, Sequence[int]]


def _convolved(
    spatial: int, x: ArrayLike, weight: np.ndarray, bias: np.ndarray | None, stride: Ints, padding: Ints | str, dilation: Ints, groups: int
) -> np.ndarray:
    name, pads = (".padding", padding) if isinstance(padding, str) else ("", ints(padding, "a padding"))
    return run(
        f"aten.conv{spatial}d{name}", array(x), array(weight), array(bias), ints(stride, "a stride"), pads, ints(dilation, "a dilation"),
        Operand("int", groups, "a number of groups"),
    )  # fmt: skip


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
    return run(
        f"aten.conv_transpose{spatial}d" + (".input" if spatial > 1 else ""), array(x), array(weight), array(bias),
        ints(stride, "a stride"), ints(padding, "a padding"), ints(output_padding, "an output padding"),
        Operand("int", groups, "a number of groups"),
        ints(dilation, "a dilation"),
    )  # fmt: skip


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
    operands = *_windows(x, kernel_size, stride, padding), ints(dilation, "a dilation"), Operand("bool", ceil_mode)
    return run(f"aten.max_pool{spatial}d", *operands)


def _windows(x: ArrayLike, kernel_size: Ints, stride: Ints | None, padding: Ints) -> tuple[Operand | None, ...]:
    """The array, and its windows, which lie side by side where nothing else is said."""
    steps = ints(kernel_size if stride is None else stride, "a stride")
    return array(x), ints(kernel_size, "a kernel size"), steps, ints(padding, "a padding")


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
    spatial: int, x: ArrayLike, kernel_size: Ints, stride: Ints | None, padding: Ints, ceil_mode: bool, count_include_pad: bool,
    *divisor: Operand | None,
) -> np.ndarray:  # fmt: skip
    flags = Operand("bool", ceil_mode), Operand("bool", count_include_pad)
    return run(f"aten.avg_pool{spatial}d", *_windows(x, kernel_size, stride, padding), *flags, *divisor)


def _divisor(override: int | None) -> Operand | None:
    return None if override is None else Operand("int", override, "a divisor")


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
    return _averaged(2, x, kernel_size, stride, padding, ceil_mode, count_include_pad, _divisor(divisor_override))


def avg_pool3d(
    x: ArrayLike, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:  # fmt: skip
    """The mean of each window over (N, C, D, H, W); its sum over `divisor_override` if given. Floats or int64."""
    return _averaged(3, x, kernel_size, stride, padding, ceil_mode, count_include_pad, _divisor(divisor_override))


def adaptive_avg_pool1d(x: ArrayLike, output_size: Ints) -> np.ndarray:
    """Means of windows that share the last axis of (N, C, L) out among `output_size` positions. Floats only."""
    return run("aten.adaptive_avg_pool1d", array(x), ints(output_size, "an output size", 1))


def adaptive_avg_pool2d(x: ArrayLike, output_size: Ints) -> np.ndarray:
    """Means of windows that share (N, C, H, W) out among `output_size` positions; 1 for all of an image. Floats only."""
    return run("aten.adaptive_avg_pool2d", array(x), ints(output_size, "an output size", 2))


def adaptive_avg_pool3d(x: ArrayLike, output_size: Ints) -> np.ndarray:
    """Means of windows that share (N, C, D, H, W) out among `output_size` positions. Floats only."""
    return run("aten.adaptive_avg_pool3d", array(x), ints(output_size, "an output size", 3))


def upsample_nearest2d(x: ArrayLike, output_size: Ints) -> np.ndarray:
    """(N, C, H, W) resized to (H, W) = `output_size`, each position the one at floor(i * H / H'). Floats or uint8."""
    return run("aten.upsample_nearest2d", array(x), ints(output_size, "an output size", 2), None, None)
