"""Loops that go round a few times, whatever the numbers are: each round halves one, and 0 ends them.

    while n > 0: n >>= 1        while n: n //= 10        while n: n &= n - 1        while b: a, b = b, a % b

Each round of the first three takes a bit off a number that is not negative, and so they do of a NumPy element that the condition says is
positive; the third does so of any element, where the least int minus 1 is the greatest one. The last one halves in two rounds (Lamé, 1844):
remainders have the sign of what they are by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tierup.dialect.analysis.ints.conditions import facts_of, form
from tierup.dialect.analysis.ints.positions import Positions
from tierup.dialect.ir.structure import handed_over
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import int_of


def has_few_rounds(loop: ir.Operation, known: Positions) -> bool:
    """Whether a torch.prim.Loop over numbers surely ends after some 128 rounds."""
    body = loop.regions[0].blocks[0]
    condition, *given = handed_over(body)
    taken = list(body.arguments)[1:]
    if any("tensor" in (type_ := str(v.type)) and not type_.startswith("!torch.vtensor<[],si") for v in taken):
        return False
    pairs = list(zip(taken, given, strict=True))
    halved = any(_is_halved(old, new, pairs, known) for new in _never_zero(condition) for old in _before(new, pairs))
    return halved or any(_is_halved_element(old, new) for new in _positive_elements(condition) for old in _before(new, pairs))


def _before(new: ir.Value, pairs: Sequence[tuple[ir.Value, ir.Value]]) -> list[ir.Value]:
    """What a round took where it hands on a value."""
    return [old for old, given in pairs if given == new]


def _never_zero(condition: ir.Value) -> Iterator[ir.Value]:
    """The numbers that are not 0 where a condition holds."""
    for left, right, number in facts_of(condition, True):
        if right is None and number == 0:
            yield left
        elif right is not None and (int_of(left) or 0) > number:
            yield right
    yield from _positive_elements(condition)
    element = _element(condition)
    if element is not None:
        yield _against_zero(element, "aten.ne.Scalar") or element


def _positive_elements(condition: ir.Value) -> list[ir.Value]:
    """The element that is greater than 0 where a condition holds."""
    element = _element(condition)
    found = None if element is None else _against_zero(element, "aten.gt.Scalar")
    return [] if found is None else [found]


def _element(condition: ir.Value) -> ir.Value | None:
    """The element of which a condition is the truth."""
    op = _maker(condition)
    return op.operands[0] if op is not None and torch_name(op) == "aten.Bool.Tensor" else None


def _against_zero(value: ir.Value, name: str) -> ir.Value | None:
    """What is compared with 0."""
    op = _maker(value)
    return op.operands[0] if op is not None and torch_name(op) == name and int_of(op.operands[1]) == 0 else None


def _is_halved(old: ir.Value, new: ir.Value, pairs: Sequence[tuple[ir.Value, ir.Value]], known: Positions) -> bool:
    """Whether what a round hands on is half of what it took: at once, or in two rounds."""
    op = _maker(new)
    x, y = list(op.operands)[:2] if op is not None and len(op.operands) > 1 else (old, old)
    match torch_name(op) if op is not None else "":
        case "aten.__rshift__.int":
            return x == old and (int_of(y) or 0) >= 1 and known.of(old).is_at_least(0)
        case "aten.floordiv.int":
            return x == old and (int_of(y) or 0) >= 2 and known.of(old).is_at_least(0)
        case "aten.__and__.int":
            return {form(x), form(y)} == {(old, 0), (old, -1)} and known.of(old).is_at_least(0)
        case "aten.bitwise_and.Tensor":
            return any(a == old and _is_one_less(b, old) for a, b in ((x, y), (y, x)))
        case "aten.remainder.int":
            return y == old and (x, old) in pairs
    return False


def _is_halved_element(old: ir.Value, new: ir.Value) -> bool:
    """Whether a round hands on half, or less, of the element that it took."""
    op = _maker(new)
    if op is None or op.operands[0] != old:
        return False
    match torch_name(op):
        case "aten.bitwise_right_shift.Tensor":
            return 0 < (_number_of_dtype(op.operands[1]) or 0) < 64
        case "aten.floor_divide.Scalar":
            return (int_of(op.operands[1]) or 0) >= 2
    return False


def _number_of_dtype(value: ir.Value) -> int | None:
    """The number of Python's that was made an element of another's dtype, as 1 of that dtype times it."""
    op = _maker(value)
    one = _maker(op.operands[0]) if op is not None and torch_name(op) == "aten.mul.Scalar" else None
    return int_of(op.operands[1]) if op is not None and one is not None and torch_name(one) == "aten.new_ones" else None


def _is_one_less(value: ir.Value, than: ir.Value) -> bool:
    op = _maker(value)
    if op is None or torch_name(op) != "aten.sub.Scalar":
        return False
    x, *numbers = op.operands
    return x == than and all(int_of(v) == 1 for v in numbers)


def _maker(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation
