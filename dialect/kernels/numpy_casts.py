"""Conversions under NumPy's promotion: `astype`, and assignment for `copy`. Operands as in casts.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from tierup.dialect.kernels.axes import dtype_named


def to_dtype(
    x: np.ndarray, dtype: int | None, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """x.astype(dtype, copy=copy)."""
    return x.astype(x.dtype if dtype is None else dtype_named(dtype), copy=copy)


def to_dtype_layout(
    x: np.ndarray, dtype: int | None = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """As to_dtype."""
    return to_dtype(x, dtype, non_blocking, copy)


def to_device(
    x: np.ndarray, device: Any, dtype: int, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """As to_dtype."""
    return to_dtype(x, dtype, non_blocking, copy)


def to_prim_device(x: np.ndarray, device: Any, dtype: int | None = None, non_blocking: bool = False, copy: bool = False) -> np.ndarray:
    """As to_dtype."""
    return to_dtype(x, dtype, non_blocking, copy)


def to_other(
    x: np.ndarray, other: np.ndarray, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """x.astype(other.dtype, copy=copy)."""
    return x.astype(other.dtype, copy=copy)


def type_as(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    """x.astype(other.dtype, copy=False)."""
    return x.astype(other.dtype, copy=False)


def to_copy(
    x: np.ndarray, dtype: int | None = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """x.astype(dtype)."""
    return to_dtype(x, dtype, non_blocking, True)


def convert_element_type(x: np.ndarray, dtype: int) -> np.ndarray:
    """x.astype(dtype)."""
    return to_dtype(x, dtype, False, True)


def copy(x: np.ndarray, source: Any, non_blocking: bool = False) -> np.ndarray:
    """What x would hold after `x[...] = source`, laid out as x is. ValueError when source does not broadcast to x."""
    result = np.empty_like(x)
    result[...] = source
    return result
