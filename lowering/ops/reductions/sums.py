"""Sums, products, means, truth, counts: dialect/ops/reductions/sums.py as loops.

Sums may be added in any order (`reassoc` on the combiner alone), so that they vectorise; their bound says so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, complex_of, select
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering, axes_of
from tierup.lowering.ops.pointwise.context import widened
from tierup.lowering.ops.tensors import Tensor


def _in_any_order(name: str, x: Scalar, y: Scalar) -> Scalar:
    return x.call(name, y, fastmath=ir.Attribute.parse("#arith.fastmath<reassoc>"))


def plus(x: Scalar, y: Scalar) -> Scalar:
    """x + y, of floats in any order."""
    if x.is_complex:
        return complex_of(plus(x.real, y.real), plus(x.imag, y.imag))
    return _in_any_order("arith.addf", x, y) if x.is_float else x + y


def times(x: Scalar, y: Scalar) -> Scalar:
    """x * y, of floats in any order."""
    return _in_any_order("arith.mulf", x, y) if x.is_float else x * y


def total(x: Tensor, axes: Sequence[int], dtype: DType, of: Callable[[Scalar], Scalar] = lambda v: v) -> Tensor:
    """The sum of `of(element)` in `dtype`, from 0.0: NumPy's and PyTorch's sum of -0.0 is 0.0."""
    return tensors.reduce(x, axes, [(0, dtype)], lambda v, acc: [plus(acc[0], of(v).cast(dtype))])[0]


def shaped(made: Tensor, target: DType, x: Tensor, axes: Sequence[int], keepdim: bool) -> Tensor:
    """A reduction of x over `axes`, rounded to the result's dtype, with kept dims if asked."""
    return tensors.with_kept_dims(made.cast(target), x, axes) if keepdim else made.cast(target)


Reduction = Callable[[Call, list[int]], "Tensor | list[Tensor]"]  # of operand 0, over axes; not yet rounded


def over(lower: Reduction, dims: int | None = None, keepdim: int | None = None, *, empty_means_all: bool = True) -> Lowering:
    """An op over the axes that operand `dims` lists, all without it, which are kept where operand `keepdim` says so, the one behind."""

    def run(c: Call) -> list[Tensor]:
        x = c.tensor(0)
        axes = axes_of(None if dims is None else c.ints(dims), x.rank, empty_means_all=empty_means_all)
        keep = dims is not None and bool(c.known(dims + 1 if keepdim is None else keepdim))
        made = lower(c, axes)
        return [shaped(t, c.dtype(i), x, axes, keep) for i, t in enumerate(made if isinstance(made, list) else [made])]

    return run


def _sum(c: Call, axes: list[int]) -> Tensor:
    target = c.dtype()
    return _any(c, axes) if target is dtypes.bool_ else total(c.tensor(0), axes, widened(target), lambda v: v.cast(target))


def _product(c: Call, axes: list[int]) -> Tensor:
    target = c.dtype()
    if target is dtypes.bool_:
        return _all(c, axes)
    dtype, combine = widened(target), operator.mul if c.in_numpys_steps else times  # another order may overflow where NumPy's does not
    return tensors.reduce(c.tensor(0), axes, [(1, dtype)], lambda v, acc: [combine(acc[0], v.cast(target).cast(dtype))])[0]


def mean(x: Tensor, axes: Sequence[int], accumulator: DType, of: Callable[[Scalar], Scalar] = lambda v: v) -> Tensor:
    """The mean of `of(element)`, in the accumulator's dtype."""
    n = tensors.count(x, axes)
    divisor = n if isinstance(n, int) else n.cast(accumulator)
    return tensors.mapped(total(x, axes, accumulator, of), accumulator, lambda v: v / divisor)


def _mean(c: Call, axes: list[int]) -> Tensor:
    target = c.dtype()
    return mean(c.tensor(0), axes, widened(target), lambda v: v.cast(target))


def _truth(start: bool, combine: Callable[[Scalar, Scalar], Scalar]) -> Callable[[Call, list[int]], Tensor]:
    """In i8, whose loops vectorise; bools of MLIR's don't."""

    def step(v: Scalar, acc: list[Scalar]) -> list[Scalar]:
        return [combine(acc[0], v.cast(dtypes.bool_).cast(dtypes.u8))]

    return lambda c, axes: tensors.reduce(c.tensor(0), axes, [(start, dtypes.u8)], step)[0]


_any, _all = _truth(False, operator.or_), _truth(True, operator.and_)


def _count_nonzero(c: Call, axes: list[int]) -> Tensor:
    return total(c.tensor(0), axes, dtypes.i64, lambda v: v.cast(dtypes.bool_))


def _trace(c: Call, axes: list[int]) -> Tensor:
    """The sum over a matrix's elements, those off the main diagonal being nothing."""
    target = c.dtype()
    dtype = widened(target)

    def step(v: Scalar, acc: list[Scalar]) -> list[Scalar]:
        row, column = (b.loop_index(i).cast(dtypes.i64) for i in (0, 1))
        return [select(row.equals(column), acc[0] + v.cast(target).cast(dtype), acc[0])]

    return tensors.reduce(c.tensor(0), axes, [(0, dtype)], step)[0]


LOWERINGS: dict[str, Lowering] = {
    "aten.sum": over(_sum),
    "aten.sum.dim_IntList": over(_sum, 1),
    "aten.trace": over(_trace),
    "aten.prod": over(_product),
    "aten.prod.dim_int": over(_product, 1),
    "aten.mean": over(_mean),
    "aten.mean.dim": over(_mean, 1),
    "aten.any": over(_any),
    "aten.all": over(_all),
    "aten.any.dim": over(_any, 1),
    "aten.all.dim": over(_all, 1),
    "aten.any.dims": over(_any, 1, empty_means_all=False),
    "aten.count_nonzero": over(_count_nonzero, 1),
    "aten.count_nonzero.dim_IntList": over(_count_nonzero, 1),
}
