"""Sums, products, means, truth, counts: dialect/optable/families/reductions.py as loops.

Sums may be added in any order (`reassoc` on the combiner alone), so that they vectorise; their bound says so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, select
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering, axes_of
from tierup.lowering.ops.tensors import Tensor, widened


def reassociated(name: str, x: Scalar, y: Scalar) -> Scalar:
    """A float combiner whose order is free."""
    any_order = ir.Attribute.parse("#arith.fastmath<reassoc>")
    return x.call(name, y, fastmath=any_order)


def plus(x: Scalar, y: Scalar) -> Scalar:
    """x + y, of floats in any order."""
    return reassociated("arith.addf", x, y) if x.is_float else x + y


def times(x: Scalar, y: Scalar) -> Scalar:
    """x * y, of floats in any order."""
    return reassociated("arith.mulf", x, y) if x.is_float else x * y


def total(x: Tensor, axes: Sequence[int], dtype: DType, of: Callable[[Scalar], Scalar] = lambda v: v) -> Tensor:
    """The sum of `of(element)` in `dtype`, from 0.0: NumPy's and PyTorch's sum of -0.0 is 0.0."""
    return tensors.reduce(x, axes, [(0, dtype)], lambda v, acc: [plus(acc[0], of(v).cast(dtype))])[0]


def shaped(made: Tensor, target: DType, x: Tensor, axes: Sequence[int], keepdim: bool) -> Tensor:
    """A reduction of x over `axes`, rounded to the result's dtype, with kept dims if asked."""
    if made.dtype is not target:
        made = tensors.pointwise(made, [(made, range(made.rank))], target, lambda v: v)
    return tensors.with_kept_dims(made, x, axes) if keepdim else made


def _accumulated(c: Call, axes: list[int], keepdim: bool, product: bool) -> list[Tensor]:
    x, target = c.tensor(0), c.dtype()
    if target is dtypes.bool_:
        return _truth(c, axes, keepdim, every=product)
    accumulator = widened(target)
    if product:
        combine = operator.mul if c.in_numpys_steps else times  # another order may overflow where NumPy's does not
        made = tensors.reduce(x, axes, [(1, accumulator)], lambda v, acc: [combine(acc[0], v.cast(target).cast(accumulator))])[0]
    else:
        made = total(x, axes, accumulator, lambda v: v.cast(target))
    return [shaped(made, c.dtype(), x, axes, keepdim)]


def _rank(c: Call) -> int:
    return c.tensor(0).rank


def _sum_all(c: Call) -> list[Tensor]:
    return _accumulated(c, axes_of(None, _rank(c)), False, product=False)


def _sum_dims(c: Call) -> list[Tensor]:
    return _accumulated(c, axes_of(c.ints(1), _rank(c)), bool(c.known(2)), product=False)


def _prod_all(c: Call) -> list[Tensor]:
    return _accumulated(c, axes_of(None, _rank(c)), False, product=True)


def _prod_dim(c: Call) -> list[Tensor]:
    return _accumulated(c, axes_of(c.ints(1), _rank(c)), bool(c.known(2)), product=True)


def mean(x: Tensor, axes: Sequence[int], accumulator: DType, of: Callable[[Scalar], Scalar] = lambda v: v) -> Tensor:
    """The mean of `of(element)`, in the accumulator's dtype."""
    n = tensors.count(x, axes)
    summed = total(x, axes, accumulator, of)
    divisor = n if isinstance(n, int) else n.cast(accumulator)
    return tensors.pointwise(summed, [(summed, range(summed.rank))], accumulator, lambda v: v / divisor)


def _mean(c: Call, axes: list[int], keepdim: bool) -> list[Tensor]:
    x, target = c.tensor(0), c.dtype()
    return [shaped(mean(x, axes, widened(target), lambda v: v.cast(target)), c.dtype(), x, axes, keepdim)]


def _mean_all(c: Call) -> list[Tensor]:
    return _mean(c, axes_of(None, _rank(c)), False)


def _mean_dims(c: Call) -> list[Tensor]:
    return _mean(c, axes_of(c.ints(1), _rank(c)), bool(c.known(2)))


def _truth(c: Call, axes: list[int], keepdim: bool, *, every: bool) -> list[Tensor]:
    """In i8, whose loops vectorise; bools of MLIR's don't."""
    x = c.tensor(0)

    def step(v: Scalar, acc: list[Scalar]) -> list[Scalar]:
        truth = v.cast(dtypes.bool_).cast(dtypes.u8)
        return [acc[0] & truth if every else acc[0] | truth]

    made = tensors.reduce(x, axes, [(int(every), dtypes.u8)], step)[0]
    return [shaped(made, c.dtype(), x, axes, keepdim)]


def _over_all(every: bool) -> Lowering:
    return lambda c: _truth(c, axes_of(None, _rank(c)), False, every=every)


def _over_dim(every: bool) -> Lowering:
    return lambda c: _truth(c, axes_of(c.ints(1), _rank(c)), bool(c.known(2)), every=every)


def _any_dims(c: Call) -> list[Tensor]:
    dims = c.ints(1)
    axes = axes_of(None, _rank(c)) if dims is None else axes_of(dims, _rank(c), empty_means_all=False)
    return _truth(c, axes, bool(c.known(2)), every=False)


def _count_nonzero(c: Call) -> list[Tensor]:
    x, axes = c.tensor(0), axes_of(c.ints(1), _rank(c))
    return [total(x, axes, dtypes.i64, lambda v: v.cast(dtypes.bool_))]


def _trace(c: Call) -> list[Tensor]:
    """The sum over a matrix's elements, those off the main diagonal being nothing."""
    x, target = c.tensor(0), c.dtype()
    dtype = widened(target)

    def step(v: Scalar, acc: list[Scalar]) -> list[Scalar]:
        row, column = (b.loop_index(i).cast(dtypes.i64) for i in (0, 1))
        return [select(row.equals(column), acc[0] + v.cast(target).cast(dtype), acc[0])]

    return [shaped(tensors.reduce(x, [0, 1], [(0, dtype)], step)[0], target, x, [0, 1], False)]


LOWERINGS: dict[str, Lowering] = {
    "aten.sum": _sum_all,
    "aten.sum.dim_IntList": _sum_dims,
    "aten.trace": _trace,
    "aten.prod": _prod_all,
    "aten.prod.dim_int": _prod_dim,
    "aten.mean": _mean_all,
    "aten.mean.dim": _mean_dims,
    "aten.any": _over_all(False),
    "aten.all": _over_all(True),
    "aten.any.dim": _over_dim(False),
    "aten.all.dim": _over_dim(True),
    "aten.any.dims": _any_dims,
    "aten.count_nonzero": _count_nonzero,
    "aten.count_nonzero.dim_IntList": _count_nonzero,
}
