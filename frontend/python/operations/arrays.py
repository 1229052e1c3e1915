"""Arrays from Python values, and sizes, ranks, dtypes and integers from arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.exceptions import unanswerable
from tierup.dialect.mlir import ir
from tierup.frontend.python.building.branch import select
from tierup.frontend.python.building.frame import Frame, NeedsStatic, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of
from tierup.frontend.python.building.values import (
    Array,
    Complex,
    Const,
    DTypeOf,
    Grows,
    IntList,
    Scalar,
    Sequence,
    ShapeOf,
    Value,
    describe,
    is_complex_number,
    is_number,
    is_numpy_scalar,
    number_kind,
    parts_of_complex,
)  # fmt: skip
from tierup.frontend.python.operations import growing
from tierup.frontend.python.operations.scalars import number, raise_if, to_float

KIND_DTYPES = {"bool": np.dtype(bool), "int": np.dtype(np.int64), "float": np.dtype(np.float64), "complex": np.dtype(np.complex128)}


# --- from Python values --------------------------------------------------------------------------------------------------


def program_dtype(frame: Frame, node: ast.AST | None, dtype: Any) -> dtypes.DType:
    """A NumPy dtype (or what numpy.dtype takes) that programs hold."""
    try:
        found = dtypes.from_numpy(dtype)
    except TypeError:
        found = None
    if found is None:
        names = ", ".join(d.numpy.name for d in (*dtypes.ALL, *dtypes.COMPLEX))
        raise frame.error(node, f"the dtype {dtype!r}", f"programs hold {names}")
    if found.is_complex:
        frame.meets_complex(node, f"the dtype {found.numpy}")
    return found


def literal(frame: Frame, node: ast.AST | None, array: np.ndarray, *, decays: bool = False) -> Array:
    """An array that is known when the graph is built."""
    return Array(frame.em.literal(array, program_dtype(frame, node, array.dtype)), array.ndim, dtype=array.dtype, decays=decays)


def strong(frame: Frame, node: ast.AST | None, value: Value, dtype: np.dtype | None = None) -> Array:
    """A Python number as the rank-0 array that numpy.asarray makes of it."""
    em = frame.em
    np_dtype = dtype or KIND_DTYPES[number_kind(value)]
    if isinstance(value, Const):
        try:
            constant = np.asarray(value.value, np_dtype)
        except (TypeError, ValueError, OverflowError) as e:
            raise WillRaise(e) from e
        return literal(frame, node, constant, decays=True)
    if isinstance(value, Complex):
        return weak(frame, value, strong(frame, node, Const(0.0)))
    code = em.int(program_dtype(frame, node, np_dtype).code)
    if number_kind(value) == "float" and np_dtype.kind in "iu":
        return Array(assigned(frame, value, code), 0, dtype=np_dtype)
    ssa = em.numpy("aten.full", [em.int_list([]), number(frame, value), code, em.none, em.none, em.none])
    return Array(ssa, 0, dtype=np_dtype)


def assigned(frame: Frame, value: Value, code: ir.Value) -> ir.Value:
    """A number or a NumPy scalar as an assignment makes it an element of a dtype: integers refuse what they cannot hold, which a cast of an
    array takes."""
    em = frame.em
    room = em.numpy("aten.empty.memory_format", [em.int_list([]), code, em.none, em.none, em.none, em.none])
    if isinstance(value, Array):
        return em.numpy("aten.fill.Tensor", [room, value.ssa])
    return em.numpy("aten.fill.Scalar", [room, number(frame, value)])


def weak(frame: Frame, value: Value, like: Array) -> Array:
    """A Python number as the rank-0 array that NumPy's rule for weak scalars makes of it beside `like`: 1 of its dtype times the number."""
    em = frame.em
    if number_kind(value) == "bool":
        return strong(frame, None, value)  # bool is the lowest dtype: weak and strong are the same
    if is_complex_number(value):
        ssa = em.numpy("tierup.weak_complex", [one_like(frame, like).ssa, *(to_float(frame, part) for part in parts_of_complex(value))])
        return Array(ssa, 0, dtype=None if like.dtype is None else np.result_type(like.dtype, 1j))
    if frame.outside.has_complex:
        known = dtype_of(frame, None, like, "a number beside an array of a dtype")
        return strong(frame, None, value, np.result_type(known, _sample(value)))
    dtype = None if like.dtype is None else np.result_type(like.dtype, _sample(value))
    return Array(em.numpy("aten.mul.Scalar", [one_like(frame, like).ssa, number(frame, value)]), 0, dtype=dtype)


def weak_float(frame: Frame, value: Value, like: Array) -> Array:
    """As `weak`, for a function of floats alone: an int becomes an element of the float dtype that it computes an array like this in."""
    if number_kind(value) != "int":
        return weak(frame, value, like)
    em = frame.em
    zero = em.numpy("aten.mul.Scalar", [one_like(frame, like).ssa, em.int(0)])
    one = em.numpy("aten.exp", [zero])
    dtype = None if like.dtype is None else np.exp(np.zeros((), like.dtype) * 0).dtype
    return Array(em.numpy("aten.mul.Scalar", [one, number(frame, value)]), 0, dtype=dtype)


def one_like(frame: Frame, like: Array) -> Array:
    """1 in the dtype of `like`. Divided by `like`, it gives what the int 1 does, of bools too."""
    em = frame.em
    return Array(em.numpy("aten.new_ones", [like.ssa, em.int_list([]), em.none, em.none, em.none, em.none]), 0, dtype=like.dtype)


def beside(frame: Frame, node: ast.AST, value: Value, other: Value) -> Value:
    """A value; a Python complex number as NumPy's rule for weak scalars makes it beside another operand."""
    return weak(frame, value, as_array(frame, node, other)) if is_complex_number(value) else value


def is_one(value: Value) -> bool:
    """Whether a value is the int 1, known when the graph is built."""
    return isinstance(value, Const) and type(value.value) is int and value.value == 1


def _sample(value: Value) -> Any:
    return {"int": 0, "float": 0.0, "bool": False}[number_kind(value)]


def as_array(frame: Frame, node: ast.AST | None, value: Value, *, fresh: bool = False) -> Array:
    """numpy.asarray(value); `fresh`: never a second name of the same memory."""
    if isinstance(value, Array):
        if fresh:
            return replace(value, ssa=frame.em.numpy("aten.clone", [value.ssa, frame.em.none]), decays=False, detached=False, loads=())
        return value
    if isinstance(value, Const) and isinstance(value.value, np.generic):
        return literal(frame, node, np.asarray(value.value), decays=True)
    if is_number(value):
        return strong(frame, node, value)
    if isinstance(value, (Sequence, ShapeOf)):
        return _from_sequence(frame, node, value)
    if isinstance(value, Grows):
        return growing.as_array(frame, node, value)
    raise frame.error(node, f"{describe(value)} where NumPy needs an array")


def insist_on_rank(x: Array, least: int, message: str) -> None:
    """Raises NumPy's ValueError for an array of a lower rank, where that is known."""
    if x.rank is not None and x.rank < least:
        raise WillRaise(ValueError(message))


def _from_sequence(frame: Frame, node: ast.AST | None, value: Sequence | ShapeOf) -> Array:
    items = shape_items(frame, node, value) if isinstance(value, ShapeOf) else value.items
    static = static_of(value)
    if static is not None:
        try:
            array = np.array(static)
        except ValueError as e:
            raise WillRaise(e) from e
        return literal(frame, node, array)
    if not items:
        return literal(frame, node, np.array([]))
    if any(isinstance(item, Sequence) for item in items) and (nested := _nesting(value)) is not None:
        try:
            np.array(nested)
        except ValueError as e:  # an inhomogeneous shape
            raise WillRaise(e) from e
    parts = [strong(frame, node, item) if is_complex_number(item) else as_array(frame, node, item) for item in items]
    ssa = frame.em.numpy("aten.stack", [frame.em.tensor_list([p.ssa for p in parts]), frame.em.int(0)])
    rank = next((p.rank + 1 for p in parts if p.rank is not None), None)
    if rank is None or rank > 2:  # np.array lays its parts out in C order, where np.stack keeps theirs
        ssa = frame.em.numpy("aten.clone", [ssa, frame.em.int(0)])
    known = {p.dtype for p in parts}
    dtype = None if None in known else np.result_type(*known)
    return Array(ssa, rank, 1 + max(p.at_least for p in parts), dtype, decays=False)


def as_index(frame: Frame, node: ast.AST | None, value: Sequence) -> Array:
    """The index array of a tuple or list; one without elements is of integers."""
    static = static_of(value)
    if static is None or np.size(static):
        return as_array(frame, node, value)
    return literal(frame, node, np.zeros(np.shape(static), np.int64))


def _nesting(value: Value) -> Any:
    """Lists in lists as they are, with 0 for each number; None where something else is in them."""
    if is_number(value) or is_numpy_scalar(value) or isinstance(value, Array) and value.rank == 0:
        return 0
    items = [_nesting(v) for v in value.items] if isinstance(value, Sequence) else [None]
    return None if None in items else items


def static_of(value: Value) -> Any:
    """The Python object that a value is, when all of it is known; else None."""
    if isinstance(value, Const) and isinstance(value.value, (bool, int, float, np.generic)):
        return None if isinstance(value.value, np.complexfloating) else value.value  # of which there are no literals
    if isinstance(value, Sequence):
        items = [static_of(v) for v in value.items]
        return None if any(i is None for i in items) else items
    return None


def shape_items(frame: Frame, node: ast.AST | None, value: ShapeOf) -> list[Value]:
    """The sizes of x.shape. Raises NeedsStatic when the rank is not known."""
    if value.array.rank is None:
        raise frame.error(
            node, "a shape whose length is known only at run time", "name the dimensions you need: x.shape[0], x.shape[1]", NeedsStatic
        )
    return [size(frame, value.array, i) for i in range(value.array.rank)]


def size(frame: Frame, array: Array, dim: int) -> Scalar:
    """x.shape[dim]."""
    return Scalar(frame.em.numpy("aten.size.int", [array.ssa, frame.em.int(dim)], frame.em.types.int), "int")


def rank_ssa(frame: Frame, array: Array) -> ir.Value:
    """x.ndim as !torch.int."""
    return frame.em.int(array.rank) if array.rank is not None else frame.em.numpy("aten.dim", [array.ssa], frame.em.types.int)


def refuse_axis(frame: Frame, x: Array, axis: Value, dim: ir.Value | None = None, name: str | None = None) -> None:
    """Raises as NumPy does where x has no such axis; slices and indices would take another one. `dim`: the axis as an int. `name`: what
    NumPy calls it."""
    if isinstance(axis, Const) and not isinstance(axis.value, (int, np.integer)):
        raise WillRaise(TypeError(f"{type(axis.value).__name__!r} object cannot be interpreted as an integer"))
    if x.rank is not None and isinstance(axis, Const):
        if not -x.rank <= axis.value < x.rank:
            raise WillRaise(np.exceptions.AxisError(axis.value, x.rank, name))
    elif dim is not None:
        em, rank = frame.em, rank_ssa(frame, x)
        lowest = em.scalar("aten.neg.int", [rank], em.types.int)
        for how, bound in (("lt", lowest), ("ge", rank)):
            wrong = em.scalar(f"aten.{how}.int", [dim, bound], em.types.bool)
            raise_if(frame, wrong, "AxisUnanswerable", "the axis is out of bounds for the array")  # NumPy's words have its number


def dtype_code(frame: Frame, node: ast.AST | None, value: Value) -> tuple[ir.Value, np.dtype | None]:
    """A dtype argument as torch's code (none for None), and the dtype when it is known now."""
    em = frame.em
    if isinstance(value, DTypeOf):
        return value.ssa, None
    if isinstance(value, Const):
        if value.value is None:
            return em.none, None
        dtype = program_dtype(frame, node, value.value)
        return em.int(dtype.code), dtype.numpy
    raise frame.error(node, f"{describe(value)} as a dtype", "write np.float32, 'float32' or x.dtype")


def int_list(
    frame: Frame, node: ast.AST | None, value: Value, what: str = "a shape", *, bools: bool = False
) -> tuple[ir.Value, int | None]:
    """A shape or axes argument (an int, a tuple or list of ints, x.shape) as !torch.list<int>, and its length when known. `bools`: as in
    `as_int`."""
    em = frame.em
    if isinstance(value, IntList):
        return value.ssa, None
    if isinstance(value, ShapeOf):
        return em.numpy("aten.size", [value.array.ssa], em.types.int_list), value.array.rank
    if not isinstance(value, Sequence):
        return em.int_list([as_int(frame, node, value, what, bools=bools, quoted=True)]), 1
    return em.int_list([as_int(frame, node, item, what, bools=bools) for item in value.items]), len(value.items)


def taken(frame: Frame, node: ast.AST, a: Value) -> Array:
    """What a function gets that calls the array method of its name: of a Python number an array, which stays one."""
    x = as_array(frame, node, a)
    return replace(x, decays=False) if is_number(a) else x


def is_scalar(frame: Frame, x: Array) -> ir.Value:
    """Whether NumPy has a scalar for an array that may be one, as !torch.bool."""
    of_rank_0 = frame.em.scalar("aten.eq.int", [rank_ssa(frame, x), frame.em.int(0)], frame.em.types.bool)
    return of_rank_0 if isinstance(x.decays, bool) else frame.em.scalar("aten.__and__.bool", [of_rank_0, x.decays], frame.em.types.bool)


def own_of_scalars(frame: Frame, x: Array) -> Array:
    """The array that is returned: of its own where it is a view of a NumPy scalar, as NumPy's is; and where it is a scalar that is, or may
    be, an element of an array: code for a view of an argument has the ints of its place compiled in."""
    is_choice = not isinstance(x.ssa.owner, ir.Block) and len(x.ssa.owner.operation.regions) > 0
    is_element = is_choice or any(load.ssa == x.ssa for load in x.loads)
    if is_element and x.rank == 0 and x.decays is True:
        return replace(x, ssa=frame.em.numpy("aten.clone", [x.ssa, frame.em.none]), loads=())
    for load in x.loads:
        if load.ssa == x.ssa and x.decays is not False:
            continue
        copied: Callable[[], Array] = lambda x=x: replace(x, ssa=frame.em.numpy("aten.clone", [x.ssa, frame.em.none]), loads=())  # type: ignore[misc]  # a default in a lambda
        if load.rank == 0 and load.decays is True:
            return copied()
        found = select(frame, None, is_scalar(frame, load), copied, lambda x=x: x)  # type: ignore[misc]  # the same
        assert isinstance(found, Array)
        x = found
    return x


def viewable(frame: Frame, node: ast.AST, a: Value) -> Array:
    """What a view may be taken of: of a NumPy scalar an array of its own, since writing to the view leaves the scalar as it is."""
    x = taken(frame, node, a)
    if not x.may_be_scalar:
        return x
    copied: Callable[[], Array] = lambda: replace(x, ssa=frame.em.numpy("aten.clone", [x.ssa, frame.em.none]), loads=())
    if x.rank == 0 and x.decays is True:
        return copied()
    if not frame.em.mutable:
        return x  # what is returned becomes its own there
    result = select(frame, node, is_scalar(frame, x), copied, lambda: x)
    assert isinstance(result, Array)
    return result


def is_of(frame: Frame, x: Array, among: Iterable[dtypes.DType]) -> ir.Value:
    """1 where the dtype of an array is one of these, else 0, as !torch.int: the bit that has torch's number of the dtype."""
    em = frame.em
    code = em.scalar("prim.dtype", [x.ssa], em.types.int)
    bits = em.numpy("aten.__rshift__.int", [em.int(sum(1 << d.code for d in among)), code], em.types.int)
    return em.numpy("aten.__and__.int", [bits, em.int(1)], em.types.int)


_NO_INTEGER = "only integer scalar arrays can be converted to a scalar index"


def as_int(
    frame: Frame, node: ast.AST | None, value: Value, what: str = "an integer", *, bools: bool = True, quoted: bool = False
) -> ir.Value:
    """A value where Python wants an integer (operator.index) as !torch.int. `bools`: whether NumPy takes one there for an int. `quoted`:
    whether the TypeError for an array quotes it, so that Python has to raise it."""
    em = frame.em
    if not bools and is_number(value) and number_kind(value) == "bool":
        raise WillRaise(unanswerable(TypeError)("an integer is required"))  # NumPy's functions say it in several ways
    if isinstance(value, Const) and isinstance(value.value, (int, np.integer)):
        return em.int(int(value.value))
    if isinstance(value, Scalar) and value.kind in ("int", "bool"):
        return number(frame, value)
    if isinstance(value, Array) and value.rank == 0 and (value.dtype is None or value.dtype.kind in "iu"):
        if value.dtype is None:
            other = em.scalar("aten.eq.int", [is_of(frame, value, dtypes.INTS), em.int(0)], em.types.bool)
            if value.decays is not True and not quoted:
                raise_if(frame, other, "TypeError", _NO_INTEGER)
            elif what == "a slice":
                raise_if(frame, other, "TypeError", "slice indices must be integers or None or have an __index__ method")
            else:
                raise_if(frame, other, "TypeUnanswerable", "no integer of NumPy's")  # Python's words have its dtype
        return em.numpy("aten.Int.Tensor", [value.ssa], em.types.int)
    if isinstance(value, (Const, Scalar)):
        raise frame.error(node, f"{describe(value)} in {what}", "an int is needed there: int(...) or `//`")
    raise frame.error(node, f"{describe(value)} in {what}", "write int(...) around it")
