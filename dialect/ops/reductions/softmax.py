"""Softmax and its logarithm, along one dim."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.values import Tensor, Value
from tierup.dialect.optable.core import Infer, Kind, Tolerance, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.arrays import cast, in_rows, quiet, rounded, widened
from tierup.dialect.optable.operands import dtype_argument, dtype_of, flag, given, integer, or_unknown, shape

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_op = partial(op, kind=Kind.NORMALISATION, tolerance=Tolerance(4.0, 1.0))


@or_unknown
def _dim_exists(x: Value, dim: Value) -> None:
    normalise_dim(integer(dim), len(shape(x)))


@or_unknown
def _softmax_dtype(x: Value, asked: Value) -> DType | None:
    result = dtype_argument(asked) or dtype_of(x)
    if result is not None and not result.is_float:
        raise TypeError(f'"softmax" not implemented for {result.name!r}')
    return result


def _softmax(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x = operands[0]
    _dim_exists(x, operands[1])
    return Tensor(_softmax_dtype(x, given(operands, 2)), x.shape if isinstance(x, Tensor) else None)


def _shifted(x: np.ndarray, dim: int, target: np.dtype) -> tuple[np.ndarray, tuple[int, ...]]:
    """x in `target` less its maxima along dim, in float32 for the halves; the axes."""
    axes = (normalise_dim(dim, x.ndim),) if x.ndim else ()
    wide = widened(cast(x, target))
    if not wide.size:
        return wide.copy(), axes
    return np.asarray(wide - np.maximum.reduce(wide, axis=axes, keepdims=True)), axes


@_op("aten.softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", infer=_softmax)
def softmax(x: np.ndarray, dim: int, dtype: int | None = None) -> np.ndarray:
    """exp(x - max) / sum(exp(x - max)) along dim. x is converted to `dtype` first."""
    target = softmax.dtype(x, dim, dtype)
    with quiet:
        shifted, axes = _shifted(x, dim, target)
        e = np.exp(shifted, out=shifted)
        e /= np.add.reduce(e, axis=axes, keepdims=True)
        return in_rows(rounded(e, target))


def _along(g: Backward, x: ir.Value) -> ir.Value:
    """Sums along the op's dim, of which 1 is left."""
    return g.call("aten.sum.dim_IntList", x, [int(g.constant("dim"))], True, None)


@softmax.vjp(reads=("result",))
def _softmax_gradient(g: Backward) -> Gradients:
    y = g.results[0]
    return g.cast_to(g.mul(y, g.sub(g.grad, _along(g, g.mul(g.grad, y)))), "self")


@or_unknown
def _refuse_half_to_float(value: Value) -> None:
    if flag(value):
        raise TypeError("softmax with half to float conversion is not supported on CPU")


def _softmax_internal(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    _refuse_half_to_float(operands[2])
    return _softmax(ctx, operands[:2])


@_op("aten._softmax(Tensor self, int dim, bool half_to_float) -> Tensor", infer=_softmax_internal)
def softmax_internal(x: np.ndarray, dim: int, half_to_float: bool) -> np.ndarray:
    softmax_internal.checked(x, dim, half_to_float)
    return softmax(x, dim)


softmax_internal.vjp(reads=("result",))(_softmax_gradient)


@_op("aten._safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", infer=_softmax)
def safe_softmax(x: np.ndarray, dim: int, dtype: int | None = None) -> np.ndarray:
    """As softmax, but zeros for a row whose every element is -inf."""
    result = softmax(x, dim, dtype)
    axes = (normalise_dim(dim, x.ndim),) if x.ndim else ()
    return np.where(np.logical_and.reduce(np.isneginf(widened(x)), axis=axes, keepdims=True), result.dtype.type(0), result)


safe_softmax.vjp(reads=("result",))(_softmax_gradient)


@_op("aten.log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", infer=_softmax)
def log_softmax(x: np.ndarray, dim: int, dtype: int | None = None) -> np.ndarray:
    """x - max - log(sum(exp(x - max))) along dim. x is converted to `dtype` first."""
    target = log_softmax.dtype(x, dim, dtype)
    with quiet:
        shifted, axes = _shifted(x, dim, target)
        shifted -= np.log(np.add.reduce(np.exp(shifted), axis=axes, keepdims=True))
        return in_rows(rounded(shifted, target))


@log_softmax.vjp(reads=("result",))
def _log_softmax_gradient(g: Backward) -> Gradients:
    return g.cast_to(g.sub(g.grad, g.mul(g.call("aten.exp", g.results[0]), _along(g, g.grad))), "self")


@_op("aten._log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", infer=_softmax_internal)
def log_softmax_internal(x: np.ndarray, dim: int, half_to_float: bool) -> np.ndarray:
    log_softmax_internal.checked(x, dim, half_to_float)
    return log_softmax(x, dim)


log_softmax_internal.vjp(reads=("result",))(_log_softmax_gradient)
