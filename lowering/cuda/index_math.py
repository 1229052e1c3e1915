"""Arithmetic on positions: values of type index, and numbers that are known."""

from __future__ import annotations

from typing import Union

from tierup.dialect.mlir import ir
from tierup.lowering import builders as b

Position = Union[ir.Value, int]


def plus(left: ir.Value, right: Position) -> ir.Value:
    return left if isinstance(right, int) and right == 0 else _of("arith.addi", left, right)


def minus(left: ir.Value, right: Position) -> ir.Value:
    return _of("arith.subi", left, right)


def times(left: ir.Value, right: Position) -> ir.Value:
    return _of("arith.muli", left, right)


def divided(left: ir.Value, right: Position) -> ir.Value:
    return _of("arith.divui", left, right)


def rest(left: ir.Value, right: Position) -> ir.Value:
    return _of("arith.remui", left, right)


def xor(left: ir.Value, right: Position) -> ir.Value:
    return _of("arith.xori", left, right)


def chosen(condition: ir.Value, one: Position, other: Position) -> ir.Value:
    return b.value("arith.select", [condition, _value(one), _value(other)], b.index_type())


def _of(name: str, left: ir.Value, right: Position) -> ir.Value:
    return b.value(name, [left, _value(right)], b.index_type())


def _value(position: Position) -> ir.Value:
    return b.index(position) if isinstance(position, int) else position
