"""Sorting, in torch stable, NaN larger than every number. The gradient goes back to where the elements stood; which one of several equal
ones is the op's choice.

NumPy's sorts are ops of their own: where equal elements go depends on its algorithms, so native code calls those
(lowering/ops/reductions/ordering.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.ops.reductions.extremes import at_indices, one_of_all
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Infer, InferRule, Kind, Layout, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.arrays import in_rows, widened
from tierup.dialect.optable.operands import or_unknown, refuse_axes_of_rank_0

if TYPE_CHECKING:
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_op = partial(op, kind=Kind.MOVEMENT, tolerance=EXACT, native=False)
_INT64 = dtypes.i64.numpy
_FEW = 4  # more than a quarter is as quickly found by sorting all


def _along(dim: int, rule: Callable[[Infer, Shape, int, Sequence[Value]], Shape]) -> Callable[[Infer, Sequence[Value]], Shape | None]:
    """The shape that a rule gives for the dim at operand `dim`, -1 when left out."""

    def sized(ctx: Infer, operands: Sequence[Value]) -> Shape:
        of = read.shape(operands[0])
        return rule(ctx, of, normalise_dim(read.integer(read.given(operands, dim, -1)), len(of)), operands)

    return or_unknown(sized)


def _values_and_indices(sized: Callable[[Infer, Sequence[Value]], Shape | None]) -> InferRule:
    def infer(ctx: Infer, operands: Sequence[Value]) -> tuple[Tensor, Tensor]:
        shape = sized(ctx, operands)
        return Tensor(read.dtype_of(operands[0]), shape), Tensor(dtypes.i64, shape)

    return infer


def _sorted(ctx: Infer, of: Shape, axis: int, operands: Sequence[Value]) -> Shape:
    refuse_axes_of_rank_0(ctx, of)
    return of


def _order(ctx: Infer, of: Shape, axis: int, operands: Sequence[Value]) -> Shape:
    return of or (1,) if ctx.promotion is Promotion.NUMPY else of  # np.argsort makes a vector of rank 0


def _top(ctx: Infer, of: Shape, axis: int, operands: Sequence[Value]) -> Shape:
    if read.dtype_of(operands[0]) is dtypes.bool_:
        raise TypeError("topk does not support bool dtypes on CPU")
    k = read.size(operands[1])
    size = of[axis] if of else 1
    if isinstance(k, int) and (k < 0 or isinstance(size, int) and k > size):
        raise ShapeError("selected index k out of range")
    return (*of[:axis], k, *of[axis + 1 :]) if of else () if k else (0,)


@_op(
    "aten.argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    infer=lambda ctx, operands: Tensor(dtypes.i64, _along(1, _order)(ctx, operands)),
    differentiable=False, no_gradient="positions", note="stable; NaN is largest",
)  # fmt: skip
def argsort(x: np.ndarray, dim: int = -1, descending: bool = False) -> np.ndarray:
    """int64 indices along dim; equal elements keep their order either way."""
    axis = normalise_dim(dim, x.ndim)
    if not x.ndim:
        return np.zeros((), _INT64)
    wide = widened(x)
    if not descending:
        return _laid_out(x, np.argsort(wide, axis, kind="stable").astype(_INT64, copy=False))
    reverse = np.flip(np.argsort(np.flip(wide, axis), axis, kind="stable"), axis)
    return _laid_out(x, np.subtract(x.shape[axis] - 1, reverse, dtype=_INT64))


def _laid_out(like: np.ndarray, found: np.ndarray) -> np.ndarray:
    """A result whose elements lie in the order in which the operand's do."""
    made = np.empty_like(like, found.dtype)
    made[...] = found
    return made


argsort.under_numpy(form="none")(lambda x, dim=-1, descending=False: np.argsort(x, dim))


@_op(
    "aten.argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
    infer=lambda ctx, operands: Tensor(dtypes.i64, _along(2, _order)(ctx, operands)),
    differentiable=False, no_gradient="positions", note="NaN is largest",
)  # fmt: skip
def argsort_stable(x: np.ndarray, stable: bool, dim: int = -1, descending: bool = False) -> np.ndarray:
    return argsort(x, dim, descending)


def _taken(x: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
    return np.take_along_axis(x, indices, axis) if x.ndim else x.copy()


@_op(
    "aten.sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    infer=_values_and_indices(_along(1, _sorted)), results=2, note="stable; NaN is largest",
)  # fmt: skip
def sort(x: np.ndarray, dim: int = -1, descending: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Sorted along dim, and int64 indices."""
    indices = argsort(x, dim, descending)
    return _laid_out(x, _taken(x, indices, normalise_dim(dim, x.ndim))), indices


sort.under_numpy(form="none")(lambda x, dim=-1, descending=False: (np.sort(x, dim), np.argsort(x, dim)))


@_op(
    "aten.topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    infer=_values_and_indices(_along(2, _top)), results=2, layout=Layout.ROWS, native=True, on_device=False,
    note="in order, of equal ones the first; NaN is largest",
)  # fmt: skip
def topk(x: np.ndarray, k: int, dim: int = -1, largest: bool = True, in_order: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The k largest or smallest along dim, in order, and their int64 indices. ValueError for k out of range."""
    topk.checked(x, k, dim)
    axis = normalise_dim(dim, x.ndim)
    if not x.ndim:
        return (x.copy(), np.zeros((), _INT64)) if k else (np.empty(0, x.dtype), np.empty(0, _INT64))
    if 0 < _FEW * k <= x.shape[axis]:
        likely = in_rows(np.moveaxis(_likely(np.moveaxis(x, axis, -1), k, largest), -1, axis))
        indices = _taken(likely, argsort(in_rows(_taken(x, likely, axis)), axis, largest), axis)
    else:
        indices = np.take(argsort(x, dim, largest), np.arange(k), axis)
    return in_rows(_taken(x, indices, axis)), indices


def _likely(x: np.ndarray, k: int, largest: bool) -> np.ndarray:
    """Where in each row the k largest or smallest stand, of equal ones the first, from left to right: found without sorting all."""
    wide, place = widened(x), x.shape[-1] - k if largest else k - 1
    border = np.partition(wide, place)[..., place, None]
    beyond, at_border = wide > border if largest else wide < border, wide == border
    if wide.dtype.kind == "f":
        no_number, none_there = np.isnan(wide), np.isnan(border)
        beyond |= no_number & ~none_there if largest else ~no_number & none_there
        at_border |= no_number & none_there
    found = beyond | at_border
    if np.count_nonzero(found) != k * (x.size // x.shape[-1]):
        found = beyond | (at_border & (np.cumsum(at_border, -1) <= k - np.count_nonzero(beyond, -1)[..., None]))
    return np.nonzero(found)[-1].astype(_INT64, copy=False).reshape(*x.shape[:-1], k)


@sort.vjp(reads=("result1",))
@topk.vjp(reads=("result1",))
def _(g: Backward) -> Gradients:
    return at_indices(g, True)


@_op("aten.median(Tensor self) -> Tensor", infer=lambda ctx, operands: Tensor(_not_bool(operands[0]), ()), note="NaN where there is one")
def median(x: np.ndarray) -> np.ndarray:
    """Of all elements; the lower one of two in the middle, of none NaN or the smallest int."""
    made = np.empty((), median.dtype(x))
    if not x.size:
        made[...] = np.nan if np.issubdtype(widened(x).dtype, np.floating) else np.iinfo(x.dtype).min
        return made
    flat, middle = widened(x).reshape(-1), (x.size - 1) // 2
    found = np.partition(flat, (middle, x.size - 1))
    made[...] = found[-1] if found[-1] != found[-1] else found[middle]
    return made


median.vjp(reads=("self", "result"))(one_of_all)


def _not_bool(x: Value) -> dtypes.DType | None:
    if read.dtype_of(x) is dtypes.bool_:
        raise TypeError("median is not implemented for bools")
    return read.dtype_of(x)


# --- NumPy's, along a dim of an array that has one -----------------------------------------------------------------------

_numpys = partial(op, kind=Kind.MOVEMENT, tolerance=EXACT, on_device=False)


def _kind(stable: bool) -> Literal["stable", "quicksort"]:
    return "stable" if stable else "quicksort"


def _values(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return Tensor(read.dtype_of(operands[0]), _along(1, _sorted)(ctx, operands))


def _positions(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return Tensor(dtypes.i64, _along(1, _sorted)(ctx, operands))


@_numpys("tierup.sort(Tensor self, int dim, bool stable) -> Tensor", infer=_values)
def numpy_sort(x: np.ndarray, dim: int, stable: bool) -> np.ndarray:
    """np.sort."""
    return np.sort(x, dim, kind=_kind(stable))


@_numpys("tierup.argsort(Tensor self, int dim, bool stable) -> Tensor", infer=_positions, differentiable=False, no_gradient="positions")
def numpy_argsort(x: np.ndarray, dim: int, stable: bool) -> np.ndarray:
    """np.argsort."""
    return np.argsort(x, dim, kind=_kind(stable))


@_numpys("tierup.partition(Tensor self, int dim, int[] kth) -> Tensor", infer=_values, raises=True)
def numpy_partition(x: np.ndarray, dim: int, kth: list[int]) -> np.ndarray:
    """np.partition. Its order on both sides is that of code for this CPU."""
    return np.partition(x, kth, dim)


@_numpys(
    "tierup.argpartition(Tensor self, int dim, int[] kth) -> Tensor", infer=_positions, native=False, raises=True, differentiable=False,
    nearest="np.argsort or np.partition",
    no_gradient="positions",
)  # fmt: skip
def numpy_argpartition(x: np.ndarray, dim: int, kth: list[int]) -> np.ndarray:
    """np.argpartition. Native code that called it as it calls np.partition would be slower: NumPy's result is copied."""
    return np.argpartition(x, kth, dim)


def _back_by(order: str) -> Callable[[Backward], Gradients]:
    """To where NumPy says that the elements came from."""

    def rule(g: Backward) -> Gradients:
        x, dim, how = g.operands
        zeros = g.cast_like(g.zeros("self"), g.grad)  # the operand may be of ints or bools on the path taken
        return g.cast_to(g.call("aten.scatter.src", zeros, dim, g.call(f"tierup.{order}", x, dim, how), g.grad), "self")

    return rule


numpy_sort.vjp(reads=("self", "dim", "stable"))(_back_by("argsort"))
numpy_partition.vjp(reads=("self", "dim", "kth"))(_back_by("argpartition"))
