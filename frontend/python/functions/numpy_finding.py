"""NumPy functions that pick elements, and what np.shape and its kin ask."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.exceptions import unanswerable
from tierup.dialect.mlir import ir
from tierup.frontend.python.building.branch import select
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of
from tierup.frontend.python.building.table import Handler, constant, function, method
from tierup.frontend.python.building.values import LAST, NONE, Array, Const, Scalar, Sequence, ShapeOf, Value, is_none, is_number
from tierup.frontend.python.functions.numpy_shape import copied, flat, known_rank
from tierup.frontend.python.operations import array_operators, arrays, stores
from tierup.frontend.python.operations.arrays import as_array, as_int, int_list, refuse_axis
from tierup.frontend.python.operations.scalars import not_, raise_if, to_float

_INT = np.dtype(np.int64)
ELLIPSIS = Const(...)
INTROSELECT, LEFT, ZERO = Const("introselect"), Const("left"), Const(0)


@function(np.take, method="take")
def take(frame: Frame, node: ast.AST, a: Value, indices: Value, axis: Value = NONE) -> Value:
    """x[..., indices, ...] at the axis, always a copy in C order; bools are the numbers 0 and 1."""
    em = frame.em
    x = as_array(frame, node, a)
    if is_none(axis):
        x, axis = flat(frame, x), Const(0)
    dim = constant(frame, node, axis, "`axis`")
    if x.rank == 0 and dim in (0, -1):
        x = flat(frame, x)
    refuse_axis(frame, x, Const(dim))
    if dim < 0:
        dim += known_rank(frame, node, x, "np.take on a negative axis")
    index = as_array(frame, node, indices)
    if not isinstance(indices, Array) or index.rank == 0 and index.decays is True:  # NumPy truncates floats here, but none in arrays
        if index.dtype is None or index.dtype.kind not in "iub":
            finite = em.numpy("aten.all", [em.numpy("aten.isfinite", [index.ssa])])
            is_other = not_(frame, em.numpy("aten.Bool.Tensor", [finite], em.types.bool))
            raise_if(frame, is_other, "ValueUnanswerable", "np.take of places that are no numbers")
        operands = [index.ssa, em.int(dtypes.i64.code), em.bool(False), em.bool(False), em.none]
        index = replace(index, ssa=em.numpy("aten.to.dtype", operands), dtype=_INT)
    elif index.dtype is None or index.dtype.kind not in "iu":
        is_float = em.numpy("aten.is_floating_point", [index.ssa], em.types.bool)
        raise_if(frame, is_float, "TypeUnanswerable", "np.take of places that are no integers")
        index = array_operators.binary(frame, node, ast.BitOr, index, Const(0))  # bools become ints
    rank = None if x.rank is None or index.rank is None else x.rank - 1 + index.rank
    return Array(em.numpy("aten.index_select", [x.ssa, em.int(dim), index.ssa]), rank, 0, x.dtype)


@function(np.nonzero, method="nonzero")
def nonzero(frame: Frame, node: ast.AST, a: Value) -> Value:
    """A tuple of one index array for each axis."""
    em = frame.em
    x = as_array(frame, node, a)
    rank = known_rank(frame, node, x, "np.nonzero")
    if rank == 0:
        raise WillRaise(unanswerable(ValueError)("Calling nonzero on 0d arrays is not allowed."))  # NumPy says more, each release its own
    found = em.numpy("aten.nonzero", [x.ssa])
    columns = [em.numpy("aten.select.int", [found, em.int(1), em.int(i)]) for i in range(rank)]
    return Sequence("tuple", [Array(c, 1, dtype=np.dtype(np.int64), decays=False) for c in columns])


def _ordered(frame: Frame, node: ast.AST, name: str, x: Array, axis: Value, order: Value, how: ir.Value) -> Array:
    """One of the ops that put the elements along an axis in order. `how`: their last operand."""
    em = frame.em
    if not is_none(order):
        raise frame.error(node, "`order`, which is for structured arrays")
    if is_none(axis):
        x, axis = flat(frame, x), Const(0)
    rank, is_arg = known_rank(frame, node, x, f"np.{name}"), name.startswith("arg")
    if rank == 0 and is_arg:
        x = flat(frame, x)
    dim = constant(frame, node, axis, "`axis`")
    refuse_axis(frame, x, Const(dim))
    [ssa] = em.torch(f"tierup.{name}", [x.ssa, em.int(dim), how])
    return replace(copied(x, ssa, x.rank), dtype=_INT if is_arg else x.dtype)


def _is_stable(frame: Frame, node: ast.AST, kind: Value, stable: Value) -> ir.Value:
    named, asked = (constant(frame, node, value, "the kind of a sort") for value in (kind, stable))
    kinds = {None: bool(asked)} if asked is not None else {None: False, "quicksort": False, "stable": True, "mergesort": True}
    if named not in kinds:
        raise frame.error(node, "this kind of a sort", "leave it out, or write kind='stable'")
    return frame.em.bool(kinds[named])


@function(np.sort)
def sort(
    frame: Frame, node: ast.AST, a: Value, axis: Value = LAST, kind: Value = NONE, order: Value = NONE, *, stable: Value = NONE
) -> Value:
    return _ordered(frame, node, "sort", as_array(frame, node, a), axis, order, _is_stable(frame, node, kind, stable))


@function(np.argsort, method="argsort")
def argsort(
    frame: Frame, node: ast.AST, a: Value, axis: Value = LAST, kind: Value = NONE, order: Value = NONE, *, stable: Value = NONE
) -> Value:
    return _ordered(frame, node, "argsort", as_array(frame, node, a), axis, order, _is_stable(frame, node, kind, stable))


def _places(frame: Frame, node: ast.AST, kth: Value, kind: Value) -> ir.Value:
    """The places of a partition. NumPy refuses any algorithm but its only one."""
    if constant(frame, node, kind, "the kind of a partition") != "introselect":
        raise frame.error(node, "this kind of a partition", "leave it out")
    return int_list(frame, node, kth)[0]


@function(np.partition)
def partition(
    frame: Frame, node: ast.AST, a: Value, kth: Value, axis: Value = LAST, kind: Value = INTROSELECT, order: Value = NONE
) -> Value:
    return _ordered(frame, node, "partition", as_array(frame, node, a), axis, order, _places(frame, node, kth, kind))


@function(np.argpartition, method="argpartition")
def argpartition(
    frame: Frame, node: ast.AST, a: Value, kth: Value, axis: Value = LAST, kind: Value = INTROSELECT, order: Value = NONE
) -> Value:
    return _ordered(frame, node, "argpartition", as_array(frame, node, a), axis, order, _places(frame, node, kth, kind))


def _in_place(name: str, ordered: Handler) -> None:
    """The method that does to an array what a function gives."""

    @method(name)
    def handler(frame: Frame, node: ast.AST, a: Value, *args: Value, **named: Value) -> Value:
        array_operators.require_mutation(frame)
        x = as_array(frame, node, a)
        stores.refuse_detached(frame, node, x)
        stores.store(frame, node, x, ELLIPSIS, ordered(frame, node, x, *args, **named))
        return NONE


_in_place("sort", sort)
_in_place("partition", partition)


@function(np.searchsorted, method="searchsorted")
def searchsorted(frame: Frame, node: ast.AST, a: Value, v: Value, side: Value = LEFT, sorter: Value = NONE) -> Value:
    x, keys, how = as_array(frame, node, a), as_array(frame, node, v), constant(frame, node, side, "`side`")
    if known_rank(frame, node, x, "np.searchsorted") != 1 or how not in ("left", "right") or not is_none(sorter):
        raise frame.error(node, "this call of np.searchsorted", "search in a vector that is sorted, at the left or the right")
    [ssa] = frame.em.torch("aten.bucketize.Tensor", [keys.ssa, x.ssa, frame.em.bool(False), frame.em.bool(how == "right")])
    return Array(ssa, keys.rank, keys.min_rank, _INT)


@function(np.bincount)
def bincount(frame: Frame, node: ast.AST, x: Value, weights: Value = NONE, minlength: Value = ZERO) -> Value:
    em, numbers = frame.em, as_array(frame, node, x)
    weighed = None if is_none(weights) else as_array(frame, node, weights)
    for array in (numbers,) if weighed is None else (numbers, weighed):
        number = np.intp if array is numbers else np.float64
        if known_rank(frame, node, array, "np.bincount") != 1 or not np.can_cast(dtype_of(frame, node, array), number):
            raise frame.error(node, "np.bincount of these arrays", "count vectors of ints")
    operands = [numbers.ssa, em.none if weighed is None else weighed.ssa, as_int(frame, node, minlength, "`minlength`")]
    return Array(em.torch("tierup.bincount", operands)[0], 1, decays=False)


@function(np._core.multiarray.interp)  # type: ignore[attr-defined]  # private: what NumPy's own np.interp calls
def interp(frame: Frame, node: ast.AST, x: Value, xp: Value, fp: Value, left: Value = NONE, right: Value = NONE) -> Value:
    em, arrays_ = frame.em, [as_array(frame, node, v) for v in (x, xp, fp)]
    vectors = all(known_rank(frame, node, points, "np.interp") == 1 for points in arrays_[1:])
    if not vectors or not all(is_none(v) or is_number(v) for v in (left, right)):
        raise frame.error(node, "this call of np.interp", "interpolate between two vectors")
    code, no = em.int(dtypes.f64.code), em.bool(False)
    doubles = [em.numpy("aten.to.dtype", [a.ssa, code, no, no, em.none]) for a in arrays_]
    ends = [em.none if is_none(v) else to_float(frame, v) for v in (left, right)]
    return Array(em.torch("tierup.interp", [*doubles, *ends])[0], arrays_[0].rank, arrays_[0].min_rank, np.dtype(np.float64))


_MODES = ("valid", "same", "full")


@function(np._core.multiarray.correlate2)  # type: ignore[attr-defined]  # private: what NumPy's own np.correlate calls
def correlate(frame: Frame, node: ast.AST, a: Value, v: Value, mode: Value = ZERO) -> Value:
    how, vectors = constant(frame, node, mode, "`mode`"), [as_array(frame, node, x) for x in (a, v)]
    if how not in _MODES or not all(known_rank(frame, node, x, "np.correlate") == 1 for x in vectors):
        raise frame.error(node, "this call of np.correlate", "correlate two vectors")
    of = np.promote_types(*(dtype_of(frame, node, x) for x in vectors))
    [ssa] = frame.em.torch("tierup.correlate", [*(x.ssa for x in vectors), frame.em.int(_MODES.index(how))])
    return Array(ssa, 1, dtype=of, decays=False)


@function(np.shape)
def shape(frame: Frame, node: ast.AST, a: Value) -> Value:
    return ShapeOf(as_array(frame, node, a))


@function(np.ndim)
def ndim(frame: Frame, node: ast.AST, a: Value) -> Value:
    x = as_array(frame, node, a)
    return Const(x.rank) if x.rank is not None else Scalar(arrays.rank_ssa(frame, x), "int")


@function(np.size)
def size(frame: Frame, node: ast.AST, a: Value, axis: Value = NONE) -> Value:
    x = as_array(frame, node, a)
    em = frame.em
    if is_none(axis):
        return Scalar(em.numpy("aten.numel", [x.ssa], em.types.int), "int")
    return Scalar(em.numpy("aten.size.int", [x.ssa, as_int(frame, node, axis, "an axis")], em.types.int), "int")


@method("fill")
def fill_method(frame: Frame, node: ast.AST, a: Value, value: Value) -> Value:
    """An element takes the value, and all take that. Of a NumPy scalar nothing changes."""
    array_operators.require_mutation(frame)
    x = as_array(frame, node, a)
    stores.refuse_detached(frame, node, x)

    def fill() -> Value:
        stores.require_writeable(frame, x)
        source = value
        if not is_number(value):
            source = arrays.one_like(frame, x)
            stores.fill(frame, node, source, value)
        stores.fill(frame, node, x, source)
        return NONE

    return select(frame, node, arrays.is_scalar(frame, x), lambda: NONE, fill) if x.may_be_scalar else fill()
