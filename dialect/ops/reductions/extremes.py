"""Largest and smallest elements and where they are: NaN wins, the first one counts.

In gradients those that tie share evenly, NaN included, as in PyTorch (FunctionsManual.cpp: scale_grad_by_count,
evenly_distribute_backward). """

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.ops.reductions.over_axes import int64, reduction, same
from tierup.dialect.ops.reductions.reduced import dims_of, keepdims, kept
from tierup.dialect.optable.core import EXACT
from tierup.dialect.optable.kernels.arrays import rounded, widened

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

Axes = tuple[int, ...]
Find = Callable[..., Any]
_INT64 = np.dtype(np.int64)
_EXTREME: dict[str, Any] = {"form": "extreme", "empty": ValueError, "tolerance": EXACT}


def _extreme(ufunc: np.ufunc, x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    return rounded(ufunc.reduce(widened(x), axis=axes, keepdims=keepdim), x.dtype)


def _shared(g: Backward, gradient: ir.Value, value: ir.Value) -> ir.Value:
    """The gradient of an extreme, in even parts to the elements that are equal to it; NaN where it is, as PyTorch has it."""
    dims = dims_of(g)
    mask = g.compare("eq", g.operands[0], keepdims(g, value, dims, kept(g)))
    tied = g.call("aten.sum.dim_IntList", mask, dims, True, None)
    return g.mul(mask, g.div(keepdims(g, gradient, dims, kept(g)), tied))


# --- over several dims -------------------------------------------------------------------------------------------------


@reduction("aten.amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", gives=same, numpy=np.max, **_EXTREME)
def amax(x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    return _extreme(np.maximum, x, axes, keepdim)


@reduction("aten.amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", gives=same, numpy=np.min, **_EXTREME)
def amin(x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    return _extreme(np.minimum, x, axes, keepdim)


@amax.vjp(reads=("self", "result"))
@amin.vjp(reads=("self", "result"))
def _(g: Backward) -> ir.Value:
    return _shared(g, g.grad, g.results[0])


def _both(x: np.ndarray, **asked: Any) -> tuple[Any, Any]:
    return np.min(x, **asked), np.max(x, **asked)


@reduction(
    "aten.aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    gives=(same, same), numpy=_both, **_EXTREME,
)  # fmt: skip
def aminmax(x: np.ndarray, axes: Axes, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    return _extreme(np.minimum, x, axes, keepdim), _extreme(np.maximum, x, axes, keepdim)


@aminmax.vjp(reads=("self", "result0", "result1"))
def _(g: Backward) -> ir.Value:
    parts = [_shared(g, grad, g.results[k]) for k in range(2) if (grad := g.grad_of(k)) is not None]
    return parts[0] if len(parts) == 1 else g.add(*parts)


# --- of all ------------------------------------------------------------------------------------------------------------


@reduction("aten.max(Tensor self) -> Tensor", gives=same, numpy=np.max, **_EXTREME)
def max(x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    return _extreme(np.maximum, x, axes, keepdim)


@reduction("aten.min(Tensor self) -> Tensor", gives=same, numpy=np.min, **_EXTREME)
def min(x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    return _extreme(np.minimum, x, axes, keepdim)


@max.vjp(reads=("self", "result"))
@min.vjp(reads=("self", "result"))
def one_of_all(g: Backward) -> ir.Value:
    """Of a value that one of the elements is, shared by those that are equal to it. NaNs, where there are some, share the gradient."""
    x = g.operands[0]
    mask = g.call("aten.logical_or", g.compare("eq", x, g.results[0]), g.compare("ne", x, x))
    return g.mul(mask, g.div(g.grad, g.call("aten.sum", mask, None)))


# --- along a dim, and where --------------------------------------------------------------------------------------------


def _where(find: Find, x: np.ndarray, axis: int) -> np.ndarray:
    """Indices of the first extreme, or of the first NaN, along an axis that stays with size 1."""
    return rounded(find(widened(x), axis=axis, keepdims=True), _INT64)


def _with_indices(find: Find, x: np.ndarray, axes: Axes, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    if x.ndim == 0:
        return x.copy(), np.zeros((), _INT64)
    (axis,) = axes
    indices = _where(find, x, axis)
    values = np.take_along_axis(x, indices, axis)
    return (values, indices) if keepdim else (values.squeeze(axis), indices.squeeze(axis))


@reduction(
    "aten.max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    gives=(same, int64), numpy=lambda x, **asked: (np.max(x, **asked), np.argmax(x, **asked)), **_EXTREME,
)  # fmt: skip
def max_dim(x: np.ndarray, axes: Axes, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """Maxima over one dim, and the index of the first one (of the first NaN)."""
    return _with_indices(np.argmax, x, axes, keepdim)


@reduction(
    "aten.min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    gives=(same, int64), numpy=lambda x, **asked: (np.min(x, **asked), np.argmin(x, **asked)), **_EXTREME,
)  # fmt: skip
def min_dim(x: np.ndarray, axes: Axes, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """Minima over one dim, and the index of the first one (of the first NaN)."""
    return _with_indices(np.argmin, x, axes, keepdim)


@max_dim.vjp(reads=("result1",))
@min_dim.vjp(reads=("result1",))
def _(g: Backward) -> Gradients:
    return at_indices(g, kept(g))


def at_indices(g: Backward, kept: bool) -> ir.Value | None:
    """The gradient of values taken along a dim, from where result 1 says. `kept`: that dim is in the results. Which one of several equal
    ones it is, is the op's choice."""
    grad = g.grad_of(0)
    if grad is None:
        return None
    d = int(g.constant("dim"))
    zeros = g.cast_like(g.zeros("self"), grad)  # the operand may be of ints or bools on the path taken
    return g.cast_to(g.call("aten.scatter.src", zeros, d, keepdims(g, g.results[1], [d], kept), keepdims(g, grad, [d], kept)), "self")


def _index_gives(of: DType, asked: DType | None) -> DType:
    if of is dtypes.bool_:
        raise TypeError("argmax and argmin do not support bool input")
    return dtypes.i64


def _index(find: Find, x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    if x.ndim == 0:
        return np.zeros((), _INT64)
    if len(axes) != 1:  # of all, or of rank 1
        index = rounded(find(widened(x).reshape(-1)), _INT64)
        return index.reshape((1,) * x.ndim) if keepdim else index
    indices = _where(find, x, axes[0])
    return indices if keepdim else indices.squeeze(axes[0])


_INDEX: dict[str, Any] = {**_EXTREME, "gives": _index_gives, "numpy_gives": int64, "empty": IndexError, "no_gradient": "positions"}


@reduction("aten.argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", numpy=np.argmax, **_INDEX)
def argmax(x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    """The index of the first maximum (of the first NaN) along dim, or in row-major order when dim is None. TypeError for bools."""
    return _index(np.argmax, x, axes, keepdim)


@reduction("aten.argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", numpy=np.argmin, **_INDEX)
def argmin(x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    """The index of the first minimum (of the first NaN) along dim, or in row-major order when dim is None. TypeError for bools."""
    return _index(np.argmin, x, axes, keepdim)
