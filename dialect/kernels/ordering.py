"""Tier-0 kernels of sorting, with torch's semantics: stable, NaN larger than every number."""

from __future__ import annotations

import numpy as np

from tierup.dialect.kernels.axes import axis_of, widened

_INT64 = np.dtype(np.int64)


def argsort(x: np.ndarray, dim: int = -1, descending: bool = False) -> np.ndarray:
    """aten.argsort: int64 indices along dim; equal elements keep their order either way."""
    axis = axis_of(dim, x.ndim)
    if not x.ndim:
        return np.zeros((), _INT64)
    wide = widened(x)
    if not descending:
        return np.argsort(wide, axis, kind="stable").astype(_INT64, copy=False)
    reverse = np.flip(np.argsort(np.flip(wide, axis), axis, kind="stable"), axis)
    return np.subtract(x.shape[axis] - 1, reverse, dtype=_INT64)


def _taken(x: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
    return np.take_along_axis(x, indices, axis) if x.ndim else x.copy()


def sort(x: np.ndarray, dim: int = -1, descending: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """aten.sort: (sorted along dim, int64 indices)."""
    indices = argsort(x, dim, descending)
    return _taken(x, indices, axis_of(dim, x.ndim)), indices


def topk(x: np.ndarray, k: int, dim: int = -1, largest: bool = True, in_order: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """aten.topk: the k largest or smallest along dim, in order, and their int64 indices. ValueError for k out of range."""
    axis = axis_of(dim, x.ndim)
    if not 0 <= k <= (x.shape[axis] if x.ndim else 1):
        raise ValueError("selected index k out of range")
    indices = argsort(x, dim, largest)
    if not x.ndim:
        return (x.copy(), indices) if k else (np.empty(0, x.dtype), np.empty(0, _INT64))
    indices = np.take(indices, np.arange(k), axis)
    return _taken(x, indices, axis), indices
