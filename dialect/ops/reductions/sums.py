"""Sums, products, means, truth, counts. Sums of float16 and bfloat16 are kept in float32 and rounded once (ATen/OpMathType.h).

A product's gradient is the product of the others: what is divided out where no factor is zero, else multiplied up without it, so that
zeros, one or several, and second derivatives at them are right. The first factor of a product says its sizes: both arms name them alike, by
the operand, and no size is for the run to say. """

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType, scalar_type
from tierup.dialect.facts.values import Tensor, Value
from tierup.dialect.ops.reductions import reduced
from tierup.dialect.ops.reductions.over_axes import NONE, SUMMED, added, int64, numpy_of, reduction, result_dtype, widened
from tierup.dialect.ops.reductions.reduced import dims_of, has_zero, keepdims, kept, moved_last, places
from tierup.dialect.optable.core import EITHER, EXACT, KEPT_COMPLEX, OF_COMPLEX, Aliasing, Combine, Infer, Kind, Promotion, ShapeError
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.arrays import accumulated_dtype, accumulator, axes_of, cast, count, dtype_named, in_rows, quiet, rounded
from tierup.dialect.optable.operands import dtype_of, is_none, or_unknown, shape, sizes

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward

Axes = tuple[int, ...]
_BOOL = np.dtype(np.bool_)


def _accumulate(ufunc: np.ufunc, x: np.ndarray, axes: Axes, keepdim: bool, dtype: int | None) -> np.ndarray:
    target = accumulated_dtype(x, dtype)
    if dtype is not None:
        x = cast(x, target)  # torch converts first, then reduces
    if target == _BOOL:
        logical: Any = np.logical_or if ufunc is np.add else np.logical_and
        return in_rows(logical.reduce(x, axis=axes, keepdims=keepdim))
    with quiet:
        return in_rows(rounded(ufunc.reduce(x, axis=axes, keepdims=keepdim, dtype=accumulator(target)), target))


def _spread(g: Backward, gradient: ir.Value) -> ir.Value:
    """Each element of the operand gets the gradient of what it went into."""
    return g.cast_to(g.expand(gradient, g.operand_size("self")), "self")


# --- sums --------------------------------------------------------------------------------------------------------------


@reduction(
    "aten.sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "aten.sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    gives=widened, numpy=np.sum, numpy_gives=numpy_of("sum"), form="accumulating", combine=Combine.ADD, **KEPT_COMPLEX,
)  # fmt: skip
def sum(x: np.ndarray, axes: Axes, keepdim: bool, dtype: int | None = None) -> np.ndarray:
    return _accumulate(np.add, x, axes, keepdim, dtype)


sum.vjp("sum")(lambda g: _spread(g, g.grad))
sum.vjp("dim_IntList")(lambda g: _spread(g, keepdims(g, g.grad, dims_of(g), kept(g))))


def _mean_gives(of: DType, asked: DType | None) -> DType:
    result = asked or of
    if not result.part.is_float:
        raise TypeError(
            f"mean(): could not infer output dtype. {'Input' if asked is None else 'Optional'} dtype must be either a floating point or "
            f"complex dtype. Got: {scalar_type(result.numpy)}"
        )
    return result


@reduction(
    "aten.mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "aten.mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    gives=_mean_gives, numpy=np.mean, numpy_gives=numpy_of("mean"), form="mean", numpy_refuses_rank_0=True, **KEPT_COMPLEX,
)  # fmt: skip
def mean(x: np.ndarray, axes: Axes, keepdim: bool, dtype: int | None = None) -> np.ndarray:
    """NaN of no elements."""
    target = x.dtype if dtype is None else dtype_named(dtype)
    x = cast(x, target)
    with quiet:
        total = np.asarray(added(x, axis=axes, keepdims=keepdim, dtype=accumulator(target)))
        return rounded(total / total.dtype.type(count(x.shape, axes)), target)


mean.vjp("mean")(lambda g: _spread(g, g.div(g.grad, reduced.count(g, None))))


@mean.vjp("dim")
def _(g: Backward) -> ir.Value:
    dims = dims_of(g)
    return _spread(g, keepdims(g, g.div(g.grad, reduced.count(g, dims)), dims, kept(g)))


def _infer_trace(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x = operands[0]
    rank = x.rank if isinstance(x, Tensor) else None
    if rank is not None and rank != 2:
        raise ShapeError(f"trace: expected a matrix, but got tensor with dim {rank}")
    return Tensor(result_dtype(numpy_of("sum") if ctx.promotion is Promotion.NUMPY else widened, x, NONE), ())


@op("aten.trace(Tensor self) -> Tensor", kind=Kind.REDUCTION, infer=_infer_trace, tolerance=SUMMED)
def trace(x: np.ndarray) -> np.ndarray:
    """The sum of a matrix's main diagonal. ValueError unless rank 2."""
    trace.checked(x)
    total: np.ndarray = sum(np.diagonal(x))
    return total


trace.under_numpy(form="as_is")(lambda x: np.asarray(np.trace(x)))


@trace.vjp()
def _(g: Backward) -> ir.Value:
    rows, columns = (g.size_of(g.like("self"), d) for d in (0, 1))
    return g.cast_to(g.mul(g.call("aten.eye.m", rows, columns, g.dtype(g.grad), None, None, None), g.grad), "self")


def _infer_sum_to_size(ctx: Infer, operands: Sequence[Value]) -> Value:
    x, wanted = operands[0], operands[1]
    absent = or_unknown(is_none)(wanted)
    if absent is None:
        return Tensor()
    if absent:
        return x
    of, to = or_unknown(shape)(x), or_unknown(sizes)(wanted)
    if of is None or to is None:
        return Tensor(None, to)  # of integers it depends on whether anything is summed
    more = len(to) - len(of)
    if more > 0 and builtins.all(n == 1 for n in to[:more]):
        of = (*to[:more], *of)
    leading = len(of) - len(to)
    if to and of == to:
        return x if more <= 0 else Tensor(dtype_of(x), of)
    if leading < 0 or builtins.any(
        w != 1 and w != n and isinstance(w, int) and isinstance(n, int) for w, n in zip(to, of[leading:], strict=False)
    ):
        raise ShapeError(f"_grad_sum_to_size(): size {list(to)} does not broadcast to {list(of)}")
    found = tuple(w if w == 1 else ctx.equal(n, w, "_grad_sum_to_size()") for w, n in zip(to, of[leading:], strict=True))
    same = to and not leading and builtins.all(w != 1 or n == 1 for w, n in zip(to, of, strict=True))
    return Tensor(dtype_of(x) if same else result_dtype(widened, x, NONE), found)


@op(
    "aten._grad_sum_to_size(Tensor(a) self, int[]? size) -> Tensor(a)",
    kind=Kind.REDUCTION, infer=_infer_sum_to_size, aliasing=Aliasing.MAY_VIEW, may_be_operand=EITHER, native=False, tolerance=SUMMED,
    note="native as the sum and the view that tierup-expand-sum-to-size makes of it",
)  # fmt: skip
def sum_to_size(x: np.ndarray, size: Sequence[int] | None) -> np.ndarray:
    """The sum over what broadcasting from `size` repeated; x itself for None and where nothing was. More dims of size 1 than x has may
    lead, as in what is stored. ValueError for a size that does not broadcast to x's (PyTorch checks only that the elements fit)."""
    if size is None:
        return x
    sum_to_size.checked(x, size)
    more = len(size) - x.ndim
    if more > 0 and builtins.all(n == 1 for n in size[:more]):
        x = x.reshape((1,) * more + x.shape)
    if size and tuple(size) == x.shape:
        return x
    leading = x.ndim - len(size)
    repeated = tuple(i for i, n in enumerate(x.shape) if i < leading or (size[i - leading] == 1 and n != 1))
    total: np.ndarray = sum.reduce(x, axes_of(repeated, x.ndim), True)
    return total.reshape(size)


@sum_to_size.vjp()
def _(g: Backward) -> ir.Value:
    gradient, rank = g.grad, g.rank("self")
    for _ in range(max((g.tensor(gradient).rank or 0) - rank, 0) if rank is not None else 0):
        gradient = g.call("aten.squeeze.dim", gradient, 0)
    return _spread(g, gradient)


# --- products ----------------------------------------------------------------------------------------------------------


@reduction(
    "aten.prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "aten.prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    gives=widened, numpy=np.prod, numpy_gives=numpy_of("prod"), form="accumulating", combine=Combine.MULTIPLY,
    **KEPT_COMPLEX,
)  # fmt: skip
def prod(x: np.ndarray, axes: Axes, keepdim: bool, dtype: int | None = None) -> np.ndarray:
    return _accumulate(np.multiply, x, axes, keepdim, dtype)


@prod.vjp("prod", reads=("self", "result"))
def _(g: Backward) -> ir.Value:
    x = g.promoted("self")

    def multiplied() -> ir.Value:
        return g.call("aten.reshape", g.mul(_others(g, g.call("aten.reshape", x, [-1])), g.grad), g.operand_size("self"))

    return g.cast_to(g.choose(has_zero(g, x), multiplied, lambda: g.div(g.mul(g.results[0], g.grad), x)), "self")


@prod.vjp("dim_int", reads=("self", "result"))
def _(g: Backward) -> ir.Value:
    x, dim = g.promoted("self"), int(g.constant("dim"))
    if g.rank("self") == 0:
        return g.cast_to(g.grad, "self")
    gradient, result = keepdims(g, g.grad, [dim], kept(g)), keepdims(g, g.results[0], [dim], kept(g))

    def multiplied() -> ir.Value:
        return g.mul(moved_last(g, _others(g, moved_last(g, x, dim)), dim), gradient)

    return g.cast_to(g.choose(has_zero(g, x), multiplied, lambda: g.div(g.mul(result, gradient), x)), "self")


def _others(g: Backward, x: ir.Value) -> ir.Value:
    """Along the last dim, of which there is one element at least: the product of all elements but that one."""
    first = g.compare("eq", places(g, x), 0)

    def before(v: ir.Value) -> ir.Value:
        return g.call("aten.cumprod", g.where(first, 1.0, g.call("aten.roll", v, [1], [-1])), -1, None)

    behind = g.call("aten.flip", before(g.call("aten.flip", x, [-1])), [-1])
    return g.mul(before(x), behind)


# --- truth, counts -----------------------------------------------------------------------------------------------------


def _truth_gives(of: DType, asked: DType | None) -> DType:
    return dtypes.u8 if of is dtypes.u8 else dtypes.bool_


def _bool(of: DType, asked: DType | None) -> DType:
    return dtypes.bool_


_TRUTH: dict[str, Any] = {
    "gives": _truth_gives, "numpy_gives": _bool, "form": "logical", "tolerance": EXACT, "no_gradient": "truth values",
    "note": "uint8 gives uint8", **OF_COMPLEX,
}  # fmt: skip


def _logical(ufunc: np.ufunc, x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    """torch keeps uint8 for uint8 (its first bool), and gives bool for all else. NaN is true."""
    result = in_rows(ufunc.reduce(x.astype(_BOOL, copy=False), axis=axes, keepdims=keepdim))
    return rounded(result, x.dtype if x.dtype == np.uint8 else _BOOL)


@reduction("aten.any(Tensor self) -> Tensor", "aten.any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", numpy=np.any, **_TRUTH)
def any(x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    return _logical(np.logical_or, x, axes, keepdim)


@reduction(
    "aten.any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    numpy=np.any, empty_means_none=True, **{**_TRUTH, "note": "[] reduces nothing"},
)  # fmt: skip
def any_dims(x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    return _logical(np.logical_or, x, axes, keepdim)


@reduction("aten.all(Tensor self) -> Tensor", "aten.all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", numpy=np.all, **_TRUTH)
def all(x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    return _logical(np.logical_and, x, axes, keepdim)


@reduction(
    "aten.count_nonzero(Tensor self, int? dim=None) -> Tensor", "aten.count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
    gives=int64, numpy=np.count_nonzero, form="logical", tolerance=EXACT, no_gradient="counts", **OF_COMPLEX,
)  # fmt: skip
def count_nonzero(x: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    """NaN counts."""
    return np.asarray(np.add.reduce(x.astype(_BOOL, copy=False), axis=axes, dtype=np.int64))
