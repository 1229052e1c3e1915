"""Running sums and products, logarithms of sums, and extremes: each element of a dim combined with all before it.

torch's results of bools and integers are int64, NumPy's are those of its sums; torch keeps rank 0, NumPy makes a vector of it.
Native code is lowering/ops/reductions/scans.py, on a GPU tierup-scans-to-blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.ops.reductions.over_axes import DTypeRule, numpy_result, result_dtype, widened
from tierup.dialect.ops.reductions.reduced import has_zero, moved_last, places
from tierup.dialect.optable.core import EXACT, NO_RULE, Combine, Infer, InferRule, Kind, Promotion, Tolerance, normalise_dim
from tierup.dialect.optable.define import DefinedOp, op
from tierup.dialect.optable.kernels.arrays import accumulator, cast, dtype_named, in_rows, quiet, rounded
from tierup.dialect.optable.operands import dtype_of, given, integer, or_unknown, shape

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward

_NO_BOOLS = "cumsum and cumprod are not implemented for 'Bool'"
_TOLERANCE = Tolerance(4.0, 1.0)


# --- what they share ---------------------------------------------------------------------------------------------------


def _torch_dtype(of: DType, asked: DType | None) -> DType:
    if asked is dtypes.bool_:
        raise TypeError(_NO_BOOLS)
    return widened(of, asked)


def _infer(numpy: DTypeRule, torch: DTypeRule = _torch_dtype) -> InferRule:
    """The operand's shape; `numpy`: the dtype under NumPy's rules."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        is_numpy = ctx.promotion is Promotion.NUMPY
        sizes = _shape(operands[0], given(operands, 1), is_numpy)
        return Tensor(result_dtype(numpy if is_numpy else torch, operands[0], given(operands, 2)), sizes)

    return infer


@or_unknown
def _shape(x: Value, dim: Value, is_numpy: bool) -> Shape:
    sizes = shape(x)
    normalise_dim(integer(dim), len(sizes))
    return sizes or (1,) if is_numpy else sizes


def _scan(ufunc: np.ufunc, x: np.ndarray, dim: int, target: np.dtype) -> np.ndarray:
    x = cast(x, target)
    if x.ndim == 0:
        return x.copy()
    if ufunc is np.add:
        x = x + 0  # torch adds the first to 0.0: -0.0 is 0.0
    # torch carries float32 in double (ReduceOpsKernel.cpp, at::acc_type on the CPU) and rounds each element
    carried = np.dtype(np.float64) if target == np.float32 else accumulator(target)
    with quiet:
        return in_rows(rounded(ufunc.accumulate(x, axis=dim, dtype=carried), target))


def _numpy_dtype(code: int | None) -> np.dtype | None:
    return None if code is None else dtype_named(code)


def sums_from_the_end(g: Backward, x: ir.Value, dim: int) -> ir.Value:
    return g.call("aten.flip", g.call("aten.cumsum", g.call("aten.flip", x, [dim]), dim, None), [dim])


def _as_operand(g: Backward, gradient: ir.Value) -> ir.Value:
    """In the operand's sizes and dtype: NumPy makes a vector of a running sum of rank 0."""
    if not g.same_shape(gradient, g.like(0)) and (g.rank(0) or 0) == 0:
        gradient = g.call("aten.reshape", gradient, g.operand_size(0))
    return g.cast_to(gradient, 0)


# --- the ops -----------------------------------------------------------------------------------------------------------


@op(
    "aten.cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", kind=Kind.SCAN,
    infer=_infer(partial(numpy_result, "cumsum")), combine=Combine.ADD, tolerance=_TOLERANCE, spelled=("np.cumsum", "ndarray.cumsum"),
)  # fmt: skip
def cumsum(x: np.ndarray, dim: int, dtype: int | None = None) -> np.ndarray:
    """Running sums along dim."""
    return _scan(np.add, x, dim, cumsum.dtype(x, dim, dtype))


cumsum.under_numpy(form="accumulating")(lambda x, dim, dtype=None: np.cumsum(x, axis=dim, dtype=_numpy_dtype(dtype)))


@cumsum.vjp()
def _(g: Backward) -> ir.Value:
    """Each element went into all sums from its own on."""
    return _as_operand(g, sums_from_the_end(g, g.grad, int(g.constant("dim"))))


@op(
    "aten.cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", kind=Kind.SCAN,
    infer=_infer(partial(numpy_result, "cumprod")), combine=Combine.MULTIPLY, tolerance=_TOLERANCE,
    spelled=("np.cumprod", "ndarray.cumprod"),
)  # fmt: skip
def cumprod(x: np.ndarray, dim: int, dtype: int | None = None) -> np.ndarray:
    """Running products along dim."""
    return _scan(np.multiply, x, dim, cumprod.dtype(x, dim, dtype))


cumprod.under_numpy(form="accumulating")(lambda x, dim, dtype=None: np.cumprod(x, axis=dim, dtype=_numpy_dtype(dtype)))


@cumprod.vjp(reads=("self", "result"))
def _(g: Backward) -> ir.Value:
    """Sums of gradient times result, from each element on, divided by it; where a factor is zero multiplied up without it."""
    x, dim = g.promoted("self"), int(g.constant("dim"))
    return _as_operand(g, g.choose(
        has_zero(g, x),
        lambda: _with_zeros(g, x, dim),
        lambda: g.div(sums_from_the_end(g, g.mul(g.results[0], g.grad), dim), x),
    ))  # fmt: skip


def _with_zeros(g: Backward, x: ir.Value, dim: int) -> ir.Value:
    """Sum over i >= j of g[i] times the product of x[k], k <= i, k != j, for all pairs i, j at once."""
    if g.rank(0) == 0:
        return g.grad
    rows, gradient = moved_last(g, x, dim), moved_last(g, g.grad, dim)
    of = places(g, rows)
    factor = g.call("aten.unsqueeze", of, -1)  # [j, i] or [j, k]
    without = g.where(g.compare("eq", of, factor), 1.0, g.call("aten.unsqueeze", rows, -2))  # [..., j, k]: x[k], 1 where k is j
    products = g.where(g.compare("ge", of, factor), g.call("aten.cumprod", without, -1, None), 0.0)
    return moved_last(g, g.call("aten.sum.dim_IntList", g.mul(products, g.call("aten.unsqueeze", gradient, -2)), [-1], False, None), dim)


def _infer_logarithms(ctx: Infer, operands: Sequence[Value]) -> Value | tuple[Value, ...]:
    if ctx.promotion is Promotion.NUMPY and or_unknown(shape)(operands[0]) == ():
        raise TypeError("cannot accumulate on a scalar")
    return _logarithms(ctx, operands)


def _floats(of: DType, asked: DType | None) -> DType:
    if not of.is_float:
        raise TypeError(f"logcumsumexp is not implemented for {of.name}")
    return of


_logarithms = _infer(partial(numpy_result, "logaddexp.accumulate"), _floats)


@op(
    "aten.logcumsumexp(Tensor self, int dim) -> Tensor", kind=Kind.SCAN, infer=_infer_logarithms, combine=Combine.LOG_ADD_EXP,
    tolerance=_TOLERANCE, spelled=("np.logaddexp.accumulate",),
)  # fmt: skip
def logcumsumexp(x: np.ndarray, dim: int) -> np.ndarray:
    """The logarithm of the running sum of exp(x) along dim, of floats, without leaving logarithms."""
    logcumsumexp.checked(x, dim)
    if x.ndim == 0:
        return x.copy()
    with quiet:
        return in_rows(rounded(np.logaddexp.accumulate(x.astype(np.float64) + 0.0, axis=dim), x.dtype))


logcumsumexp.under_numpy(form="accumulating_floats")(lambda x, dim: np.logaddexp.accumulate(x, axis=dim))


_NOTHING = -3e4  # for log(0): below the logarithm of every gradient, a number of every dtype, and without an infinite derivative


@logcumsumexp.vjp(reads=("self", "result"))
def _(g: Backward) -> ir.Value:
    """Each element has its share exp(x - result) in all sums from its own on; positive and negative gradients apart, in logarithms
    (FunctionsManual.cpp: logcumsumexp_backward)."""
    x, dim, result = g.promoted("self"), int(g.constant("dim")), g.results[0]

    def share(sign: str) -> ir.Value:
        of_sign = g.compare(sign, g.grad, 0)
        size = g.call("aten.log", g.call("aten.abs", g.where(of_sign, g.grad, 1.0)))
        own = g.where(of_sign, size, _NOTHING)
        from_the_end = g.call("aten.flip", g.call("aten.logcumsumexp", g.call("aten.flip", g.sub(own, result), [dim]), dim), [dim])
        return g.call("aten.exp", g.add(from_the_end, x))

    return _as_operand(g, g.sub(share("gt"), share("lt")))


def _infer_extremes(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    sizes = _shape(operands[0], operands[1], False)
    if sizes == ():
        raise TypeError("cannot accumulate on a scalar")
    return Tensor(dtype_of(operands[0]), sizes)


def _running(ufunc: np.ufunc, combine: Combine) -> DefinedOp[Any]:
    def running(x: np.ndarray, dim: int) -> np.ndarray:
        """The largest, or least, element so far along dim; NaN from the first one on."""
        found: np.ndarray = ufunc.accumulate(x, axis=dim)
        return found

    running.__name__ = running.__qualname__ = f"running_{ufunc.__name__}"
    return op(
        f"tierup.{running.__name__}(Tensor self, int dim) -> Tensor", kind=Kind.SCAN, infer=_infer_extremes, combine=combine,
        tolerance=EXACT, spelled=(f"np.{ufunc.__name__}.accumulate",), on_device=False, no_gradient=NO_RULE,
    )(running)  # fmt: skip


running_maximum = _running(np.maximum, Combine.MAXIMUM)
running_minimum = _running(np.minimum, Combine.MINIMUM)
