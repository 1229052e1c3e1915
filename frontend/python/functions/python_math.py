"""Python's `math`. What the C library computes for it is an op (dialect/ops/scalars/libm.py), with the same bits in all tiers; the rest is
written with these."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.dialect.ops.scalars.libm import LIBM, Libm, c_exponent, c_isqrt, exponent, isqrt, power
from tierup.frontend.python.building.branch import select
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.table import LEFT_OUT, Handler, function
from tierup.frontend.python.building.values import (
    ZERO,
    Array,
    Const,
    Grows,
    Scalar,
    Sequence,
    ShapeOf,
    Value,
    is_number,
    number_kind,
)
from tierup.frontend.python.operations.arrays import as_array, is_of
from tierup.frontend.python.operations.operators import operate
from tierup.frontend.python.operations.scalars import absolute, binary, compare, of_ints, python_says, raise_if, to_float, to_int


def as_float(frame: Frame, node: ast.AST, x: Value, of: Callable[[Any], object]) -> ir.Value:
    """The float that a function of Python's takes of its argument."""
    if is_number(x):
        return to_float(frame, x)
    return frame.em.numpy("aten.Float.Tensor", [operand(frame, node, x, of).ssa], frame.em.types.float)


def operand(frame: Frame, node: ast.AST, x: Value, of: Callable[[Any], object]) -> Array:
    """What a function of Python's is given that takes numbers, or an array as one: no list or tuple, which NumPy's functions take."""
    if isinstance(x, (Sequence, ShapeOf, Grows)):
        empty: object = [] if isinstance(x, Grows) or isinstance(x, Sequence) and x.kind == "list" else ()
        raise WillRaise(TypeError(python_says(lambda: of(empty))))
    return as_array(frame, node, x)


def real(x: float) -> float:
    """The float that a function of Python's takes of its argument, which is no string."""
    return math.copysign(x, x)


@function(real)
def real_(frame: Frame, node: ast.AST, x: Value) -> Value:
    return Scalar(as_float(frame, node, x, math.fabs), "float")


def _by_libm(name: str, libm: Libm) -> Handler:
    of, operands = libm.function, libm.op.operands

    def made(frame: Frame, *numbers: ir.Value) -> Scalar:
        return Scalar(frame.em.scalar(name, [*numbers], frame.em.types.float), "float")

    def one(frame: Frame, node: ast.AST, x: Value) -> Value:
        return made(frame, as_float(frame, node, x, of))

    def two(frame: Frame, node: ast.AST, y: Value, x: Value) -> Value:
        return made(frame, *(as_float(frame, node, v, partial(of, 1.0)) for v in (y, x)))

    def scaled(frame: Frame, node: ast.AST, x: Value, n: Value) -> Value:
        return made(frame, as_float(frame, node, x, of), to_int(frame, n))

    return one if len(operands) == 1 else scaled if "n" in operands else two


for _name, _libm in LIBM.items():
    if _libm.function is not math.log:
        function(_libm.function)(_by_libm(_name, _libm))


@function(c_exponent)
def exponent_(frame: Frame, node: ast.AST, x: Value) -> Value:
    return Scalar(frame.em.scalar(exponent.name, [to_float(frame, x)], frame.em.types.int), "int")


@function(c_isqrt)
def isqrt_(frame: Frame, node: ast.AST, n: Value) -> Value:
    return Scalar(frame.em.scalar(isqrt.name, [to_int(frame, n)], frame.em.types.int), "int")


@function(math.log)
def log(frame: Frame, node: ast.AST, x: Value, base: Value = LEFT_OUT) -> Value:
    of = _by_libm("tierup.math_log", LIBM["tierup.math_log"])
    return of(frame, node, x) if base is LEFT_OUT else operate(frame, node, ast.Div, of(frame, node, x), of(frame, node, base))


@function(math.sqrt)
def sqrt(frame: Frame, node: ast.AST, x: Value) -> Value:
    em = frame.em
    number = as_float(frame, node, x, math.sqrt)
    _refuse(frame, em.scalar("aten.lt.float", [number, em.float(0.0)], em.types.bool), ValueError, lambda: math.sqrt(-1.0))
    tensor = em.numpy("aten.full", [em.int_list([]), number, em.int(7), em.none, em.none, em.none])
    return Scalar(em.numpy("aten.Float.Tensor", [em.numpy("aten.sqrt", [tensor])], em.types.float), "float")


@function(math.pow)
def pow_(frame: Frame, node: ast.AST, x: Value, y: Value) -> Value:
    """C's pow, with Python's exceptions."""
    base, exponent = (Scalar(as_float(frame, node, v, partial(math.pow, 1.0)), "float") for v in (x, y))
    is_zero, is_below = (compare(frame, op, base, ZERO).ssa for op in (ast.Eq, ast.Lt))
    both = partial(_both, frame)
    are_finite = both(*(compare(frame, ast.Lt, absolute(frame, node, v), Const(math.inf)).ssa for v in (base, exponent)))
    is_negative = both(are_finite, compare(frame, ast.Lt, exponent, ZERO).ssa)
    _refuse(frame, both(is_zero, is_negative), ValueError, lambda: math.pow(0.0, -1.0))
    is_fraction = compare(frame, ast.NotEq, binary(frame, node, ast.Mod, exponent, Const(1.0)), ZERO).ssa
    _refuse(frame, both(both(is_below, are_finite), is_fraction), ValueError, lambda: math.pow(-1.0, 0.5))
    found = Scalar(frame.em.scalar(power.name, [base.ssa, exponent.ssa], frame.em.types.float), "float")
    is_large = compare(frame, ast.NotEq, binary(frame, node, ast.Sub, found, found), ZERO).ssa
    _refuse(frame, both(are_finite, is_large), OverflowError, lambda: math.pow(10.0, 1000.0))
    return found


def _both(frame: Frame, a: ir.Value, b: ir.Value) -> ir.Value:
    return frame.em.scalar("aten.__and__.bool", [a, b], frame.em.types.bool)


def _refuse(frame: Frame, condition: ir.Value, cls: type[Exception], example: Callable[[], object]) -> None:
    """Raise what Python raises of the example; from 3.14 on its words may have the number."""
    raise_if(frame, condition, cls.__name__, python_says(example).partition(", got ")[0])


@function(math.fabs)
def fabs(frame: Frame, node: ast.AST, x: Value) -> Value:
    return absolute(frame, node, Scalar(as_float(frame, node, x, math.fabs), "float"))


@function(math.degrees)
def degrees(frame: Frame, node: ast.AST, x: Value) -> Value:
    return binary(frame, node, ast.Mult, Scalar(as_float(frame, node, x, math.degrees), "float"), Const(180.0 / math.pi))


@function(math.radians)
def radians(frame: Frame, node: ast.AST, x: Value) -> Value:
    return binary(frame, node, ast.Mult, Scalar(as_float(frame, node, x, math.radians), "float"), Const(math.pi / 180.0))


@function(math.isnan)
def isnan(frame: Frame, node: ast.AST, x: Value) -> Value:
    number = Scalar(as_float(frame, node, x, math.isnan), "float")
    return compare(frame, ast.NotEq, number, number)


@function(math.isinf)
def isinf(frame: Frame, node: ast.AST, x: Value) -> Value:
    return compare(frame, ast.Eq, absolute(frame, node, Scalar(as_float(frame, node, x, math.isinf), "float")), Const(math.inf))


@function(math.isfinite)
def isfinite(frame: Frame, node: ast.AST, x: Value) -> Value:
    return compare(frame, ast.Lt, absolute(frame, node, Scalar(as_float(frame, node, x, math.isfinite), "float")), Const(math.inf))


@function(math.trunc)
def trunc(frame: Frame, node: ast.AST, x: Value) -> Value:
    if is_number(x) and number_kind(x) != "float":
        return Scalar(to_int(frame, x), "int")
    if isinstance(x, Array):
        if x.rank != 0 or x.decays is not True:
            raise frame.error(node, "math.trunc of an array")  # Python refuses it, too
        em = frame.em
        other = em.scalar("aten.eq.int", [is_of(frame, x, [dtypes.f64]), em.int(0)], em.types.bool)
        raise_if(frame, other, "TypeUnanswerable", "math.trunc of a NumPy scalar that is no float of Python's")
    return Scalar(of_ints(frame, "aten.Int.float", as_float(frame, node, x, math.trunc)), "int")


@function(math.floor)
def floor(frame: Frame, node: ast.AST, x: Value) -> Value:
    """The int below: truncation, less one for a negative fraction."""
    if is_number(x) and number_kind(x) != "float":
        return Scalar(to_int(frame, x), "int")
    number = as_float(frame, node, x, math.floor)
    truncated = Scalar(of_ints(frame, "aten.Int.float", number), "int")
    above = compare(frame, ast.Gt, truncated, Scalar(number, "float")).ssa
    return select(frame, node, above, lambda: binary(frame, node, ast.Sub, truncated, Const(1)), lambda: truncated)


@function(math.ceil)
def ceil(frame: Frame, node: ast.AST, x: Value) -> Value:
    if is_number(x) and number_kind(x) != "float":
        return Scalar(to_int(frame, x), "int")
    number = as_float(frame, node, x, math.ceil)
    return Scalar(of_ints(frame, "aten.ceil.float", number), "int")
