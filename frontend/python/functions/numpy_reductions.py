"""NumPy's reductions and scans."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Combine, Kind
from tierup.frontend.python.building.branch import PendingIf, either
from tierup.frontend.python.building.frame import Frame, NeedsStatic, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of
from tierup.frontend.python.building.table import Handler, constant, function, method, spelled
from tierup.frontend.python.building.values import FALSE, NONE, ZERO, Array, Const, Scalar, Sequence, Value, is_none, is_number
from tierup.frontend.python.functions.numpy_shape import known_rank, with_rank
from tierup.frontend.python.operations import array_operators
from tierup.frontend.python.operations.array_operators import ufunc_dtype
from tierup.frontend.python.operations.arrays import as_array, as_int, dtype_code, refuse_axis
from tierup.frontend.python.operations.complex_arrays import refuse_complex
from tierup.frontend.python.operations.scalars import number, raise_if, to_bool


def axes(frame: Frame, node: ast.AST, axis: Value) -> list[ir.Value] | None:
    """The axes, None for all of them. NumPy takes no list and no bool; over no axes it does not reduce, for which ops have no spelling."""
    if is_none(axis):
        return None
    if isinstance(axis, Sequence) and axis.kind == "list":
        raise WillRaise(TypeError("'list' object cannot be interpreted as an integer"))
    items = axis.items if isinstance(axis, Sequence) else [axis]
    if not items:
        raise frame.error(node, "a reduction over no axes (axis=())", "leave it out")
    return [as_int(frame, node, i, "an axis", bools=False) for i in items]


def _one_axis(frame: Frame, node: ast.AST, axis: Value) -> list[ir.Value] | None:
    if isinstance(axis, Sequence):
        raise WillRaise(TypeError(f"{axis.kind!r} object cannot be interpreted as an integer"))
    return axes(frame, node, axis)


def reduced(x: Array, dims: list[ir.Value] | None, keepdims: Value, ssa: ir.Value, dtype: np.dtype | None = None) -> Array:
    """The result with the rank that a reduction leaves."""
    keep = bool(keepdims.value) if isinstance(keepdims, Const) else None
    if keep:
        return Array(ssa, x.rank, x.min_rank, dtype)
    if keep is None:
        return Array(ssa, None, 0, dtype)
    if dims is None:
        return Array(ssa, 0, 0, dtype)
    rank = None if x.rank is None else max(0, x.rank - len(dims))
    return Array(ssa, rank, max(0, x.at_least - len(dims)), dtype)


def _keeps(value: Value) -> bool:
    return not (isinstance(value, Const) and not value.value)


_ONE_AXIS = ("prod", "any", "all")  # of which there are ops for one axis at a time


def _over_axes(
    frame: Frame, node: ast.AST, name: str, by_axes: str, x: Array, axis: Value, keepdims: Value, dtype: np.dtype | None, *code: ir.Value
) -> Array:
    """The reduction `name` of all elements, or, by the op `by_axes`, over some axes. `code`: of the dtype, of those that take one."""
    em, dims = frame.em, axes(frame, node, axis)
    if isinstance(axis, Sequence) and x.rank == 0:  # which has an axis 0 and -1 for NumPy, but not in a tuple
        for item, dim in zip(axis.items, dims or [], strict=True):
            refuse_axis(frame, x, item, dim)
    if dims is None and not _keeps(keepdims):
        return reduced(x, dims, keepdims, em.numpy(f"aten.{name}", [x.ssa, *code]), dtype)
    if name in _ONE_AXIS:
        if dims is None or len(dims) != 1:
            return _over_several(frame, node, name, by_axes, x, axis, keepdims, dtype, *code)
        which = dims[0]
    else:
        which = em.none if dims is None and code else em.int_list(dims or [])
    ssa = em.numpy(by_axes, [x.ssa, which, to_bool(frame, keepdims), *code], ranks=(x.rank,))
    return reduced(x, dims, keepdims, ssa, dtype)


def _over_several(
    frame: Frame, node: ast.AST, name: str, by_axes: str, x: Array, axis: Value, keepdims: Value, dtype: np.dtype | None, *code: ir.Value
) -> Array:
    """The reduction over one axis, to which all that are reduced are made: elements are taken in their order, as NumPy takes them."""
    em, rank = frame.em, known_rank(frame, node, x, f"np.{name} over several axes")
    items = axis.items if isinstance(axis, Sequence) else [Const(i) for i in range(rank)]
    if not all(isinstance(i, Const) for i in (*items, keepdims)):
        raise frame.error(node, f"np.{name} over axes that only the run knows", "use constants, or one axis at a time", NeedsStatic)
    named = tuple(i.value for i in items)  # type: ignore[union-attr]  # Consts
    try:
        getattr(np, name)(np.ones((1,) * rank), named)
    except (TypeError, ValueError) as e:
        raise WillRaise(e) from e
    over = sorted(d % rank for d in named)
    kept = [d for d in range(rank) if d not in over]
    first = len(kept) if over and over[-1] == rank - 1 else 0  # of those that are reduced, which then are the last or the first
    moved = em.numpy("aten.permute", [x.ssa, em.ints(*kept[:first], *over, *kept[first:])])
    flat = em.numpy("aten.flatten.using_ints", [moved, em.int(first), em.int(first + max(len(over) - 1, 0))])
    ssa = em.numpy(by_axes, [flat, em.int(first), em.bool(False), *code], ranks=(len(kept) + 1,))
    if not _keeps(keepdims):
        return Array(ssa, len(kept), len(kept), dtype)
    for d in over:
        ssa = em.numpy("aten.unsqueeze", [ssa, em.int(d)])
    return Array(ssa, rank, rank, dtype, decays=not rank)


def _arithmetic(name: str, by_axes: str) -> Handler:
    def handler(
        frame: Frame, node: ast.AST, a: Value, axis: Value = NONE, dtype: Value = NONE, out: Value = NONE, keepdims: Value = FALSE,
        initial: Value = NONE,
    ) -> Value:  # fmt: skip
        _no_out(frame, node, out)
        x = as_array(frame, node, a)
        code, known = dtype_code(frame, node, dtype)
        found = _over_axes(frame, node, name, by_axes, x, axis, keepdims, known, code)
        if is_none(initial):
            return found
        if name != "sum" or not isinstance(initial, Const) or type(initial.value) is not int or initial.value != 0:
            raise frame.error(node, f"`initial` of np.{name}", "add it behind")
        return array_operators.binary(frame, node, ast.Add, found, initial)  # -0.0 + 0 is 0.0

    return handler


def _choice(name: str, by_axes: str, dtype: np.dtype | None = None) -> Handler:
    """A reduction that gives elements, or of a dtype of its own."""

    def handler(frame: Frame, node: ast.AST, a: Value, axis: Value = NONE, out: Value = NONE, keepdims: Value = FALSE) -> Value:
        _no_out(frame, node, out)
        x = as_array(frame, node, a)
        return _over_axes(frame, node, name, by_axes, x, axis, keepdims, dtype or x.dtype)

    return handler


def _extreme(name: str, by_axes: str) -> Handler:
    choose = _choice(name, by_axes)

    def handler(
        frame: Frame, node: ast.AST, a: Value, axis: Value = NONE, out: Value = NONE, keepdims: Value = FALSE, initial: Value = NONE
    ) -> Value:
        if is_none(initial):
            return choose(frame, node, a, axis, out, keepdims)
        x = as_array(frame, node, a)
        if known_rank(frame, node, x, "a reduction with `initial`") == 0:
            choose(frame, node, x, axis, out, keepdims)  # raises for the axis
            x, axis, keepdims = with_rank(frame, node, x, 1), ZERO, FALSE
        return choose(frame, node, _with_initial(frame, node, x, axis, initial), axis, out, keepdims)

    return handler


def _with_initial(frame: Frame, node: ast.AST, x: Array, axis: Value, initial: Value) -> Array:
    """An array with `initial` in front along the axes that are reduced, so that there is something to choose from."""
    em, first = frame.em, constant(frame, node, initial, "`initial`")
    dtype, rank = dtype_of(frame, node, x), known_rank(frame, node, x, "a reduction with `initial`")
    if not (type(first) in (int, float) and dtype.kind == "f" or type(first) is int and dtype.kind == "i" and 0 <= first < 128):
        raise frame.error(node, f"the initial value {first!r} of an array of {dtype}")
    over = [constant(frame, node, i, "an axis") for i in (axis.items if isinstance(axis, Sequence) else [axis])]
    try:
        dims = range(rank) if is_none(axis) else normalize_axis_tuple(tuple(over), rank)
    except (TypeError, ValueError) as e:
        raise WillRaise(e) from e
    pads = em.ints(*(n for d in reversed(range(rank)) for n in (int(d in dims), 0)))
    return replace(x, ssa=em.numpy("aten.constant_pad_nd", [x.ssa, pads, number(frame, initial)]))


sum_ = function(np.sum, method="sum")(_arithmetic("sum", "aten.sum.dim_IntList"))
function(np.mean, method="mean")(_arithmetic("mean", "aten.mean.dim"))
function(np.prod, method="prod")(_arithmetic("prod", "aten.prod.dim_int"))
maximum = function(np.max, np.amax, method="max")(_extreme("max", "aten.amax"))
minimum = function(np.min, np.amin, method="min")(_extreme("min", "aten.amin"))
function(np.any, method="any")(_choice("any", "aten.any.dim", np.dtype(bool)))
function(np.all, method="all")(_choice("all", "aten.all.dim", np.dtype(bool)))


def _position(name: str) -> Handler:
    def handler(frame: Frame, node: ast.AST, a: Value, axis: Value = NONE, out: Value = NONE, keepdims: Value = FALSE) -> Value:
        _no_out(frame, node, out)
        em = frame.em
        x = as_array(frame, node, a)
        dims = _one_axis(frame, node, axis)
        ssa = em.numpy(name, [x.ssa, em.none if dims is None else dims[0], to_bool(frame, keepdims)])
        return reduced(x, dims, keepdims, ssa, np.dtype(np.int64))

    return handler


function(np.argmax, method="argmax")(_position("aten.argmax"))
function(np.argmin, method="argmin")(_position("aten.argmin"))


def _spread(name: str) -> Handler:
    def handler(
        frame: Frame, node: ast.AST, a: Value, axis: Value = NONE, dtype: Value = NONE, out: Value = NONE, ddof: Value = ZERO,
        keepdims: Value = FALSE, correction: Value = NONE,
    ) -> Value:  # fmt: skip
        _no_out(frame, node, out)
        em = frame.em
        x = as_array(frame, node, a)
        if not is_none(dtype):
            raise frame.error(node, f"`dtype` of np.{name}", "convert the array first: x.astype(...)")
        dims = axes(frame, node, axis)
        listed = em.none if dims is None else em.int_list(dims)
        if not is_none(correction) and not (isinstance(ddof, Const) and ddof.value == 0):
            raise WillRaise(ValueError("ddof and correction can't be provided simultaneously."))
        correction = ddof if is_none(correction) else correction
        if not is_number(correction):
            raise frame.error(node, f"`ddof` of np.{name} that is not a number")
        ssa = em.numpy(f"aten.{name}.correction", [x.ssa, listed, number(frame, correction), to_bool(frame, keepdims)], ranks=(x.rank,))
        return reduced(x, dims, keepdims, ssa)

    return handler


function(np.var, method="var")(_spread("var"))
function(np.std, method="std")(_spread("std"))


def _scan(name: str) -> Handler:
    def handler(frame: Frame, node: ast.AST, a: Value, axis: Value = NONE, dtype: Value = NONE, out: Value = NONE) -> Value:
        _no_out(frame, node, out)
        em = frame.em
        x = as_array(frame, node, a)
        code, known = dtype_code(frame, node, dtype)
        dims = _one_axis(frame, node, axis)
        if dims is None:
            x, dims = Array(em.numpy("aten.reshape", [x.ssa, em.ints(-1)]), 1, dtype=x.dtype), [em.int(0)]
        rank = None if x.rank is None else max(x.rank, 1)  # NumPy gives a vector of a number, too
        return Array(em.numpy(name, [x.ssa, dims[0], code]), rank, max(x.min_rank, 1), known)

    return handler


def refuse_no_axis(frame: Frame, node: ast.AST, axis: Value) -> None:
    """Raises UnsupportedSyntax for the axis None of an `accumulate`, which NumPy takes of a vector alone."""
    if isinstance(axis, Const) and axis.value is None:
        raise frame.error(node, "`axis=None` of a ufunc's accumulate", "leave it out for the first axis")


def _accumulated(name: str, combine: Combine | None) -> Handler:
    """A function's `accumulate`: along the first axis unless told."""

    def handler(frame: Frame, node: ast.AST, array: Value, axis: Value = ZERO) -> Value:
        x = as_array(frame, node, array)
        refuse_no_axis(frame, node, axis)
        dims = _one_axis(frame, node, axis)
        assert dims is not None
        dtype = ufunc_dtype(np.exp, x) if combine is Combine.LOG_ADD_EXP else x.dtype
        return Array(frame.em.numpy(name, [x.ssa, dims[0]]), x.rank, x.min_rank, dtype)

    return handler


for _op in optable.of_kind(Kind.SCAN):
    spelled(_op)(_scan(_op.name) if "dtype" in _op.operands else _accumulated(_op.name, _op.combine))


@function(np.count_nonzero)
def count_nonzero(frame: Frame, node: ast.AST, a: Value, axis: Value = NONE) -> Value:
    """int64 counts; for the whole array what this NumPy gives, a Python int before 2.4."""
    em = frame.em
    x = as_array(frame, node, a)
    ssa = em.numpy("aten.to.dtype", [x.ssa, em.int(dtypes.bool_.code), em.bool(False), em.bool(False), em.none])
    nonzero = replace(x, ssa=ssa, dtype=np.dtype(bool))
    total = sum_(frame, node, nonzero, axis)
    assert isinstance(total, Array)
    if is_none(axis) and isinstance(np.count_nonzero(np.zeros(1)), int):
        return Scalar(em.numpy("aten.Int.Tensor", [total.ssa], em.types.int), "int")
    return total


@function(np.linalg.norm)
def norm(frame: Frame, node: ast.AST, x: Value, ord: Value = NONE, axis: Value = NONE, keepdims: Value = FALSE) -> Value:
    """The 2-norm and Frobenius norm, by numpy.linalg.norm's own steps: sqrt(dot(x, x)), or sqrt(sum(x * x, axis))."""
    em, array = frame.em, as_array(frame, node, x)
    of_matrix = len(axis.items) == 2 if isinstance(axis, Sequence) else is_none(axis) and array.rank == 2
    named = ord.value if isinstance(ord, Const) else ord
    of_vector = isinstance(axis, Const) and isinstance(axis.value, int) or is_none(axis) and array.rank == 1
    is_default = named is None or of_matrix and named in ("fro", "f") or of_vector and named == 2
    refuse_complex(frame, node, array, "np.linalg.norm")
    if not is_default:  # NumPy's own code
        raise frame.error(node, "`ord` of np.linalg.norm", "leave it out for the 2-norm (Frobenius), or write it with np.sum and np.abs")
    if array.dtype is None or array.dtype.kind != "f":  # ints and ml_dtypes' bfloat16 become float64, NumPy's floats stay what they are
        zero = em.numpy("aten.new_zeros", [array.ssa, em.ints(1), em.none, em.none, em.none, em.none])
        like = em.numpy("aten.linalg_vector_norm", [zero, em.int(2), em.none, em.bool(False), em.none])
        array = replace(array, ssa=em.numpy("aten.type_as", [array.ssa, like]), dtype=None)
    if is_none(axis) and not _keeps(keepdims):
        flat = em.numpy("aten.reshape", [array.ssa, em.ints(-1)])
        squares = Array(em.numpy("aten.dot", [flat, flat]), 0)
    else:
        if not isinstance(axis, Sequence) and not is_none(axis):  # NumPy's norm refuses rank 0, which its sum takes
            refuse_axis(frame, array, axis, as_int(frame, node, axis, "an axis"))
        found = sum_(frame, node, array_operators.binary(frame, node, ast.Mult, array, array), axis, keepdims=keepdims)
        assert isinstance(found, Array)
        squares = found
    return Array(em.numpy("aten.sqrt", [squares.ssa]), squares.rank, squares.min_rank)


@method("item")
def item(frame: Frame, node: ast.AST, a: Value) -> Value:
    x, em = as_array(frame, node, a), frame.em
    if x.rank != 0:
        several = em.scalar("aten.ne.int", [em.numpy("aten.numel", [x.ssa], em.types.int), em.int(1)], em.types.bool)
        raise_if(frame, several, "ValueError", "can only convert an array of size 1 to a Python scalar")
        x = Array(em.numpy("aten.reshape", [x.ssa, em.ints()]), 0, dtype=x.dtype)
    if x.dtype is not None:
        kind = {"f": "float", "b": "bool"}.get(x.dtype.kind, "int")
        name = {"float": "Float", "bool": "Bool", "int": "Int"}[kind]
        return Scalar(frame.em.numpy(f"aten.{name}.Tensor", [x.ssa], frame.em.types.scalars[kind]), kind)
    if not frame.is_entry:
        remedy = "write float(x) or int(x), or x.reshape(()) for an array of rank 0"
        raise frame.error(node, "`.item()` of an array whose dtype only the run knows, in a function that another one calls", remedy)
    return _item_of_any(frame, x)


def _item_of_any(frame: Frame, x: Array) -> Value:
    """Python's number for an array's only element, of the kind that the run finds: what is returned may be of any."""
    em = frame.em

    def as_number(name: str, kind: str) -> Scalar:
        return Scalar(em.numpy(f"aten.{name}.Tensor", [x.ssa], em.types.scalars[kind]), kind)

    is_float = em.numpy("aten.is_floating_point", [x.ssa], em.types.bool)
    with PendingIf(frame, is_float) as outer:
        with outer.arm(0):
            real = as_number("Float", "float")
        with outer.arm(1):
            code = em.scalar("prim.dtype", [x.ssa], em.types.int)
            is_bool = em.scalar("aten.eq.int", [code, em.int(dtypes.bool_.code)], em.types.bool)
            with PendingIf(frame, is_bool) as inner:
                with inner.arm(0):
                    truth = as_number("Bool", "bool")
                with inner.arm(1):
                    whole = as_number("Int", "int")
                other = either(frame, inner, [truth, whole])
        return either(frame, outer, [real, other])


def _no_out(frame: Frame, node: ast.AST, out: Value) -> None:
    if not is_none(out):
        raise frame.error(node, "`out=`", "assign to it: out[...] = ...")
