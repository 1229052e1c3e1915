"""Operators on any two values: folded now, Python's numbers, arrays, tuples; comparison, identity, membership, short circuits."""

from __future__ import annotations

import ast
from collections.abc import Callable
from collections.abc import Sequence as Operands_
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.frontend.python import lists_rewritten
from tierup.frontend.python.building.branch import select
from tierup.frontend.python.building.frame import NOT_GIVEN, Frame, NeedsStatic, Unjoinable, WillRaise
from tierup.frontend.python.building.values import (
    Array,
    Closure,
    Const,
    DTypeOf,
    Grows,
    Mapping_,
    Method,
    Object,
    Reference,
    Scalar,
    Sequence,
    ShapeOf,
    Value,
    describe,
    is_array_like,
    is_complex_number,
    is_number,
    is_numpy_scalar,
)  # fmt: skip
from tierup.frontend.python.operations import array_operators, arrays, complex_scalars, growing
from tierup.frontend.python.operations.array_operators import REPEATED, USE, is_operand, refuse_repeats, truth
from tierup.frontend.python.operations.scalars import FOLD, SYMBOLS, binary, compare, fits, not_, raise_if

Operands = Operands_[Callable[[], Value]]
FOLDABLE = (bool, int, float, complex, np.generic, frozenset)


def operate(frame: Frame, node: ast.AST, op: type, a: Value, b: Value) -> Value:
    """`a op b` for any two values."""
    if isinstance(a, Const) and isinstance(b, Const):
        return _fold(frame, node, op, a, b)
    if isinstance(a, ShapeOf) and not isinstance(b, Array):
        a = Sequence("tuple", arrays.shape_items(frame, node, a))
    if isinstance(b, ShapeOf) and not isinstance(a, Array):
        b = Sequence("tuple", arrays.shape_items(frame, node, b))
    if isinstance(a, Sequence) and isinstance(b, Sequence) and op is ast.Add and a.kind == b.kind:
        for one, other in ((a, b), (b, a)):
            if not one.items and other.is_tuple:
                return other
        return Sequence(a.kind, [*a.items, *b.items], frame.em.region)
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Sequence) and (is_number(y) or is_numpy_scalar(y)) and op is ast.Mult:
            if not isinstance(y, Const):
                raise frame.error(node, f"a {x.kind} {REPEATED}", USE, NeedsStatic)
            if y.value == 1 and x.is_tuple and is_number(y):
                return x
            try:
                return Sequence(x.kind, x.items * y.value, frame.em.region)
            except TypeError as e:
                raise WillRaise(e) from e
    if is_complex_number(a) and (real := complex_scalars.as_real(frame, node, b)) is not None:
        return operate(frame, node, op, a, real)
    if is_number(a) and is_number(b):
        return binary(frame, node, op, a, b)
    if all(is_number(v) or is_complex_number(v) for v in (a, b)):
        return complex_scalars.binary(frame, node, op, a, b)
    if (is_array_like(a) or is_array_like(b)) and is_operand(a) and is_operand(b):
        refuse_repeats(frame, node, op, a, b)
        return array_operators.binary(frame, node, op, a, b)
    raise frame.error(node, f"`{SYMBOLS[op]}` of {describe(a)} and {describe(b)}")


def _fold(frame: Frame, node: ast.AST, op: type, a: Const, b: Const) -> Value:
    text = isinstance(a.value, str) and op in (ast.Add, ast.Mod, ast.Mult)
    if not text and not (isinstance(a.value, FOLDABLE) and isinstance(b.value, FOLDABLE)):
        raise frame.error(node, f"`{SYMBOLS[op]}` of {describe(a)} and {describe(b)}")
    return folded(frame, node, lambda: FOLD[op](a.value, b.value))


# What arithmetic, conversions and functions of numbers raise. All else is none of theirs: a signal's handler raised it, just then.
_OF_NUMBERS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def folded(frame: Frame, node: ast.AST, compute: Callable[[], Any]) -> Value:
    """Python computes a constant; what it raises, the program raises when it gets there."""
    try:
        with np.errstate(all="ignore"):
            value = compute()
    except _OF_NUMBERS as e:
        raise WillRaise(e) from e
    if isinstance(value, complex):
        frame.meets_complex(node, "a complex number")
    if type(value) is int and not fits(value):
        raise frame.error(node, "an integer of more than 64 bits")
    return Const(value)


def static_truth(frame: Frame, node: ast.AST, value: Value) -> bool | None:
    """bool(value) when it is known now."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, (Sequence, Mapping_)):
        return bool(value.items)
    if isinstance(value, ShapeOf):
        return None if value.array.rank is None else value.array.rank > 0
    if isinstance(value, Object):
        return _truth_of_object(frame, node, value)
    return True if isinstance(value, (Method, DTypeOf, Closure)) else None


def _truth_of_object(frame: Frame, node: ast.AST, value: Object) -> bool:
    """True, of objects whose class says nothing else: what `__bool__` gives hangs on state that no guard sees."""
    kind = type(value.value)
    if hasattr(kind, "__bool__") or hasattr(kind, "__len__"):
        raise frame.error(node, f"the truth value of {describe(value)}", "test an array, a number or a list that it has, or `is None`")
    frame.outside.constant(value.access.attribute("__class__"), "identity", kind)
    return True


def short_circuit(frame: Frame, node: ast.AST, is_and: bool, operands: Operands) -> Value:
    """`a and b`: the first operand that decides, else the last; the later ones run only when reached."""
    value = _short_circuit(frame, node, is_and, operands[:LONG])
    for start in range(LONG, len(operands), LONG):  # (a and b) and c: branches nest by the operands of one part
        value = _short_circuit(frame, node, is_and, [partial(_given, value), *operands[start : start + LONG]])
    return value


LONG = 12  # operands of `and`, `or` whose branches stand in one another


def _given(value: Value) -> Value:
    return value


def _short_circuit(frame: Frame, node: ast.AST, is_and: bool, operands: Operands) -> Value:
    first = operands[0]()
    if len(operands) == 1:
        return first
    known = static_truth(frame, node, first)
    if known is not None:
        return _short_circuit(frame, node, is_and, operands[1:]) if known is is_and else first
    condition = truth(frame, node, first)
    rest: Callable[[], Value] = lambda: _short_circuit(frame, node, is_and, operands[1:])
    if node in frame.conditions:  # its truth alone is asked for: the values may be of any kinds
        rest = lambda: _truth(frame, node, _short_circuit(frame, node, is_and, operands[1:]))
        first = Const(not is_and)
    try:
        return select(frame, node, condition, rest, lambda: first) if is_and else select(frame, node, condition, lambda: first, rest)
    except Unjoinable:
        raise frame.error(node, "`and`/`or` of values of different kinds", "compare them, so that both are bools") from None


def _truth(frame: Frame, node: ast.AST, value: Value) -> Value:
    known = static_truth(frame, node, value)
    return Scalar(truth(frame, node, value), "bool") if known is None else Const(known)


def compare_two(frame: Frame, node: ast.AST, op: type, a: Value, b: Value) -> Value:
    """One comparison: `a < b`, `a is b`, `a in b`, ..."""
    if op in (ast.Is, ast.IsNot) and isinstance(a, Reference) and isinstance(b, Reference):
        places = compare(frame, ast.Eq, a.place, b.place) if a.item == b.item else Const(False)
        return places if op is ast.Is else _negated(frame, places)
    if op in (ast.Is, ast.IsNot):
        same = _identical(frame, node, a, b)
        return Const(same if op is ast.Is else not same)
    if op in (ast.In, ast.NotIn):
        found = _contains(frame, node, a, b)
        return _negated(frame, found) if op is ast.NotIn else found
    if isinstance(a, Const) and isinstance(b, Const):
        plain = (type(None), str, np.dtype, type(NOT_GIVEN))
        if isinstance(a.value, plain) or isinstance(b.value, plain):
            return folded(frame, node, lambda: bool(FOLD[op](a.value, b.value)))
        if isinstance(a.value, (*FOLDABLE, type)) and isinstance(b.value, (*FOLDABLE, type)):
            return folded(frame, node, lambda: FOLD[op](a.value, b.value))
    if isinstance(a, DTypeOf) or isinstance(b, DTypeOf):
        return _compare_dtypes(frame, node, op, a, b)
    if is_complex_number(a) and (real := complex_scalars.as_real(frame, node, b)) is not None:
        return compare_two(frame, node, op, a, real)
    if is_number(a) and is_number(b):
        return compare(frame, op, a, b)
    if all(is_number(v) or is_complex_number(v) for v in (a, b)):
        return complex_scalars.compare(frame, node, op, a, b)
    if isinstance(a, (Sequence, ShapeOf)) and isinstance(b, (Sequence, ShapeOf)) and op in (ast.Eq, ast.NotEq):
        found = _equal_sequences(frame, node, a, b)
        return _negated(frame, found) if op is ast.NotEq else found
    if (is_array_like(a) or is_array_like(b)) and is_operand(a) and is_operand(b):
        return array_operators.binary(frame, node, op, a, b)
    if (isinstance(a, Const) or isinstance(b, Const)) and op in (ast.Eq, ast.NotEq):
        other = {type(v.value) for v in (a, b) if isinstance(v, Const)}
        if other <= {str, type(None)} and not (isinstance(a, Array) or isinstance(b, Array)):
            return Const(op is ast.NotEq)  # a number or tuple never equals a string or None
    raise frame.error(node, f"`{SYMBOLS.get(op, 'in')}` of {describe(a)} and {describe(b)}")


def _compare_dtypes(frame: Frame, node: ast.AST, op: type, a: Value, b: Value) -> Value:
    if op not in (ast.Eq, ast.NotEq):
        raise frame.error(node, "an order of dtypes", "compare with == or !=")
    known = {v: dtypes.code_of(np.dtype(v.value)) for v in (a, b) if isinstance(v, Const)}
    if None in known.values():
        return Const(op is ast.NotEq)  # no array that a program meets has it
    codes = [frame.em.int(known[v]) if v in known else arrays.dtype_code(frame, node, v)[0] for v in (a, b)]  # type: ignore[arg-type]  # none is None
    return Scalar(frame.em.scalar("aten.eq.int" if op is ast.Eq else "aten.ne.int", codes, frame.em.types.bool), "bool")


def _negated(frame: Frame, value: Value) -> Value:
    return Const(not value.value) if isinstance(value, Const) else Scalar(not_(frame, value.ssa), "bool")  # type: ignore[union-attr]  # a Scalar


def _identical(frame: Frame, node: ast.AST, a: Value, b: Value) -> bool:
    if isinstance(a, (Const, Object)) and isinstance(b, (Const, Object)):
        if not any(isinstance(v, Const) and v.value is None for v in (a, b)):  # that an argument is not None is in the calls' structure
            for v in (a, b):
                if isinstance(v, Object):
                    frame.outside.constant(v.access, "identity", v.value)
        return a.value is b.value
    constants = [v.value for v in (a, b) if isinstance(v, Const)]
    if a is b:
        return True
    if constants and (constants[0] is None or isinstance(constants[0], (str, type, type(NOT_GIVEN)))):
        return False
    raise frame.error(node, f"`is` of {describe(a)} and {describe(b)}", "use `==`, or `is None`")


def _contains(frame: Frame, node: ast.AST, item: Value, container: Value) -> Value:
    if isinstance(container, Mapping_) and isinstance(item, Const):
        return Const(item.value in container.items)
    if isinstance(container, Const) and isinstance(container.value, str) and isinstance(item, Const):
        return Const(item.value in container.value)
    if isinstance(container, Grows):
        place = growing.sought(frame, node, container, item, lists_rewritten.place_of)
        return compare(frame, ast.GtE, place, Const(0))
    if isinstance(container, Sequence) and all(is_number(v) or isinstance(v, Const) for v in (item, *container.items)):
        tests = [partial(_same_or_equal, frame, node, v, item) for v in container.items]
        return short_circuit(frame, node, False, tests) if tests else Const(False)
    raise frame.error(node, f"`in` of {describe(item)} and {describe(container)}", "write the comparison, for example np.any(x == v)")


def _equal_sequences(frame: Frame, node: ast.AST, a: Sequence | ShapeOf, b: Sequence | ShapeOf) -> Value:
    """Tuples or lists of numbers; unknown ranks differ at run time, which __eq__ of int lists tells."""
    if any(isinstance(v, ShapeOf) and v.array.rank is None for v in (a, b)):
        lists = [arrays.int_list(frame, node, v)[0] for v in (a, b)]
        return Scalar(frame.em.scalar("aten.eq.int_list", lists, frame.em.types.bool), "bool")
    kinds = ["tuple" if isinstance(v, ShapeOf) else v.kind for v in (a, b)]
    items = [arrays.shape_items(frame, node, v) if isinstance(v, ShapeOf) else v.items for v in (a, b)]
    if kinds[0] != kinds[1] or len(items[0]) != len(items[1]):
        return Const(False)
    tests = [partial(_same_or_equal, frame, node, x, y) for x, y in zip(*items, strict=True)]
    return short_circuit(frame, node, True, tests) if tests else Const(True)


def _same_or_equal(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """Whether two items are one object, or equal, as containers ask: a bool. Where both are NaN only Python knows whether they are one."""
    if a is b:
        return Const(True)
    if isinstance(a, Array) or isinstance(b, Array):
        raise frame.error(node, "an equality of lists or tuples with arrays in them", "use np.array_equal")
    equal = compare_two(frame, node, ast.Eq, a, b)
    if all(isinstance(v, Scalar) and v.kind == "float" for v in (a, b)):
        nan_a, nan_b = (compare(frame, ast.NotEq, v, v).ssa for v in (a, b))
        both = frame.em.scalar("aten.__and__.bool", [nan_a, nan_b], frame.em.types.bool)
        raise_if(frame, both, "ValueUnanswerable", "whether two NaNs are one object")
        frame.outside.made_by_python = frame.error(node, "an equality of NaNs in lists, in a function that writes its arguments")
    return _truth(frame, node, equal)
