"""Tier-0 kernels of convolutions: windows laid out as columns of a matrix (im2col), and one product of matrices.

A convolution gathers the elements under each window, C * k of them, into a column: weight (O, C * k) times columns (C * k, positions).
Its transpose, the gradient of that, multiplies first and adds each element of a column to where it came from (col2im). The halves are
summed in float32 and rounded once. ValueError for shapes that do not fit, TypeError for different dtypes and bools, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np

from tierup.dialect.kernels.axes import quiet, rounded, widened
from tierup.dialect.optable import windows
from tierup.dialect.optable.core import Infer
from tierup.dialect.optable.products import one_dtype_of_arrays
from tierup.dialect.optable.windows import Convolution, as_kernels_raise

Ints = Sequence[int]
_COLUMNS = 1 << 20  # elements of columns that are laid out at a time: they stay in a cache


def convolution(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, stride: Ints, padding: Ints, dilation: Ints,
    transposed: bool = False, output_padding: Ints = (0,), groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """aten.convolution: (N, C, *spatial) by (O, C / groups, *k), transposed by (C, O / groups, *k)."""
    with as_kernels_raise():
        of = windows.convolution("convolution", weight.ndim, stride, padding, dilation, transposed, output_padding, groups)
    return _convolved("convolution", x, weight, bias, of)


def internal_convolution(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
    output_padding: Ints, groups: int, benchmark: bool = False, deterministic: bool = False, cudnn_enabled: bool = True,
    allow_tf32: bool = True,
) -> np.ndarray:  # fmt: skip
    """aten._convolution: what it is to be computed with says nothing here."""
    return convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def conv1d(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = (1,), padding: Ints = (0,), dilation: Ints = (1,),
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """aten.conv1d: (N, C, L) or (C, L)."""
    return _plain("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = (1,), padding: Ints = (0,), dilation: Ints = (1,),
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """aten.conv2d: (N, C, H, W) or (C, H, W)."""
    return _plain("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)


def conv3d(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = (1,), padding: Ints = (0,), dilation: Ints = (1,),
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """aten.conv3d: (N, C, D, H, W) or (C, D, H, W)."""
    return _plain("conv3d", 3, x, weight, bias, stride, padding, dilation, groups)


def conv1d_padding(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = (1,), padding: str = "valid", dilation: Ints = (1,),
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """aten.conv1d.padding: "same" or "valid"."""
    return _named("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


def conv2d_padding(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = (1,), padding: str = "valid", dilation: Ints = (1,),
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """aten.conv2d.padding: "same" or "valid"."""
    return _named("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)


def conv3d_padding(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = (1,), padding: str = "valid", dilation: Ints = (1,),
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """aten.conv3d.padding: "same" or "valid"."""
    return _named("conv3d", 3, x, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = (1,), padding: Ints = (0,),
    output_padding: Ints = (0,), groups: int = 1, dilation: Ints = (1,),
) -> np.ndarray:  # fmt: skip
    """aten.conv_transpose1d: (N, C, L) or (C, L); weight (C, O / groups, k)."""
    return _transposed("conv_transpose1d", 1, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = (1,), padding: Ints = (0,),
    output_padding: Ints = (0,), groups: int = 1, dilation: Ints = (1,),
) -> np.ndarray:  # fmt: skip
    """aten.conv_transpose2d.input: (N, C, H, W) or (C, H, W); weight (C, O / groups, kH, kW)."""
    return _transposed("conv_transpose2d", 2, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, stride: Ints = (1,), padding: Ints = (0,),
    output_padding: Ints = (0,), groups: int = 1, dilation: Ints = (1,),
) -> np.ndarray:  # fmt: skip
    """aten.conv_transpose3d.input: (N, C, D, H, W) or (C, D, H, W); weight (C, O / groups, kD, kH, kW)."""
    return _transposed("conv_transpose3d", 3, x, weight, bias, stride, padding, output_padding, groups, dilation)


# --- operands ----------------------------------------------------------------------------------------------------------


def _of_rank(op: str, spatial: int, x: np.ndarray, weight: np.ndarray) -> None:
    if x.ndim not in (spatial + 1, spatial + 2):
        raise ValueError(f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {op}, but got {list(x.shape)}")
    if weight.ndim != spatial + 2:
        raise ValueError(f"{op}: expected a weight of rank {spatial + 2}, but got {list(weight.shape)}")


def _plain(
    op: str, spatial: int, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, stride: Ints, padding: Ints, dilation: Ints,
    groups: int,
) -> np.ndarray:  # fmt: skip
    _of_rank(op, spatial, x, weight)
    with as_kernels_raise():
        of = windows.convolution(op, weight.ndim, stride, padding, dilation, groups=groups)
    return _batched(op, x, weight, bias, of)


def _named(
    op: str, spatial: int, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, stride: Ints, padding: str, dilation: Ints,
    groups: int,
) -> np.ndarray:  # fmt: skip
    _of_rank(op, spatial, x, weight)
    with as_kernels_raise():
        of = windows.named_padding(op, padding, weight.shape[2:], stride, dilation, groups)
    return _batched(op, x, weight, bias, of)


def _transposed(
    op: str, spatial: int, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, stride: Ints, padding: Ints, output_padding: Ints,
    groups: int, dilation: Ints,
) -> np.ndarray:  # fmt: skip
    _of_rank(op, spatial, x, weight)
    with as_kernels_raise():
        of = windows.convolution(op, weight.ndim, stride, padding, dilation, True, output_padding, groups)
    return _batched(op, x, weight, bias, of)


def _batched(op: str, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, of: Convolution) -> np.ndarray:
    if x.ndim == weight.ndim:
        return _convolved(op, x, weight, bias, of)
    return _convolved(op, x[None], weight, bias, of)[0]


def _convolved(op: str, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, of: Convolution) -> np.ndarray:
    with as_kernels_raise():
        found = windows.convolved(Infer(), op, x.shape, weight.shape, None if bias is None else bias.shape, of)
    one_dtype_of_arrays(op, x, weight, *(() if bias is None else (bias,)))
    shape = tuple(int(size) for size in found if isinstance(size, int))  # all of them: the operands' are
    with quiet:
        made = (_scattered if of.transposed else _gathered)(widened(x), widened(weight), of, shape)
        if bias is not None:
            made += widened(bias).reshape(-1, *(1,) * of.spatial)
        return rounded(made, x.dtype)


# --- the computation ---------------------------------------------------------------------------------------------------


def _pads(of: Convolution) -> list[tuple[int, int]]:
    """What stands before and after each spatial dim."""
    return [(int(before), int(after)) for before, after in of.padding if isinstance(before, int) and isinstance(after, int)]


def _chunks(count: int, each: int) -> Iterator[slice]:
    """Slices of `count` samples, each of `each` elements of columns."""
    step = max(1, _COLUMNS // max(each, 1))
    return (slice(i, min(i + step, count)) for i in range(0, count, step))


def _gathered(x: np.ndarray, weight: np.ndarray, of: Convolution, shape: tuple[int, ...]) -> np.ndarray:
    groups, positions = of.groups, shape[2:]
    kernel = weight.shape[2:]
    per_group = weight.shape[1] * prod(kernel)
    rows = weight.reshape(groups, weight.shape[0] // groups, per_group)
    if positions == x.shape[2:] and prod(kernel) == 1 and set(of.stride) == {1}:  # the input is the columns
        return np.matmul(rows, x.reshape(x.shape[0], groups, weight.shape[1], prod(positions))).reshape(shape)
    result = np.empty(shape, x.dtype)
    for part in _chunks(x.shape[0], groups * per_group * prod(positions)):
        columns = _columns(_padded(x[part], of), of, kernel, positions)
        made = np.matmul(rows, columns)
        result[part] = made.reshape(shape[1], columns.shape[-1] // prod(positions), *positions).swapaxes(0, 1)
    return result


def _padded(x: np.ndarray, of: Convolution) -> np.ndarray:
    pads = _pads(of)
    if not any(a or b for a, b in pads):
        return x
    inner = tuple(slice(a, a + size) for size, (a, _) in zip(x.shape[2:], pads, strict=True))
    result = np.zeros((*x.shape[:2], *(size + a + b for size, (a, b) in zip(x.shape[2:], pads, strict=True))), x.dtype)
    result[(slice(None), slice(None), *inner)] = x
    return result


def _columns(x: np.ndarray, of: Convolution, kernel: tuple[int, ...], positions: tuple[int, ...]) -> np.ndarray:
    """Of (n, C, *padded) what windows see: (groups, C / groups * k, n * positions). A copy for each place in the window, or, where they
    are fewer, for each position."""
    count, channels = x.shape[:2]
    height, width = channels // of.groups * prod(kernel), count * prod(positions)
    over_kernel = prod(kernel) <= prod(positions)
    columns = np.empty((channels, *kernel, count, *positions) if over_kernel else (count, *positions, channels, *kernel), x.dtype)
    for at, where in _places(of, kernel, positions):
        met = x[(slice(None), slice(None), *where)]
        columns[(slice(None), *at)] = met.swapaxes(0, 1) if over_kernel else met
    if over_kernel:
        return columns.reshape(of.groups, height, width)
    return columns.reshape(width, of.groups, height).transpose(1, 2, 0)


def _places(of: Convolution, kernel: tuple[int, ...], positions: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """A place in the window with what it meets at all positions; or, where these are fewer, a position with what its window sees."""
    over_kernel = prod(kernel) <= prod(positions)
    outer, inner = (kernel, positions) if over_kernel else (positions, kernel)
    far, near = (of.dilation, of.stride) if over_kernel else (of.stride, of.dilation)
    for at in product(*map(range, outer)):
        yield at, tuple(slice(i * f, i * f + (size - 1) * m + 1, m) for i, f, m, size in zip(at, far, near, inner, strict=True))


def _scattered(x: np.ndarray, weight: np.ndarray, of: Convolution, shape: tuple[int, ...]) -> np.ndarray:
    groups, positions, kernel = of.groups, x.shape[2:], weight.shape[2:]
    leaving = weight.shape[1]  # per group
    entering = weight.shape[0] // groups
    rows = weight.reshape(groups, entering, leaving * prod(kernel)).swapaxes(1, 2)
    whole = [(p - 1) * s + d * (k - 1) + 1 for p, s, d, k in zip(positions, of.stride, of.dilation, kernel, strict=True)]
    room = [max(w, a + size) for w, (a, _), size in zip(whole, _pads(of), shape[2:], strict=True)]
    inner = tuple(slice(a, a + size) for (a, _), size in zip(_pads(of), shape[2:], strict=True))
    result = np.empty(shape, x.dtype)
    for part in _chunks(x.shape[0], groups * leaving * prod(kernel) * prod(positions)):
        count = len(range(*part.indices(x.shape[0])))
        columns = np.matmul(rows, x[part].reshape(count, groups, entering, prod(positions)))
        columns = columns.reshape(count, groups * leaving, *kernel, *positions)
        made = np.zeros((count, groups * leaving, *room), x.dtype)
        _add_columns(made, columns, of)
        result[part] = made[(slice(None), slice(None), *inner)]
    return result


def _add_columns(made: np.ndarray, columns: np.ndarray, of: Convolution) -> None:
    """Add (n, C, *kernel, *positions) to where windows of (n, C, *room) see them."""
    kernel, positions = columns.shape[2 : 2 + of.spatial], columns.shape[2 + of.spatial :]
    over_kernel = prod(kernel) <= prod(positions)
    for at, where in _places(of, kernel, positions):
        made[(slice(None), slice(None), *where)] += columns[(slice(None), slice(None), *at) if over_kernel else (..., *at)]
