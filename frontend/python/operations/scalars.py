"""Python's numbers: int, float and bool whose value only the run knows, with Python's own semantics.

Constants never come here: Python computes them at build time.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

from tierup.dialect.mlir import ir
from tierup.frontend.python.building.branch import in_arm, select
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.templates import scalar_ssa
from tierup.frontend.python.building.values import Const, Scalar, Value, number_kind

FOLD: dict[type, Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.MatMult: operator.matmul,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip
SYMBOLS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
}  # fmt: skip

_INT: dict[type, str] = {
    ast.Add: "aten.add.int",
    ast.Sub: "aten.sub.int",
    ast.Mult: "aten.mul.int",
    ast.FloorDiv: "aten.floordiv.int",
    ast.Mod: "aten.remainder.int",
    ast.BitAnd: "aten.__and__.int",
    ast.BitOr: "aten.__or__.int",
    ast.BitXor: "aten.__xor__.int",
    ast.LShift: "aten.__lshift__.int",
    ast.RShift: "aten.__rshift__.int",
}
_FLOAT: dict[type, str] = {ast.Add: "aten.add.float", ast.Sub: "aten.sub.float", ast.Mult: "aten.mul.float"}
_COMPARE_INT: dict[type, str] = {
    ast.Eq: "aten.eq.int", ast.NotEq: "aten.ne.int", ast.Lt: "aten.lt.int", ast.LtE: "aten.le.int",
    ast.Gt: "aten.gt.int", ast.GtE: "aten.ge.int",
}  # fmt: skip
_COMPARE_FLOAT: dict[type, str] = {ast.Eq: "aten.eq.float", ast.Lt: "aten.lt.float", ast.Gt: "aten.gt.float", ast.GtE: "aten.ge.float"}
_MAX_MULTIPLICATIONS = 16


def fits(value: int) -> bool:
    """Whether 64 bits hold an int, as programs do."""
    return -(1 << 63) <= value < 1 << 63


def to_int(frame: Frame, value: Value) -> ir.Value:
    """An int or bool as !torch.int."""
    if isinstance(value, Const):
        if not fits(value.value):
            raise frame.error(None, "an integer of more than 64 bits")
        return frame.em.int(int(value.value))
    assert isinstance(value, Scalar)
    return frame.em.scalar("aten.Int.bool", [value.ssa], frame.em.types.int) if value.kind == "bool" else value.ssa


def to_float(frame: Frame, value: Value) -> ir.Value:
    """A number as !torch.float: Python's own conversion."""
    if isinstance(value, Const):
        return frame.em.float(float(value.value))
    assert isinstance(value, Scalar)
    if value.kind == "float":
        return value.ssa
    return frame.em.scalar("aten.Float.Scalar", [to_int(frame, value)], frame.em.types.float)


def to_bool(frame: Frame, value: Value) -> ir.Value:
    """The truth of a number as !torch.bool."""
    if isinstance(value, Const):
        return frame.em.bool(bool(value.value))
    assert isinstance(value, Scalar)
    if value.kind == "bool":
        return value.ssa
    return frame.em.scalar(f"aten.Bool.{value.kind}", [value.ssa], frame.em.types.bool)


def number(frame: Frame, value: Value) -> ir.Value:
    """A number as torch's Scalar operands take it: !torch.int (bools too) or !torch.float."""
    return to_float(frame, value) if number_kind(value) == "float" else to_int(frame, value)


def not_(frame: Frame, value: ir.Value) -> ir.Value:
    """The other truth value."""
    return frame.em.scalar("aten.__not__", [value], frame.em.types.bool)


def raise_if(frame: Frame, condition: ir.Value, kind: str, message: str) -> None:
    """Raise the built-in exception `kind` when the condition holds."""
    with in_arm(frame, condition):
        frame.em.raise_now(kind, message)


def python_says(compute: Callable[[], object]) -> str:
    """What this release of Python says of what it refuses; they differ."""
    try:
        raise AssertionError(f"computed: {compute()}")
    except (ArithmeticError, TypeError, ValueError) as e:
        return str(e)


def binary(frame: Frame, node: ast.AST, op: type, a: Value, b: Value) -> Value:
    """`a op b` of two numbers, at least one known at run time only."""
    em = frame.em
    kinds = {number_kind(a), number_kind(b)}
    if kinds == {"bool"} and op in (ast.BitAnd, ast.BitOr, ast.BitXor):
        x, y = scalar_ssa(em, a), scalar_ssa(em, b)
        if op is ast.BitXor:
            return Scalar(em.scalar("aten.ne.bool", [x, y], em.types.bool), "bool")
        return Scalar(em.scalar("aten.__and__.bool" if op is ast.BitAnd else "aten.__or__.bool", [x, y], em.types.bool), "bool")
    if op is ast.Pow:
        return _power(frame, node, a, b)
    if "float" in kinds or op is ast.Div:
        return _float_binary(frame, node, op, a, b, both_ints="float" not in kinds)
    if op in (ast.LShift, ast.RShift) and not (isinstance(b, Const) and b.value >= 0):
        negative = em.scalar("aten.lt.int", [to_int(frame, b), em.int(0)], em.types.bool)
        raise_if(frame, negative, "ValueError", "negative shift count")
    if op in (ast.FloorDiv, ast.Mod):
        refuse_zero(frame, b, lambda: FOLD[op](1, 0))
    if op not in _INT:
        raise frame.error(node, f"`{SYMBOLS[op]}` of Python ints", "Python refuses it too")
    return Scalar(of_ints(frame, _INT[op], to_int(frame, a), to_int(frame, b)), "int")


def of_ints(frame: Frame, name: str, *operands: ir.Value) -> ir.Value:
    """An op on ints, which are Python's, of any size: native code leaves to tier 0 what 64 bits do not hold."""
    return frame.em.numpy(name, operands, frame.em.types.int)


def _float_binary(frame: Frame, node: ast.AST, op: type, a: Value, b: Value, *, both_ints: bool) -> Value:
    em = frame.em
    if op is ast.Div:
        if both_ints:
            refuse_zero(frame, b, lambda: 1 / 0)
            return Scalar(em.scalar("aten.div.int", [to_int(frame, a), to_int(frame, b)], em.types.float), "float")
        refuse_zero(frame, b, lambda: 1.0 / 0.0)
        return Scalar(em.scalar("aten.div.float", [to_float(frame, a), to_float(frame, b)], em.types.float), "float")
    x, y = to_float(frame, a), to_float(frame, b)
    if op in _FLOAT:
        return Scalar(em.scalar(_FLOAT[op], [x, y], em.types.float), "float")
    if op in (ast.FloorDiv, ast.Mod):
        refuse_zero(frame, b, lambda: FOLD[op](1.0, 0.0))
        name = "aten.floor_divide" if op is ast.FloorDiv else "aten.remainder.Tensor"
        return Scalar(through_arrays(frame, name, x, y), "float")
    raise frame.error(node, f"`{SYMBOLS[op]}` of Python floats", "Python refuses it too")


def refuse_zero(frame: Frame, divisor: Value, by_python: Callable[[], object]) -> None:
    """Python's ZeroDivisionError, that of `by_python`: torch's scalar division gives infinity."""
    em = frame.em
    if isinstance(divisor, Const) and divisor.value != 0:
        return
    if number_kind(divisor) == "float":
        is_zero = em.scalar("aten.eq.float", [to_float(frame, divisor), em.float(0.0)], em.types.bool)
    else:
        is_zero = em.scalar("aten.eq.int", [to_int(frame, divisor), em.int(0)], em.types.bool)
    raise_if(frame, is_zero, "ZeroDivisionError", python_says(by_python))


def through_arrays(frame: Frame, name: str, *operands: ir.Value) -> ir.Value:
    """An op that torch has for tensors only, on floats: NumPy's arithmetic of float64 is Python's."""
    em = frame.em
    tensors = [em.numpy("aten.full", [em.int_list([]), x, em.int(7), em.none, em.none, em.none]) for x in operands]
    return em.numpy("aten.Float.Tensor", [em.numpy(name, tensors)], em.types.float)


def _power(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    em = frame.em
    if number_kind(a) != "float" and number_kind(b) != "float":
        exponent = b.value if isinstance(b, Const) else None
        if not isinstance(exponent, int) or exponent > _MAX_MULTIPLICATIONS:
            what = "an int power with an exponent that is large or known only at run time"
            raise frame.error(node, what, "write float(n) ** k, or use np.power")
        if exponent >= 0:
            result, base = em.int(1), to_int(frame, a)
            for i in range(int(exponent)):
                result = base if i == 0 else of_ints(frame, "aten.mul.int", result, base)
            return Scalar(result, "int")
    return _float_power(frame, to_float(frame, a), to_float(frame, b))


def _float_power(frame: Frame, x: ir.Value, y: ir.Value) -> Scalar:
    """C's pow, and Python's exceptions where finite numbers give a result that is not: what raises is told by the result."""
    em = frame.em
    holds: Callable[..., ir.Value] = lambda how, a, b: em.scalar(f"aten.{how}.float", [a, b], em.types.bool)
    both: Callable[..., ir.Value] = lambda a, b: em.scalar("aten.__and__.bool", [a, b], em.types.bool)
    finite: Callable[[ir.Value], ir.Value] = lambda v: both(holds("gt", v, em.float(-math.inf)), holds("lt", v, em.float(math.inf)))
    # torch's rule, of a number to an array's power: the others make roots for 0.5, which differ from pow at -0.0 and -inf
    exponent = em.scalar("aten.full", [em.int_list([]), y, em.int(7), em.none, em.none, em.none], em.types.tensor)
    result = em.scalar("aten.Float.Tensor", [em.scalar("aten.pow.Scalar", [x, exponent], em.types.tensor)], em.types.float)
    with in_arm(frame, both(both(finite(x), finite(y)), not_(frame, finite(result)))):
        raise_if(frame, holds("eq", x, em.float(0.0)), "ZeroDivisionError", python_says(lambda: 0.0**-1.0))
        # Python gives a complex number here, which programs do not hold
        is_number = holds("eq", result, result)
        raise_if(frame, not_(frame, is_number), "ValueUnanswerable", "a negative float to a fractional power is complex")
        frame.em.raise_now("OverflowError", "(34, 'Numerical result out of range')")
    return Scalar(result, "float")


def compare(frame: Frame, op: type, a: Value, b: Value) -> Scalar:
    """`a op b` of two numbers."""
    em = frame.em
    if "float" not in (number_kind(a), number_kind(b)):
        return Scalar(em.scalar(_COMPARE_INT[op], [to_int(frame, a), to_int(frame, b)], em.types.bool), "bool")
    x, y = to_float(frame, a), to_float(frame, b)
    if op is ast.NotEq:
        return Scalar(not_(frame, em.scalar("aten.eq.float", [x, y], em.types.bool)), "bool")
    if op is ast.LtE:
        op, x, y = ast.GtE, y, x
    return Scalar(em.scalar(_COMPARE_FLOAT[op], [x, y], em.types.bool), "bool")


def unary(frame: Frame, node: ast.AST, op: type, a: Scalar) -> Value:
    """`+a`, `-a`, `~a` or `not a` of a Python number."""
    em = frame.em
    if op is ast.Not:
        return Scalar(not_(frame, to_bool(frame, a)), "bool")
    if op is ast.UAdd:
        return a if a.kind != "bool" else Scalar(to_int(frame, a), "int")
    if op is ast.USub:
        if a.kind == "float":
            return Scalar(em.scalar("aten.neg.float", [a.ssa], em.types.float), "float")
        return Scalar(of_ints(frame, "aten.neg.int", to_int(frame, a)), "int")
    if a.kind == "float":
        raise frame.error(node, "`~` of a Python float", "Python refuses it too")
    return Scalar(of_ints(frame, "aten.sub.int", em.int(-1), to_int(frame, a)), "int")


def absolute(frame: Frame, node: ast.AST | None, a: Scalar) -> Value:
    """abs(): -0.0 becomes 0.0, NaN stays."""
    em = frame.em
    if a.kind == "float":
        x = a.ssa
        zero = em.float(0.0)
        condition = em.scalar("aten.ge.float", [zero, x], em.types.bool)
        return select(frame, node, condition, lambda: Scalar(em.scalar("aten.sub.float", [zero, x], em.types.float), "float"), lambda: a)
    x = to_int(frame, a)
    condition = em.scalar("aten.lt.int", [x, em.int(0)], em.types.bool)
    negated = lambda: Scalar(of_ints(frame, "aten.neg.int", x), "int")
    return select(frame, node, condition, negated, lambda: Scalar(x, "int"))


def check_zero_step(step: int) -> None:
    """Raises WillRaise for a slice of step 0."""
    if step == 0:
        raise WillRaise(ValueError("slice step cannot be zero"))
