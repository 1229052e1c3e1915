"""Reductions under NumPy's rules: the NumPy function that the user wrote, with operands in torch's schema order.

None and [] both mean all axes, as in torch's schema. Results are arrays, of rank 0 where NumPy gives a scalar. Dtypes,
values, warnings and exceptions are NumPy's own: integers of fewer bits sum in the platform's widest, `uint8` in `uint64`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tierup.dialect.kernels.axes import dtype_named

Dims = Sequence[int] | None
Number = int | float


def _axis(dims: Dims) -> tuple[int, ...] | int | None:
    """NumPy's axis: an int for one dim, since NumPy takes axis=0 of rank 0, but not axis=(0,)."""
    return (dims[0] if len(dims) == 1 else tuple(dims)) if dims else None


def _dtype(code: int | None) -> np.dtype | None:
    return None if code is None else dtype_named(code)


def sum_all(x: np.ndarray, dtype: int | None = None) -> np.ndarray:
    """np.sum(x)."""
    return np.asarray(np.sum(x, dtype=_dtype(dtype)))


def sum_dims(x: np.ndarray, dims: Dims, keepdim: bool = False, dtype: int | None = None) -> np.ndarray:
    """np.sum(x, axis, dtype, keepdims=...)."""
    return np.asarray(np.sum(x, axis=_axis(dims), dtype=_dtype(dtype), keepdims=keepdim))


def trace(x: np.ndarray) -> np.ndarray:
    """np.trace(x) of a matrix."""
    return np.asarray(np.trace(x))


def prod_all(x: np.ndarray, dtype: int | None = None) -> np.ndarray:
    """np.prod(x)."""
    return np.asarray(np.prod(x, dtype=_dtype(dtype)))


def prod_dim(x: np.ndarray, dim: int, keepdim: bool = False, dtype: int | None = None) -> np.ndarray:
    """np.prod(x, axis, dtype, keepdims=...)."""
    return np.asarray(np.prod(x, axis=dim, dtype=_dtype(dtype), keepdims=keepdim))


def mean_all(x: np.ndarray, dtype: int | None = None) -> np.ndarray:
    """np.mean(x): integers give float64."""
    return np.asarray(np.mean(x, dtype=_dtype(dtype)))


def mean_dims(x: np.ndarray, dims: Dims, keepdim: bool = False, dtype: int | None = None) -> np.ndarray:
    """np.mean(x, axis, dtype, keepdims=...): integers give float64."""
    return np.asarray(np.mean(x, axis=_axis(dims), dtype=_dtype(dtype), keepdims=keepdim))


def any_all(x: np.ndarray) -> np.ndarray:
    """np.any(x)."""
    return np.asarray(np.any(x))


def any_dim(x: np.ndarray, dim: int, keepdim: bool = False) -> np.ndarray:
    """np.any(x, axis, keepdims=...)."""
    return np.asarray(np.any(x, axis=dim, keepdims=keepdim))


def any_dims(x: np.ndarray, dims: Dims = None, keepdim: bool = False) -> np.ndarray:
    """np.any over several axes; [] reduces nothing."""
    return np.asarray(np.any(x, axis=None if dims is None else tuple(dims), keepdims=keepdim))


def all_all(x: np.ndarray) -> np.ndarray:
    """np.all(x)."""
    return np.asarray(np.all(x))


def all_dim(x: np.ndarray, dim: int, keepdim: bool = False) -> np.ndarray:
    """np.all(x, axis, keepdims=...)."""
    return np.asarray(np.all(x, axis=dim, keepdims=keepdim))


def count_nonzero(x: np.ndarray, dim: int | None = None) -> np.ndarray:
    """np.count_nonzero(x, axis)."""
    return np.asarray(np.count_nonzero(x, axis=dim))


def count_nonzero_dims(x: np.ndarray, dims: Dims) -> np.ndarray:
    """np.count_nonzero(x, axis)."""
    return np.asarray(np.count_nonzero(x, axis=_axis(dims)))


# --- maxima and minima -------------------------------------------------------------------------------------------------


def amax(x: np.ndarray, dims: Sequence[int] = (), keepdim: bool = False) -> np.ndarray:
    """np.max(x, axis, keepdims=...)."""
    return np.asarray(np.max(x, axis=_axis(dims), keepdims=keepdim))


def amin(x: np.ndarray, dims: Sequence[int] = (), keepdim: bool = False) -> np.ndarray:
    """np.min(x, axis, keepdims=...)."""
    return np.asarray(np.min(x, axis=_axis(dims), keepdims=keepdim))


def max_all(x: np.ndarray) -> np.ndarray:
    """np.max(x)."""
    return np.asarray(np.max(x))


def min_all(x: np.ndarray) -> np.ndarray:
    """np.min(x)."""
    return np.asarray(np.min(x))


def aminmax(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(np.min, np.max)."""
    return np.asarray(np.min(x, axis=dim, keepdims=keepdim)), np.asarray(np.max(x, axis=dim, keepdims=keepdim))


def max_dim(x: np.ndarray, dim: int, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(np.max, np.argmax) along an axis."""
    return np.asarray(np.max(x, axis=dim, keepdims=keepdim)), np.asarray(np.argmax(x, axis=dim, keepdims=keepdim))


def min_dim(x: np.ndarray, dim: int, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(np.min, np.argmin) along an axis."""
    return np.asarray(np.min(x, axis=dim, keepdims=keepdim)), np.asarray(np.argmin(x, axis=dim, keepdims=keepdim))


def argmax(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> np.ndarray:
    """np.argmax(x, axis, keepdims=...)."""
    return np.asarray(np.argmax(x, axis=dim, keepdims=keepdim))


def argmin(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> np.ndarray:
    """np.argmin(x, axis, keepdims=...)."""
    return np.asarray(np.argmin(x, axis=dim, keepdims=keepdim))


# --- variances and norms -----------------------------------------------------------------------------------------------


def _spread(of: Callable[..., np.ndarray], x: np.ndarray, dims: Dims, correction: Number | None, keepdim: bool) -> np.ndarray:
    """np.var or np.std; ddof None is NumPy's default, 0."""
    return np.asarray(of(x, axis=_axis(dims), ddof=0 if correction is None else correction, keepdims=keepdim))


def var_correction(x: np.ndarray, dims: Dims = None, correction: Number | None = None, keepdim: bool = False) -> np.ndarray:
    """np.var(x, axis, ddof=correction, keepdims=...); None is NumPy's default ddof, 0."""
    return _spread(np.var, x, dims, correction, keepdim)


def std_correction(x: np.ndarray, dims: Dims = None, correction: Number | None = None, keepdim: bool = False) -> np.ndarray:
    """np.std(x, axis, ddof=correction, keepdims=...); None is NumPy's default ddof, 0."""
    return _spread(np.std, x, dims, correction, keepdim)


def linalg_vector_norm(x: np.ndarray, ord: Number = 2, dims: Dims = None, keepdim: bool = False, dtype: int | None = None) -> np.ndarray:
    """np.linalg.norm: of all elements, or along one axis."""
    if dtype is not None:
        x = x.astype(dtype_named(dtype))
    if not dims:
        # np.linalg.norm(x) without ord is the 2-norm of x, flattened, and takes another path than ord=2
        return np.asarray(np.linalg.norm(x, None if ord == 2 else ord, keepdims=keepdim))
    axis = dims[0] if len(dims) == 1 else tuple(dims)
    return np.asarray(np.linalg.norm(x, None if ord == 2 else ord, axis=axis, keepdims=keepdim))
