"""Indexing under NumPy's rules: negative indices count from the end, exceptions are NumPy's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_ALL = slice(None)
Indices = Sequence[np.ndarray | None]


def index_select(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """np.take(x, index, axis): an index of any rank takes the axis's place."""
    return np.asarray(np.take(x, index, dim))


def embedding(
    weight: np.ndarray, indices: np.ndarray, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> np.ndarray:
    """weight[indices] along the first axis."""
    return np.asarray(np.take(weight, indices, 0))


def gather(x: np.ndarray, dim: int, index: np.ndarray, sparse_grad: bool = False) -> np.ndarray:
    """np.take_along_axis(x, index, axis)."""
    return np.take_along_axis(x, index, dim)


def nonzero_numpy(x: np.ndarray) -> list[np.ndarray]:
    """np.nonzero(x)."""
    return list(np.nonzero(x))


def _key(indices: Indices) -> tuple[np.ndarray | slice, ...]:
    return tuple(_ALL if i is None else i for i in indices)


def index(x: np.ndarray, indices: Indices) -> np.ndarray:
    """x[i, j, ...] with arrays: always a copy."""
    return np.array(x[_key(indices)])


def index_put(x: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """A copy of x after x[i, j, ...] = values, or np.add.at when accumulating."""
    return index_put_(x.copy(order="K"), indices, values, accumulate)


def index_put_(x: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """x[i, j, ...] = values, or np.add.at when accumulating."""
    if accumulate:
        np.add.at(x, _key(indices), values)
    else:
        x[_key(indices)] = values
    return x
