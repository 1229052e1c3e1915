"""Sorting, and what is found by it, under torch's rules: stable, and NaN is larger than all else, as NumPy's stable sort has it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import Kind, ShapeError, normalise_dim
from tierup.dialect.optable.formulas.core import FLOAT, INT, Ops, T, formula

_MOVEMENT = Kind.MOVEMENT


def _found(o: Ops[T], x: T, dim: int, descending: bool) -> T:
    """From behind, what is found to be the last of several equal elements is the first of them."""
    if o.known(x).dtype is None:
        raise o.unknown()
    axis = normalise_dim(dim, o.rank(x))
    if o.rank(x) == 0:
        return o.call("aten.zeros_like", x, dtypes.i64.code, None, None, None, None)
    if o.known(x).dtype is dtypes.bf16:  # which NumPy does not sort; float32 holds each
        x = o.call("aten.to.dtype", x, dtypes.f32.code, False, False, None)
    if not descending:
        return o.call("tierup.argsort", x, axis, True)
    turned = o.call("aten.flip", o.call("tierup.argsort", o.call("aten.flip", x, [axis]), axis, True), [axis])
    return o.rsub(o.call("aten.sub.int", o.size(x, axis), 1, type_=INT), turned)


def _placed(o: Ops[T], x: T, found: T, code: int | None = None) -> T:
    """In memory as the operand lies there, without gaps. `code`: of another dtype than x has."""
    return o.call("aten.copy", o.call("aten.zeros_like", x, code, None, None, None, None), found, False)


@formula("argsort(self; dim, descending)", kind=_MOVEMENT, is_row=False, is_gradient=False)
def argsort(o: Ops[T], x: T, dim: int = -1, descending: bool = False) -> T:
    return _placed(o, x, _found(o, x, dim, descending), dtypes.i64.code)


@formula("argsort.stable(self; stable, dim, descending)", kind=_MOVEMENT, is_row=False, is_gradient=False)
def argsort_stable(o: Ops[T], x: T, stable: bool, dim: int = -1, descending: bool = False) -> T:
    return argsort(o, x, dim, descending)


@formula("sort(self; dim, descending)", kind=_MOVEMENT, results=2, is_row=False, is_gradient=False)
def sort(o: Ops[T], x: T, dim: int = -1, descending: bool = False) -> tuple[T, T]:
    indices = _found(o, x, dim, descending)
    values = o.call("aten.gather", x, dim, indices, False) if o.rank(x) else x
    return _placed(o, x, values), _placed(o, x, indices, dtypes.i64.code)


@formula("sort.stable(self; stable, dim, descending)", kind=_MOVEMENT, results=2)
def sort_stable(o: Ops[T], x: T, stable: bool | None, dim: int = -1, descending: bool = False) -> tuple[T, T]:
    return sort(o, x, dim, descending)


msort = formula("msort(self; )", kind=_MOVEMENT)(lambda o, x: sort(o, x, 0)[0])


@formula("median(self; )", kind=_MOVEMENT, is_row=False, is_gradient=False)
def median(o: Ops[T], x: T) -> T:
    """Of an even number the lower one of the two; NaN where there is one."""
    dtype, count = o.known(x).dtype, o.call("aten.numel", x, type_=INT)
    sizes = o.known(x).shape
    if dtype is None or sizes is None or any(n == 0 or not isinstance(n, int) for n in sizes):
        raise o.unknown()
    ordered = sort(o, o.call("aten.reshape", x, [-1]), 0)[0]

    def at(place: Any) -> T:
        return o.call("aten.clone", o.call("aten.select.int", ordered, 0, place), None)

    middle = at(o.call("aten.floordiv.int", o.call("aten.sub.int", count, 1, type_=INT), 2, type_=INT))
    return o.where(o.call("aten.isnan", at(-1)), at(-1), middle) if dtype.is_float else middle


# --- along a dim: which of equal elements is found PyTorch leaves open; here it is the first of its place in the order ------


def _one(o: Ops[T], x: T, axis: int, place: Any) -> T:
    """The element at a place of a dim, which keeps size 1."""
    following = place + 1 if isinstance(place, int) else o.call("aten.add.int", place, 1, type_=INT)
    return o.call("aten.slice.Tensor", x, axis, place, following, 1)


def _ordered(o: Ops[T], op: str, x: T, dim: int) -> tuple[T, int]:
    """Where the elements stand in order, and the axis. IndexError for a dim without elements, TypeError for bools."""
    if o.known(x).dtype is dtypes.bool_:
        raise TypeError(f"{op} is not implemented for bools")
    return _found(o, x, dim, False), _axis(o, op, x, dim)


def _axis(o: Ops[T], op: str, x: T, dim: int) -> int:
    axis = normalise_dim(dim, o.rank(x))
    if o.rank(x) and (o.known(x).shape or ())[axis : axis + 1] == (0,):
        raise IndexError(f"{op}: Expected reduction dim {axis} to have non-zero size.")
    return axis


def _picked(o: Ops[T], x: T, index: T, axis: int, keepdim: bool) -> tuple[T, T]:
    values = o.call("aten.gather", x, axis, index, False)
    return (values, index) if keepdim else (o.call("aten.squeeze.dim", values, axis), o.call("aten.squeeze.dim", index, axis))


def _of_rank_0(o: Ops[T], x: T) -> tuple[T, T]:
    return o.call("aten.clone", x, None), o.call("aten.zeros_like", x, dtypes.i64.code, None, None, None, None)


@formula("median.dim(self; dim, keepdim)", kind=_MOVEMENT, results=2)
def median_dim(o: Ops[T], x: T, dim: int, keepdim: bool = False) -> tuple[T, T]:
    """Of an even number the lower one of the two; the first NaN where there is one."""
    found, axis = _ordered(o, "median", x, dim)
    if not o.rank(x):
        return _of_rank_0(o, x)
    last = o.call("aten.sub.int", o.size(x, axis), 1, type_=INT)
    index = _one(o, found, axis, o.call("aten.floordiv.int", last, 2, type_=INT))
    if o.is_float(x):
        nan = o.call("aten.to.dtype", o.call("aten.isnan", x), dtypes.i64.code, False, False, None)
        first = o.call("aten.argmax", nan, axis, True)
        index = o.where(o.call("aten.any.dim", o.call("aten.isnan", x), axis, True), first, index)
    return _picked(o, x, index, axis, keepdim)


@formula("kthvalue(self; k, dim, keepdim)", kind=_MOVEMENT, results=2)
def kthvalue(o: Ops[T], x: T, k: int, dim: int = -1, keepdim: bool = False) -> tuple[T, T]:
    """The k-th smallest element, from 1 on."""
    axis = _axis(o, "kthvalue", x, dim)
    size = (o.known(x).shape or (1,))[axis]
    if k < 1 or isinstance(size, int) and k > size:
        raise ShapeError("kthvalue(): selected number k out of range for dimension")
    found, _ = _ordered(o, "kthvalue", x, dim)
    return _picked(o, x, _one(o, found, axis, k - 1), axis, keepdim) if o.rank(x) else _of_rank_0(o, x)


def _running(o: Ops[T], name: str, x: T, dim: int) -> tuple[T, T]:
    """The extreme so far, and where it stood last."""
    dtype, axis = o.known(x).dtype, normalise_dim(dim, o.rank(x))
    if dtype is None:
        raise o.unknown()
    if not o.rank(x):
        return _of_rank_0(o, x)
    plain = o.call("aten.detach", x)
    if dtype in (dtypes.bf16, dtypes.bool_):  # which NumPy does not compare so
        plain = o.call("aten.to.dtype", plain, (dtypes.f32 if dtype.is_float else dtypes.u8).code, False, False, None)
    at = o.call("aten.eq.Tensor", plain, o.call(f"tierup.running_{name}", plain, axis))
    if dtype.is_float:
        at = o.call("aten.logical_or", at, o.call("aten.isnan", plain))
    places = o.call("aten.arange", o.size(x, axis), None, None, None, None)
    for _ in range(o.rank(x) - 1 - axis):
        places = o.call("aten.unsqueeze", places, -1)
    index = o.call("tierup.running_maximum", o.where(at, places, 0), axis)
    return o.call("aten.gather", x, axis, index, False), index


@formula("cummax(self; dim)", kind=_MOVEMENT, results=2)
def cummax(o: Ops[T], x: T, dim: int) -> tuple[T, T]:
    return _running(o, "maximum", x, dim)


@formula("cummin(self; dim)", kind=_MOVEMENT, results=2)
def cummin(o: Ops[T], x: T, dim: int) -> tuple[T, T]:
    return _running(o, "minimum", x, dim)


_ROUNDED = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}


def _place(o: Ops[T], q: float, size: int, interpolation: str, dtype: dtypes.DType) -> tuple[int, int, float]:
    """The elements around q (size - 1), and how far it is from the first; in the elements' dtype, as PyTorch has it."""
    place = _ROUNDED.get(interpolation, lambda v: v)(dtype.numpy.type(q) * dtype.numpy.type(size - 1))
    return math.floor(place), math.ceil(place), float(place % 1)


def _place_of(o: Ops[T], q: float, size: T, interpolation: str) -> tuple[T, T, T]:
    """The same of a size that the run knows, in float64."""
    place = o.call("aten.mul.int_float", o.call("aten.sub.int", size, 1, type_=INT), q, type_=FLOAT)
    if interpolation == "nearest":
        raise o.unknown()
    low, high = (o.call(f"aten.{name}.float", place, type_=INT) for name in ("floor", "ceil"))
    part = o.call("aten.sub.float", place, o.call("aten.Float.Scalar", low, type_=FLOAT), type_=FLOAT)
    return high if interpolation == "higher" else low, high, part


@formula("quantile.scalar(self; q, dim, keepdim, interpolation)", kind=_MOVEMENT)
def quantile(o: Ops[T], x: T, q: float, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear") -> T:
    """The place q (n - 1) of the n in order, between two of them as `interpolation` says; NaN where there is one."""
    shape, dtype = o.known(x).shape, o.known(x).dtype
    if shape is None or dtype is None:
        raise o.unknown()
    if dtype not in (dtypes.f32, dtypes.f64):
        raise ShapeError("quantile() input tensor must be either float or double dtype")
    if not 0 <= q <= 1:
        raise ShapeError("quantile() q must be in the range [0, 1]")
    axis = 0 if dim is None else normalise_dim(dim, len(shape))
    if dim is None or not shape:
        x = o.call("aten.reshape", x, [-1])
    size = (o.known(x).shape or (None,))[axis]
    if 0 in shape:
        raise ShapeError("quantile() input tensor must be non-empty")
    ordered = sort(o, x, axis)[0]
    low, high, part = _place(o, q, size, interpolation, dtype) if isinstance(size, int) else _place_of(o, q, o.size(x, axis), interpolation)
    below, above = _one(o, ordered, axis, low), _one(o, ordered, axis, high)
    found, last = below, o.call("aten.slice.Tensor", ordered, axis, -1, None, 1)
    if interpolation in ("linear", "midpoint"):
        found = o.call("aten.lerp.Scalar", below, above, 0.5 if interpolation == "midpoint" else part)
    found = o.where(o.call("aten.isnan", last), last, found)
    if keepdim:
        return o.call("aten.reshape", found, [1] * len(shape)) if dim is None else found if shape else o.call("aten.reshape", found, [])
    return o.call("aten.squeeze.dim", found, axis)


@formula("searchsorted.Tensor(sorted_sequence, self, =out_int32, =right, =side, sorter; )", kind=_MOVEMENT, no_gradient="positions")
def searchsorted(
    o: Ops[T], ordered: T, x: T, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: T | None = None
) -> T:
    """Where elements belong in a vector in order; in rows, each in its own row."""
    right = right or side == "right"
    if sorter is not None:
        ordered = o.call("aten.gather", ordered, -1, sorter, False)
    if o.rank(ordered) == 1:
        return o.call("aten.bucketize.Tensor", x, ordered, out_int32, right)
    what = "torch.searchsorted(): boundaries tensor should be 1 dimension, or have the first N-1 dimensions of the input value tensor"
    if o.rank(x) != o.rank(ordered):
        raise ShapeError(what)
    for i in range(o.rank(x) - 1):
        o.equal(x, i, ordered, i, what)
    beyond = o.call("aten.gt.Tensor" if right else "aten.ge.Tensor", o.call("aten.unsqueeze", ordered, -2), o.call("aten.unsqueeze", x, -1))
    before = o.call("aten.sum.dim_IntList", o.call("aten.logical_not", beyond), [-1], False, None)
    return o.call("aten.to.dtype", before, (dtypes.i32 if out_int32 else dtypes.i64).code, False, False, None)
