"""Views under NumPy's rules: its bounds, its steps, its exceptions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_ALL = slice(None)


def reshape(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """x.reshape(sizes)."""
    return x.reshape(tuple(sizes))


def squeeze(x: np.ndarray) -> np.ndarray:
    """np.squeeze(x)."""
    return x.squeeze()


def squeeze_dim(x: np.ndarray, dim: int) -> np.ndarray:
    """np.squeeze(x, axis): ValueError for an axis whose size is not 1."""
    return x.squeeze(dim)


def unsqueeze(x: np.ndarray, dim: int) -> np.ndarray:
    """np.expand_dims(x, axis)."""
    return np.expand_dims(x, dim)


def transpose(x: np.ndarray, dim0: int, dim1: int) -> np.ndarray:
    """np.swapaxes(x, axis1, axis2)."""
    return x.swapaxes(dim0, dim1)


def permute(x: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """np.transpose(x, axes)."""
    return x.transpose(tuple(dims))


def movedim(x: np.ndarray, source: int, destination: int) -> np.ndarray:
    """np.moveaxis(x, source, destination)."""
    return np.moveaxis(x, source, destination)


def broadcast_to(x: np.ndarray, sizes: Sequence[int], implicit: bool = False) -> np.ndarray:
    """np.broadcast_to(x, shape): read-only."""
    return np.broadcast_to(x, tuple(sizes))


def diagonal(x: np.ndarray, offset: int = 0, dim1: int = 0, dim2: int = 1) -> np.ndarray:
    """np.diagonal(x, offset, axis1, axis2): read-only."""
    return np.diagonal(x, offset, dim1, dim2)


def _at(x: np.ndarray, dim: int, index: int | slice) -> np.ndarray:
    """x[:, ..., index], a view even where NumPy would give a scalar."""
    axis = dim + x.ndim if dim < 0 else dim
    return x[(*(_ALL,) * axis, index, ...)]


def select(x: np.ndarray, dim: int, index: int) -> np.ndarray:
    """x[:, ..., index]. IndexError with NumPy's text: out of bounds, or too many indices."""
    return _at(x, dim, index)


def slice_(x: np.ndarray, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> np.ndarray:
    """x[:, ..., start:end:step]; the step may be negative, None meaning the end that it starts from."""
    return _at(x, dim, slice(start, end, step))
