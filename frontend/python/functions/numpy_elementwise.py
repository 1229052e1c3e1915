"""NumPy's elementwise functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of
from tierup.frontend.python.building.table import Handler, constant, function, method
from tierup.frontend.python.building.values import (
    NONE,
    TRUE,
    ZERO,
    Array,
    Const,
    Scalar,
    Sequence,
    Value,
    is_complex_number,
    is_none,
    is_number,
    number_kind,
)
from tierup.frontend.python.functions.numpy_finding import nonzero
from tierup.frontend.python.operations import array_operators, arrays
from tierup.frontend.python.operations.array_operators import broadcast_rank, ufunc_dtype
from tierup.frontend.python.operations.arrays import as_array, beside, strong, weak, weak_float
from tierup.frontend.python.operations.complex_arrays import refuse_complex
from tierup.frontend.python.operations.scalars import number, to_bool

ZERO_FLOAT = Const(0.0)

_OPERATORS: dict[np.ufunc, type] = {
    np.add: ast.Add, np.subtract: ast.Sub, np.multiply: ast.Mult, np.true_divide: ast.Div, np.floor_divide: ast.FloorDiv,
    np.remainder: ast.Mod, np.power: ast.Pow, np.bitwise_and: ast.BitAnd, np.bitwise_or: ast.BitOr, np.bitwise_xor: ast.BitXor,
    np.left_shift: ast.LShift, np.right_shift: ast.RShift, np.equal: ast.Eq, np.not_equal: ast.NotEq, np.less: ast.Lt,
    np.less_equal: ast.LtE, np.greater: ast.Gt, np.greater_equal: ast.GtE,
}  # fmt: skip



def _register() -> None:
    """NumPy's functions of the ops whose definitions name them; those that are operators in Python as the operators are."""
    for ufunc, name in _named().items():
        if ufunc not in _OPERATORS:
            function(ufunc)(_unary(ufunc, name) if ufunc.nin == 1 else _binary(ufunc, name))
    for ufunc, op in _OPERATORS.items():
        function(ufunc)(_operator(op))


def _named() -> dict[np.ufunc, str]:
    """The first op of the table for each."""
    found: dict[np.ufunc, str] = {}
    for op in optable.of_kind(Kind.POINTWISE):
        if isinstance(op.numpy_function, np.ufunc):
            found.setdefault(op.numpy_function, op.name)
    return found


def _unary(ufunc: np.ufunc, name: str) -> Handler:
    def handler(frame: Frame, node: ast.AST, x: Value) -> Value:
        operand = strong(frame, node, x) if is_complex_number(x) else as_array(frame, node, x)
        return Array(frame.em.numpy(name, [operand.ssa]), operand.rank, operand.min_rank, ufunc_dtype(ufunc, operand))

    return handler


def _operator(op: type) -> Handler:
    def handler(frame: Frame, node: ast.AST, x1: Value, x2: Value) -> Value:
        if is_number(x1) and is_number(x2):
            x1, x2 = strong(frame, node, x1), strong(frame, node, x2)
        if op is ast.Pow and not is_number(x1):
            x1 = array_operators.without_bools(frame, as_array(frame, node, x1), x2)
        return array_operators.binary(frame, node, op, x1, x2)

    return handler


@function(np.divmod)
def divmod_(frame: Frame, node: ast.AST, x1: Value, x2: Value) -> Value:
    """The quotient's floor, and what is left."""
    for operand in (x1, x2):
        refuse_complex(frame, node, as_array(frame, node, operand), "np.divmod")
    return Sequence("tuple", [_operator(op)(frame, node, x1, x2) for op in (ast.FloorDiv, ast.Mod)])


@function(np.positive)
def positive(frame: Frame, node: ast.AST, x: Value) -> Value:
    return array_operators.unary(frame, node, ast.UAdd, as_array(frame, node, x))


@function(np.float_power)
def float_power(frame: Frame, node: ast.AST, x1: Value, x2: Value) -> Value:
    """The power in float64."""
    em = frame.em
    how = [em.int(dtypes.f64.code), em.bool(False), em.bool(False), em.none]
    a, b = (replace(x, ssa=em.numpy("aten.to.dtype", [x.ssa, *how]), dtype=np.dtype(np.float64)) for x in _pair(frame, node, x1, x2))
    return array_operators.binary(frame, node, ast.Pow, a, b)


_TRUTHS = (np.logical_and, np.logical_or, np.logical_xor)


def _truth(frame: Frame, value: Value) -> Value:
    return Const(bool(value.value)) if isinstance(value, Const) else Scalar(to_bool(frame, value), "bool")


def _binary(ufunc: np.ufunc, name: str) -> Handler:
    of_floats_alone = not any(c in "lqLQ" for types in ufunc.types for c in types)
    weakly = weak_float if of_floats_alone else weak

    def handler(frame: Frame, node: ast.AST, x1: Value, x2: Value) -> Value:
        if ufunc in _TRUTHS:
            x1, x2 = (strong(frame, node, _truth(frame, v)) if is_number(v) else v for v in (x1, x2))
        a, b = _pair(frame, node, x1, x2, weakly)
        rank, least = broadcast_rank(a, b)
        return Array(frame.em.numpy(name, [a.ssa, b.ssa]), rank, least, ufunc_dtype(ufunc, a, b))

    return handler


Weakly = Callable[[Frame, Value, Array], Array]


def _pair(frame: Frame, node: ast.AST, x1: Value, x2: Value, weakly: Weakly = weak) -> tuple[Array, Array]:
    """Both as arrays; a Python number beside an array is weak."""
    if is_number(x1) and is_number(x2):
        return strong(frame, node, x1), strong(frame, node, x2)
    if is_number(x1):
        b = as_array(frame, node, x2)
        return weakly(frame, x1, b), b
    a = as_array(frame, node, x1)
    return a, weakly(frame, x2, a) if is_number(x2) else as_array(frame, node, x2)


_register()


@function(np.fabs)
def fabs(frame: Frame, node: ast.AST, x: Value) -> Value:
    """abs of the float that NumPy makes of an int."""
    return _unary(np.absolute, "aten.abs")(frame, node, _as_float(frame, node, x))


def _as_float(frame: Frame, node: ast.AST, x: Value) -> Array:
    """The operand in the float dtype that NumPy computes with: float16 of bools and bytes."""
    operand = as_array(frame, node, x)
    refuse_complex(frame, node, operand, "a function of real numbers")
    if operand.dtype is not None and operand.dtype.kind == "f":
        return operand
    ssa = frame.em.numpy("aten.mul.Tensor", [operand.ssa, _float_one(frame, operand)])
    return replace(operand, ssa=ssa, dtype=ufunc_dtype(np.exp, operand), decays=True, detached=False, loads=())


def _float_one(frame: Frame, operand: Array) -> ir.Value:
    """1 in the dtype that np.exp gives of the operand."""
    em = frame.em
    zero = em.numpy("aten.new_zeros", [operand.ssa, em.int_list([]), em.none, em.none, em.none, em.none])
    return em.numpy("aten.exp", [zero])


@function(np.where)
def where(frame: Frame, node: ast.AST, condition: Value, x: Value | None = None, y: Value | None = None) -> Value:
    if x is None and y is None:
        return nonzero(frame, node, condition)
    if x is None or y is None:
        raise WillRaise(ValueError("either both or neither of x and y should be given"))
    cond = as_array(frame, node, condition)
    if cond.dtype != np.bool_:
        cond = array_operators.binary(frame, node, ast.NotEq, cond, Const(0))
    em = frame.em
    x, y = (strong(frame, node, v) if is_number(v) and number_kind(v) == "bool" else v for v in (x, y))
    if not (is_number(x) or is_number(y)):
        x, y = (beside(frame, node, v, other) for v, other in ((x, y), (y, x)))
    if is_number(x) and is_number(y):
        x = strong(frame, node, x, np.result_type(_sample(x), _sample(y)))
    operands: list[Value] = [v if is_number(v) else as_array(frame, node, v) for v in (x, y)]
    kinds = "".join("s" if is_number(v) else "t" for v in operands)
    name = {"tt": "aten.where.self", "ts": "aten.where.ScalarOther", "st": "aten.where.ScalarSelf"}[kinds]
    ssa = em.numpy(name, [cond.ssa, *(number(frame, v) if is_number(v) else v.ssa for v in operands)])  # type: ignore[union-attr]  # arrays
    rank, least = broadcast_rank(cond, *(v for v in operands if isinstance(v, Array)))
    dtype = ufunc_dtype(np.maximum, *operands)
    return Array(ssa, rank, least, dtype, decays=False)


def _sample(value: Value) -> np.ndarray:
    return np.zeros((), arrays.KIND_DTYPES[number_kind(value)])


@method("clip")
def clip_method(frame: Frame, node: ast.AST, a: Value, min: Value = NONE, max: Value = NONE) -> Value:
    """As NumPy: minimum(maximum(a, lo), hi) with the dtype of all three."""
    low, high = min, max
    x = as_array(frame, node, a)
    if is_none(low) and is_none(high):
        return array_operators.unary(frame, node, ast.UAdd, x)
    bounds = [v for v in (low, high) if not is_none(v)]
    if all(is_number(v) and number_kind(v) != "bool" for v in bounds):
        em = frame.em
        operands = [em.none if is_none(v) else number(frame, v) for v in (low, high)]
        return Array(
            em.numpy("aten.clamp", [x.ssa, *operands]),
            x.rank,
            x.min_rank,
            ufunc_dtype(np.maximum, x, *bounds) if len(bounds) == 1 else None,
        )
    of_all = arrays.one_like(frame, x)  # numbers take the dtype that all arrays have together
    for bound in bounds:
        if not is_number(bound):
            of_all = array_operators.binary(frame, node, ast.Mult, of_all, arrays.one_like(frame, as_array(frame, node, bound)))
    low, high = (weak(frame, v, of_all) if is_number(v) else v for v in (low, high))
    each = [None if is_none(v) else as_array(frame, node, v) for v in (low, high)]
    rank, least = broadcast_rank(x, *filter(None, each))
    operands = [x.ssa, *(frame.em.none if bound is None else bound.ssa for bound in each)]
    return Array(frame.em.numpy("aten.clamp.Tensor", operands), rank, least)


@function(np.round, np.around, method="round")
def round_(frame: Frame, node: ast.AST, a: Value, decimals: Value = ZERO) -> Value:
    operand, places = as_array(frame, node, a), constant(frame, node, decimals, "`decimals`")
    if places != 0:
        dtype = dtype_of(frame, node, operand, "rounding a dtype")
        if dtype.kind in "iu" and places > 0:
            return replace(as_array(frame, node, operand, fresh=True), decays=True)
        if dtype.kind != "f" or dtype.itemsize == 2:  # which NumPy rounds at each step
            raise frame.error(node, f"rounding {dtype} to {places} decimals")
        ssa = frame.em.numpy("aten.round.decimals", [operand.ssa, frame.em.int(places)])
        return Array(ssa, operand.rank, operand.min_rank, operand.dtype)
    if operand.dtype is not None and operand.dtype.kind in "iu":
        return replace(as_array(frame, node, operand, fresh=True), decays=True)
    return Array(frame.em.numpy("aten.round", [operand.ssa]), operand.rank, operand.min_rank, operand.dtype)


@function(np.rint)
def rint(frame: Frame, node: ast.AST, x: Value) -> Value:
    """round, which leaves ints ints; a factor 1 of the dtype that exp gives makes floats of them, as np.rint does."""
    em = frame.em
    operand = as_array(frame, node, x)
    refuse_complex(frame, node, operand, "np.rint")
    ssa = em.numpy("aten.round", [operand.ssa])
    if operand.dtype is None or operand.dtype.kind != "f":
        ssa = em.numpy("aten.mul.Tensor", [ssa, _float_one(frame, operand)])
    return Array(ssa, operand.rank, operand.min_rank, ufunc_dtype(np.rint, operand))


@function(np.nan_to_num)
def nan_to_num(
    frame: Frame, node: ast.AST, x: Value, copy: Value = TRUE, nan: Value = ZERO_FLOAT, posinf: Value = NONE, neginf: Value = NONE
) -> Value:
    em = frame.em
    if not constant(frame, node, copy, "`copy`"):
        raise frame.error(node, "np.nan_to_num in place", "write x[...] = np.nan_to_num(x)")
    operand = as_array(frame, node, x)
    numbers = [em.none if is_none(v) else em.float(float(constant(frame, node, v, "a replacement"))) for v in (nan, posinf, neginf)]
    return Array(em.numpy("aten.nan_to_num", [operand.ssa, *numbers]), operand.rank, operand.min_rank, operand.dtype)
