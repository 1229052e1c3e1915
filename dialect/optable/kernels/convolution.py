"""Convolutions in tier 0: windows laid out as columns of a matrix (im2col), and one product of matrices.

A convolution gathers the elements under each window, C * k of them, into a column: weight (O, C * k) times columns (C * k, positions).
Its transpose, the gradient of that, multiplies first and adds each element of a column to where it came from (col2im). The halves are
summed in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tierup.dialect.optable.kernels.arrays import quiet, rounded, widened
from tierup.dialect.optable.windows import Convolution

_COLUMNS = 1 << 20  # elements of columns that are laid out at a time: they stay in a cache


def convolved(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, of: Convolution, shape: tuple[int, ...]) -> np.ndarray:
    """(N, C, *spatial) by (O, C / groups, *k), transposed by (C, O / groups, *k); `shape`: the result's. All fit."""
    with quiet:
        made = (_scattered if of.transposed else _gathered)(widened(x), widened(weight), of, shape)
        if bias is not None:
            made += widened(bias).reshape(-1, *(1,) * of.spatial)
        return rounded(made, x.dtype)


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
        made: np.ndarray = np.matmul(rows, x.reshape(x.shape[0], groups, weight.shape[1], prod(positions)))
        return made.reshape(shape)
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


def _places(of: Convolution, kernel: tuple[int, ...], positions: tuple[int, ...]) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
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
        place: tuple[Any, ...] = (slice(None), slice(None), *at) if over_kernel else (..., *at)
        made[(slice(None), slice(None), *where)] += columns[place]
