"""Tier-0 kernels of softmax and the norms, with torch's semantics: float16 and bfloat16 computed in float32, rounded once.

Common errors: TypeError for dtypes that torch refuses, IndexError for a dim out of range, ValueError for shapes that do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tierup.dialect.kernels.axes import HALVES, axis_of, dtype_named, in_rows, is_float, name_of, quiet, rounded, widened
from tierup.dialect.kernels.casts import cast

_F32 = np.dtype(np.float32)
Optional = np.ndarray | None


def _shifted(op: str, x: np.ndarray, dim: int, dtype: int | None) -> tuple[np.ndarray, tuple[int, ...], np.dtype]:
    """x less its maxima along dim, in float32 for the halves; the axes; the result's dtype."""
    target = x.dtype if dtype is None else dtype_named(dtype)
    axis = axis_of(dim, x.ndim)
    if not is_float(target):
        raise TypeError(f'"{op}" not implemented for {name_of(target)!r}')
    axes = (axis,) if x.ndim else ()
    wide = widened(cast(x, target))
    if not wide.size:
        return wide.copy(), axes, target
    return np.asarray(wide - np.maximum.reduce(wide, axis=axes, keepdims=True)), axes, target


def softmax(x: np.ndarray, dim: int, dtype: int | None = None) -> np.ndarray:
    """aten.softmax.int: exp(x - max) / sum(exp(x - max)) along dim. x is converted to `dtype` first."""
    with quiet:
        shifted, axes, target = _shifted("softmax", x, dim, dtype)
        e = np.exp(shifted, out=shifted)
        e /= np.add.reduce(e, axis=axes, keepdims=True)
        return in_rows(rounded(e, target))


def log_softmax(x: np.ndarray, dim: int, dtype: int | None = None) -> np.ndarray:
    """aten.log_softmax.int: x - max - log(sum(exp(x - max))) along dim. x is converted to `dtype` first."""
    with quiet:
        shifted, axes, target = _shifted("log_softmax", x, dim, dtype)
        shifted -= np.log(np.add.reduce(np.exp(shifted), axis=axes, keepdims=True))
        return in_rows(rounded(shifted, target))


def _refuse_half_to_float(half_to_float: bool) -> None:
    if half_to_float:
        raise TypeError("softmax with half to float conversion is not supported on CPU")


def softmax_internal(x: np.ndarray, dim: int, half_to_float: bool) -> np.ndarray:
    """aten._softmax."""
    _refuse_half_to_float(half_to_float)
    return softmax(x, dim)


def log_softmax_internal(x: np.ndarray, dim: int, half_to_float: bool) -> np.ndarray:
    """aten._log_softmax."""
    _refuse_half_to_float(half_to_float)
    return log_softmax(x, dim)


def safe_softmax(x: np.ndarray, dim: int, dtype: int | None = None) -> np.ndarray:
    """aten._safe_softmax: softmax, but zeros for a row whose every element is -inf."""
    result = softmax(x, dim, dtype)
    axes = (axis_of(dim, x.ndim),) if x.ndim else ()
    return np.where(np.logical_and.reduce(np.isneginf(widened(x)), axis=axes, keepdims=True), result.dtype.type(0), result)


# --- layer, group, batch and RMS norm ----------------------------------------------------------------------------------


def _statistics_dtype(op: str, x: np.ndarray, *parameters: Optional) -> np.dtype:
    """The dtype of means and reciprocal deviations: x's, or float32 when a half is normalised with float32 parameters.

    TypeError for any other mix, and for integers.
    """
    if not is_float(x.dtype):
        raise TypeError(f'"{op}" not implemented for {name_of(x.dtype)!r}')
    others = {p.dtype for p in parameters if p is not None}
    if others <= {x.dtype}:
        return x.dtype
    if x.dtype in HALVES and others == {_F32}:
        return _F32
    raise TypeError(f"{op}: expected parameters of the input's dtype {name_of(x.dtype)} (or all Float for a half input)")


def _normalised(x: np.ndarray, axes: tuple[int, ...], eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x - mean) * rstd in x's own precision (the halves in float32), mean, and rstd = 1 / sqrt(variance + eps)."""
    wide = widened(x)
    n = wide.dtype.type(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    mean = np.add.reduce(wide, axis=axes, keepdims=True) / n
    deviation = wide - mean
    variance = np.add.reduce(np.square(deviation), axis=axes, keepdims=True) / n
    rstd = np.reciprocal(np.sqrt(variance + wide.dtype.type(eps)))
    return np.multiply(deviation, rstd, out=deviation), mean, rstd


def _scaled(y: np.ndarray, weight: Optional, bias: Optional) -> np.ndarray:
    """y * weight + bias, in place; parameters already of a shape that broadcasts to y's."""
    if weight is not None:
        y *= cast(weight, y.dtype)
    if bias is not None:
        y += cast(bias, y.dtype)
    return y


def _check_layer(op: str, x: np.ndarray, normalized_shape: Sequence[int], *parameters: tuple[str, Optional]) -> tuple[int, ...]:
    """The axes that are normalised over."""
    wanted = tuple(normalized_shape)
    if not wanted:
        raise ValueError(f"{op}: Expected normalized_shape to be at least 1-dimensional, but got normalized_shape = []")
    for name, parameter in parameters:
        if parameter is not None and parameter.shape != wanted:
            raise ValueError(
                f"{op}: Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(parameter.shape)} "
                f"and normalized_shape = {list(wanted)}"
            )
    if x.shape[-len(wanted) :] != wanted:
        raise ValueError(
            f"{op}: Given normalized_shape={list(wanted)}, expected input with shape [*, {', '.join(map(str, wanted))}], "
            f"but got input of size{list(x.shape)}"
        )
    return tuple(range(x.ndim - len(wanted), x.ndim))


def native_layer_norm(
    x: np.ndarray, normalized_shape: Sequence[int], weight: Optional, bias: Optional, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """aten.native_layer_norm: (normalised x * weight + bias, means, reciprocal deviations), the last two with sizes 1 for the
    normalised dims and in float32 when a half comes with float32 parameters."""
    axes = _check_layer("layer_norm", x, normalized_shape, ("weight", weight), ("bias", bias))
    statistics = _statistics_dtype("layer_norm", x, weight, bias)
    with quiet:
        y, mean, rstd = _normalised(x, axes, eps)
        return rounded(_scaled(y, weight, bias), x.dtype), rounded(mean, statistics), rounded(rstd, statistics)


def layer_norm(
    x: np.ndarray, normalized_shape: Sequence[int], weight: Optional = None, bias: Optional = None, eps: float = 1e-5, cudnn: bool = True
) -> np.ndarray:
    """aten.layer_norm: over the last dims, with the biased variance."""
    return native_layer_norm(x, normalized_shape, weight, bias, eps)[0]


def rms_norm(x: np.ndarray, normalized_shape: Sequence[int], weight: Optional = None, eps: float | None = None) -> np.ndarray:
    """aten.rms_norm: x / sqrt(mean(x**2) + eps) * weight over the last dims; eps None is the epsilon of the dtype computed in."""
    axes = _check_layer("rms_norm", x, normalized_shape, ("weight", weight))
    _statistics_dtype("rms_norm", x, weight)
    with quiet:
        wide = widened(x)
        n = wide.dtype.type(np.prod([x.shape[a] for a in axes], dtype=np.int64))
        square = np.add.reduce(np.square(wide), axis=axes, keepdims=True) / n
        least = wide.dtype.type(np.finfo(wide.dtype).eps if eps is None else eps)
        return rounded(_scaled(wide * np.reciprocal(np.sqrt(square + least)), weight, None), x.dtype)


def _channels(op: str, x: np.ndarray, *parameters: tuple[str, Optional]) -> int:
    """The number of channels (dim 1); parameters must be vectors of that length."""
    channels = x.shape[1]
    for name, parameter in parameters:
        if parameter is not None and parameter.shape != (channels,):
            raise ValueError(
                f"{op}: Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(parameter.shape)} and input of shape {list(x.shape)}"
            )
    return channels


def _along_channels(parameter: Optional, rank: int) -> Optional:
    """A vector over dim 1, ready to broadcast."""
    return None if parameter is None else parameter.reshape((-1,) + (1,) * (rank - 2))


def _groups(x: np.ndarray, groups: int, weight: Optional, bias: Optional, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if x.ndim < 2:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-max(x.ndim, 1)}, {max(x.ndim, 1) - 1}], but got 1)")
    channels = _channels("group_norm", x, ("weight", weight), ("bias", bias))
    if groups <= 0 or channels % groups:
        raise ValueError(
            f"group_norm: Expected number of channels in input to be divisible by num_groups, but got input of shape {list(x.shape)} "
            f"and num_groups={groups}"
        )
    statistics = _statistics_dtype("group_norm", x, weight, bias)
    with quiet:
        size = int(np.prod(x.shape[2:], dtype=np.int64)) * (channels // groups)
        y, mean, rstd = _normalised(x.reshape(x.shape[0], groups, size), (2,), eps)
        y = _scaled(y.reshape(x.shape), _along_channels(weight, x.ndim), _along_channels(bias, x.ndim))
        return rounded(y, x.dtype), rounded(mean[..., 0], statistics), rounded(rstd[..., 0], statistics)


def group_norm(
    x: np.ndarray, groups: int, weight: Optional = None, bias: Optional = None, eps: float = 1e-5, cudnn: bool = True
) -> np.ndarray:
    """aten.group_norm: x (N, C, *) normalised over each of `groups` equal runs of channels, and all that follows."""
    return _groups(x, groups, weight, bias, eps)[0]


def native_group_norm(
    x: np.ndarray, weight: Optional, bias: Optional, n: int, c: int, hxw: int, groups: int, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """aten.native_group_norm: (result, means (N, groups), reciprocal deviations (N, groups))."""
    return _groups(x, groups, weight, bias, eps)


def native_batch_norm(
    x: np.ndarray,
    weight: Optional,
    bias: Optional,
    running_mean: Optional,
    running_var: Optional,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """aten.native_batch_norm over (N, C, *): (result, batch means, batch reciprocal deviations), the last two empty in evaluation.

    Training with running statistics would write them, which this op's row does not say: a TypeError; pass None, and update
    them in the program.
    """
    parameters = (("weight", weight), ("bias", bias), ("running_mean", running_mean), ("running_var", running_var))
    if training and (running_mean is not None or running_var is not None):
        raise TypeError("batch_norm: training with running statistics writes them; pass None for both and update them in the program")
    if not training and (running_mean is None or running_var is None):
        raise ValueError("batch_norm: running_mean and running_var must be defined in evaluation mode")
    if x.ndim < 2:
        raise ValueError(f"batch_norm: expected an input of rank 2 or more, but got one of rank {x.ndim}")
    _channels("batch_norm", x, *parameters)
    statistics = _statistics_dtype("batch_norm", x, weight, bias, running_mean, running_var)
    with quiet:
        if running_mean is None or running_var is None:
            axes = (0, *range(2, x.ndim))
            y, mean, rstd = _normalised(x, axes, eps)
            saved = mean.reshape(-1), rstd.reshape(-1)
        else:
            compute = widened(x).dtype
            scale = np.reciprocal(np.sqrt(cast(running_var, compute) + compute.type(eps)))
            y = (widened(x) - _along_channels(cast(running_mean, compute), x.ndim)) * _along_channels(scale, x.ndim)
            saved = np.empty(0, statistics), np.empty(0, statistics)
        y = _scaled(y, _along_channels(weight, x.ndim), _along_channels(bias, x.ndim))
        return rounded(y, x.dtype), rounded(saved[0], statistics), rounded(saved[1], statistics)


def batch_norm(
    x: np.ndarray, weight: Optional, bias: Optional, running_mean: Optional, running_var: Optional, training: bool, momentum: float,
    eps: float, cudnn: bool = True,
) -> np.ndarray:  # fmt: skip
    """aten.batch_norm: see native_batch_norm."""
    return native_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps)[0]
