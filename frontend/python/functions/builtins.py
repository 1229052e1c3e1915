"""Python's built-in functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from typing import Any

from tierup.frontend.python.building.branch import each, select
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of
from tierup.frontend.python.building.table import LEFT_OUT, Handler, constant, function
from tierup.frontend.python.building.values import (
    FALSE,
    NONE,
    ZERO,
    Array,
    Complex,
    Const,
    Grows,
    Iterable_,
    Mapping_,
    Scalar,
    Sequence,
    ShapeOf,
    Value,
    describe,
    is_array_like,
    is_complex_number,
    is_none,
    is_number,
    number_kind,
    parts_of_complex,
)  # fmt: skip
from tierup.frontend.python.functions import consuming
from tierup.frontend.python.functions.python_math import as_float, operand
from tierup.frontend.python.operations import appending, array_operators, arrays, complex_scalars, growing, iteration, lengths
from tierup.frontend.python.operations.arrays import as_array
from tierup.frontend.python.operations.complex_arrays import is_complex, part_of, refuse_complex
from tierup.frontend.python.operations.iteration import static_items
from tierup.frontend.python.operations.operators import operate, short_circuit, static_truth
from tierup.frontend.python.operations.scalars import absolute, compare, of_ints, python_says, raise_if, refuse_zero, to_bool, to_int

ZERO_FLOAT = Const(0.0)
EMPTY = Sequence("tuple", [])


function(range)(iteration.range_of)
function(enumerate)(iteration.enumerated)
function(reversed)(iteration.reversed_)


@function(iter)
def iter_(frame: Frame, node: ast.AST, object: Value) -> Value:
    if isinstance(object, Scalar):
        raise WillRaise(TypeError(f"{object.kind!r} object is not iterable"))
    if isinstance(object, Const) and not hasattr(type(object.value), "__iter__"):
        try:
            iter(object.value)
        except TypeError as e:
            raise WillRaise(e) from None
    return replace(iteration.iterate(frame, node, object), once=True)


@function(zip)
def zip_(frame: Frame, node: ast.AST, *args: Value, strict: Value = FALSE) -> Value:
    return iteration.zipped(frame, node, list(args), strict=bool(constant(frame, node, strict, "`strict`")))


@function(tuple)
def tuple_(frame: Frame, node: ast.AST, iterable: Value = EMPTY) -> Value:
    if isinstance(iterable, Sequence) and iterable.is_tuple:
        return iterable
    return Sequence("tuple", static_items(frame, node, iterable), frame.em.region)


@function(list)
def list_(frame: Frame, node: ast.expr, iterable: Value = EMPTY) -> Value:
    if isinstance(iterable, Grows) or isinstance(iterable, Iterable_) and not isinstance(iterable.length, Const):
        return consuming.listed(frame, node, iterable, *consuming.every_item())
    return appending.made(frame, node, static_items(frame, node, iterable))


@function(len)
def len_(frame: Frame, node: ast.AST, obj: Value) -> Value:
    if isinstance(obj, (Sequence, Mapping_)):
        return Const(len(obj.items))
    if isinstance(obj, ShapeOf):
        return Const(obj.array.rank) if obj.array.rank is not None else Scalar(arrays.rank_ssa(frame, obj.array), "int")
    if isinstance(obj, Iterable_) and not obj.once:
        if isinstance(obj.length, Const):
            return obj.length
        em = frame.em
        return Scalar(em.scalar("prim.max.int", [arrays.as_int(frame, node, obj.length), em.int(0)], em.types.int), "int")
    if isinstance(obj, Grows):
        return growing.length(frame, obj)
    if isinstance(obj, Array):
        return lengths.length(frame, node, obj, lengths.Use.LENGTH)
    raise frame.error(node, f"len() of {describe(obj)}")


@function(abs)
def abs_(frame: Frame, node: ast.AST, x: Value) -> Value:
    if isinstance(x, Scalar):
        return absolute(frame, node, x)
    if is_complex_number(x):
        return complex_scalars.absolute(frame, node, Complex(*parts_of_complex(x)))
    array = operand(frame, node, x, abs)
    return Array(frame.em.numpy("aten.abs", [array.ssa]), array.rank, array.min_rank, array.dtype)


@function(int)
def int_(frame: Frame, node: ast.AST, x: Value = ZERO) -> Value:
    em = frame.em
    if isinstance(x, Scalar):
        return Scalar(of_ints(frame, "aten.Int.float", x.ssa) if x.kind == "float" else to_int(frame, x), "int")
    array = operand(frame, node, x, int)
    return Scalar(em.numpy("aten.Int.Tensor", [array.ssa], em.types.int), "int")


@function(float)
def float_(frame: Frame, node: ast.AST, x: Value = ZERO_FLOAT) -> Value:
    return Scalar(as_float(frame, node, x, float), "float")


@function(complex)
def complex_(frame: Frame, node: ast.AST, real: Value = ZERO_FLOAT, imag: Value = LEFT_OUT) -> Value:
    """Of real numbers, and of NumPy scalars; of one complex number."""
    frame.meets_complex(node, "a complex number")
    if imag is LEFT_OUT and is_complex_number(real):
        return real
    if imag is LEFT_OUT and isinstance(real, Array) and real.rank == 0 and is_complex(frame, node, real):
        return Complex(*(float_(frame, node, part_of(frame, real, part)) for part in ("real", "imag")))
    parts = [real, ZERO_FLOAT if imag is LEFT_OUT else imag]
    for part in parts:
        if not (is_number(part) or is_array_like(part) and _is_real_scalar(frame, node, part)):
            raise frame.error(node, f"complex() of {describe(part)}")
    return Complex(*(part if is_number(part) and number_kind(part) == "float" else float_(frame, node, part) for part in parts))


def _is_real_scalar(frame: Frame, node: ast.AST, value: Value) -> bool:
    array = as_array(frame, node, value)
    return array.rank == 0 and dtype_of(frame, node, array).kind in "iuf"


@function(bool)
def bool_(frame: Frame, node: ast.AST, x: Value = FALSE) -> Value:
    if isinstance(x, (Sequence, Mapping_)):
        return Const(bool(x.items))
    return Scalar(to_bool(frame, x) if isinstance(x, Scalar) else array_operators.truth(frame, node, x), "bool")


def _extreme(of: Callable[..., Any]) -> Handler:
    def handler(frame: Frame, node: ast.expr, *args: Value, key: Value = NONE, default: Value = LEFT_OUT) -> Value:
        if default is not LEFT_OUT and len(args) > 1:
            raise WillRaise(TypeError(python_says(lambda: of(1, 2, default=3))))
        items = iteration.iterate(frame, node, args[0] if len(args) == 1 else Sequence("tuple", list(args)))
        by_key = None if is_none(key) else key
        if isinstance(items.length, Const) and items.length.value <= 0:
            if default is LEFT_OUT:
                raise WillRaise(ValueError(python_says(lambda: of(()))))
            return default
        if by_key is None and isinstance(items.length, Const):
            return reduce(partial(iteration.pick, frame, node, larger=of is max), static_items(frame, node, items))

        def found() -> Value:
            return consuming.extreme(frame, node, *iteration.first_and_rest(frame, node, items), larger=of is max, key=by_key)

        if isinstance(items.length, Const):
            return found()
        is_empty = compare(frame, ast.LtE, items.length, ZERO).ssa
        if default is not LEFT_OUT:
            return select(frame, node, is_empty, lambda: default, found, choices=True)
        raise_if(frame, is_empty, "ValueError", python_says(lambda: of(())))
        return found()

    return handler


function(max)(_extreme(max))
function(min)(_extreme(min))


@function(pow)
def pow_(frame: Frame, node: ast.AST, base: Value, exp: Value) -> Value:
    return operate(frame, node, ast.Pow, base, exp)


@function(divmod)
def divmod_(frame: Frame, node: ast.AST, x: Value, y: Value) -> Value:
    if is_number(x) and is_number(y) and "float" in (number_kind(x), number_kind(y)):
        refuse_zero(frame, y, lambda: divmod(1.0, 0.0))
    for one in (x, y):
        if isinstance(one, Array):  # NumPy's exception names divmod, not the operators
            refuse_complex(frame, node, one, "divmod")
    return Sequence("tuple", [operate(frame, node, op, x, y) for op in (ast.FloorDiv, ast.Mod)])


def _any_all(is_all: bool) -> Handler:
    def handler(frame: Frame, node: ast.expr, iterable: Value) -> Value:
        items = iteration.iterate(frame, node, iterable)
        if not isinstance(items.length, Const):
            return consuming.found(frame, node, items, *consuming.every_item(), wanted=not is_all)

        def test(i: int) -> Value:
            return each(frame, node, [items.item(Const(i))], partial(_truth, frame, node))

        tests = [partial(test, i) for i in range(iteration.known_length(frame, node, items))]
        return short_circuit(frame, node, is_all, tests) if tests else Const(is_all)

    return handler


def _truth(frame: Frame, node: ast.AST, value: Value) -> Value:
    known = static_truth(frame, node, value)
    return Scalar(array_operators.truth(frame, node, value), "bool") if known is None else Const(known)


function(all)(_any_all(True))
function(any)(_any_all(False))


@function(print)
def print_(frame: Frame, node: ast.AST, *args: Value) -> Value:
    raise frame.error(node, "`print`", "return the value and print it outside")
