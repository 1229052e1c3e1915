"""`value.name`, and the methods of arrays, lists, dicts and strings."""

from __future__ import annotations

import ast
import types

import numpy as np

from tierup.dialect.base.exceptions import unanswerable
from tierup.frontend.python.building import table
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of
from tierup.frontend.python.building.values import (
    LAST,
    NONE,
    ZERO,
    Array,
    Complex,
    Const,
    DTypeOf,
    Grows,
    Mapping_,
    Method,
    Object,
    Scalar,
    Sequence,
    ShapeOf,
    Slice,
    Value,
    describe,
    is_complex_number,
    number_kind,
    parts_of_complex,
)  # fmt: skip
from tierup.frontend.python.functions import list_methods, numpy_finding, numpy_shape, python_objects
from tierup.frontend.python.functions.python_objects import PYTHONS
from tierup.frontend.python.operations import complex_scalars
from tierup.frontend.python.operations.arrays import as_array, insist_on_rank
from tierup.frontend.python.operations.complex_arrays import is_complex, part_of
from tierup.frontend.python.operations.scalars import unary
from tierup.frontend.python.syntax import helpers

_MISSING = Const(object())
_FLAGS = np.empty(0).flags  # of any array: NumPy's own code asks for its layout to make it a better one

# modules whose contents never change: their members need no guard
_STABLE_MODULES = ("numpy", "math", "tierup")


def load(frame: Frame, node: ast.AST, owner: Value, name: str) -> Value:
    """`owner.name`."""
    if isinstance(owner, Array):
        return _array(frame, node, owner, name)
    if isinstance(owner, Object):
        return _object(frame, node, owner, name)
    if isinstance(owner, Const) and not is_complex_number(owner):
        return _constant(frame, node, owner, name)
    fields: tuple[str, ...] = getattr(owner.keys[0], "_fields", ()) if isinstance(owner, Sequence) and owner.keys else ()
    if name in fields and isinstance(owner, Sequence):
        return owner.items[fields.index(name)]
    if isinstance(owner, (Sequence, Mapping_, Grows)):
        of = list if isinstance(owner, Grows) else python_objects.class_of(frame, node, owner)
        if not hasattr(of, name):
            raise WillRaise(AttributeError(f"{of.__name__!r} object has no attribute {name!r}"))
        return Method(owner, name)
    if isinstance(owner, Slice) and name in ("start", "stop", "step"):
        return {"start": owner.start, "stop": owner.stop, "step": owner.step}[name]
    if is_complex_number(owner) and name in ("real", "imag", "conjugate"):
        real, imag = parts_of_complex(owner)
        return Method(owner, name) if name == "conjugate" else real if name == "real" else imag
    if isinstance(owner, Scalar) and name in ("real", "imag"):
        return (Const(0.0) if owner.kind == "float" else ZERO) if name == "imag" else unary(frame, node, ast.UAdd, owner)
    if isinstance(owner, DTypeOf):
        raise frame.error(node, f"`.{name}` of a dtype known only at run time", "compare dtypes with ==")
    if isinstance(owner, (Scalar, Complex)) and not hasattr(PYTHONS[number_kind(owner)], name):
        raise WillRaise(AttributeError(f"{number_kind(owner)!r} object has no attribute {name!r}"))
    raise frame.error(node, f"`.{name}` of {describe(owner)}")


def _array(frame: Frame, node: ast.AST, x: Array, name: str) -> Value:
    em = frame.em
    if name == "shape":
        return ShapeOf(x)
    if name == "ndim":
        return numpy_finding.ndim(frame, node, x)
    if name == "size":
        return Scalar(em.numpy("aten.numel", [x.ssa], em.types.int), "int")
    if name == "dtype":
        if frame.is_numpys:
            return Const(dtype_of(frame, node, x))
        return Const(x.dtype) if x.dtype is not None else DTypeOf(em.numpy("prim.dtype", [x.ssa], em.types.int))
    if name == "T":
        return numpy_shape.transpose(frame, node, x)
    if name == "mT":
        if x.rank == 0 and x.may_be_scalar:
            raise frame.error(node, "`.mT` of a NumPy scalar", "it has none")
        insist_on_rank(x, 2, "matrix transpose with ndim < 2 is undefined")
        return numpy_shape.swapaxes(frame, node, x, LAST, Const(-2))
    if name in ("real", "imag") and is_complex(frame, node, x):
        return part_of(frame, x, name)
    if name == "real":
        return x
    if name == "flat" and frame.is_numpys:  # of which it makes an array
        return numpy_shape.flat(frame, x)
    if name == "flags" and frame.is_numpys:
        return Const(_FLAGS)
    if name in table.METHODS:
        return Method(x, name)
    if not hasattr(np.ndarray, name):
        of = unanswerable(AttributeError) if x.may_be_scalar else AttributeError  # NumPy's scalars say of what type they are
        raise WillRaise(of(f"'numpy.ndarray' object has no attribute '{name}'"))
    raise table.unknown_method(frame, node, name)


def _object(frame: Frame, node: ast.AST, owner: Object, name: str) -> Value:
    getter = helpers.property_of(frame, node, owner, name)
    if getter is not None:
        return frame.call_function(frame, node, getter.function, [owner], {})
    try:
        value = getattr(owner.value, name)
    except AttributeError as e:
        frame.outside.constant(owner.access.attribute(name), "missing", type(e))
        raise WillRaise(e) from e
    if isinstance(owner.value, types.ModuleType) and owner.value.__name__.split(".")[0] in _STABLE_MODULES:
        if owner.access.root == "argument":  # which is another module in another call
            frame.outside.constant(owner.access, "identity", owner.value)
        return Object(value, owner.access.attribute(name)) if isinstance(value, types.ModuleType) else Const(value)
    access = owner.access.attribute(name)
    if isinstance(value, types.MethodType):
        return helpers.method(frame, node, owner, access, value, name)
    return frame.outside_value(node, value, access)


def _constant(frame: Frame, node: ast.AST, owner: Const, name: str) -> Value:
    """Attributes of what is known now: np.finfo(...).eps, dtypes, NumPy scalars, classes' constants, ufunc methods."""
    value = owner.value
    if isinstance(value, np.generic):
        if name in table.METHODS:
            return Method(owner, name)
        if name in ("dtype", "ndim", "size", "shape", "T"):
            found = getattr(value, name)
            return Sequence("tuple", []) if name == "shape" else Const(found)
    if isinstance(value, frozenset):  # what a set is here
        raise frame.error(node, f"the set method `.{name}`", "use a tuple")
    if isinstance(value, str):
        if not frame.is_numpys:  # of strings that calls bring there would be a graph for each
            raise frame.error(node, f"the string method `.{name}`", "compute strings outside the function")
        return Method(owner, name)
    if isinstance(value, frozenset):  # a set of NumPy's own code
        raise frame.error(node, f"the set method `.{name}`")
    try:
        found = getattr(value, name)
    except AttributeError as e:
        frame.outside.constant(owner.access.attribute(name) if owner.access is not None else None, "missing", type(e))
        raise WillRaise(e) from e
    if isinstance(value, (np.dtype, np.finfo, np.iinfo, np.ufunc)) or value is _FLAGS:
        return Const(found)
    if isinstance(value, type) and owner.access is not None:
        if isinstance(found, types.MethodType):
            return helpers.method(frame, node, owner, owner.access.attribute(name), found, name)
        return frame.outside_value(node, found, owner.access.attribute(name))
    raise frame.error(node, f"`.{name}` of {describe(owner)}")


# --- methods -------------------------------------------------------------------------------------------------------------


def call_method(frame: Frame, node: ast.Call, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`owner.name(...)`, of arrays, tuples, lists, dicts and objects. Raises UnsupportedSyntax for others."""
    owner, name = method.owner, method.name
    if method.function is not None:
        return frame.call_function(frame, node, method.function, [owner, *args], kwargs)
    if isinstance(owner, (Sequence, Grows)):
        return list_methods.call(frame, node, owner, name, args, kwargs)
    if isinstance(owner, Mapping_):
        return _dict_method(frame, node, owner, name, args)
    if is_complex_number(owner) and not args and not kwargs:  # of those that have one: `conjugate`
        return complex_scalars.conjugate(frame, node, Complex(*parts_of_complex(owner)))
    if isinstance(owner, Const) and isinstance(owner.value, str):
        found = python_objects.computed(frame, node, getattr(owner.value, name), args, kwargs)
        if found is None:
            raise frame.error(node, f"the string method `.{name}` of what only the run knows", "compute strings outside the function")
        return found
    arguments = [as_array(frame, node, owner), *args]
    return table.invoke(frame, node, getattr(np.ndarray, name), table.METHODS[name], arguments, kwargs, method=name)


def _dict_method(frame: Frame, node: ast.AST, owner: Mapping_, name: str, args: list[Value]) -> Value:
    if name == "keys" and not args:
        return Sequence("tuple", [Const(k) for k in owner.items], view=(owner, name))
    if name == "values" and not args:
        return Sequence("tuple", list(owner.items.values()), view=(owner, name))
    if name == "items" and not args:
        return Sequence("tuple", [Sequence("tuple", [Const(k), v]) for k, v in owner.items.items()], view=(owner, name))
    if name == "get" and 1 <= len(args) <= 2:
        key = table.constant(frame, node, args[0], table.A_KEY)
        return owner.items.get(key, args[1] if len(args) == 2 else NONE)
    raise frame.error(node, f"the dict method `.{name}`", "dicts have .keys, .values, .items and .get here")


@table.function(getattr)
def getattr_(frame: Frame, node: ast.AST, object: Value, name: Value, *default: Value) -> Value:
    """`object.name`, or the default where there is none."""
    attribute = table.constant(frame, node, name, "the name of an attribute")
    try:
        return load(frame, node, object, attribute)
    except WillRaise as e:
        if not default or not isinstance(e.error, AttributeError):
            raise
        return default[0]


@table.function(hasattr)
def hasattr_(frame: Frame, node: ast.AST, obj: Value, name: Value) -> Value:
    """Whether there is an `obj.name`."""
    return Const(getattr_(frame, node, obj, name, _MISSING) is not _MISSING)
