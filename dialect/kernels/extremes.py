"""Tier-0 kernels of maxima and minima and where they are, with torch's semantics: NaN wins, the first one counts.

Common errors: IndexError for a dim out of range or of size 0, ValueError for a dim named twice or for an empty tensor
reduced whole, TypeError for bools where indices are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tierup.dialect.kernels.axes import axes_of, axis_of, rounded, widened

Find = Callable[..., np.ndarray]
_INT64 = np.dtype(np.int64)


def _extreme(ufunc: np.ufunc, x: np.ndarray, axes: tuple[int, ...], keepdim: bool) -> np.ndarray:
    return rounded(ufunc.reduce(widened(x), axis=axes, keepdims=keepdim), x.dtype)


def _refuse_empty(name: str, shape: Sequence[int], axes: Sequence[int]) -> None:
    """torch's IndexError for a reduction without identity over a dim of size 0."""
    for axis in axes:
        if shape[axis] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


def _refuse_empty_whole(name: str, x: np.ndarray) -> None:
    if x.size == 0:
        raise ValueError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )


def _over_dims(name: str, ufunc: np.ufunc, x: np.ndarray, dims: Sequence[int], keepdim: bool) -> np.ndarray:
    axes = axes_of(dims, x.ndim)
    if dims:
        _refuse_empty(name, x.shape, axes)
    else:
        _refuse_empty_whole(name, x)
    return _extreme(ufunc, x, axes, keepdim)


def amax(x: np.ndarray, dims: Sequence[int] = (), keepdim: bool = False) -> np.ndarray:
    """aten.amax: maxima over dims ([] means all), NaN where there is one."""
    return _over_dims("amax", np.maximum, x, dims, keepdim)


def amin(x: np.ndarray, dims: Sequence[int] = (), keepdim: bool = False) -> np.ndarray:
    """aten.amin: minima over dims ([] means all), NaN where there is one."""
    return _over_dims("amin", np.minimum, x, dims, keepdim)


def max_all(x: np.ndarray) -> np.ndarray:
    """aten.max: the largest element, NaN if there is one."""
    _refuse_empty_whole("max", x)
    return _extreme(np.maximum, x, axes_of(None, x.ndim), False)


def min_all(x: np.ndarray) -> np.ndarray:
    """aten.min: the smallest element, NaN if there is one."""
    _refuse_empty_whole("min", x)
    return _extreme(np.minimum, x, axes_of(None, x.ndim), False)


def aminmax(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """aten.aminmax: minima and maxima over one dim, or all."""
    axes = axes_of(None if dim is None else [dim], x.ndim)
    if dim is None and x.size == 0:
        raise ValueError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    _refuse_empty("aminmax", x.shape, axes)
    return _extreme(np.minimum, x, axes, keepdim), _extreme(np.maximum, x, axes, keepdim)


def _where(find: Find, x: np.ndarray, axis: int) -> np.ndarray:
    """Indices of the first extreme, or of the first NaN, along an axis that stays with size 1."""
    return rounded(find(widened(x), axis=axis, keepdims=True), _INT64)


def _with_indices(name: str, find: Find, x: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    axis = axis_of(dim, x.ndim)
    if x.ndim == 0:
        return x.copy(), np.zeros((), _INT64)
    _refuse_empty(name, x.shape, (axis,))
    indices = _where(find, x, axis)
    values = np.take_along_axis(x, indices, axis)
    return (values, indices) if keepdim else (values.squeeze(axis), indices.squeeze(axis))


def max_dim(x: np.ndarray, dim: int, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """aten.max.dim: maxima over one dim, and the int64 index of the first one (of the first NaN)."""
    return _with_indices("max", np.argmax, x, dim, keepdim)


def min_dim(x: np.ndarray, dim: int, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """aten.min.dim: minima over one dim, and the int64 index of the first one (of the first NaN)."""
    return _with_indices("min", np.argmin, x, dim, keepdim)


def _index(name: str, find: Find, x: np.ndarray, dim: int | None, keepdim: bool) -> np.ndarray:
    if x.dtype == np.bool_:
        raise TypeError(f"{name}(): does not support bool input")
    if dim is None:
        if x.size == 0:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        index = rounded(find(widened(x).reshape(-1)), _INT64)
        return index.reshape((1,) * x.ndim) if keepdim else index
    axis = axis_of(dim, x.ndim)
    if x.ndim == 0:
        return np.zeros((), _INT64)
    _refuse_empty(name, x.shape, (axis,))
    indices = _where(find, x, axis)
    return indices if keepdim else indices.squeeze(axis)


def argmax(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> np.ndarray:
    """aten.argmax: int64 index of the first maximum (of the first NaN) along dim, or in row-major order when dim is None."""
    return _index("argmax", np.argmax, x, dim, keepdim)


def argmin(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> np.ndarray:
    """aten.argmin: int64 index of the first minimum (of the first NaN) along dim, or in row-major order when dim is None."""
    return _index("argmin", np.argmin, x, dim, keepdim)
