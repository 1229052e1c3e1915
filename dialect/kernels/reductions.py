"""Tier-0 kernels of sums, products, means and truth, with torch's semantics.

Kernels take and give `numpy.ndarray`; a dtype operand is torch's ScalarType number. Common errors: IndexError for a dim
out of range, ValueError for a dim named twice, TypeError for a dtype that the op refuses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tierup.dialect.kernels.axes import (
    accumulated_dtype,
    accumulator,
    axes_of,
    count,
    distinct_axes,
    dtype_named,
    in_rows,
    is_float,
    name_of,
    quiet,
    rounded,
)  # fmt: skip
from tierup.dialect.kernels.casts import cast

Dims = Sequence[int] | None
_BOOL = np.dtype(np.bool_)
_INT64 = np.dtype(np.int64)


def _accumulate(ufunc: np.ufunc, x: np.ndarray, axes: tuple[int, ...], keepdim: bool, dtype: int | None) -> np.ndarray:
    target = accumulated_dtype(x, dtype)
    if dtype is not None:
        x = cast(x, target)  # torch converts first, then reduces
    if target == _BOOL:
        ufunc = np.logical_or if ufunc is np.add else np.logical_and
        return in_rows(ufunc.reduce(x, axis=axes, keepdims=keepdim))
    with quiet:
        return in_rows(rounded(ufunc.reduce(x, axis=axes, keepdims=keepdim, dtype=accumulator(target)), target))


def sum_all(x: np.ndarray, dtype: int | None = None) -> np.ndarray:
    """aten.sum: the sum of all elements."""
    return _accumulate(np.add, x, axes_of(None, x.ndim), False, dtype)


def sum_dims(x: np.ndarray, dims: Dims, keepdim: bool = False, dtype: int | None = None) -> np.ndarray:
    """aten.sum.dim_IntList: sums over dims; None and [] mean all."""
    return _accumulate(np.add, x, axes_of(dims, x.ndim), keepdim, dtype)


def sum_to_size(x: np.ndarray, size: Sequence[int] | None) -> np.ndarray:
    """aten._grad_sum_to_size: the sum over what broadcasting from `size` repeated; x itself for None and where nothing was. More dims of
    size 1 than x has may lead, as in what is stored. ValueError for a size that does not broadcast to x's (PyTorch checks only that the
    elements fit)."""
    more = 0 if size is None else len(size) - x.ndim
    if more > 0 and all(n == 1 for n in size[:more]):
        x = x.reshape((1,) * more + x.shape)
    if size is None or (size and tuple(size) == x.shape):
        return x
    leading = x.ndim - len(size)
    if leading < 0 or any(wanted not in (1, n) for wanted, n in zip(size, x.shape[leading:], strict=True)):
        raise ValueError(f"_grad_sum_to_size(): size {list(size)} does not broadcast to {list(x.shape)}")
    repeated = [i for i, n in enumerate(x.shape) if i < leading or (size[i - leading] == 1 and n != 1)]
    return sum_dims(x, repeated, True).reshape(size)


def trace(x: np.ndarray) -> np.ndarray:
    """aten.trace: the sum of a matrix's main diagonal. ValueError unless rank 2."""
    if x.ndim != 2:
        raise ValueError(f"trace: expected a matrix, but got tensor with dim {x.ndim}")
    return sum_all(np.diagonal(x))


def prod_all(x: np.ndarray, dtype: int | None = None) -> np.ndarray:
    """aten.prod: the product of all elements."""
    return _accumulate(np.multiply, x, axes_of(None, x.ndim), False, dtype)


def prod_dim(x: np.ndarray, dim: int, keepdim: bool = False, dtype: int | None = None) -> np.ndarray:
    """aten.prod.dim_int: products over one dim."""
    return _accumulate(np.multiply, x, axes_of([dim], x.ndim), keepdim, dtype)


def mean_all(x: np.ndarray, dtype: int | None = None) -> np.ndarray:
    """aten.mean: NaN for an empty tensor; TypeError unless the result is floating-point."""
    return mean_dims(x, None, False, dtype)


def mean_dims(x: np.ndarray, dims: Dims, keepdim: bool = False, dtype: int | None = None) -> np.ndarray:
    """aten.mean.dim: means over dims; None and [] mean all. TypeError unless the result is floating-point."""
    target = x.dtype if dtype is None else dtype_named(dtype)
    if not is_float(target):
        which = "Input" if dtype is None else "Optional"
        raise TypeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. Got: {name_of(target)}"
        )
    axes = axes_of(dims, x.ndim)
    x = cast(x, target)
    with quiet:
        total = np.asarray(np.add.reduce(x, axis=axes, keepdims=keepdim, dtype=accumulator(target)))
        return rounded(total / total.dtype.type(count(x.shape, axes)), target)


# --- truth -------------------------------------------------------------------------------------------------------------


def _logical(ufunc: np.ufunc, x: np.ndarray, axes: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """torch keeps uint8 for uint8 (its first bool), and gives bool for all else. NaN is true."""
    result = ufunc.reduce(x.astype(_BOOL, copy=False), axis=axes, keepdims=keepdim)
    return rounded(result, x.dtype if x.dtype == np.uint8 else _BOOL)


def any_all(x: np.ndarray) -> np.ndarray:
    """aten.any: whether an element is true; bool, but uint8 for uint8."""
    return _logical(np.logical_or, x, axes_of(None, x.ndim), False)


def any_dim(x: np.ndarray, dim: int, keepdim: bool = False) -> np.ndarray:
    """aten.any.dim."""
    return _logical(np.logical_or, x, axes_of([dim], x.ndim), keepdim)


def any_dims(x: np.ndarray, dims: Dims = None, keepdim: bool = False) -> np.ndarray:
    """aten.any.dims: None means all; [] reduces nothing, and gives each element's truth."""
    return _logical(np.logical_or, x, axes_of(None, x.ndim) if dims is None else distinct_axes(dims, x.ndim), keepdim)


def all_all(x: np.ndarray) -> np.ndarray:
    """aten.all: whether every element is true; bool, but uint8 for uint8."""
    return _logical(np.logical_and, x, axes_of(None, x.ndim), False)


def all_dim(x: np.ndarray, dim: int, keepdim: bool = False) -> np.ndarray:
    """aten.all.dim."""
    return _logical(np.logical_and, x, axes_of([dim], x.ndim), keepdim)


def count_nonzero(x: np.ndarray, dim: int | None = None) -> np.ndarray:
    """aten.count_nonzero: int64; NaN counts."""
    return count_nonzero_dims(x, None if dim is None else [dim])


def count_nonzero_dims(x: np.ndarray, dims: Dims) -> np.ndarray:
    """aten.count_nonzero.dim_IntList: int64 counts over dims; [] means all."""
    return np.asarray(np.add.reduce(x.astype(_BOOL, copy=False), axis=axes_of(dims, x.ndim), dtype=_INT64))
