"""tierup-hoist-checks: positions in a loop are checked once, before it, where the ends of what they run through tell.

    scf.for %i = %low to %high step %c1 {
      %at = arith.addi %i, %k
      scf.if (%at < -%n or %at >= %n) { memref.store %site, %status[] }
      %inside = arith.maxsi (arith.minsi %at, %n - 1), -%n
      %place = arith.select (%inside < 0), %inside + %n, %inside
      %x = memref.load %a[%place]
      ...
    }

becomes

    %safe = %low + %k >= 0 and %high - 1 + %k < %n, none of which overflows
    scf.if %safe {
      scf.for %i = %low to %high step %c1 {
        %at = arith.addi %i, %k
        %x = memref.load %a[%at]
        ...
      }
    } else {
      (the loop as it was)
    }

So the loop has no way out in the midst of a round: LLVM unrolls it, makes vectors of it, and computes both arms of what is small. Ends have
a counter; what a loop carries and adds numbers to (`at += 1`), in all rounds or in some; what stands before the loop; their sums and
differences, and products with numbers. Checks of anything else stay, in both loops. Positions that are counted from the end, and those that
a check refuses, are for the second.

Innermost loops of the program only, and those that count: others have a way out anyway. Comes after tierup-poll-loops, which makes loops of
parts of some thousand rounds, each of which finds out for itself; before tierup-write-arguments, which asks where a check may still fail.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache, reduce
from operator import add, and_, mul, sub

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import handed_over, maker, values_inside
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.stated import ERROR_SITES
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import SIGNED_INDEX, CmpI, Scalar, conjuncts, constant, known, of
from tierup.lowering.building.loops import twice
from tierup.lowering.building.origins import is_programs
from tierup.lowering.ops.scalars import add_fits, mul_fits, sub_fits

_STAY = "tierup.checks_stay"  # on the loop that has its checks
_MOST_OPS = 150  # of a loop that is there twice
_PLAIN = ("arith.", "math.", "complex.", "memref.load", "memref.store", "scf.if", "scf.yield")
_CHOICES = ("arith.select", "scf.if")
_CAST, _COMPARE, _LEAST, _GREATEST = "arith.index_cast", "arith.cmpi", "arith.minsi", "arith.maxsi"
_LESS = {CmpI.SLT: (0, 1, True), CmpI.SLE: (0, 1, False), CmpI.SGT: (1, 0, True), CmpI.SGE: (1, 0, False)}  # which is less; strictly
_OPPOSITE = {CmpI.SLT: CmpI.SGE, CmpI.SLE: CmpI.SGT, CmpI.SGT: CmpI.SLE, CmpI.SGE: CmpI.SLT}

Ends = tuple[Scalar, Scalar]  # the least and the greatest, or beyond them, i64
Operator = Callable[[Scalar, Scalar], Scalar]


@register
class HoistChecks(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        if ERROR_SITES not in function.attributes:
            return
        status = function.regions[0].blocks[0].arguments[-1]
        loops = [op for op in b.walk_unfused(function) if op.name == "scf.for" and is_programs(op) and _STAY not in op.attributes]
        for loop in loops:
            inside = list(b.walk(loop))
            if len(inside) <= _MOST_OPS and all(op.name.startswith(_PLAIN) for op in inside):
                _Loop(loop, inside).hoist(status)


@dataclass(frozen=True)
class _Order:
    """That one number is less than another, or no greater."""

    less: ir.Value
    more: ir.Value
    strict: bool = False


@dataclass(frozen=True)
class _Range:
    """What a number runs through, from round to round: what builds the ends, before the loop. Whether they are two."""

    ends: Callable[[], Ends]
    moves: bool = True


class _Loop:
    def __init__(self, loop: ir.Operation, inside: Sequence[ir.Operation]) -> None:
        self._loop, self._inside = loop, inside
        self._body = loop.regions[0].blocks[0]
        self._values = values_inside(loop)
        self._ranges: dict[ir.Value, _Range | None] = {}
        self._holds: list[Scalar] = []  # what the loop without checks takes for granted

    def hoist(self, status: ir.Value) -> None:
        """Have a loop without the checks that the ends decide run where they hold."""
        checks = {op: orders for op in self._inside if (orders := self._orders(op, status))}
        if not checks:
            return
        with self._loop.location, ir.InsertionPoint(self._loop):
            for order in (asked := dict.fromkeys(order for orders in checks.values() for order in orders)):
                self._ask(order)
            as_they_are, never = self._placing({v for order in asked for v in (order.less, order.more) if self._moves(v)})
            no = b.integer(0, 1)
            copy = twice(self._loop, reduce(and_, self._holds))
        self._loop.attributes[_STAY] = ir.UnitAttr.get(copy.context)
        copies = dict(zip(self._inside, list(b.walk(copy)), strict=True))
        for op in never:
            copies[op].results[0].replace_all_uses_with(no)
        for op in as_they_are:
            copies[op].results[0].replace_all_uses_with(copies[op].operands[0])
        for op in (*never, *as_they_are, *checks):
            copies[op].erase()

    def _placing(self, positions: Container[ir.Value]) -> tuple[list[ir.Operation], list[ir.Operation]]:
        """What puts positions within bounds, and what asks whether they are counted from the end: of those that are inside the first
        changes nothing, and the second is false. That they are inside is asked."""
        as_they_are, never = list[ir.Operation](), list[ir.Operation]()
        for op in self._inside:
            if op.name not in (_LEAST, _GREATEST, _COMPARE):
                continue
            at, bound = op.operands
            while at not in positions and (made := maker(at)) is not None and (made.name == _CAST or made in as_they_are):
                at = made.operands[0]
            if at not in positions or self._range(bound) is None:
                continue
            if op.name != _COMPARE:
                self._ask(_Order(at, bound) if op.name == _LEAST else _Order(bound, at))
                as_they_are.append(op)
            elif at != op.operands[0] and _predicate(op) == CmpI.SLT and known(bound) == 0:
                self._ask(_Order(bound, at))
                never.append(op)
        return as_they_are, never

    def _ask(self, order: _Order) -> None:
        less, more = self._range(order.less), self._range(order.more)
        assert less is not None and more is not None
        high, low = less.ends()[1], more.ends()[0]
        self._holds.append(high < low if order.strict else high <= low)

    def _orders(self, op: ir.Operation, status: ir.Value) -> list[_Order]:
        """What must hold for a check to pass; nothing where the ends do not decide all of it."""
        if op.name != "scf.if" or len(op.results) or len(op.regions[1].blocks):
            return []
        ops = [view.operation for view in op.regions[0].blocks[0].operations]
        if [o.name for o in ops] != ["memref.store", "scf.yield"] or ops[0].operands[1] != status:
            return []
        orders = list[_Order]()
        for order in _required(op.operands[0]):
            if order is None or self._range(order.less) is None or self._range(order.more) is None:
                return []
            orders.append(order)
        return orders

    # --- ranges

    def _moves(self, value: ir.Value) -> bool:
        found = self._range(value)
        return found is not None and found.moves

    def _range(self, value: ir.Value) -> _Range | None:
        """Of an i64 or an index; None where it is not known."""
        if value not in self._ranges:
            self._ranges[value] = self._find(value)
        return self._ranges[value]

    def _find(self, value: ir.Value) -> _Range | None:
        number, made = known(value), maker(value)
        if type(number) is int:
            return _fixed(lambda: constant(number, dtypes.i64))
        if not isinstance(value.type, ir.IndexType) and value.type != ir.IntegerType.get_signless(64, value.context):
            return None
        if value not in self._values:
            return _fixed(lambda: of(value, SIGNED_INDEX if isinstance(value.type, ir.IndexType) else dtypes.i64).cast(dtypes.i64))
        if made is None:
            return self._of_argument(value)
        if made.name == _CAST:
            return self._range(made.operands[0])
        if made.name in _CHOICES:
            return self._chosen(value)
        if made.name not in ("arith.addi", "arith.subi", "arith.muli"):
            return None
        x, y = map(self._range, made.operands)
        if x is None or y is None:
            return None
        factor, moves = known(made.operands[1]), x.moves or y.moves
        if made.name == "arith.addi":
            return _Range(cache(lambda: self._sums(x.ends(), y.ends())), moves)
        if made.name == "arith.subi":
            return _Range(cache(lambda: self._differences(x.ends(), y.ends())), moves)
        return _Range(cache(lambda: self._products(x.ends(), factor)), moves) if type(factor) is int else None

    def _of_argument(self, value: ir.Value) -> _Range | None:
        """What the counter of a loop runs through; or what it carries, to which each round before this one added one of some numbers."""
        first, limit, *_ = map(self._range, self._loop.operands)
        assert first is not None and limit is not None
        counted = cache(lambda: (first.ends()[0], limit.ends()[1] - 1))  # in a round the counter is below the limit
        place = list(self._body.arguments).index(value)
        if not place:
            return _Range(counted)
        steps, begin = self._steps(handed_over(self._body)[place - 1], value), self._range(self._loop.operands[2 + place])
        if not steps or begin is None:
            return None

        def ends() -> Ends:
            low, high = counted()
            rounds = self._exactly(sub, sub_fits, high, low)
            down, up = (self._exactly(mul, mul_fits, rounds, rounds.like(step)) for step in (min(*steps, 0), max(*steps, 0)))
            return self._sums(begin.ends(), (down, up))

        return _Range(cache(ends))

    def _chosen(self, value: ir.Value) -> _Range | None:
        """What a round makes of a carried number in one way or another runs through."""
        for carried in list(self._body.arguments)[1:]:
            if steps := self._steps(value, carried):
                return self._further(carried, steps)
        return None

    def _further(self, carried: ir.Value, steps: set[int]) -> _Range | None:
        before = self._range(carried)
        if before is None:
            return None
        return _Range(cache(lambda: self._sums(before.ends(), (constant(min(steps), dtypes.i64), constant(max(steps), dtypes.i64)))))

    def _steps(self, value: ir.Value, carried: ir.Value) -> set[int]:
        """What a round may add to a carried number to come to a value; nothing where that is not known."""
        made = maker(value)
        if value == carried:
            return {0}
        if made is None or value not in self._values:
            return set()
        if made.name in _CHOICES:
            place = list(made.results).index(value)
            ways = list(made.operands)[1:] if made.name == "arith.select" else [handed_over(r.blocks[0])[place] for r in made.regions]
            each = [self._steps(way, carried) for way in ways]
            return set().union(*each) if all(each) else set()
        number = known(made.operands[1]) if made.name in ("arith.addi", "arith.subi") else None
        if type(number) is not int:
            return set()
        return {step + (number if made.name == "arith.addi" else -number) for step in self._steps(made.operands[0], carried)}

    # --- ends: what 64 bits do not hold is none, so that they hold all that is between

    def _sums(self, x: Ends, y: Ends) -> Ends:
        return self._exactly(add, add_fits, x[0], y[0]), self._exactly(add, add_fits, x[1], y[1])

    def _differences(self, x: Ends, y: Ends) -> Ends:
        return self._exactly(sub, sub_fits, x[0], y[1]), self._exactly(sub, sub_fits, x[1], y[0])

    def _products(self, x: Ends, factor: int) -> Ends:
        low, high = (self._exactly(mul, mul_fits, end, end.like(factor)) for end in x)
        return (low, high) if factor >= 0 else (high, low)

    def _exactly(self, how: Operator, fits: Operator, x: Scalar, y: Scalar) -> Scalar:
        self._holds.append(fits(x, y))
        return how(x, y)


def _fixed(build: Callable[[], Scalar]) -> _Range:
    def ends() -> Ends:
        value = build()
        return value, value

    return _Range(cache(ends), moves=False)


def _required(bad: ir.Value) -> Iterator[_Order | None]:
    """What must hold for a condition to be false; None for what is no comparison of numbers by their order."""
    made = maker(bad)
    if made is not None and made.name == "arith.ori":
        for value in made.operands:
            yield from _required(value)
    elif made is not None and made.name == "arith.xori" and known(made.operands[1]) is True:
        for value in conjuncts(made.operands[0]):
            yield _order(value, {})
    else:
        yield _order(bad, _OPPOSITE)


def _order(value: ir.Value, instead: Mapping[CmpI, CmpI]) -> _Order | None:
    """The comparison that a value is, or that by another predicate."""
    made = maker(value, _COMPARE)
    if made is None:
        return None
    predicate = _predicate(made)
    found = _LESS.get(instead.get(predicate, predicate))
    return None if found is None else _Order(made.operands[found[0]], made.operands[found[1]], found[2])


def _predicate(comparison: ir.Operation) -> CmpI:
    return CmpI(ir.IntegerAttr(comparison.attributes["predicate"]).value)
