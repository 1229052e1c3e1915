"""Movement of elements under NumPy's rules: its promotion, its exceptions. Results are always fresh memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.kernels import padding

Tensors = Sequence[np.ndarray]


def cat(tensors: Tensors, dim: int = 0) -> np.ndarray:
    """np.concatenate(tensors, axis)."""
    return np.concatenate(tensors, dim)


def stack(tensors: Tensors, dim: int = 0) -> np.ndarray:
    """np.stack(tensors, axis)."""
    return np.stack(tensors, dim)


def hstack(tensors: Tensors) -> np.ndarray:
    """np.hstack(tensors)."""
    return np.hstack(tensors)


def column_stack(tensors: Tensors) -> np.ndarray:
    """np.column_stack(tensors)."""
    return np.column_stack(tensors)


def tile(x: np.ndarray, repeats: Sequence[int]) -> np.ndarray:
    """np.tile(x, reps)."""
    return np.tile(x, tuple(repeats))


def repeat_interleave(x: np.ndarray, repeats: int, dim: int | None = None, output_size: int | None = None) -> np.ndarray:
    """np.repeat(x, repeats, axis)."""
    return np.repeat(x, repeats, dim)


def roll(x: np.ndarray, shifts: Sequence[int], dims: Sequence[int] = ()) -> np.ndarray:
    """np.roll(x, shift, axis): of the flattened array when there is no axis."""
    if not dims:
        return np.roll(x, shifts[0] if len(shifts) == 1 else tuple(shifts))
    return np.roll(x, tuple(shifts), tuple(dims))


def flip(x: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """np.flip(x, axis), copied: the view that NumPy gives is `x[::-1]`, a slice."""
    return np.asarray(np.flip(x, tuple(dims))).copy()


def tril(x: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """np.tril(x, k): a vector becomes the rows of a matrix."""
    return np.tril(x, diagonal)


def triu(x: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """np.triu(x, k): a vector becomes the rows of a matrix."""
    return np.triu(x, diagonal)


def argsort(x: np.ndarray, dim: int = -1, descending: bool = False) -> np.ndarray:
    """np.argsort(x, axis)."""
    return np.argsort(x, dim)


def sort(x: np.ndarray, dim: int = -1, descending: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(np.sort, np.argsort) along an axis."""
    return np.sort(x, dim), np.argsort(x, dim)


def _pad_element(value: Any, dtype: np.dtype) -> np.generic:
    """np.pad assigns the NumPy scalar that it makes of a number: signed integers refuse what they cannot hold."""
    made = np.zeros((), dtype)
    made[...] = np.asarray(value)[()]
    return made[()]


def constant_pad_nd(x: np.ndarray, pad: Sequence[int], value: Any = 0) -> np.ndarray:
    """np.pad(x, pad, constant_values=value). OverflowError, ValueError for NaN, where signed integers cannot hold the value."""
    result = padding.constant_pad_nd(x, pad, value, _pad_element)
    return np.asfortranarray(result) if x.flags.fnc else result
