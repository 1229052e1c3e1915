"""Tier-0 kernels that put elements elsewhere without changing them, with torch's semantics. Results are always fresh memory.

Common errors: IndexError for a dim out of range, ValueError for sizes that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.kernels.axes import axis_of, distinct_axes, in_rows
from tierup.dialect.kernels.casts import cast
from tierup.dialect.kernels.overlap import fills_memory, same_strides
from tierup.dialect.kernels.promotion import promote
from tierup.dialect.optable import parts, views

Tensors = Sequence[np.ndarray]
_INT64 = np.dtype(np.int64)


# --- joining -----------------------------------------------------------------------------------------------------------


def common(tensors: Tensors) -> np.dtype:
    """The dtype that tensors are joined in: all count alike, whatever their rank. TypeError for one that programs cannot hold."""
    known = [dtypes.from_numpy(x.dtype) for x in tensors]
    for x, dtype in zip(tensors, known, strict=True):
        if dtype is None:
            raise TypeError(f"arrays of dtype {x.dtype} are not supported")
    return reduce(promote, [d for d in known if d is not None]).numpy


def cat(tensors: Tensors, dim: int = 0) -> np.ndarray:
    """aten.cat: along an existing dim, in the common dtype. Vectors of size 0 fit anything (torch keeps that for old programs)."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, x in enumerate(tensors):
        if not x.ndim:
            raise ValueError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    dtype = common(tensors)
    kept = [x for x in tensors if x.shape != (0,)]
    if not kept:
        return np.empty(0, dtype)
    first = kept[0]
    axis = axis_of(dim, first.ndim)
    for i, x in enumerate(kept):
        if x.ndim != first.ndim:
            raise ValueError(f"Tensors must have same number of dimensions: got {first.ndim} and {x.ndim}")
        for d, (a, b) in enumerate(zip(first.shape, x.shape, strict=True)):
            if a != b and d != axis:
                raise ValueError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {a} but got size {b} "
                    f"for tensor number {i} in the list."
                )
    joined = np.concatenate([cast(x, dtype) for x in kept], axis)
    return in_rows(joined) if first.ndim < 4 else joined  # of images PyTorch keeps channels last, too


def stack(tensors: Tensors, dim: int = 0) -> np.ndarray:
    """aten.stack: along a new dim, in the common dtype."""
    if not tensors:
        raise ValueError("stack expects a non-empty TensorList")
    first = tensors[0]
    axis = axis_of(dim, first.ndim + 1)
    for i, x in enumerate(tensors):
        if x.shape != first.shape:
            raise ValueError(
                f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and {list(x.shape)} at entry {i}"
            )
    dtype = common(tensors)
    return in_rows(np.stack([cast(x, dtype) for x in tensors], axis))


def hstack(tensors: Tensors) -> np.ndarray:
    """aten.hstack: along dim 1, vectors along dim 0, scalars as vectors."""
    whole = [views.atleast_1d(x) for x in tensors]
    return cat(whole, 0 if whole and whole[0].ndim == 1 else 1)


def column_stack(tensors: Tensors) -> np.ndarray:
    """aten.column_stack: along dim 1, vectors and scalars as columns."""
    return cat([x.reshape(-1, 1) if x.ndim < 2 else x for x in tensors], 1)


# --- repeating ---------------------------------------------------------------------------------------------------------


def repeat(x: np.ndarray, repeats: Sequence[int]) -> np.ndarray:
    """aten.repeat: the whole tensor that many times along each dim; new dims come in front."""
    if len(repeats) < x.ndim:
        raise ValueError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(r < 0 for r in repeats):
        raise ValueError(f"Trying to create tensor with negative dimension: repeats {list(repeats)}")
    return np.tile(x, tuple(repeats))


def tile(x: np.ndarray, repeats: Sequence[int]) -> np.ndarray:
    """aten.tile: repeat, with ones in front of too few repeats."""
    return repeat(x, [*(1,) * (x.ndim - len(repeats)), *repeats])


def repeat_interleave(x: np.ndarray, repeats: int, dim: int | None = None, output_size: int | None = None) -> np.ndarray:
    """aten.repeat_interleave.self_int: each element `repeats` times, along dim or of the flattened tensor."""
    if repeats < 0:
        raise ValueError("Repeats must be non-negative")
    if dim is None:
        x, dim = x.reshape(-1), 0
    if not x.ndim:
        raise IndexError("Dimension out of range: a 0-dim tensor has no dimension to repeat along")
    axis = axis_of(dim, x.ndim)
    size = x.shape[axis] * repeats
    if output_size is not None and output_size != size:
        raise ValueError(f"repeat_interleave: Invalid output_size, expected {size} but got {output_size}")
    return np.repeat(x, repeats, axis)


def repeat_indices(repeats: np.ndarray, output_size: int | None = None) -> np.ndarray:
    """aten.repeat_interleave.Tensor: index i repeats[i] times. ValueError for a negative one."""
    if repeats.ndim != 1:
        raise ValueError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype not in (np.int32, np.int64):
        raise TypeError("repeats has to be Long or Int tensor")
    if (repeats < 0).any():
        raise ValueError("repeats can not be negative")
    return np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats)


def roll(x: np.ndarray, shifts: Sequence[int], dims: Sequence[int] = ()) -> np.ndarray:
    """aten.roll: elements shifted around along dims, or in the flattened tensor when there are none."""
    if not shifts:
        raise ValueError("`shifts` required")
    if not dims and len(shifts) == 1:
        return in_rows(np.roll(x, shifts[0])) if x.ndim else x.copy()
    if len(shifts) != len(dims):
        raise ValueError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not x.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return in_rows(np.roll(x, tuple(shifts), tuple(axis_of(d, x.ndim) for d in dims)))


def flip(x: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """aten.flip: dims in reverse order, in memory that is laid out as x where x fills its own."""
    axes = distinct_axes(dims, x.ndim)
    result = np.empty_like(x) if fills_memory(x) else np.empty(x.shape, x.dtype)
    np.copyto(result, np.flip(x, axes) if axes else x)
    return result


# --- writing into a copy -----------------------------------------------------------------------------------------------


def _scattered(x: np.ndarray, source: np.ndarray, part: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """A copy of x, laid out as x is, in which one part is `source`, which must have its shape."""
    result = same_strides(x)
    np.copyto(result, x)
    target = part(result)
    if target.shape != source.shape:
        raise ValueError(
            f"expected src to have a size equal to the slice of self. src size = {list(source.shape)}, slice size = {list(target.shape)}"
        )
    target[...] = cast(source, x.dtype)
    return result


def slice_scatter(
    x: np.ndarray, source: np.ndarray, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> np.ndarray:
    """aten.slice_scatter."""
    return _scattered(x, source, lambda y: parts.slice_(y, dim, start, end, step))


def select_scatter(x: np.ndarray, source: np.ndarray, dim: int, index: int) -> np.ndarray:
    """aten.select_scatter."""
    return _scattered(x, source, lambda y: parts.select(y, dim, index))


def diagonal_scatter(x: np.ndarray, source: np.ndarray, offset: int = 0, dim1: int = 0, dim2: int = 1) -> np.ndarray:
    """aten.diagonal_scatter."""
    return _scattered(x, source, lambda y: parts.diagonal(y, offset, dim1, dim2))


# --- copies of views ---------------------------------------------------------------------------------------------------


def _copied(view: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def kernel(x: np.ndarray, *rest: object) -> np.ndarray:
        return view(x, *rest).copy()

    kernel.__doc__ = f"A copy of what {view.name} shows."
    return kernel


expand_copy = _copied(views.expand)
permute_copy = _copied(views.permute)
select_copy = _copied(parts.select)
slice_copy = _copied(parts.slice_)
squeeze_copy = _copied(views.squeeze)
squeeze_dim_copy = _copied(views.squeeze_dim)
t_copy = _copied(views.t)
transpose_copy = _copied(views.transpose)
unsqueeze_copy = _copied(views.unsqueeze)
view_copy = _copied(views.reshape)
diagonal_copy = _copied(parts.diagonal)
