"""Lists that a loop makes longer by the same number of items in each iteration, as gradients save what a loop carries.

Their gradients need not be carried by the loop that goes back: where each item stands is known. And when such a list is read from its end
to its beginning, one item in each iteration, as loops that go back read it, the loop that goes back through those gives its gradient as a
list that grows too. So a second derivative's lists are what `tierup-stack-lists` makes tensors of, like those of the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import last_of, maker
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients import lists
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.ops.gradients.lists import ListGradient, is_list
from tierup.dialect.passes.autodiff.reverse.reverse import Found, Reverse
from tierup.dialect.rewriting.core import int_of, items_of
from tierup.dialect.rewriting.loops import is_counted


@dataclass(frozen=True)
class Record:
    """The list that a loop carries as its k-th value: `items` is the list of those that an iteration adds."""

    k: int
    items: ir.Value
    count: int


def records(op: ir.Operation) -> dict[int, Record]:
    """The lists of a loop that only grow, by what is written down, and are not looked at in it."""
    body = op.regions[0].blocks[0]
    last = last_of(body)
    found = {}
    for k, entering in enumerate(list(body.arguments)[1:]):
        grown = maker(last.operands[1 + k], "torch.aten.add.t") if is_list(entering) else None
        if grown is None or grown.operands[0] != entering or _users(entering) != [grown] or _users(grown.results[0]) != [last]:
            continue
        items = items_of(grown.operands[1])
        if items is not None:
            found[k] = Record(k, grown.operands[1], len(items))
    return found


class Gradients:
    """The gradients of a loop's records, as lists that are there before the loop that goes back."""

    def __init__(self, reverse: Reverse, op: ir.Operation, found: Sequence[Found], kept: Sequence[Record]) -> None:
        self.reverse, self.op, self.kept = reverse, op, kept
        e = reverse.emitter
        self.begun: dict[int, int | ir.Value] = {}  # how many items there are before the loop
        self.whole = {r.k: reverse.whole(op.results[r.k], found[r.k]) for r in kept}
        for r in kept:
            start = op.operands[2 + r.k]
            count = lists.length(e, start)
            self.begun[r.k] = e.call("aten.len.t", start, type_="!torch.int") if count is None else count

    def items(self, record: Record, number: ir.Value) -> ListGradient:
        """The gradients of the items that the iteration of that number adds."""
        e = self.reverse.emitter
        ahead = number if record.count == 1 else e.call("aten.mul.int", number, record.count, type_="!torch.int")
        at = _plus(e, ahead, self.begun[record.k])
        return ListGradient(None, tuple((i, e.item(self.whole[record.k], _plus(e, at, i))) for i in range(record.count)))

    def give_starts(self, inits: Sequence[ir.Value]) -> None:
        """Pass on the gradients of the lists before the loop."""
        for r in self.kept:
            begun = self.begun[r.k]
            if not (isinstance(begun, int) and begun == 0):
                self.reverse.give(inits[r.k], lists.cut(self.reverse.emitter, self.whole[r.k], None, begun))


def read_backwards(op: ir.Operation, value: ir.Value, gradient: ir.Value | ListGradient, number: ir.Value) -> ir.Value | None:
    """The gradient that each iteration of a loop has for one item of a list from outside, if they are those from the last to the first;
    `number` stands for that of the iteration."""
    if not isinstance(gradient, ListGradient) or gradient.whole is not None or gradient.spans or len(gradient.parts) != 1:
        return None
    (index, part), made = gradient.parts[0], maker(value, "torch.prim.Loop")
    back = None if isinstance(index, int) else maker(index, "torch.aten.sub.int")
    final = None if back is None or back.operands[1] != number else maker(back.operands[0], "torch.aten.sub.int")
    if made is None or final is None or int_of(final.operands[1]) != 1 or not isinstance(part, ir.Value):
        return None
    count, k = final.operands[0], ir.OpResult(value).result_number
    record = records(made).get(k)
    if record is None or record.count != 1 or items_of(made.operands[2 + k]) != []:
        return None
    return part if is_counted(op) and count == op.operands[0] and _runs(made, count) else None


def _runs(loop: ir.Operation, count: ir.Value) -> bool:
    """Whether a value is how often a loop runs: known before, or counted by it."""
    if is_counted(loop):
        return bool(count == loop.operands[0])
    body = loop.regions[0].blocks[0]
    last = last_of(body)
    for k, result in enumerate(loop.results):
        if result == count:
            more = maker(last.operands[1 + k], "torch.aten.add.int")
            starts = int_of(loop.operands[2 + k]) == 0
            return starts and more is not None and more.operands[0] == body.arguments[0] and int_of(more.operands[1]) == 1
    return False


def _plus(e: Emitter, a: int | ir.Value, b: int | ir.Value) -> int | ir.Value:
    if isinstance(b, int) and b == 0:
        return a
    return e.call("aten.add.int", a, b, type_="!torch.int")


def _users(value: ir.Value) -> list[ir.Operation]:
    return [use.owner.operation for use in value.uses]
