"""NumPy functions that make arrays, and casts."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.table import LEFT_OUT, Handler, constant, function, method
from tierup.frontend.python.building.values import (
    FALSE,
    NONE,
    TRUE,
    ZERO,
    Array,
    Const,
    Grows,
    Scalar,
    Sequence,
    ShapeOf,
    Value,
    is_complex_number,
    is_none,
    is_number,
    is_numpy_scalar,
    number_kind,
)
from tierup.frontend.python.functions.numpy_shape import C_ORDER, with_rank
from tierup.frontend.python.operations import arrays
from tierup.frontend.python.operations.arrays import as_array, as_int, dtype_code, int_list, strong, viewable
from tierup.frontend.python.operations.scalars import not_, number, raise_if

KEEP = Const("K")

FLOAT64 = Const(np.dtype(np.float64))


def _made(frame: Frame, node: ast.AST, name: str, shape: Value, dtype: Value, *fill: ir.Value) -> Array:
    em = frame.em
    sizes, rank = int_list(frame, node, shape)
    code, known = dtype_code(frame, node, FLOAT64 if is_none(dtype) else dtype)
    trailing = [em.none] * (4 if name == "aten.empty.memory_format" else 3)
    return Array(em.numpy(name, [sizes, *fill, code, *trailing]), rank, dtype=known, decays=False)


def _of_shape(name: str) -> Handler:
    def handler(frame: Frame, node: ast.AST, shape: Value, dtype: Value = NONE) -> Value:
        return _made(frame, node, name, shape, dtype)

    return handler


function(np.zeros)(_of_shape("aten.zeros"))
function(np.ones)(_of_shape("aten.ones"))
function(np.empty)(_of_shape("aten.empty.memory_format"))
function(np.ndarray)(_of_shape("aten.empty.memory_format"))  # with a buffer it is NumPy's


@function(np.full)
def full(frame: Frame, node: ast.AST, shape: Value, fill_value: Value, dtype: Value = NONE) -> Value:
    """Without a dtype, the fill value's own."""
    if is_number(fill_value):
        kind = Const(arrays.KIND_DTYPES[number_kind(fill_value)]) if is_none(dtype) else dtype
        return _made(frame, node, "aten.full", shape, kind, number(frame, fill_value))
    em = frame.em
    value = strong(frame, node, fill_value) if is_complex_number(fill_value) else as_array(frame, node, fill_value)
    sizes, rank = int_list(frame, node, shape)
    if not is_none(dtype):
        value = cast(frame, node, value, dtype)
    if value.rank is None or rank is None or value.rank > rank:
        raise frame.error(node, "np.full of an array of more dimensions", "index away those of size 1: a[0]")
    code = em.scalar("prim.dtype", [value.ssa], em.types.int)
    room = em.numpy("aten.empty.memory_format", [sizes, code, *[em.none] * 4])
    return Array(em.numpy("aten.copy", [room, value.ssa, em.bool(False)]), rank, dtype=value.dtype, decays=False)


def _like(name: str) -> Handler:
    def handler(frame: Frame, node: ast.AST, a: Value, dtype: Value = NONE, *, subok: Value = TRUE, shape: Value = NONE) -> Value:
        em = frame.em
        x = as_array(frame, node, a)
        code, known = dtype_code(frame, node, dtype)
        if not is_none(shape):
            sizes, rank = int_list(frame, node, shape)
            made = em.numpy(f"aten.new_{name.split('_')[0].removeprefix('aten.')}", [x.ssa, sizes, code, em.none, em.none, em.none])
            return Array(made, rank, 0, x.dtype if is_none(dtype) else known, decays=False)
        ssa = em.numpy(name, [x.ssa, code, em.none, em.none, em.none, em.none])
        return Array(ssa, x.rank, x.min_rank, x.dtype if is_none(dtype) else known, decays=False)

    return handler


function(np.zeros_like)(_like("aten.zeros_like"))
function(np.ones_like)(_like("aten.ones_like"))
function(np.empty_like)(_like("aten.empty_like"))


@function(np.full_like)
def full_like(frame: Frame, node: ast.AST, a: Value, fill_value: Value, dtype: Value = NONE) -> Value:
    em = frame.em
    x = as_array(frame, node, a)
    if not is_number(fill_value):
        raise frame.error(node, "np.full_like with an array to fill with", "write np.broadcast_to(value, x.shape).astype(x.dtype)")
    code, known = dtype_code(frame, node, dtype)
    ssa = em.numpy("aten.full_like", [x.ssa, number(frame, fill_value), code, em.none, em.none, em.none, em.none])
    return Array(ssa, x.rank, x.min_rank, x.dtype if is_none(dtype) else known, decays=False)


@function(np.arange)
def arange(
    frame: Frame, node: ast.AST, start_or_stop: Value = LEFT_OUT, stop: Value = NONE, step: Value = NONE, dtype: Value = NONE, *,
    start: Value = LEFT_OUT,
) -> Value:  # fmt: skip
    """int64 when all of start, stop and step are ints but uint64, else float64. A lone argument is the stop, unless named `start`."""
    em = frame.em
    if start_or_stop is start is LEFT_OUT and is_none(stop):
        raise WillRaise(TypeError("arange() requires stop to be specified."))
    if is_none(start_or_stop) or start is not LEFT_OUT and (is_none(start) or is_none(stop) or start_or_stop is not LEFT_OUT):
        raise frame.error(node, "these arguments of np.arange")  # NumPy does not take them either
    if start is LEFT_OUT:
        start, stop = (ZERO, start_or_stop) if is_none(stop) else (ZERO if start_or_stop is LEFT_OUT else start_or_stop, stop)
    step = Const(1) if is_none(step) else step
    if is_none(dtype) and any(_dtype_of(v) == np.uint64 for v in (start, stop, step)):
        raise frame.error(node, "np.arange of uint64")  # of floats: which is written once more
    parts = [as_python(frame, node, v, "np.arange") for v in (start, stop, step)]
    kinds = [number_kind(p) for p in parts]
    if not arrays.KIND_DTYPES.keys() >= set(kinds):
        raise frame.error(node, f"np.arange of {kinds[0]}")
    kind = np.result_type(*(arrays.KIND_DTYPES[k] for k in kinds))
    code, known = dtype_code(frame, node, Const(kind) if is_none(dtype) else dtype)
    if kind.kind == "f":
        whole = [Const(int(p.value)) if isinstance(p, Const) and _is_whole(p.value) else p for p in parts]
        if known != np.float64 or any(number_kind(p) == "float" for p in whole) or isinstance(step, Const) and step.value == 0:
            raise frame.error(node, "np.arange of floats")  # which is written once more
        return cast(frame, node, as_array(frame, node, arange(frame, node, *whole)), FLOAT64)
    operands = [number(frame, p) for p in parts]
    ssa = em.numpy("aten.arange.start_step", [*operands, code, em.none, em.none, em.none])
    return Array(ssa, 1, dtype=known, decays=False)


def _dtype_of(value: Value) -> np.dtype | None:
    """That of an array or a NumPy scalar, where it is known."""
    if isinstance(value, Const) and isinstance(value.value, np.generic):
        return value.value.dtype
    return value.dtype if isinstance(value, Array) else None


def _is_whole(number: object) -> bool:
    """Whether a number is a float that an int is, too, its sign included."""
    return isinstance(number, float) and number.is_integer() and (number != 0 or math.copysign(1, number) > 0)


def as_python(frame: Frame, node: ast.AST, value: Value, what: str) -> Value:
    """A number for an argument that torch takes as a Scalar only."""
    if is_number(value):
        return value
    if isinstance(value, Const) and isinstance(value.value, np.generic):
        return Const(value.value.item())
    if isinstance(value, Array) and value.rank == 0 and value.dtype is not None and value.dtype.kind in "iu":
        return Scalar(as_int(frame, node, value), "int")
    if isinstance(value, Array) and value.rank == 0 and value.dtype == np.float64:
        return Scalar(frame.em.numpy("aten.Float.Tensor", [value.ssa], frame.em.types.float), "float")
    raise frame.error(node, f"an array as an argument of {what}", "write int(...) or float(...) around it")


@function(np.eye)
def eye(frame: Frame, node: ast.AST, N: Value, M: Value = NONE, k: Value = ZERO, dtype: Value = NONE) -> Value:
    em = frame.em
    if constant(frame, node, k, "`k`") != 0:
        raise frame.error(node, "np.eye off the main diagonal", "use np.diag outside the function")
    code, known = dtype_code(frame, node, FLOAT64 if is_none(dtype) else dtype)
    rows = as_int(frame, node, N, bools=False)
    columns = rows if is_none(M) else as_int(frame, node, M)
    return Array(em.numpy("aten.eye.m", [rows, columns, code, em.none, em.none, em.none]), 2, dtype=known, decays=False)


# --- conversion ----------------------------------------------------------------------------------------------------------


@function(np.array)
def array(
    frame: Frame, node: ast.AST, object: Value, dtype: Value = NONE, *, copy: Value = TRUE, subok: Value = FALSE, ndmin: Value = ZERO
) -> Value:
    copies = constant(frame, node, copy, "`copy`")
    is_there = isinstance(object, Array) and object.decays is False and is_none(dtype)
    if copies is False and not is_there:
        raise frame.error(node, "np.array(..., copy=False) of what may need a copy", "use np.asarray")
    x = _converted(frame, node, object, dtype, fresh=copies is True)
    return with_rank(frame, node, x, constant(frame, node, ndmin, "`ndmin`"))


@function(np.asarray, np.asanyarray)
def asarray(frame: Frame, node: ast.AST, a: Value, dtype: Value = NONE) -> Value:
    return _converted(frame, node, a, dtype, fresh=False)


@function(np.ascontiguousarray)
def ascontiguousarray(frame: Frame, node: ast.AST, a: Value, dtype: Value = NONE) -> Value:
    """At least rank 1, in C order; the array itself when it is that already."""
    em = frame.em
    x = _converted(frame, node, a, dtype, fresh=False)
    if x.rank == 0:
        x = replace(x, ssa=em.numpy("aten.reshape", [x.ssa, em.ints(1)]), rank=1)
    elif x.at_least == 0:
        raise frame.error(node, "np.ascontiguousarray of an array of unknown rank", "leave it out: strides are handled")
    return replace(x, ssa=em.numpy("aten.contiguous", [x.ssa, em.int(0)]), decays=False)


def _converted(frame: Frame, node: ast.AST, value: Value, dtype: Value, *, fresh: bool) -> Array:
    made = isinstance(value, (Sequence, ShapeOf)) or is_number(value)
    if not is_none(dtype):
        code, known = dtype_code(frame, node, dtype)  # one that no program has is refused before parts that do not fit one another
        if is_number(value):
            return replace(_element(frame, node, value, code, known), decays=False)
        if isinstance(value, Sequence):
            value = _elements(frame, node, value, code, known)
    if is_complex_number(value):
        value = strong(frame, node, value)
    x = viewable(frame, node, value) if isinstance(value, Array) and not fresh else as_array(frame, node, value)
    if not is_none(dtype):
        if isinstance(value, Grows) and known is not None and known.kind in "iu":
            _refuse_outside(frame, node, x, known)
        return replace(cast(frame, node, x, dtype, copy=fresh and not made), decays=False)
    return replace(as_array(frame, node, x, fresh=fresh and not made), decays=False)


def _elements(frame: Frame, node: ast.AST, value: Sequence, code: ir.Value, dtype: np.dtype | None) -> Value:
    """A list or tuple with its numbers and NumPy scalars as elements of a dtype, which NumPy makes of it one by one."""
    static = arrays.static_of(value)
    if static is not None and dtype is not None:
        try:
            return arrays.literal(frame, node, np.array(static, dtype))
        except (TypeError, ValueError, OverflowError) as e:
            raise WillRaise(e) from e
    if dtype is not None and dtype.kind not in "iu" or _fits_all(value):
        return value

    def element(item: Value) -> Value:
        if isinstance(item, Sequence):
            return _elements(frame, node, item, code, dtype)
        is_scalar = is_numpy_scalar(item) or isinstance(item, Array) and item.rank == 0 and item.decays is True
        return _element(frame, node, item, code, dtype) if is_scalar or is_number(item) else item

    return replace(value, items=[element(item) for item in value.items])


def _fits_all(value: Value) -> bool:
    """Whether all in a list are numbers that every dtype holds."""
    return all(map(_fits_all, value.items)) if isinstance(value, Sequence) else isinstance(value, Const) and value.value in range(128)


def _element(frame: Frame, node: ast.AST, value: Value, code: ir.Value, dtype: np.dtype | None) -> Array:
    if is_number(value) and dtype is not None:
        return strong(frame, node, value, dtype)
    return Array(arrays.assigned(frame, value if is_number(value) else as_array(frame, node, value), code), 0, dtype=dtype)


def _refuse_outside(frame: Frame, node: ast.AST, numbers: Array, dtype: np.dtype) -> None:
    """Python raises where an integer dtype does not hold the numbers of a list."""
    if numbers.dtype is None or np.can_cast(numbers.dtype, dtype):
        return
    em, limits = frame.em, np.iinfo(dtype)
    bound = em.float if numbers.dtype.kind == "f" else lambda n: em.int(min(max(n, -(1 << 63)), (1 << 63) - 1))
    inside = [em.numpy(f"aten.{how}.Scalar", [numbers.ssa, bound(n)]) for how, n in (("gt", limits.min - 1), ("lt", limits.max + 1))]
    all_inside = em.numpy("aten.all", [em.numpy("aten.logical_and", inside)])
    outside = not_(frame, em.numpy("aten.Bool.Tensor", [all_inside], em.types.bool))
    raise_if(frame, outside, "OverflowUnanswerable", f"numbers that {dtype} does not hold")
    what = f"an array of {dtype} of a list of {numbers.dtype}, in a function that writes its arguments"
    frame.outside.made_by_python = frame.error(node, what)


def cast(frame: Frame, node: ast.AST, x: Array, dtype: Value, *, copy: bool = True) -> Array:
    em = frame.em
    code, known = dtype_code(frame, node, dtype)
    if copy:  # of memory of its own, whatever the run finds
        ssa = em.numpy("aten._to_copy", [x.ssa, code, em.none, em.none, em.none, em.bool(False), em.none])
    else:
        ssa = em.numpy("aten.to.dtype", [x.ssa, code, em.bool(False), em.bool(False), em.none])
    return Array(ssa, x.rank, x.min_rank, known, x.decays, loads=() if copy else x.loads)


@method("astype")
def astype(frame: Frame, node: ast.AST, a: Value, dtype: Value, *, copy: Value = TRUE, subok: Value = TRUE) -> Value:
    if is_none(dtype):
        dtype = FLOAT64
    return cast(frame, node, as_array(frame, node, a), dtype, copy=bool(constant(frame, node, copy, "`copy`")))


@function(np.copy)
def copy_(frame: Frame, node: ast.AST, a: Value, order: Value = KEEP, subok: Value = FALSE) -> Value:
    if constant(frame, node, order, "`order`") != "K":
        made = copy_method(frame, node, a, order)
        assert isinstance(made, Array)  # that is what it copies into
        return replace(made, decays=False)
    return replace(as_array(frame, node, a, fresh=True), decays=False)


@method("copy")
def copy_method(frame: Frame, node: ast.AST, a: Value, order: Value = C_ORDER) -> Value:
    """In C order, unlike np.copy."""
    named = constant(frame, node, order, "`order`")
    if named == "K":
        return copy_(frame, node, a)
    if named != "C":
        raise frame.error(node, f"a copy in the order {named!r}", "transpose it")
    x = as_array(frame, node, a)
    return replace(x, ssa=frame.em.numpy("aten.clone", [x.ssa, frame.em.int(0)]), detached=False, loads=())


def _scalar_type(dtype: np.dtype) -> Callable[..., Value]:
    """np.float32(x) and kin: a NumPy scalar of a number, a cast of an array."""

    def handler(frame: Frame, node: ast.AST, value: Value = ZERO) -> Value:
        if is_number(value):
            return strong(frame, node, value, dtype)
        x = cast(frame, node, as_array(frame, node, value), Const(dtype), copy=False)
        return replace(x, decays=True)

    return handler


for _dtype in dtypes.ALL:
    function(_dtype.numpy.type)(_scalar_type(_dtype.numpy))
