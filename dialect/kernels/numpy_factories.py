"""Factories under NumPy's promotion: without a dtype, floats are float64. Operands as in factories.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.kernels.axes import dtype_named


def _dtype(dtype: int | None) -> np.dtype | None:
    return None if dtype is None else dtype_named(dtype)


def zeros(size: Sequence[int], dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.zeros; np.empty is zeros too, so that every tier gives the same result."""
    return np.zeros(size, _dtype(dtype) or np.float64)


def ones(size: Sequence[int], dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.ones."""
    return np.ones(size, _dtype(dtype) or np.float64)


def full(size: Sequence[int], fill_value: Any, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.full."""
    return np.full(size, fill_value, _dtype(dtype))


def full_like(x: np.ndarray, fill_value: Any, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.full_like. OverflowError for an int that the dtype cannot hold."""
    return np.full_like(x, fill_value, _dtype(dtype) or x.dtype)


def new_full(x: np.ndarray, size: Sequence[int], fill_value: Any, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.full in x's dtype unless told."""
    return np.full(size, fill_value, _dtype(dtype) or x.dtype)


def arange(end: Any, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.arange(end)."""
    return np.arange(end, dtype=_dtype(dtype))


def arange_start(start: Any, end: Any, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.arange(start, end)."""
    return np.arange(start, end, dtype=_dtype(dtype))


def arange_step(start: Any, end: Any, step: Any = 1, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.arange(start, end, step). ZeroDivisionError for step 0."""
    return np.arange(start, end, step, dtype=_dtype(dtype))


def linspace(start: Any, end: Any, steps: int, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.linspace."""
    return np.linspace(start, end, steps, dtype=_dtype(dtype))


def eye(n: int, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.eye(n)."""
    return np.eye(n, dtype=_dtype(dtype) or np.float64)


def eye_m(n: int, m: int, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.eye(n, m)."""
    return np.eye(n, m, dtype=_dtype(dtype) or np.float64)


def tensor(data: Any, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.array."""
    return np.array(data, dtype=_dtype(dtype))


def scalar_tensor(value: Any, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """np.array of a number: int64, float64 or bool unless told."""
    return np.array(value, dtype=_dtype(dtype))
