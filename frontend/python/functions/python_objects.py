"""What asks Python objects what they are: `type`, `getattr`, `hasattr`, `issubclass`, `slice`, and functions of objects known now."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of
from tierup.frontend.python.building.table import constant, function
from tierup.frontend.python.building.values import (
    NONE,
    Array,
    Const,
    IntList,
    Mapping_,
    Scalar,
    Sequence,
    ShapeOf,
    Slice,
    Value,
    describe,
    is_complex_number,
    is_number,
    number_kind,
)
from tierup.frontend.python.operations import iteration
from tierup.frontend.python.operations.arrays import as_int, program_dtype
from tierup.frontend.python.operations.operators import folded
from tierup.frontend.python.operations.scalars import python_says, to_int

EMPTY = Sequence("tuple", [])
PYTHONS = {"int": int, "float": float, "bool": bool, "complex": complex}


def class_of(frame: Frame, node: ast.AST, value: Value) -> type:
    """type(value). Raises UnsupportedSyntax where only the run knows it."""
    if isinstance(value, Const):
        return type(value.value)
    if is_number(value) or is_complex_number(value):
        return PYTHONS[number_kind(value)]
    if isinstance(value, Array):
        if not value.may_be_scalar:
            return np.ndarray
        if value.rank == 0 and value.decays is True:
            return dtype_of(frame, node, value, "the type of a NumPy scalar").type
    if isinstance(value, (ShapeOf, IntList)):
        return tuple
    if isinstance(value, Sequence):
        return value.keys[0] if value.keys else {"tuple": tuple, "list": list}[value.kind]
    if isinstance(value, Mapping_):
        return dict
    if isinstance(value, Slice):
        return slice
    raise frame.error(node, f"the type of {describe(value)}, which only the run knows")


@function(type)
def type_(frame: Frame, node: ast.AST, object: Value) -> Value:
    return Const(class_of(frame, node, object))


def _classes(frame: Frame, node: ast.AST, class_or_tuple: Value) -> tuple[type, ...]:
    items = class_or_tuple.items if isinstance(class_or_tuple, Sequence) else [class_or_tuple]
    return tuple(constant(frame, node, c, "a class") for c in items)


@function(isinstance)
def isinstance_(frame: Frame, node: ast.AST, obj: Value, class_or_tuple: Value) -> Value:
    classes, of = _classes(frame, node, class_or_tuple), class_of(frame, node, obj)
    try:
        return Const(issubclass(of, classes))
    except TypeError as e:
        raise WillRaise(TypeError(python_says(lambda: isinstance(object(), classes)))) from e


@function(issubclass)
def issubclass_(frame: Frame, node: ast.AST, cls: Value, class_or_tuple: Value) -> Value:
    classes = _classes(frame, node, class_or_tuple)
    of = constant(frame, node, cls, "a class")
    return folded(frame, node, lambda: issubclass(of, classes))


@function(slice)
def slice_(frame: Frame, node: ast.AST, *args: Value) -> Value:
    if not 1 <= len(args) <= 3:
        raise WillRaise(TypeError(f"slice expected at most 3 arguments, got {len(args)}"))
    return Slice(NONE, args[0], NONE) if len(args) == 1 else Slice(*args, *[NONE] * (3 - len(args)))


@function(set)
def set_(frame: Frame, node: ast.AST, iterable: Value = EMPTY) -> Value:
    """Of numbers and strings known now, in NumPy's own code, which changes none."""
    if not frame.is_numpys:
        raise frame.error(node, "`set`", "use np.unique, a bool array with an item for each number, or a tuple")
    return Const(frozenset(constant(frame, node, item, "an element of a set") for item in iteration.static_items(frame, node, iterable)))


@function(operator.index)
def index(frame: Frame, node: ast.AST, a: Value) -> Value:
    if is_number(a) and not isinstance(a, Const):
        if number_kind(a) == "float":
            raise WillRaise(TypeError(python_says(lambda: operator.index(1.0))))  # type: ignore[arg-type]  # what it says of one
        return Scalar(to_int(frame, a), "int")
    if isinstance(a, Array) and a.rank == 0:
        return Scalar(as_int(frame, node, a), "int")
    return folded(frame, node, lambda: operator.index(constant(frame, node, a, "an index")))


# --- known now ------------------------------------------------------------------------------------------------------------


def known(value: Value) -> Any:
    """The Python object that a value is when all of it is known now. Raises LookupError where it is not."""
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Sequence):
        items = map(known, value.items)
        return list(items) if value.kind == "list" else tuple(items)
    if isinstance(value, Mapping_):
        return {k: known(v) for k, v in value.items.items()}
    if isinstance(value, Slice):
        return slice(known(value.start), known(value.stop), known(value.step))
    raise LookupError


def value_of(frame: Frame, found: Any) -> Value:
    """The value that a Python object is, tuples and lists item by item, arrays as constants of the program."""
    if isinstance(found, np.ndarray):
        dtype = program_dtype(frame, None, found.dtype)
        return Array(frame.em.literal(found, dtype), found.ndim, dtype=found.dtype, decays=False)
    if type(found) in (tuple, list):
        return Sequence(type(found).__name__, [value_of(frame, item) for item in found], frame.em.region)
    return Const(found)


def computed(frame: Frame, node: ast.AST, called: Callable[..., Any], args: list[Value], kwargs: Mapping[str, Value]) -> Value | None:
    """The call made now, where all arguments are known; None where they are not. For functions without effects, of structure alone."""
    try:
        positional, named = [known(v) for v in args], {k: known(v) for k, v in kwargs.items()}
    except LookupError:
        return None
    found = folded(frame, node, lambda: called(*positional, **named))
    assert isinstance(found, Const)
    return value_of(frame, found.value)


STRUCTURAL = {builtins.sorted, builtins.callable, builtins.repr, np.dtype, np.issubdtype, np.promote_types, np.can_cast, np.isscalar}
"""Functions of structure: called when the graph is built."""
