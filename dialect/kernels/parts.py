"""Tier-0 kernels of views of parts: selections, slices, splits, diagonals, with torch's semantics.

Common errors: IndexError for a dim or index out of range, ValueError for sizes that do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.kernels.axes import axis_of

_ALL = slice(None)


def _at(axis: int, index: int | slice) -> tuple[Any, ...]:
    """An index for one axis; the ellipsis keeps a view where NumPy would give a scalar."""
    return (*(_ALL,) * axis, index, ...)


def select(x: np.ndarray, dim: int, index: int) -> np.ndarray:
    """aten.select.int: one index along dim, which goes. Negative ones count from the end; IndexError out of range."""
    if not x.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis = axis_of(dim, x.ndim)
    size = x.shape[axis]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {axis}")
    return x[_at(axis, index)]


def slice_(x: np.ndarray, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> np.ndarray:
    """aten.slice.Tensor: start to end in steps of at least 1; bounds count from the end when negative, and are clamped."""
    if not x.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    axis = axis_of(dim, x.ndim)
    if step <= 0:
        raise ValueError("slice step must be positive")
    return x[_at(axis, slice(start, end, step))]


def narrow(x: np.ndarray, dim: int, start: int, length: int) -> np.ndarray:
    """aten.narrow: `length` elements from start, all of which must exist."""
    if not x.ndim:
        raise ValueError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise ValueError("narrow(): length must be non-negative.")
    axis = axis_of(dim, x.ndim)
    size = x.shape[axis]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    first = start + size if start < 0 else start
    if first + length > size:
        raise ValueError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return x[_at(axis, slice(first, first + length))]


def narrow_tensor(x: np.ndarray, dim: int, start: np.ndarray, length: int) -> np.ndarray:
    """aten.narrow.Tensor: start is a rank-0 integer tensor."""
    if start.ndim or start.dtype.kind not in "iu":
        raise ValueError("start must be an 0-dim integral Tensor.")
    return narrow(x, dim, int(start), length)


def _needs_a_dim(op: str, x: np.ndarray) -> None:
    if not x.ndim:
        raise ValueError(f"{op} expects at least a 1-dimensional tensor")


def _cut(x: np.ndarray, axis: int, sizes: Sequence[int]) -> list[np.ndarray]:
    parts, start = [], 0
    for size in sizes:
        parts.append(x[_at(axis, slice(start, start + size))])
        start += size
    return parts


def split(x: np.ndarray, size: int, dim: int = 0) -> list[np.ndarray]:
    """aten.split.Tensor: parts of `size`, the last one maybe shorter."""
    _needs_a_dim("split", x)
    if size < 0:
        raise ValueError(f"split expects split_size be non-negative, but got split_size={size}")
    axis = axis_of(dim, x.ndim)
    total = x.shape[axis]
    if size == 0:
        if total:
            raise ValueError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}")
        return _cut(x, axis, [0])
    return _cut(x, axis, [size] * max(1, -(-total // size)))


def split_sizes(x: np.ndarray, sizes: Sequence[int], dim: int = 0) -> list[np.ndarray]:
    """aten.split_with_sizes, aten.split.sizes: parts of these sizes, which must sum to the dim's."""
    _needs_a_dim("split_with_sizes", x)
    axis = axis_of(dim, x.ndim)
    if any(s < 0 for s in sizes):
        raise ValueError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}")
    if sum(sizes) != x.shape[axis]:
        raise ValueError(
            f"split_with_sizes expects split_sizes to sum exactly to {x.shape[axis]} (input tensor's size at dimension {axis}), "
            f"but got split_sizes={list(sizes)}"
        )
    return _cut(x, axis, sizes)


def chunk(x: np.ndarray, chunks: int, dim: int = 0) -> list[np.ndarray]:
    """aten.chunk: at most `chunks` parts of one size, the last one maybe shorter; fewer when rounding up leaves none."""
    _needs_a_dim("chunk", x)
    if chunks <= 0:
        raise ValueError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    axis = axis_of(dim, x.ndim)
    total = x.shape[axis]
    return split(x, -(-total // chunks), axis) if total else _cut(x, axis, [0] * chunks)


def tensor_split(x: np.ndarray, sections: int, dim: int = 0) -> list[np.ndarray]:
    """aten.tensor_split.sections: that many parts, the first ones longer by one where needed."""
    _needs_a_dim("tensor_split", x)
    axis = axis_of(dim, x.ndim)
    if sections <= 0:
        raise ValueError(f"number of sections must be larger than 0, got {sections}")
    small, longer = divmod(x.shape[axis], sections)
    return _cut(x, axis, [small + (i < longer) for i in range(sections)])


def unbind(x: np.ndarray, dim: int = 0) -> list[np.ndarray]:
    """aten.unbind.int: every index along dim."""
    if not x.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    axis = axis_of(dim, x.ndim)
    return [x[_at(axis, i)] for i in range(x.shape[axis])]


def diagonal(x: np.ndarray, offset: int = 0, dim1: int = 0, dim2: int = 1) -> np.ndarray:
    """aten.diagonal: of dims 1 and 2, as the last dim; written through like every view."""
    a, b = axis_of(dim1, x.ndim), axis_of(dim2, x.ndim)
    if a == b:
        raise ValueError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    result = np.diagonal(x, offset, a, b)
    if x.flags.writeable:
        result.flags.writeable = True  # NumPy's diagonal is read-only out of caution for old code
    return result
