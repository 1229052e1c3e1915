"""What the functions that NumPy writes in Python are made of: the C functions, and the helpers of its own, that they call.

np.cov  ->  NumPy's own code  ->  np.average, np.dot, np.result_type, array(ndmin=2), ...
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tierup.frontend.python.building import table
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of
from tierup.frontend.python.building.table import function, method
from tierup.frontend.python.building.values import (
    NONE,
    TRUE,
    Array,
    Const,
    Object,
    Scalar,
    Value,
    describe,
    is_none,
    is_number,
    is_numpy_scalar,
    number_kind,
)
from tierup.frontend.python.functions.numpy_elementwise import where
from tierup.frontend.python.functions.python_objects import STRUCTURAL
from tierup.frontend.python.operations import array_operators, arrays, stores
from tierup.frontend.python.operations.arrays import as_array
from tierup.frontend.python.operations.complex_arrays import conjugated, is_complex, part_of
from tierup.frontend.python.operations.operators import folded
from tierup.frontend.python.operations.scalars import number, unary

ELLIPSIS = Const(...)
SAME_KIND = Const("same_kind")

STRUCTURAL.update({normalize_axis_index, normalize_axis_tuple})


def _of_numpy(module: str, name: str) -> object:
    """A private helper of this NumPy; where another version lacks it, what nothing calls."""
    return getattr(getattr(np._core, module), name, object())  # type: ignore[attr-defined]  # private


@function(_of_numpy("fromnumeric", "_wrapfunc"))
def wrapfunc(frame: Frame, node: ast.AST, obj: Value, method: Value, *args: Value, **kwds: Value) -> Value:
    """The array method of that name."""
    name = table.constant(frame, node, method, "a method")
    if name not in table.METHODS:
        raise table.unknown_method(frame, node, name)
    operands = [as_array(frame, node, obj), *args]
    return table.invoke(frame, node, getattr(np.ndarray, name), table.METHODS[name], operands, kwds, method=name)


@function(warnings.warn)
def warn(frame: Frame, node: ast.AST, message: Value, category: Value = NONE, stacklevel: Value = NONE) -> Value:
    """NumPy's warnings are not given by programs (docs/python.md); the user's are."""
    if not frame.is_numpys:
        raise frame.error(node, "`warnings.warn`")
    return NONE


@function(np.result_type)
def result_type(frame: Frame, node: ast.AST, *arrays_and_dtypes: Value) -> Value:
    given: list[Any] = []
    for value in arrays_and_dtypes:
        if isinstance(value, Array):
            given.append(dtype_of(frame, node, value))
        elif is_number(value):
            given.append({"int": 0, "float": 0.0, "bool": False}[number_kind(value)])
        else:
            given.append(table.constant(frame, node, value, "a dtype"))
    return folded(frame, node, lambda: np.result_type(*given))


@function(np.broadcast)
def broadcast(frame: Frame, node: ast.AST, *args: Value) -> Value:
    """An array of the shape that they have together, of which nothing but that is read."""
    if not frame.is_numpys:
        raise frame.error(node, "`np.broadcast`", "write np.broadcast_arrays")
    shapes = [array_operators.binary(frame, node, ast.NotEq, as_array(frame, node, a), Const(0)) for a in args]
    return reduce(lambda a, b: array_operators.binary(frame, node, ast.BitOr, a, b), shapes)


@function(np.copyto)
def copyto(frame: Frame, node: ast.AST, dst: Value, src: Value, casting: Value = SAME_KIND, where: Value = TRUE) -> Value:
    if not isinstance(dst, Array):
        raise frame.error(node, f"np.copyto to {describe(dst)}")
    if isinstance(src, Array) and src.ssa == dst.ssa and (where is TRUE or isinstance(where, Array) and where.dtype == np.bool_):
        return NONE  # NumPy returns before it asks whether it may write
    array_operators.require_mutation(frame)
    mask_is_allowed(frame, node, where)
    stores.require_writeable(frame, dst)
    cast_is_allowed(frame, node, src, dst, casting)
    if is_numpy_scalar(src) or is_number(src) and number_kind(src) == "float" or isinstance(src, Array) and src.rank == 0:
        src = replace(as_array(frame, node, src), decays=False)  # cast; an int becomes an element, or is refused
    stores.store(frame, node, dst, ELLIPSIS, src if where is TRUE else chosen(frame, node, where, src, dst))
    return NONE


def cast_is_allowed(frame: Frame, node: ast.AST, given: Value, target: Array, casting: Value) -> None:
    """Raises as NumPy does where a number, or the elements of one array, may not be written to another."""
    rule = table.constant(frame, node, casting, "`casting`")
    if rule == "unsafe":
        return
    if is_number(given):
        if rule != "same_kind":
            raise frame.error(node, f"{describe(given)} written under the rule {rule!r}", "make an array of it")
        a, b = np.dtype(number_kind(given)), dtype_of(frame, node, target)
        what, allowed = "scalar", a.kind == "b" or b.kind in {"i": "iufc", "f": "fc", "c": "c"}[a.kind]
    else:
        source = as_array(frame, node, given)
        if source.dtype is not None and target.dtype is not None and source.dtype == target.dtype:
            return
        a, b = dtype_of(frame, node, source), dtype_of(frame, node, target)
        what, allowed = "scalar" if source.rank == 0 else "array data", np.can_cast(a, b, rule)
    if not allowed:
        raise WillRaise(TypeError(f"Cannot cast {what} from {a!r} to {b!r} according to the rule {rule!r}"))


def mask_is_allowed(frame: Frame, node: ast.AST, mask: Value) -> None:
    """Raises as NumPy does for a mask that is an array of another dtype than bool; of a number or a list it makes bools."""
    if isinstance(mask, Array) and not mask.may_be_scalar and (dtype := dtype_of(frame, node, mask)) != np.bool_:
        what = "scalar" if mask.rank == 0 else "array data"
        raise WillRaise(TypeError(f"Cannot cast {what} from {dtype!r} to {np.dtype(bool)!r} according to the rule 'safe'"))


def chosen(frame: Frame, node: ast.AST, mask: Value, given: Value, kept: Array) -> Value:
    """`given` where the mask holds, else what is there, in the dtype of what is there."""
    em = frame.em
    if is_number(given):
        ssa = em.numpy("aten.fill.Scalar", [arrays.one_like(frame, kept).ssa, number(frame, given)])
        return where(frame, node, mask, Array(ssa, 0, dtype=kept.dtype), kept)
    x = as_array(frame, node, given)
    return where(frame, node, mask, replace(x, ssa=em.numpy("aten.type_as", [x.ssa, kept.ssa]), dtype=kept.dtype), kept)


@method("conj")
def conj(frame: Frame, node: ast.AST, a: Value, out: Value = NONE) -> Value:
    if not is_none(out):
        raise frame.error(node, "the method `.conj` with an array for its result")
    x = as_array(frame, node, a)
    return conjugated(frame, x) if is_complex(frame, node, x) else x


method("conjugate")(conj)


@function(np.conjugate)
def conjugate(frame: Frame, node: ast.AST, x: Value) -> Value:
    operand = as_array(frame, node, x)
    if dtype_of(frame, node, operand) == np.bool_:
        raise frame.error(node, "np.conjugate of bools, which gives int8")
    if is_complex(frame, node, operand):
        return conjugated(frame, operand)
    return array_operators.unary(frame, node, ast.UAdd, operand)


@function(np.real)
def real(frame: Frame, node: ast.AST, val: Value) -> Value:
    if isinstance(val, Scalar):
        return unary(frame, node, ast.UAdd, val)  # an int of a bool
    if is_number(val):
        return val
    x = as_array(frame, node, val)
    return part_of(frame, x, "real") if is_complex(frame, node, x) else x


@function(np.iscomplexobj)
def iscomplexobj(frame: Frame, node: ast.AST, x: Value) -> Value:
    if isinstance(x, Object):
        raise frame.error(node, f"np.iscomplexobj of {describe(x)}")
    if isinstance(x, Const):
        return Const(np.iscomplexobj(x.value))
    if not frame.outside.has_complex:
        return Const(False)
    return Const(not is_number(x) and is_complex(frame, node, as_array(frame, node, x)))
