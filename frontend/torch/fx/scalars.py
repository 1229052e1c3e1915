"""What FX graphs say with Python's functions: arithmetic on sizes, items of results, numbers made of tensors."""

from __future__ import annotations

import functools
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
_OF_FLOATS = {torch.sym_max: "prim.max.float", torch.sym_min: "prim.min.float"}
_OF_BOOLS = {operator.and_: "aten.__and__.bool", operator.or_: "aten.__or__.bool"}


def emit(builder: Builder, target: Any, node: Node) -> Any:
    """The value of a call of a Python function. Raises UnsupportedProgram for a function that is not translated."""
    em, types = builder.em, builder.em.types
    if target is operator.getitem:
        return builder.values[node.args[0]][node.args[1]]
    if target is torch.sym_sum:
        return functools.reduce(lambda a, b: em.scalar("aten.add.int", [a, b], types.int), map(builder.operand, node.args[0]))
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
    if target is operator.abs and not is_float:
        return em.scalar("prim.max.int", [operands[0], em.scalar("aten.neg.int", operands, types.int)], types.int)
    if target is torch.sym_ite:
        return _either(builder, operands[0], _as(builder, operands[1:], is_float))
    if target is operator.pow:
        return _power(builder, operands, node.args[1])
    if target in _OF_INTS and not is_float:
        return em.scalar(_OF_INTS[target], operands, types.int)
    if target in _OF_FLOATS and is_float:
        return em.scalar(_OF_FLOATS[target], _as(builder, operands, True), types.float)
    if target is torch.sym_float:
        return operands[0] if is_float else em.scalar("aten.Float.Scalar", operands, types.float)
    if target in (torch.sym_int, math.trunc):
        return em.scalar("aten.Int.float", operands, types.int) if is_float else operands[0]
    if target in (math.ceil, math.floor) and not is_float:
        return operands[0]
    if target is math.ceil:
        return em.scalar("aten.ceil.float", operands, types.int)
    if target is math.floor:
        above = em.scalar("aten.ceil.float", [em.scalar("aten.neg.float", operands, types.float)], types.int)
        return em.scalar("aten.neg.int", [above], types.int)
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


def _power(builder: Builder, operands: list[ir.Value], exponent: Any) -> ir.Value:
    """PyTorch writes the power of a size to a float as that of `sym_float`, and a square of a float as `** 2.0`."""
    em, (base, power) = builder.em, operands
    if isinstance(exponent, (int, float)) and exponent in range(1, 9):
        kind = "float" if base.type == em.types.float else "int"
        return functools.reduce(lambda a, b: em.scalar(f"aten.mul.{kind}", [a, b], em.types.scalars[kind]), [base] * int(exponent))
    if not isinstance(base.owner, ir.Block) and base.owner.operation.name == "torch.aten.Float.Scalar":
        base = base.owner.operation.operands[0]
    kinds = {em.types.int: "int", em.types.float: "float"}
    if base.type == em.types.int and power.type != em.types.float or base.type not in kinds or power.type not in kinds:
        raise UnsupportedProgram("a size to the power of an int that is not 1 to 8 is not supported")
    name = "aten.pow.float" if base.type == power.type else f"aten.pow.{kinds[base.type]}_{kinds[power.type]}"
    return em.scalar(name, [base, power], em.types.float)


def _either(builder: Builder, condition: ir.Value, values: list[ir.Value]) -> ir.Value:
    made = builder.em.create("torch.prim.If", [condition], [values[0].type], regions=2)
    for value, region in zip(values, made.regions, strict=True):
        with builder.em.at_end(region.blocks.append()):
            builder.em.create("torch.prim.If.yield", [value], [])
    return made.results[0]


def _name(target: Any) -> str:
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}".lstrip(".")
