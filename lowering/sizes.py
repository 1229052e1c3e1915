"""Arithmetic on sizes and positions: Python ints while they are known, values of type index when not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from tierup.dialect.mlir import ir
from tierup.lowering import builders as b

Size = Union[int, ir.Value]


def value(size: Size) -> ir.Value:
    """As a value of type index."""
    return b.index(size) if isinstance(size, int) else size


def _made(name: str, x: Size, y: Size) -> ir.Value:
    return b.value(f"arith.{name}", [value(x), value(y)], b.index_type())


def add(x: Size, y: Size) -> Size:
    if isinstance(x, int) and isinstance(y, int):
        return x + y
    return x if isinstance(y, int) and y == 0 else y if isinstance(x, int) and x == 0 else _made("addi", x, y)


def sub(x: Size, y: Size) -> Size:
    if isinstance(x, int) and isinstance(y, int):
        return x - y
    return x if isinstance(y, int) and y == 0 else _made("subi", x, y)


def mul(x: Size, y: Size) -> Size:
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    return x if isinstance(y, int) and y == 1 else y if isinstance(x, int) and x == 1 else _made("muli", x, y)


def divided(x: Size, y: Size) -> Size:
    """x / y of numbers that are not negative, y not 0."""
    return x // y if isinstance(x, int) and isinstance(y, int) else _made("divui", x, y)


def remainder(x: Size, y: Size) -> Size:
    """x % y of numbers that are not negative, y not 0."""
    return x % y if isinstance(x, int) and isinstance(y, int) else _made("remui", x, y)


def least(x: Size, y: Size) -> Size:
    return min(x, y) if isinstance(x, int) and isinstance(y, int) else _made("minsi", x, y)


def greatest(x: Size, y: Size) -> Size:
    return max(x, y) if isinstance(x, int) and isinstance(y, int) else _made("maxsi", x, y)


def is_negative(x: ir.Value) -> ir.Value:
    return b.value("arith.cmpi", [x, b.index(0)], b.integer_type(1), predicate=ir.IntegerAttr.get(b.integer_type(64), 2))


def from_end(position: Size, length: Size) -> Size:
    """A position counted from the end when it is negative."""
    if isinstance(position, int):
        return add(length, position) if position < 0 else position
    return b.value("arith.select", [is_negative(position), value(add(position, length)), position], b.index_type())


def clamped(position: Size, length: Size) -> Size:
    """Within [0, length]."""
    return greatest(least(position, length), 0)


def known(lengths: Sequence[Size]) -> tuple[int | None, ...]:
    """The numbers among sizes, None for those of the run: a type's."""
    return tuple(v if isinstance(v, int) else None for v in lengths)


def product(lengths: Sequence[Size]) -> Size:
    total: Size = 1
    for length in lengths:
        total = mul(total, length)
    return total
