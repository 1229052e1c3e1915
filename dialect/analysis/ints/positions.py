"""Between which sizes an int lies, where it is used: what proves that a position needs no check, and that a sum fits into 64 bits.

    for i in range(1, len(a)):        i >= 1 and i <= s0 - 1, of which a[i - 1] and a[i] are inside
        j = i                         a value that rounds only subtract from is at most what it was at first
        while j > 0 and a[j - 1] > v: and j >= 1 wherever this holds: in what is evaluated behind `and`, and in the loop
            j -= 1

Bounds are formulas of the arguments' sizes (bounds.py). What only numbers say is asked of `Ranges`. (Ranges of
symbols: Blume and Eigenmann, "Symbolic range propagation", 1995.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tierup.dialect.analysis.ints.bounds import NOTHING, Bounds, bounds_of, exactly
from tierup.dialect.analysis.ints.conditions import COMPARED, IF, LOOP, Fact, facts_of, form, length_of_range, side_of_round
from tierup.dialect.facts import dims
from tierup.dialect.facts.dims import Dim, at_least
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import Int
from tierup.dialect.ir.attributes import PROMOTION, SATURATES
from tierup.dialect.ir.structure import handed_over
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import int_of
from tierup.dialect.rewriting.numpy_rules.int_ranges import MOST, Ranges

INSIDE = "tierup.inside"  # on ops with a position that is known to be there: from which end it is counted
NOT_NEGATIVE = "tierup.not_negative"  # on ops with a position that is known to be counted from the start, and perhaps beyond the end
FROM_START, FROM_END, FROM_EITHER = "from_start", "from_end", "from_either"
_DEPTH = 40  # values that hang on one another
_TRIES = 4  # to find what all rounds of a loop keep
_EFFORT = 10_000  # values looked at; beyond it nothing more is known
_STEP = 1 << 12  # by which a value changes in a round, so that all rounds of a loop over sizes stay within 64 bits


class Positions:
    """What is known of the ints of a function. Ask before it is changed."""

    def __init__(self, inference: Inference) -> None:
        self._inference, self._ranges = inference, Ranges(inference, most=MOST, wraps=True)
        self._known: dict[ir.Value, Bounds] = {}
        self._facts: dict[ir.Block, list[Fact]] = {}  # by the blocks in which they hold
        self._asked: set[ir.Value] = set()  # what is being found
        self._effort = 0

    def where(self, position: ir.Value, size: Dim, op: ir.Operation) -> str:
        """Where a position is in a dim, as `op` reads or writes there: FROM_START for 0 and above, FROM_END for what is below,
        FROM_EITHER for both; "" where it may be outside."""
        facts = self._around(op)
        found = self._at(position, facts)
        true = [0, *self._not_negative(facts)]

        def holds(*numbers: Dim) -> bool:
            """Whether one of these is not negative, where the facts hold."""
            return any(at_least(number - known, 0) for number in numbers for known in true)

        below = holds(*(size - 1 - high for high in found.highs))
        if holds(*found.lows):
            return FROM_START if below else ""
        if not holds(*(low + size for low in found.lows)):
            return ""
        return FROM_END if holds(*(-1 - high for high in found.highs)) else FROM_EITHER if below else ""

    def is_not_negative(self, position: ir.Value, op: ir.Operation) -> bool:
        """Whether a position is surely 0 or above, as `op` reads or writes there."""
        return self._at(position, self._around(op)).is_at_least(0)

    def fits(self, op: ir.Operation) -> bool:
        """Whether 64 bits surely hold what an op adds or subtracts, where it is."""
        name = torch_name(op)
        if name not in ("aten.add.int", "aten.sub.int"):
            return False
        x, y = self.used(op)
        if all(bounds.lows and bounds.highs for bounds in (x, y)):  # which are small
            return True
        if name == "aten.add.int":
            y = y.negated()
        return (x.is_at_least(0) and y.is_at_least(0)) or (x.is_at_most(-1) and y.is_at_most(0))

    def decides(self, op: ir.Operation) -> bool | None:
        """What a comparison of ints surely gives, where it is; None for what the run decides, and for other ops."""
        name = torch_name(op)
        if name not in COMPARED:
            return None
        differ = name == "aten.ne.int"
        facts = COMPARED["aten.eq.int" if differ else name](*op.operands)
        around = self._around(op)

        def never_less(left: ir.Value, right: ir.Value, more: int) -> bool:
            gap = self._at(right, around).plus(self._at(left, around).negated())
            return gap.is_at_least(-more)

        if all(never_less(*fact) for fact in facts):
            return not differ
        return differ if any(never_less(right, left, -more - 1) for left, right, more in facts) else None

    def of(self, value: ir.Value) -> Bounds:
        """The bounds of an int, wherever it is used."""
        found = self._known.get(value)
        if found is None:
            if value in self._asked or len(self._asked) > _DEPTH or self._effort > _EFFORT:
                return NOTHING
            self._effort += 1
            self._asked.add(value)
            found = self._find(value) & self._by_numbers(value)
            self._asked.discard(value)
            self._known[value] = found
        return found

    def _by_numbers(self, value: ir.Value) -> Bounds:
        low, high = self._ranges.of(value)
        return bounds_of((low,), (high,))

    def _find(self, value: ir.Value) -> Bounds:
        size = self._size(value)
        if size is not None:
            return exactly(size)
        if isinstance(value.owner, ir.Block):
            return self._carried(value)
        op = value.owner.operation
        if op.name == LOOP:  # what came in, or what a round handed on
            at = ir.OpResult(value).result_number
            last = handed_over(op.regions[0].blocks[0])[1 + at]
            return self.of(op.operands[2 + at]) | self._at(last, list(self._of_rounds(op)))
        if op.name == IF:
            at = ir.OpResult(value).result_number
            arms = [(handed_over(region.blocks[0])[at], list(facts_of(op.operands[0], i == 0))) for i, region in enumerate(op.regions)]
            first, second = (self._at(arm, facts) for arm, facts in arms)
            return first | second
        rule = _RULES.get(torch_name(op))
        return NOTHING if rule is None else rule(self, op)

    def _carried(self, value: ir.Value) -> Bounds:
        """Of how many rounds a loop has begun, or what it carries."""
        loop, number = value.owner.owner, ir.BlockArgument(value).arg_number
        if loop.name != LOOP:
            return NOTHING
        if number == 0:
            return Bounds((0,), tuple(high - 1 for high in self.of(loop.operands[0]).highs))
        self._assume(loop.operation)
        return self._known.get(value, NOTHING)

    def _assume(self, loop: ir.Operation) -> None:
        """Find the bounds of what a loop carries: what holds of what comes in is assumed of all rounds, and given up where what a round
        hands on does not keep it. (Flanagan and Leino, "Houdini, an annotation assistant", 2001.)"""
        body = loop.regions[0].blocks[0]
        carried = [(i, a) for i, a in enumerate(list(body.arguments)[1:]) if str(a.type) == "!torch.int"]
        found = {a: self._and_zero(self.of(loop.operands[2 + i])) for i, a in carried}
        # What hangs on the loop is found with what is assumed of it, and forgotten: bounds, and facts that only these prove.
        before, known_facts, asked, self._asked = self._known, self._facts, self._asked, set()
        for _ in range(_TRIES):
            self._known, self._facts = before | found, dict(known_facts)
            facts = list(self._of_rounds(loop))
            ends = {a: self._at(handed_over(body)[1 + i], facts) for i, a in carried}
            kept = {a: bounds.kept_by(ends[a]) for a, bounds in found.items()}
            if kept == found:
                break
            found = kept
        else:
            found = {a: NOTHING for _, a in carried}
        self._known, self._facts = before | found, dict(known_facts)
        for i, a in carried:
            found[a] &= self._one_way(loop, i, a)
        self._known, self._facts, self._asked = before | found, known_facts, asked

    def _and_zero(self, bounds: Bounds) -> Bounds:
        """With 0, where it is a bound: rounds may keep it and no higher one."""
        return bounds & Bounds((0,)) if bounds.is_at_least(0) else bounds

    def _one_way(self, loop: ir.Operation, at: int, value: ir.Value) -> Bounds:
        """Of what rounds may only raise or only lower."""
        change = self._ranges.change(handed_over(loop.regions[0].blocks[0])[1 + at], value)
        first = self.of(loop.operands[2 + at])
        if change is None or max(map(abs, change)) > _STEP or not (first.lows and first.highs) or self._ranges.rounds(loop) > MOST:
            return NOTHING
        return Bounds(first.lows if change[0] >= 0 else (), first.highs if change[1] <= 0 else ())

    def _derived(self, op: ir.Operation) -> Bounds:
        """Of the item of a range that a loop goes through: between its start and its stop."""
        index, start, step = self.used(op)
        by = int_of(op.operands[2])
        if not by:
            by, found = 1 if step.is_at_least(1) else -1 if step.is_at_most(-1) else 0, NOTHING
        else:
            found = start + index.times(by)
        length = length_of_range(op.operands[0])
        if length is not None and by:
            begin, stop, _ = self.used(length)
            found &= Bounds(begin.lows, (stop + exactly(-1)).highs) if by > 0 else Bounds((stop + exactly(1)).lows, begin.highs)
        return found

    # --- conditions ----------------------------------------------------------------------------------------------------------

    def used(self, op: ir.Operation) -> list[Bounds]:
        """The bounds of an op's operands, where it is."""
        facts = self._around(op)
        return [self._at(v, facts) for v in op.operands]

    def _around(self, op: ir.Operation) -> list[Fact]:
        """What holds where an op is: the conditions of the branches around it, and of loops in whose rounds it is."""
        if op.parent is None or op.parent.operation.name == "func.func":
            return []
        found, outer = self._facts.get(op.block), op.parent.operation
        if found is None:
            found = list(self._of_rounds(outer)) if outer.name == LOOP else []
            if outer.name == IF:
                found = list(facts_of(outer.operands[0], op.block == outer.regions[0].blocks[0]))
            found += self._around(outer)
            self._facts[op.block] = found
        return found

    def _of_rounds(self, loop: ir.Operation) -> Iterator[Fact]:
        """What a loop's condition says at the beginning of each round: at the end of each it is asked of what is handed on, and of what
        comes in it was asked before, or holds anyway."""
        asked = [(form(left), right and form(right), more) for left, right, more in facts_of(loop.operands[1], True)]
        for left, right, more in facts_of(handed_over(loop.regions[0].blocks[0])[0], True):
            if right is None:
                here = side_of_round(left, loop)
                if here is not None and ((form(here[1]), None, more) in asked or not self.of(here[1]).may_be(more)):
                    yield here[0], None, more
                continue
            a, b = (((side, side) if self._size(side) is not None else side_of_round(side, loop)) for side in (left, right))
            if a is None or b is None:
                continue
            (then, first), (other_then, other_first) = a, b
            gap = self.of(other_first) + -self.of(first) + exactly(more)
            if (form(first), form(other_first), more) in asked or gap.is_at_least(0):
                yield then, other_then, more

    def _size(self, value: ir.Value) -> Dim | None:
        """An int that is known, in terms of the arguments' sizes: the same in all rounds, wherever it is asked for."""
        known = self._inference.values.get(value)
        return known.value if isinstance(known, Int) else None

    def _at(self, value: ir.Value, facts: Sequence[Fact]) -> Bounds:
        """The bounds of an int where these facts hold: what is said of it, and of what differs from it by a number."""
        root, added = form(value)
        said: dict[int, Bounds] = {added: self.of(value)}
        for left, right, more in sorted(facts, key=lambda fact: fact[1] is None):
            a, before = form(left)
            if right is None:
                if a == root:
                    said[before] = said.get(before, self.of(left)).but(more)
                continue
            b, behind = form(right)
            if a == root:
                said[before] = said.get(before, self.of(left)) & bounds_of((), (high + more for high in self.of(right).highs))
            if b == root:
                said[behind] = said.get(behind, self.of(right)) & bounds_of((low - more for low in self.of(left).lows), ())
        found = said.pop(added)
        for other, bounds in said.items():
            found &= bounds + exactly(added - other)
        return found

    def apart(self, op: ir.Operation) -> Bounds:
        """Of the difference of two ints that conditions, or a range, compare with each other; it is no other number."""
        (x, more), (y, less) = (form(v, self.fits) for v in op.operands)
        found = NOTHING
        for left, right, number in (*self._around(op), *_facts_of_item(op.operands[0]), *_facts_of_item(op.operands[1])):
            if right is None:
                continue
            (a, added), (c, other) = (form(side, lambda made: _saturates(made) or self.fits(made)) for side in (left, right))
            # a sum that saturates is no more than what it stands for, a difference no less
            for low, high, gap in ((left, right, number), *([(a, c, other - added + number)] if added <= 0 <= other else [])):
                if (low, high) == (y, x):
                    found &= bounds_of((more - less - gap,), ())
                elif (low, high) == (x, y):
                    found &= bounds_of((), (more - less + gap,))
        return found

    def _not_negative(self, facts: Sequence[Fact]) -> Iterator[Dim]:
        """What the conditions around an op say of sizes: formulas that are not negative there."""
        for left, right, more in facts:
            for high in self.of(right).highs if right is not None else ():
                for low in self.of(left).lows:
                    yield high + more - low


# --- ops ---------------------------------------------------------------------------------------------------------------------


def _sum(known: Positions, op: ir.Operation) -> Bounds:
    x, y = known.used(op)
    return x.plus(y) if _saturates(op) else x + y


def _difference(known: Positions, op: ir.Operation) -> Bounds:
    by = _divisor_of_remainder(op)
    if by is not None:
        return _between_zero_and(known.used(op)[0], known.of(by))
    x, y = known.used(op)
    if not _saturates(op):
        return (x + -y) & (known.apart(op) if known.fits(op) else NOTHING)
    return x.plus(y.negated()) & known.apart(op)


def _facts_of_item(value: ir.Value) -> Iterator[Fact]:
    """How the item of a range that a loop goes through compares with where the range begins and stops, and the number of a round with the
    number of all."""
    counter, _ = form(value)
    if isinstance(counter.owner, ir.Block):
        if counter.owner.owner.name == LOOP and ir.BlockArgument(counter).arg_number == 0:
            yield counter, counter.owner.owner.operands[0], -1
        return
    op = counter.owner.operation
    length = length_of_range(op.operands[0]) if torch_name(op) == "aten.__derive_index" else None
    by = None if length is None else int_of(length.operands[2])
    if length is None or not by:
        return
    start, stop, _ = length.operands
    yield from [(start, counter, 0), (counter, stop, -1)] if by > 0 else [(counter, start, 0), (stop, counter, -1)]


def _multiple(known: Positions, op: ir.Operation) -> Bounds:
    (x, y), (a, b) = known.used(op), map(int_of, op.operands)
    if not _saturates(op):
        return x.times(b) if b is not None else y.times(a) if a is not None else NOTHING
    if a is not None or b is not None:
        return x.scaled(b) if b is not None else y.scaled(a or 0)
    return Bounds((0,)) if op.operands[0] == op.operands[1] or x.is_at_least(0) and y.is_at_least(0) else NOTHING


def _saturates(op: ir.Operation) -> bool:
    """Whether a result that 64 bits do not hold is the nearest one that they do: so it is said, or will be where the op is checked."""
    return SATURATES in op.attributes or PROMOTION in op.attributes


def _quotient(known: Positions, op: ir.Operation) -> Bounds:
    number, (found, by) = int_of(op.operands[1]), known.used(op)
    if number is None or number < 1:
        return Bounds((0,), found.highs) if found.is_at_least(0) and by.is_at_least(1) else NOTHING
    lows, highs = ([_divided(bound, number) for bound in bounds] for bounds in (found.lows, found.highs))
    return bounds_of((0, *lows), (*highs, *found.highs)) if found.is_at_least(0) else bounds_of(lows, highs)


def _divided(bound: Dim, number: int) -> Dim:
    """bound // number, the parts that the number divides apart: (2 * s0 - 1) // 2 is s0 - 1."""
    if isinstance(bound, int):
        return bound // number
    whole = sum((dims.polynomial([(c, [(atom, power) for _, atom, power in mono])]) for mono, c in bound.terms if c % number == 0), start=0)
    rest = bound - whole
    return dims.floordiv(whole, number) + (rest // number if isinstance(rest, int) else dims.floordiv(rest, number))


def _divisor_of_remainder(op: ir.Operation) -> ir.Value | None:
    """The b of a - a // b * b, as remainders are written where ints are Python's."""
    x, product = op.operands
    if isinstance(product.owner, ir.Block) or torch_name(product.owner.operation) != "aten.mul.int":
        return None
    for quotient, by in (product.owner.operation.operands, list(product.owner.operation.operands)[::-1]):
        made = None if isinstance(quotient.owner, ir.Block) else quotient.owner.operation
        if made is not None and torch_name(made) == "aten.floordiv.int" and list(made.operands) == [x, by]:
            return by
    return None


def _remainder(known: Positions, op: ir.Operation) -> Bounds:
    return _between_zero_and(*known.used(op))


def _between_zero_and(found: Bounds, by: Bounds) -> Bounds:
    """Of the remainder of one by the other."""
    if not by.is_at_least(1):
        return NOTHING
    return bounds_of((0,), (*(high - 1 for high in by.highs), *(found.highs if found.is_at_least(0) else ())))


def _conjunction(known: Positions, op: ir.Operation) -> Bounds:
    never_negative = [bounds for bounds in known.used(op) if bounds.is_at_least(0)]
    return bounds_of((0,), (high for bounds in never_negative for high in bounds.highs)) if never_negative else NOTHING


def _disjunction(known: Positions, op: ir.Operation) -> Bounds:
    return Bounds((0,)) if all(bounds.is_at_least(0) for bounds in known.used(op)) else NOTHING


def _shifted_right(known: Positions, op: ir.Operation) -> Bounds:
    x, _ = known.used(op)
    return Bounds((0,), x.highs) if x.is_at_least(0) else NOTHING


def _lesser(known: Positions, op: ir.Operation) -> Bounds:
    a, b = known.used(op)
    return bounds_of((a | b).lows, (*a.highs, *b.highs))


def _greater(known: Positions, op: ir.Operation) -> Bounds:
    a, b = known.used(op)
    return bounds_of((*a.lows, *b.lows), (a | b).highs)


_RULES: dict[str, Callable[[Positions, ir.Operation], Bounds]] = {
    "aten.add.int": _sum,
    "aten.sub.int": _difference,
    "aten.neg.int": lambda known, op: -known.used(op)[0],
    "aten.mul.int": _multiple,
    "aten.floordiv.int": _quotient,
    "aten.remainder.int": _remainder,
    "aten.__and__.int": _conjunction,
    "aten.__or__.int": _disjunction,
    "aten.__xor__.int": _disjunction,
    "aten.__rshift__.int": _shifted_right,
    "prim.min.int": _lesser,
    "prim.max.int": _greater,
    "aten.__derive_index": Positions._derived,
}
