"""Tier-0 kernels of variances, norms and logsumexp, with torch's semantics.

Common errors: IndexError for a dim out of range, ValueError for a dim named twice, TypeError for integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.kernels.axes import (
    axes_of,
    count,
    distinct_axes,
    dtype_named,
    is_float,
    name_of,
    quiet,
    rounded,
    widened,
)
from tierup.dialect.kernels.casts import cast

Dims = Sequence[int] | None
Number = int | float


def _moments(x: np.ndarray, dims: Dims, correction: Number | None, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """Variance and mean in float64, two passes. torch's Welford recurrence accumulates in double for every dtype
    (ReduceOpsKernel.cpp). The divisor is max(0, n - correction): torch.var's documented formula."""
    if not is_float(x.dtype):
        raise TypeError("std and var only support floating point and complex dtypes")
    axes = axes_of(dims, x.ndim)
    n = count(x.shape, axes)
    with quiet:
        wide = x.astype(np.float64)
        mean = np.asarray(np.add.reduce(wide, axis=axes, keepdims=True)) / np.float64(n)
        deviation = np.subtract(wide, mean, out=wide)
        squares = np.asarray(np.add.reduce(np.square(deviation, out=deviation), axis=axes, keepdims=keepdim))
        variance = squares / np.float64(max(0.0, n - (1 if correction is None else correction)))
    return np.asarray(variance), mean if keepdim else np.squeeze(mean, axes)


def _result(x: np.ndarray, value: np.ndarray) -> np.ndarray:
    with quiet:
        return rounded(value, x.dtype)


def var_correction(x: np.ndarray, dims: Dims = None, correction: Number | None = None, keepdim: bool = False) -> np.ndarray:
    """aten.var.correction: variances over dims (None and [] mean all); `correction` None means 1."""
    return _result(x, _moments(x, dims, correction, keepdim)[0])


def var_all(x: np.ndarray, unbiased: bool = True) -> np.ndarray:
    """aten.var: the variance of all elements."""
    return var_correction(x, None, int(unbiased))


def var_dim(x: np.ndarray, dims: Dims, unbiased: bool = True, keepdim: bool = False) -> np.ndarray:
    """aten.var.dim."""
    return var_correction(x, dims, int(unbiased), keepdim)


def std_correction(x: np.ndarray, dims: Dims = None, correction: Number | None = None, keepdim: bool = False) -> np.ndarray:
    """aten.std.correction: square roots of the variances."""
    with quiet:
        return _result(x, np.sqrt(_moments(x, dims, correction, keepdim)[0]))


def std_all(x: np.ndarray, unbiased: bool = True) -> np.ndarray:
    """aten.std."""
    return std_correction(x, None, int(unbiased))


def std_dim(x: np.ndarray, dims: Dims, unbiased: bool = True, keepdim: bool = False) -> np.ndarray:
    """aten.std.dim."""
    return std_correction(x, dims, int(unbiased), keepdim)


def var_mean_correction(
    x: np.ndarray, dims: Dims = None, correction: Number | None = None, keepdim: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """aten.var_mean.correction: (variances, means)."""
    variance, mean = _moments(x, dims, correction, keepdim)
    return _result(x, variance), _result(x, mean)


def var_mean_all(x: np.ndarray, unbiased: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """aten.var_mean."""
    return var_mean_correction(x, None, int(unbiased))


def var_mean_dim(x: np.ndarray, dims: Dims, unbiased: bool = True, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """aten.var_mean.dim."""
    return var_mean_correction(x, dims, int(unbiased), keepdim)


def logsumexp(x: np.ndarray, dims: Sequence[int], keepdim: bool = False) -> np.ndarray:
    """aten.logsumexp: log(sum(exp(x))), shifted by the maximum so that it neither overflows nor loses small terms.

    Integers and bools give float32. -inf for empty dims. ValueError for [] unless x has rank 0.
    """
    target = x.dtype if is_float(x.dtype) else dtypes.f32.numpy
    axes = distinct_axes(dims, x.ndim)
    if x.ndim and not axes:
        raise ValueError("logsumexp(): dim must name at least one dimension")
    with quiet:
        wide = widened(cast(x, target))
        if wide.size == 0:
            return rounded(np.log(np.add.reduce(wide, axis=axes, keepdims=keepdim)), target)
        shift = np.maximum.reduce(wide, axis=axes, keepdims=True)
        shift = np.where(np.isinf(shift), wide.dtype.type(0), shift)
        total = np.log(np.add.reduce(np.exp(wide - shift), axis=axes, keepdims=keepdim))
        return rounded(total + (shift if keepdim else np.squeeze(shift, axes)), target)


def linalg_vector_norm(x: np.ndarray, ord: Number = 2, dims: Dims = None, keepdim: bool = False, dtype: int | None = None) -> np.ndarray:
    """aten.linalg_vector_norm: (sum |x|**ord)**(1/ord); ord inf, -inf and 0 are the maximum, the minimum and the count of
    nonzeros. None and [] mean all dims.

    Raises TypeError for integers or a dtype that would narrow, ValueError for an infinite or negative ord over no elements.
    """
    if not is_float(x.dtype):
        raise TypeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {name_of(x.dtype)}")
    target = x.dtype if dtype is None else dtype_named(dtype)
    if not is_float(target):
        raise TypeError(f"linalg.vector_norm: dtype should be floating point or complex, but got {name_of(target)}")
    if dtypes.from_numpy(np.promote_types(x.dtype, target)) != dtypes.from_numpy(target):
        raise TypeError(
            f"linalg.vector_norm: the dtype of the input ({name_of(x.dtype)}) should be convertible "
            f"without narrowing to the specified dtype ({name_of(target)})"
        )
    axes = axes_of(dims, x.ndim)
    if (ord < 0 or ord == math.inf) and count(x.shape, axes) == 0:
        raise ValueError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have an identity"
        )
    with quiet:
        return rounded(_norm(np.abs(widened(cast(x, target))), ord, axes, keepdim), target)


def _norm(magnitude: np.ndarray, ord: Number, axes: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """The norm of non-negative numbers; the special orders as in torch.linalg.vector_norm's table."""
    reduce = {"axis": axes, "keepdims": keepdim}
    if ord == math.inf:
        return np.maximum.reduce(magnitude, **reduce)
    if ord == -math.inf:
        return np.minimum.reduce(magnitude, **reduce)
    if ord == 0:
        return np.add.reduce(magnitude != 0, dtype=magnitude.dtype, **reduce)
    if ord == 1:
        return np.add.reduce(magnitude, **reduce)
    if ord == 2:
        return np.sqrt(np.add.reduce(np.square(magnitude), **reduce))
    power = magnitude.dtype.type(ord)
    return np.power(np.add.reduce(np.power(magnitude, power), **reduce), magnitude.dtype.type(1.0 / ord))


def norm_all(x: np.ndarray, p: Number = 2) -> np.ndarray:
    """aten.norm.Scalar."""
    return linalg_vector_norm(x, p)


def norm_dims(x: np.ndarray, p: Number | None, dims: Sequence[int], keepdim: bool = False) -> np.ndarray:
    """aten.norm.ScalarOpt_dim; p None means 2."""
    return linalg_vector_norm(x, 2 if p is None else p, dims, keepdim)


def frobenius_norm(x: np.ndarray, dims: Sequence[int], keepdim: bool = False) -> np.ndarray:
    """aten.frobenius_norm.dim: the 2-norm over dims."""
    return linalg_vector_norm(x, 2, dims, keepdim)
