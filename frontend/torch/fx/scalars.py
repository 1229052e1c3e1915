"""What FX graphs say with Python's functions: arithmetic on sizes, items of results, numbers made of tensors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from tierup.dialect.mlir import ir
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.fx.builder import Builder
from tierup.frontend.torch.fx.nodes import number_kind

_ARITHMETIC = {operator.add: "add", operator.sub: "sub", operator.mul: "mul"}
# of two floats the table has these four; the others are these with the operands changed round, or not so
_COMPARISONS = {
    operator.eq: ("eq", "eq", False, False),
    operator.ne: ("ne", "eq", False, True),
    operator.lt: ("lt", "lt", False, False),
    operator.gt: ("gt", "gt", False, False),
    operator.ge: ("ge", "ge", False, False),
    operator.le: ("le", "ge", True, False),
}
_OF_INTS = {
    operator.floordiv: "aten.floordiv.int",
    operator.mod: "aten.remainder.int",
    torch.sym_max: "prim.max.int",
    torch.sym_min: "prim.min.int",
}
_OF_BOOLS = {operator.and_: "aten.__and__.bool", operator.or_: "aten.__or__.bool"}


def emit(builder: Builder, target: Any, node: Node) -> Any:
    """The value of a call of a Python function. Raises UnsupportedProgram for a function that is not translated."""
    em, types = builder.em, builder.em.types
    if target is operator.getitem:
        return builder.values[node.args[0]][node.args[1]]
    if target is torch.sym_sum:
        return _sum(builder, node.args[0])
    operands = [builder.operand(a) for a in node.args]
    if any(v.type not in (types.int, types.float, types.bool) for v in operands):
        raise UnsupportedProgram(f"{_name(target)} is not ATen")
    is_float = any(v.type == types.float for v in operands)
    if target in _OF_BOOLS and all(v.type == types.bool for v in operands):
        return em.scalar(_OF_BOOLS[target], operands, types.bool)
    if target in (torch.sym_not, operator.not_):
        return em.scalar("aten.__not__", operands, types.bool)
    if target in _ARITHMETIC:
        kind = "float" if is_float else "int"
        return em.scalar(f"aten.{_ARITHMETIC[target]}.{kind}", _as(builder, operands, is_float), types.scalars[kind])
    if target in _COMPARISONS:
        return _compare(builder, target, _as(builder, operands, is_float), is_float)
    if target is operator.truediv:
        return em.scalar("aten.div.float", _as(builder, operands, True), types.float)
    if target is operator.neg:
        kind = "float" if is_float else "int"
        return em.scalar(f"aten.neg.{kind}", operands, types.scalars[kind])
    if target is operator.pow and not is_float:
        return _power(builder, operands[0], node.args[1])
    if target in _OF_INTS and not is_float:
        return em.scalar(_OF_INTS[target], operands, types.int)
    if target is torch.sym_float:
        return operands[0] if is_float else em.scalar("aten.Float.Scalar", operands, types.float)
    if target in (torch.sym_int, math.trunc):
        return em.scalar("aten.Int.float", operands, types.int) if is_float else operands[0]
    if target is math.ceil:
        return em.scalar("aten.ceil.float", operands, types.int) if is_float else operands[0]
    raise UnsupportedProgram(f"{_name(target)} of {'a float' if is_float else 'sizes'} is not supported")


def item(builder: Builder, tensor: Node, found: Any) -> ir.Value:
    """`aten.item`: the number in a tensor, of the kind that the graph was traced for, which is that of `found`."""
    kind = number_kind(found)
    if kind is None:
        raise UnsupportedProgram("the number in a tensor of an unknown dtype is not supported")
    return builder.em.scalar(f"aten.{kind.capitalize()}.Tensor", [builder.operand(tensor)], builder.em.types.scalars[kind])


def _as(builder: Builder, operands: list[ir.Value], is_float: bool) -> list[ir.Value]:
    """Numbers of one kind, as Python makes them: bools are ints."""
    types, em = builder.em.types, builder.em
    if is_float:
        return [v if v.type == types.float else em.scalar("aten.Float.Scalar", [v], types.float) for v in operands]
    return [em.scalar("aten.Int.bool", [v], types.int) if v.type == types.bool else v for v in operands]


def _compare(builder: Builder, target: Callable[..., Any], operands: list[ir.Value], is_float: bool) -> ir.Value:
    of_ints, of_floats, changed, negated = _COMPARISONS[target]
    em, type_ = builder.em, builder.em.types.bool
    if not is_float:
        return em.scalar(f"aten.{of_ints}.int", operands, type_)
    value = em.scalar(f"aten.{of_floats}.float", operands[::-1] if changed else operands, type_)
    return em.scalar("aten.__not__", [value], type_) if negated else value


def _power(builder: Builder, base: ir.Value, exponent: Any) -> ir.Value:
    if not isinstance(exponent, int) or not 1 <= exponent <= 8:
        raise UnsupportedProgram("a size to a power that is not 1 to 8 is not supported")
    value = base
    for _ in range(exponent - 1):
        value = builder.em.scalar("aten.mul.int", [value, base], builder.em.types.int)
    return value


def _sum(builder: Builder, given: Any) -> ir.Value:
    first, *others = (builder.operand(v) for v in given)
    for value in others:
        first = builder.em.scalar("aten.add.int", [first, value], builder.em.types.int)
    return first


def _name(target: Any) -> str:
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}".lstrip(".")
