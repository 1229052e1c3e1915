"""Variances, deviations, logsumexp, norms. TypeError for integers, but of logsumexp, which gives float32.

Gradients are PyTorch's formulas, with the denominators that are zero made infinite: at a deviation or norm of 0 the gradient is 0, and so
is the second one (PyTorch's is NaN there) but for orders whose slope at 0 is infinite. """

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType, scalar_type
from tierup.dialect.facts.values import Value
from tierup.dialect.ops.reductions import reduced
from tierup.dialect.ops.reductions.over_axes import NONE, added, named_axes, numpy_of, numpy_result, reduction
from tierup.dialect.ops.reductions.reduced import Dims, dims_of, keepdims, kept
from tierup.dialect.optable.core import ShapeError
from tierup.dialect.optable.kernels.arrays import cast, count, dtype_named, is_float, quiet, rounded, widened
from tierup.dialect.optable.operands import integers, number, optional, or_unknown, shape

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward

Axes = tuple[int, ...]
Number = int | float

# --- variances and deviations ------------------------------------------------------------------------------------------


def _variance_gives(of: DType, asked: DType | None) -> DType:
    if not of.is_float:
        raise TypeError("std and var only support floating point and complex dtypes")
    return of


def _moments(x: np.ndarray, axes: Axes, keepdim: bool, correction: Number | None, unbiased: bool) -> tuple[np.ndarray, np.ndarray]:
    """Variance and mean in float64, two passes. torch's Welford recurrence accumulates in double for every dtype
    (ReduceOpsKernel.cpp). The divisor is max(0, n - correction): torch.var's documented formula."""
    n = count(x.shape, axes)
    with quiet:
        wide = x.astype(np.float64)
        mean = np.asarray(np.add.reduce(wide, axis=axes, keepdims=True)) / np.float64(n)
        deviation = np.subtract(wide, mean, out=wide)
        squares = np.asarray(added(np.square(deviation, out=deviation), axis=axes, keepdims=keepdim))
        variance = squares / np.float64(max(0.0, n - (int(unbiased) if correction is None else correction)))
    return np.asarray(variance), mean if keepdim else np.squeeze(mean, axes)


def _result(x: np.ndarray, value: np.ndarray) -> np.ndarray:
    with quiet:
        return rounded(value, x.dtype)


_SPREAD: dict[str, Any] = {"form": "spread", "numpy_refuses_rank_0": True}


def _var(x: np.ndarray, axes: Axes, keepdim: bool, correction: Number | None = None, unbiased: bool = True) -> np.ndarray:
    return _result(x, _moments(x, axes, keepdim, correction, unbiased)[0])


@reduction(
    "aten.var(Tensor self, bool unbiased=True) -> Tensor",
    "aten.var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
    gives=_variance_gives,
)  # fmt: skip
def var(x: np.ndarray, axes: Axes, keepdim: bool, unbiased: bool = True) -> np.ndarray:
    return _var(x, axes, keepdim, None, unbiased)


@reduction(
    "aten.var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    gives=_variance_gives, numpy=np.var, numpy_gives=numpy_of("var"), **_SPREAD,
)  # fmt: skip
def var_correction(x: np.ndarray, axes: Axes, keepdim: bool, correction: Number | None = None) -> np.ndarray:
    """`correction` None means 1; under NumPy's rules 0."""
    return _var(x, axes, keepdim, correction)


def _std(x: np.ndarray, axes: Axes, keepdim: bool, correction: Number | None = None, unbiased: bool = True) -> np.ndarray:
    with quiet:
        return _result(x, np.sqrt(_moments(x, axes, keepdim, correction, unbiased)[0]))


@reduction(
    "aten.std(Tensor self, bool unbiased=True) -> Tensor",
    "aten.std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
    gives=_variance_gives,
)  # fmt: skip
def std(x: np.ndarray, axes: Axes, keepdim: bool, unbiased: bool = True) -> np.ndarray:
    return _std(x, axes, keepdim, None, unbiased)


@reduction(
    "aten.std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    gives=_variance_gives, numpy=np.std, numpy_gives=numpy_of("std"), **_SPREAD,
)  # fmt: skip
def std_correction(x: np.ndarray, axes: Axes, keepdim: bool, correction: Number | None = None) -> np.ndarray:
    """`correction` None means 1; under NumPy's rules 0."""
    return _std(x, axes, keepdim, correction)


@reduction(
    "aten.var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    "aten.var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
    "aten.var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
    gives=(_variance_gives, _variance_gives),
)  # fmt: skip
def var_mean(
    x: np.ndarray, axes: Axes, keepdim: bool, correction: Number | None = None, unbiased: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    variance, mean = _moments(x, axes, keepdim, correction, unbiased)
    return _result(x, variance), _result(x, mean)


@var.vjp(reads=("self",))
@var_correction.vjp(reads=("self",))
def _(g: Backward) -> ir.Value:
    return _of_variance(g, g.grad)


@std.vjp(reads=("self", "result"))
@std_correction.vjp(reads=("self", "result"))
def _(g: Backward) -> ir.Value:
    return _of_variance(g, g.div(g.grad, g.mul(nonzero(g, g.results[0]), 2)))


@var_mean.vjp(reads=("self",))
def _(g: Backward) -> ir.Value:
    of_variance, of_mean = g.grad_of(0), g.grad_of(1)
    parts = [] if of_variance is None else [_of_variance(g, of_variance)]
    if of_mean is not None:
        dims, keepdim = _over(g)
        each = keepdims(g, g.div(of_mean, reduced.count(g, dims)), dims, keepdim)
        parts.append(g.cast_to(g.expand(each, g.operand_size("self")), "self"))
    return parts[0] if len(parts) == 1 else g.add(*parts)


def _over(g: Backward) -> tuple[Dims, bool]:
    """The dims, and whether they are in the results; of the overloads over all there is nothing to put back."""
    return (dims_of(g), kept(g)) if "dim" in g.rule.operands else (None, True)


def _correction(g: Backward) -> Number:
    if "unbiased" in g.rule.operands:
        return int(g.constant("unbiased"))
    found = 1 if g.is_none("correction") else g.constant("correction")
    return int(found) if found == int(found) else found


def _of_variance(g: Backward, gradient: ir.Value) -> ir.Value:
    """2 (x - mean) / (n - correction); where that divisor is not positive, as the variance itself does: by zero."""
    dims, keepdim = _over(g)
    x = g.promoted("self")  # which may be of ints or bools on the path taken
    centred = g.sub(x, g.call("aten.mean.dim", x, dims, True, None))
    scaled = g.div(g.mul(gradient, 2), _freedom(g, reduced.count(g, dims), _correction(g)))
    return g.cast_to(g.mul(centred, keepdims(g, scaled, dims, keepdim)), "self")


def _freedom(g: Backward, n: int | ir.Value, correction: Number) -> Number | ir.Value:
    if isinstance(n, int):
        return max(0, n - correction)
    if isinstance(correction, int):
        return g.call("prim.max.int", g.call("aten.sub.int", n, correction, type_="!torch.int"), 0, type_="!torch.int")
    free = g.call("aten.sub.float", g.call("aten.Float.Scalar", n, type_="!torch.float"), correction, type_="!torch.float")
    positive = g.call("aten.Int.bool", g.call("aten.gt.float", free, 0.0, type_="!torch.bool"), type_="!torch.int")
    return g.call("aten.mul.float_int", free, positive, type_="!torch.float")


def nonzero(g: Backward, value: ir.Value) -> ir.Value:
    """A denominator: infinite where it is zero, so that the quotient, and what it passes on, is zero there."""
    return g.where(g.compare("eq", value, 0), math.inf, value)


# --- logsumexp ---------------------------------------------------------------------------------------------------------


def _float(of: DType, asked: DType | None) -> DType:
    return of if of.is_float else dtypes.f32


@or_unknown
def _some_dim(name: str, x: Value, named: dict[str, Value]) -> None:
    if not integers(named["dim"]) and shape(x):
        raise ShapeError("logsumexp(): dim must name at least one dimension")


@reduction(
    "aten.logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    gives=_float, check=_some_dim, empty_means_none=True, note="[] is refused unless rank 0",
)  # fmt: skip
def logsumexp(x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    """log(sum(exp(x))), shifted by the maximum so that it neither overflows nor loses small terms; -inf for empty dims. ValueError for []
    unless x has rank 0."""
    target = x.dtype if is_float(x.dtype) else dtypes.f32.numpy
    if x.ndim and not axes:
        raise ValueError("logsumexp(): dim must name at least one dimension")
    with quiet:
        wide = widened(cast(x, target))
        if wide.size == 0:
            return rounded(np.log(added(wide, axis=axes, keepdims=keepdim)), target)
        shift = np.maximum.reduce(wide, axis=axes, keepdims=True)
        shift = np.where(np.isinf(shift), wide.dtype.type(0), shift)
        total = np.log(added(np.exp(wide - shift), axis=axes, keepdims=keepdim))
        return rounded(total + (shift if keepdim else np.squeeze(shift, axes)), target)


@logsumexp.vjp(reads=("self", "result"))
def _(g: Backward) -> ir.Value:
    dims = dims_of(g)
    softmax = g.call("aten.exp", g.sub(g.operands[0], keepdims(g, g.results[0], dims, kept(g))))
    return g.cast_to(g.mul(softmax, keepdims(g, g.grad, dims, kept(g))), "self")


# --- norms -------------------------------------------------------------------------------------------------------------


def _norm_gives(of: DType, asked: DType | None) -> DType:
    if not of.is_float:
        raise TypeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {scalar_type(of.numpy)}")
    target = asked or of
    if not target.is_float:
        raise TypeError(f"linalg.vector_norm: dtype should be floating point or complex, but got {scalar_type(target.numpy)}")
    if dtypes.from_numpy(np.promote_types(of.numpy, target.numpy)) is not target:
        raise TypeError(
            f"linalg.vector_norm: the dtype of the input ({scalar_type(of.numpy)}) should be convertible "
            f"without narrowing to the specified dtype ({scalar_type(target.numpy)})"
        )
    return target


def _no_norm_of_none(ord: Number) -> str:
    return f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have an identity"


@or_unknown
def _has_identity(name: str, x: Value, named: dict[str, Value]) -> None:
    """Norms of an infinite or negative order are nothing of no elements."""
    order = optional(number, named.get("ord", named.get("p", NONE)))
    if order is not None and (order < 0 or order == math.inf):
        sizes = shape(x)
        axes = named_axes(optional(integers, named.get("dim", NONE)) or tuple(range(len(sizes))), len(sizes))
        if any(sizes[a] == 0 for a in axes):
            raise ShapeError(_no_norm_of_none(order))


def _norm(x: np.ndarray, axes: Axes, keepdim: bool, ord: Number = 2, dtype: int | None = None) -> np.ndarray:
    """(sum |x|**ord)**(1/ord); ord inf, -inf and 0 are the maximum, the minimum and the count of nonzeros. ValueError for an infinite or
    negative ord over no elements."""
    target = x.dtype if dtype is None else dtype_named(dtype)
    if (ord < 0 or ord == math.inf) and count(x.shape, axes) == 0:
        raise ValueError(_no_norm_of_none(ord))
    with quiet:
        return rounded(_norm_of_magnitudes(np.abs(widened(cast(x, target))), ord, axes, keepdim), target)


def _norm_of_magnitudes(magnitude: np.ndarray, ord: Number, axes: Axes, keepdim: bool) -> np.ndarray:
    """The special orders as in torch.linalg.vector_norm's table."""
    reduce: dict[str, Any] = {"axis": axes, "keepdims": keepdim}
    found: np.ndarray
    if ord == math.inf:
        found = np.maximum.reduce(magnitude, **reduce)
    elif ord == -math.inf:
        found = np.minimum.reduce(magnitude, **reduce)
    elif ord == 0:
        found = np.add.reduce(magnitude != 0, dtype=magnitude.dtype, **reduce)
    elif ord == 1:
        found = np.add.reduce(magnitude, **reduce)
    elif ord == 2:
        found = np.sqrt(np.add.reduce(np.square(magnitude), **reduce))
    else:
        power = magnitude.dtype.type(ord)
        found = np.power(np.add.reduce(np.power(magnitude, power), **reduce), magnitude.dtype.type(1.0 / ord))
    return found


def _numpy_norm(x: np.ndarray, ord: Number = 2, axis: Any = None, keepdims: bool = False, dtype: np.dtype | None = None) -> Any:
    """np.linalg.norm without ord is the 2-norm of x, flattened, and takes another path than ord=2."""
    return np.linalg.norm(x if dtype is None else x.astype(dtype), None if ord == 2 else ord, axis=axis, keepdims=keepdims)


@reduction(
    "aten.linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    gives=_norm_gives, check=_has_identity, numpy=_numpy_norm, form="norm",
    numpy_gives=lambda of, asked: numpy_result("linalg.norm", asked or of),
)  # fmt: skip
def linalg_vector_norm(x: np.ndarray, axes: Axes, keepdim: bool, ord: Number = 2, dtype: int | None = None) -> np.ndarray:
    return _norm(x, axes, keepdim, ord, dtype)


@reduction(
    "aten.norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
    "aten.norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
    gives=_norm_gives, check=_has_identity,
)  # fmt: skip
def norm(x: np.ndarray, axes: Axes, keepdim: bool, p: Number | None = 2) -> np.ndarray:
    """p None means 2."""
    return _norm(x, axes, keepdim, 2 if p is None else p)


@reduction("aten.frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", gives=_norm_gives)
def frobenius_norm(x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    return _norm(x, axes, keepdim)


linalg_vector_norm.vjp(reads=("self", "result"))(lambda g: _of_norm(g, g.constant("ord")))

norm.vjp(reads=("self", "result"))(lambda g: _of_norm(g, 2 if g.is_none("p") else g.constant("p")))

frobenius_norm.vjp(reads=("self", "result"))(lambda g: _of_norm(g, 2))


def _of_norm(g: Backward, p: Number) -> ir.Value:
    """(|x| / norm)^(p-1) sign(x), zero where the norm is; elements that tie for an infinite order share."""
    if p == 0:
        return g.zeros("self")
    dims, keepdim = _over(g)
    x, gradient = g.promoted("self"), keepdims(g, g.grad, dims, keepdim)
    if p == 1:
        return g.cast_to(g.mul(g.call("aten.sgn", x), gradient), "self")
    return g.cast_to(_slope_of_norm(g, x, p, keepdims(g, g.results[0], dims, keepdim), gradient, dims), "self")


def _slope_of_norm(g: Backward, x: ir.Value, p: Number, value: ir.Value, gradient: ir.Value, dims: Dims) -> ir.Value:
    magnitude = g.call("aten.abs", x) if p != 2 else x
    if math.isinf(p):
        mask = g.call("aten.logical_or", g.compare("eq", magnitude, value), g.compare("ne", x, x))
        share = g.div(gradient, g.call("aten.sum.dim_IntList", mask, dims, True, None))
        return g.mul(g.call("aten.sgn", x), g.mul(mask, share))
    if p == 2:
        return g.mul(x, g.div(gradient, nonzero(g, value)))
    if p < 1:  # nothing at 0, where the slope is infinite
        slope = g.mul(g.call("aten.sgn", x), g.call("aten.pow.Tensor_Scalar", nonzero(g, magnitude), p - 1))
        return g.mul(slope, g.mul(gradient, g.call("aten.pow.Tensor_Scalar", value, 1 - p)))
    if p < 2:  # 0 to the power p - 2 is not finite
        slope = g.mul(g.call("aten.sgn", x), g.call("aten.pow.Tensor_Scalar", magnitude, p - 1))
    else:
        slope = g.mul(x, g.call("aten.pow.Tensor_Scalar", magnitude, p - 2))
    return g.mul(slope, g.div(gradient, g.call("aten.pow.Tensor_Scalar", nonzero(g, value), p - 1)))
