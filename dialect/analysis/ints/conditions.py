"""What conditions say of ints, where they hold: comparisons behind `and`, `or` and `not`, of which each is a fact.

    if 0 <= i and i + 1 < n:        0 <= i + 0, i <= n - 2
    while n != 0: or `while n:`     n is not 0
    while j > 0:                    0 <= j - 1 at the beginning of each round: what is asked at its end is asked of what is handed on
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tierup.dialect.ir.structure import handed_over
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import int_of

LOOP, IF = "torch.prim.Loop", "torch.prim.If"
Fact = tuple[ir.Value, ir.Value | None, int]  # left <= right + number, or, without a right, left != number
Form = tuple[ir.Value, int]  # a value, and what is added to it


def form(value: ir.Value, through: Callable[[ir.Operation], bool] = lambda _: True) -> Form:
    """The value as another one and a number added to it. `through`: by which of the ops that add numbers."""
    added = 0
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        name = torch_name(op)
        if name == "aten.__derive_index":  # of a range in steps of 1 that begins at a number: no item is beyond 64 bits
            x, start, step = op.operands
            number = int_of(start) if int_of(step) == 1 else None
        elif name in ("aten.add.int", "aten.sub.int"):
            x, y = op.operands
            number = int_of(y)
            if number is None and name == "aten.add.int":
                x, number = y, int_of(x)
            if number is not None and name == "aten.sub.int":
                number = -number
            if not through(op):
                break
        else:
            break
        if number is None:
            break
        value, added = x, added + number
    return value, added


def facts_of(condition: ir.Value, holds: bool) -> Iterator[Fact]:
    """What follows of ints from a condition that holds, or does not."""
    if isinstance(condition.owner, ir.Block):
        return
    op = condition.owner.operation
    name = torch_name(op)
    if name in COMPARED:
        yield from _facts_of_length(op, name, holds)
        name = name if holds else _OPPOSITE[name]
        yield from COMPARED[name](*op.operands)
        x, y = op.operands
        if name == "aten.ne.int":
            yield from [(side, None, number) for side, other in ((x, y), (y, x)) if (number := int_of(other)) is not None]
    elif name == "aten.Bool.int" and holds:
        yield op.operands[0], None, 0
    elif name == "aten.__not__":
        yield from facts_of(op.operands[0], not holds)
    elif op.name == IF:  # `and` where both hold, `or` where neither does
        at = ir.OpResult(condition).result_number
        then, otherwise = (handed_over(region.blocks[0])[at] for region in op.regions)
        asked, short = (then, otherwise) if holds else (otherwise, then)
        if short == op.operands[0] or _is_constant(short, not holds):
            yield from facts_of(op.operands[0], holds)
            yield from facts_of(asked, holds)


def _facts_of_length(op: ir.Operation, name: str, holds: bool) -> list[Fact]:
    """A range that has items begins before its stop."""
    length, number = op.operands
    made = None if isinstance(length.owner, ir.Block) else length.owner.operation
    if not holds or made is None or torch_name(made) != "aten.__range_length" or (name, int_of(number)) not in _HAS_ITEMS:
        return []
    start, stop, step = made.operands
    by = int_of(step)
    return [] if not by else [(start, stop, -1)] if by > 0 else [(stop, start, -1)]


def _is_constant(value: ir.Value, truth: bool) -> bool:
    made = None if isinstance(value.owner, ir.Block) else value.owner.operation
    return made is not None and made.name == "torch.constant.bool" and bool(made.attributes["value"].value) is truth


COMPARED: dict[str, Callable[[ir.Value, ir.Value], list[Fact]]] = {
    "aten.lt.int": lambda a, b: [(a, b, -1)],
    "aten.le.int": lambda a, b: [(a, b, 0)],
    "aten.gt.int": lambda a, b: [(b, a, -1)],
    "aten.ge.int": lambda a, b: [(b, a, 0)],
    "aten.eq.int": lambda a, b: [(a, b, 0), (b, a, 0)],
    "aten.ne.int": lambda a, b: [],
}
_HAS_ITEMS = (("aten.gt.int", 0), ("aten.ge.int", 1), ("aten.ne.int", 0))
_OPPOSITE = {
    f"aten.{a}.int": f"aten.{b}.int" for pair in (("lt", "ge"), ("le", "gt"), ("eq", "ne")) for a, b in (pair, pair[::-1])
}  # fmt: skip


# --- loops ---------------------------------------------------------------------------------------------------------------


def side_of_round(value: ir.Value, loop: ir.Operation) -> tuple[ir.Value, ir.Value] | None:
    """A side of a comparison that a loop makes at the end of a round: what it is at the beginning of the next, and of the first. None for
    what is neither handed on nor the same in all rounds."""
    if int_of(value) is not None or not _is_inside(value, loop):
        return value, value
    body = loop.regions[0].blocks[0]
    for start, end, carried in zip(list(loop.operands)[2:], handed_over(body)[1:], list(body.arguments)[1:], strict=True):
        if form(value) == form(end):
            return carried, start
    return None


def _is_inside(value: ir.Value, loop: ir.Operation) -> bool:
    block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    while block.owner.operation.name != "func.func":
        if block.owner.operation == loop:
            return True
        block = block.owner.operation.block
    return False


def length_of_range(index: ir.Value) -> ir.Operation | None:
    """The op that gives the length of a range, of which a number of a round is surely below it, also where the first is built apart."""
    counter, ahead = form(index)
    if not isinstance(counter.owner, ir.Block) or counter.owner.owner.name != LOOP or ir.BlockArgument(counter).arg_number:
        return None
    rounds, left_out = form(counter.owner.owner.operands[0])
    made = None if isinstance(rounds.owner, ir.Block) else rounds.owner.operation
    return made if made is not None and torch_name(made) == "aten.__range_length" and ahead <= -left_out else None
