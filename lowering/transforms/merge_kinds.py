"""tierup-merge-kinds: a sum with what a loop carries in one of two places, by its kind, is taken from one of them.

    scf.for ... iter_args(%kind = %c0, %a = %zero) -> (i64, f64) {
      %is_first = arith.cmpi eq, %kind, %c0
      %s = scf.if %is_first -> (f64) {
        %0 = arith.addf %x, %zero
        scf.yield %0
      } else {
        %0 = arith.addf %a, %x
        scf.yield %0
      }
      scf.yield %c1, %s

becomes

      %s = arith.addf %a, %x

`total = 0.0` is a float of Python's until a loop adds the first element of an array, and one of NumPy's from then on. Where a round may add
none, the loop carries which of them it is, and the value of either in a place of its own. The array's place holds the float, too, as long
as it is vacant: so it was before the first round, and so it is behind each if it was so before it. That is proven here, for each loop and
those around it; what is not proven stays. Taken are sums, differences, products and quotients, which depend on the value alone.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import handed_over, maker, move_out, take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import CmpI, known

_COMMUTE = ("arith.addf", "arith.mulf")
_COMPUTE = (*_COMMUTE, "arith.subf", "arith.divf")
_MOST_DECIDED = 6  # conditions that a proof tells apart: each doubles its work


@register
class MergeKinds(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(b.walk(function)):
            if op.name == "scf.if" and len(op.results) == 1 and _is_merged(op):
                take_place(op, move_out(op.regions[1].blocks[0], op))


def _is_merged(op: ir.Operation) -> bool:
    """Whether the second arm gives what the first would, wherever that is taken."""
    first, second = (_sum(region.blocks[0]) for region in op.regions)
    asked = maker(op.operands[0], "arith.cmpi")
    if first is None or second is None or asked is None or ir.IntegerAttr(asked.attributes["predicate"]).value != CmpI.EQ:
        return False
    kind, number = asked.operands[0], known(asked.operands[1])
    return number is not None and any(_Proof(number, held).holds(kind, carried) for held, carried in _differences(first, second))


def _sum(arm: ir.Block) -> ir.Operation | None:
    """The only op of an arm, where that hands over its result."""
    first = arm.operations[0].operation
    is_all = len(arm.operations) == 2 and first.name in _COMPUTE and handed_over(arm)[0] == first.results[0]
    return first if is_all else None


def _differences(first: ir.Operation, second: ir.Operation) -> list[tuple[ir.Value, ir.Value]]:
    """The operands in which two ops differ that are the same otherwise, in all ways to see it."""
    if first.name != second.name or str(first.attributes) != str(second.attributes):
        return []
    (a, c), (x, y) = first.operands, second.operands
    ways = [(a, x, c == y), (c, y, a == x)]
    if first.name in _COMMUTE:
        ways += [(a, y, c == x), (c, x, a == y)]
    return [(held, carried) for held, carried, rest in ways if rest]


class _Proof:
    """That a value is `held`, a constant, wherever its kind is `number`."""

    def __init__(self, number: int | float, held: ir.Value) -> None:
        self._number = number
        self._held = _constant(held)
        self._assumed: set[tuple[ir.Value, ir.Value]] = set()

    def holds(self, kind: ir.Value, value: ir.Value, decided: tuple[tuple[ir.Value, bool], ...] = ()) -> bool:
        """Under conditions that are decided. Of what a loop carries it is assumed as a round begins, and has to hold at its end."""
        if self._held is None:
            return False
        kind, value = (_under(v, decided) for v in (kind, value))
        number, constant = known(kind), _constant(value)
        if (number is not None and number != self._number) or (constant is not None and constant == self._held):
            return True
        loop, other = _loop_of(kind), _loop_of(value)
        if loop is not None and other is not None and loop == other:
            return self._is_carried(loop, _place(kind), _place(value))
        condition = _condition(kind) or _condition(value)
        if condition is None or len(decided) == _MOST_DECIDED:
            return False
        return all(self.holds(kind, value, (*decided, (condition, is_so))) for is_so in (True, False))

    def _is_carried(self, loop: ir.Operation, kind: int, value: int) -> bool:
        body = loop.regions[0].blocks[0]
        places = (body.arguments[1 + kind], body.arguments[1 + value])
        if places in self._assumed:
            return True
        self._assumed.add(places)
        initial, yielded = list(loop.operands)[3:], handed_over(body)
        return self.holds(initial[kind], initial[value]) and self.holds(yielded[kind], yielded[value])


def _constant(value: ir.Value) -> ir.Attribute | None:
    made = maker(value, "arith.constant")
    return None if made is None else made.attributes["value"]


def _condition(value: ir.Value) -> ir.Value | None:
    """What decides which of two values it is."""
    made = maker(value)
    return made.operands[0] if made is not None and made.name in ("arith.select", "scf.if") else None


def _under(value: ir.Value, decided: tuple[tuple[ir.Value, bool], ...]) -> ir.Value:
    """What a value is where conditions are decided so."""
    while (condition := _condition(value)) is not None:
        way = next((is_so for about, is_so in decided if about == condition), None)
        if way is None:
            break
        made = value.owner.operation
        arm = 0 if way else 1
        value = made.operands[1 + arm] if made.name == "arith.select" else handed_over(made.regions[arm].blocks[0])[_place(value)]
    return value


def _loop_of(value: ir.Value) -> ir.Operation | None:
    """The scf.for that carries a value, or has it as a result."""
    if isinstance(value.owner, ir.Block):
        loop = value.owner.owner.operation
        return loop if loop.name == "scf.for" and _place(value) >= 0 else None
    return value.owner.operation if value.owner.name == "scf.for" else None


def _place(value: ir.Value) -> int:
    """Of a loop's argument among those that it carries, of a result among the results."""
    return int(ir.BlockArgument(value).arg_number - 1 if isinstance(value.owner, ir.Block) else ir.OpResult(value).result_number)
