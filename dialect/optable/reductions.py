"""Reductions: sums, extremes, truth, variances and norms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from operator import attrgetter

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.dialect.ir.values import NoneValue, Shape, Tensor, Value
from tierup.dialect.kernels.axes import name_of
from tierup.dialect.optable.core import (
    EXACT,
    Aliasing,
    Infer,
    InferRule,
    Kind,
    Op,
    Promotion,
    ShapeError,
    Tolerance,
    normalise_dim,
    without_gradient,
)
from tierup.dialect.optable.operands import (
    Unknown,
    dtype_argument,
    dtype_of,
    flag,
    given,
        integers,
    is_none,
    number,
    optional,
    or_unknown,
    shape,
    sizes,
)  # fmt: skip

NONE = NoneValue()
DTypeRule = Callable[[DType, DType | None], DType | None]  # (operand's, dtype argument's) -> result's


# --- shapes ------------------------------------------------------------------------------------------------------------


def named_axes(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """Dims counted from the front. IndexError out of range; ShapeError for one named twice."""
    axes = [normalise_dim(d, rank) for d in dims]
    for axis in axes:
        if axes.count(axis) > 1:
            raise ShapeError(f"dim {axis} appears multiple times in the list of dims")
    return tuple(axes) if rank else ()


def drop(sizes: Shape, axes: Sequence[int], keepdim: bool) -> Shape:
    """`sizes` with axes reduced to 1 or gone."""
    if keepdim:
        return tuple(1 if i in axes else d for i, d in enumerate(sizes))
    return tuple(d for i, d in enumerate(sizes) if i not in axes)


@or_unknown
def _reduced(x: Value, dims: Value, keepdim: Value, refuse_empty: str, empty_means_none: bool) -> Shape:
    """The shape after reducing `dims` (None, an int or a list). `refuse_empty` names an op without identity."""
    sizes = shape(x)
    named = optional(integers, dims)
    if named is None or (not named and not empty_means_none):
        axes = tuple(range(len(sizes)))
        if refuse_empty and any(d == 0 for d in sizes):
            raise ShapeError(f"{refuse_empty}(): Expected reduction dim to be specified for input.numel() == 0.")
    else:
        axes = named_axes(named, len(sizes))
        for axis in axes:
            if refuse_empty and sizes[axis] == 0:
                raise IndexError(f"{refuse_empty}(): Expected reduction dim {axis} to have non-zero size.")
    return drop(sizes, axes, not is_none(keepdim) and flag(keepdim))


@or_unknown
def _refuse_rank_0(x: Value, dims: Value) -> None:
    """np.mean and np.var take no axis of a rank-0 array; np.sum and np.max do."""
    if not shape(x) and optional(integers, dims):
        raise IndexError("axis 0 is out of bounds for array of dimension 0")


# --- dtypes ------------------------------------------------------------------------------------------------------------


@cache
def numpy_result(function: str, dtype: DType, asked: DType | None = None) -> DType | None:
    """The dtype that NumPy's function gives for an array of `dtype`: asked of NumPy itself, on one element. None for a dtype
    that programs cannot hold (uint64)."""
    of = attrgetter(function)(np)
    one = np.ones(1, dtype.numpy)
    return dtypes.from_numpy((of(one) if asked is None else of(one, dtype=asked.numpy)).dtype)


def _same(of: DType, asked: DType | None) -> DType:
    return of


def _bool(of: DType, asked: DType | None) -> DType:
    return dtypes.bool_


def _truth(of: DType, asked: DType | None) -> DType:
    return dtypes.u8 if of is dtypes.u8 else dtypes.bool_


def _int64(of: DType, asked: DType | None) -> DType:
    return dtypes.i64


def widened(of: DType, asked: DType | None) -> DType:
    return asked or (of if of.is_float else dtypes.i64)


def _index(of: DType, asked: DType | None) -> DType:
    if of is dtypes.bool_:
        raise TypeError("argmax and argmin do not support bool input")
    return dtypes.i64


def _mean(of: DType, asked: DType | None) -> DType:
    result = asked or of
    if not result.is_float:
        which = "Input" if asked is None else "Optional"
        raise TypeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {name_of(result.numpy)}"
        )
    return result


def _variance(of: DType, asked: DType | None) -> DType:
    if not of.is_float:
        raise TypeError("std and var only support floating point and complex dtypes")
    return of


def _norm(of: DType, asked: DType | None) -> DType:
    for dtype, what in ((of, "as input"), (asked or of, "as dtype")):
        if not dtype.is_float:
            raise TypeError(f"linalg.vector_norm: Expected a floating point or complex tensor {what}. Got {name_of(dtype.numpy)}")
    if asked is not None and dtypes.from_numpy(np.promote_types(of.numpy, asked.numpy)) is not asked:
        raise TypeError(
            f"linalg.vector_norm: the dtype of the input ({name_of(of.numpy)}) should be convertible "
            f"without narrowing to the specified dtype ({name_of(asked.numpy)})"
        )
    return asked or of


def _logsumexp(of: DType, asked: DType | None) -> DType:
    return of if of.is_float else dtypes.f32


def _numpy_norm(of: DType, asked: DType | None) -> DType | None:
    return numpy_result("linalg.norm", asked or of)


def _numpy(function: str) -> DTypeRule:
    return partial(numpy_result, function)


# --- the rule ----------------------------------------------------------------------------------------------------------


def _rule(
    torch: tuple[DTypeRule, ...],
    numpy: tuple[DTypeRule, ...],
    *,
    dims: int | None = None,
    keepdim: int | None = None,
    dtype: int | None = None,
    refuse_empty: str = "",
    empty_means_none: bool = False,
    numpy_refuses_rank_0: bool = False,
) -> InferRule:
    """A reduction's rule: one dtype rule per result under either promotion; where dims, keepdim, dtype are among the operands."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Value | tuple[Value, ...]:
        x = operands[0]
        if numpy_refuses_rank_0 and ctx.promotion is Promotion.NUMPY:
            _refuse_rank_0(x, given(operands, dims))
        sizes = _reduced(x, given(operands, dims), given(operands, keepdim), refuse_empty, empty_means_none)
        rules = numpy if ctx.promotion is Promotion.NUMPY else torch
        results = tuple(Tensor(result_dtype(rule, x, given(operands, dtype)), sizes) for rule in rules)
        return results if len(results) > 1 else results[0]

    return infer


@or_unknown
def result_dtype(rule: DTypeRule, x: Value, asked: Value) -> DType | None:
    """A rule asked of an operand and a dtype argument; None when either is not known."""
    of = dtype_of(x)
    wanted = dtype_argument(asked)
    if of is None:
        raise Unknown
    return rule(of, wanted)


def _norm_rule(ord: int | None, dims: int | None, keepdim: int | None, dtype: int | None = None, numpy: DTypeRule = _norm) -> InferRule:
    """Norms have no identity for an infinite or negative order."""
    plain = _rule((_norm,), (numpy,), dims=dims, keepdim=keepdim, dtype=dtype)

    def infer(ctx: Infer, operands: Sequence[Value]) -> Value | tuple[Value, ...]:
        _refuse_empty_norm(operands[0], given(operands, ord), given(operands, dims))
        return plain(ctx, operands)

    return infer


@or_unknown
def _refuse_empty_norm(x: Value, ord: Value, dims: Value) -> None:
    p = optional(number, ord)
    if p is not None and (p < 0 or p == math.inf):
        sizes = shape(x)
        axes = named_axes(optional(integers, dims) or tuple(range(len(sizes))), len(sizes))
        if any(sizes[a] == 0 for a in axes):
            raise ShapeError(
                f"linalg.vector_norm cannot compute the {p} norm on an empty tensor because the operation does not have an identity"
            )


def _logsumexp_infer(ctx: Infer, operands: Sequence[Value]) -> Value | tuple[Value, ...]:
    _refuse_no_dims(operands[0], operands[1])
    return _LOGSUMEXP(ctx, operands)


@or_unknown
def _refuse_no_dims(x: Value, dims: Value) -> None:
    if not integers(dims) and shape(x):
        raise ShapeError("logsumexp(): dim must name at least one dimension")


def _trace_infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x = operands[0]
    rank = x.rank if isinstance(x, Tensor) else None
    if rank is not None and rank != 2:
        raise ShapeError(f"trace: expected a matrix, but got tensor with dim {rank}")
    rule = _numpy("sum") if ctx.promotion is Promotion.NUMPY else widened
    return Tensor(result_dtype(rule, x, NONE), ())


def _sum_to_size_infer(ctx: Infer, operands: Sequence[Value]) -> Value:
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
    if more > 0 and all(n == 1 for n in to[:more]):
        of = (*to[:more], *of)
    leading = len(of) - len(to)
    if to and of == to:
        return x if more <= 0 else Tensor(dtype_of(x), of)
    if leading < 0 or any(w != 1 and w != n and isinstance(w, int) and isinstance(n, int) for w, n in zip(to, of[leading:], strict=False)):
        raise ShapeError(f"_grad_sum_to_size(): size {list(to)} does not broadcast to {list(of)}")
    found = tuple(w if w == 1 else ctx.equal(n, w, "_grad_sum_to_size()") for w, n in zip(to, of[leading:], strict=True))
    same = to and not leading and all(w != 1 or n == 1 for w, n in zip(to, of, strict=True))
    return Tensor(dtype_of(x) if same else result_dtype(widened, x, NONE), found)


_LOGSUMEXP = _rule((_logsumexp,), (_logsumexp,), dims=1, keepdim=2)

# --- rows --------------------------------------------------------------------------------------------------------------

_SUMMED = Tolerance(4.0, 1.0)


def _row(
    name: str, kernel: str, infer: InferRule, *, numpy: str | None = "", tolerance: Tolerance = _SUMMED, results: int = 1, note: str = ""
) -> Op:
    """`numpy` "" means the function of the same name in numpy_reductions."""
    flavour = f"numpy_reductions.{kernel.split('.')[1]}" if numpy == "" else numpy
    row = Op(f"aten.{name}", Kind.REDUCTION, kernel, infer, results, numpy=flavour, tolerance=tolerance, note=note)
    return without_gradient(row) if name.partition(".")[0] in _WITHOUT_GRADIENT else row


_WITHOUT_GRADIENT = frozenset({"any", "all", "count_nonzero", "argmax", "argmin"})
_S, _P, _M = (widened,), (widened,), (_mean,)
_NS, _NP, _NM = (_numpy("sum"),), (_numpy("prod"),), (_numpy("mean"),)
_V, _NV = (_variance,), (_numpy("var"),)
_INDEX = (_int64,)
_BOTH = (_same, _int64)

ROWS = (
    _row("sum", "reductions.sum_all", _rule(_S, _NS, dtype=1)),
    _row("sum.dim_IntList", "reductions.sum_dims", _rule(_S, _NS, dims=1, keepdim=2, dtype=3)),
    _row("trace", "reductions.trace", _trace_infer),
    Op(
        "aten._grad_sum_to_size", Kind.REDUCTION, "reductions.sum_to_size", _sum_to_size_infer, aliasing=Aliasing.MAY_VIEW, native=False,
        tolerance=_SUMMED, note="native as the sum and the view that tierup-expand-sum-to-size makes of it",
    ),
    _row("prod", "reductions.prod_all", _rule(_P, _NP, dtype=1)),
    _row("prod.dim_int", "reductions.prod_dim", _rule(_P, _NP, dims=1, keepdim=2, dtype=3)),
    _row("mean", "reductions.mean_all", _rule(_M, _NM, dtype=1)),
    _row("mean.dim", "reductions.mean_dims", _rule(_M, _NM, dims=1, keepdim=2, dtype=3, numpy_refuses_rank_0=True)),
    _row("any", "reductions.any_all", _rule((_truth,), (_bool,)), tolerance=EXACT, note="uint8 gives uint8"),
    _row("any.dim", "reductions.any_dim", _rule((_truth,), (_bool,), dims=1, keepdim=2), tolerance=EXACT, note="uint8 gives uint8"),
    _row(
        "any.dims", "reductions.any_dims", _rule((_truth,), (_bool,), dims=1, keepdim=2, empty_means_none=True),
        tolerance=EXACT, note="[] reduces nothing",
    ),
    _row("all", "reductions.all_all", _rule((_truth,), (_bool,)), tolerance=EXACT, note="uint8 gives uint8"),
    _row("all.dim", "reductions.all_dim", _rule((_truth,), (_bool,), dims=1, keepdim=2), tolerance=EXACT, note="uint8 gives uint8"),
    _row("count_nonzero", "reductions.count_nonzero", _rule(_INDEX, _INDEX, dims=1), tolerance=EXACT),
    _row("count_nonzero.dim_IntList", "reductions.count_nonzero_dims", _rule(_INDEX, _INDEX, dims=1), tolerance=EXACT),
    # extremes
    _row("amax", "extremes.amax", _rule((_same,), (_same,), dims=1, keepdim=2, refuse_empty="amax"), tolerance=EXACT),
    _row("amin", "extremes.amin", _rule((_same,), (_same,), dims=1, keepdim=2, refuse_empty="amin"), tolerance=EXACT),
    _row("max", "extremes.max_all", _rule((_same,), (_same,), refuse_empty="max"), tolerance=EXACT),
    _row("min", "extremes.min_all", _rule((_same,), (_same,), refuse_empty="min"), tolerance=EXACT),
    _row("max.dim", "extremes.max_dim", _rule(_BOTH, _BOTH, dims=1, keepdim=2, refuse_empty="max"), tolerance=EXACT, results=2),
    _row("min.dim", "extremes.min_dim", _rule(_BOTH, _BOTH, dims=1, keepdim=2, refuse_empty="min"), tolerance=EXACT, results=2),
    _row(
        "aminmax", "extremes.aminmax", _rule((_same, _same), (_same, _same), dims=1, keepdim=2, refuse_empty="aminmax"),
        tolerance=EXACT, results=2,
    ),
    _row("argmax", "extremes.argmax", _rule((_index,), _INDEX, dims=1, keepdim=2, refuse_empty="argmax"), tolerance=EXACT),
    _row("argmin", "extremes.argmin", _rule((_index,), _INDEX, dims=1, keepdim=2, refuse_empty="argmin"), tolerance=EXACT),
    # variances and norms
    _row("var", "statistics.var_all", _rule(_V, _V), numpy=None),
    _row("var.dim", "statistics.var_dim", _rule(_V, _V, dims=1, keepdim=3), numpy=None),
    _row("var.correction", "statistics.var_correction", _rule(_V, _NV, dims=1, keepdim=3, numpy_refuses_rank_0=True)),
    _row("std", "statistics.std_all", _rule(_V, _V), numpy=None),
    _row("std.dim", "statistics.std_dim", _rule(_V, _V, dims=1, keepdim=3), numpy=None),
    _row("std.correction", "statistics.std_correction", _rule(_V, (_numpy("std"),), dims=1, keepdim=3, numpy_refuses_rank_0=True)),
    _row("var_mean", "statistics.var_mean_all", _rule(_V * 2, _V * 2), numpy=None, results=2),
    _row("var_mean.dim", "statistics.var_mean_dim", _rule(_V * 2, _V * 2, dims=1, keepdim=3), numpy=None, results=2),
    _row("var_mean.correction", "statistics.var_mean_correction", _rule(_V * 2, _V * 2, dims=1, keepdim=3), numpy=None, results=2),
    _row("logsumexp", "statistics.logsumexp", _logsumexp_infer, numpy=None, note="[] is refused unless rank 0"),
    _row("linalg_vector_norm", "statistics.linalg_vector_norm", _norm_rule(1, 2, 3, 4, _numpy_norm)),
    _row("norm.Scalar", "statistics.norm_all", _norm_rule(1, None, None), numpy=None),
    _row("norm.ScalarOpt_dim", "statistics.norm_dims", _norm_rule(1, 2, 3), numpy=None),
    _row("frobenius_norm.dim", "statistics.frobenius_norm", _norm_rule(None, 1, 2), numpy=None),
)  # fmt: skip
