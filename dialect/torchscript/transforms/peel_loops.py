"""tierup-peel-loops: the first rounds of a loop as a loop of their own.

The first loop runs at most `count` rounds; the second goes on from there. Where a condition may end the loop, the first one hands on,
with what it carries, whether to continue. Inner loops first.

    %0 = torch.prim.Loop %n, %go, init(%x) {
    ^bb0(%i: !torch.int, %a: !torch.vtensor):
      %1 = torch.aten.add.Scalar %a, %i, %int1 : ...
      %2 = ...
      torch.prim.Loop.condition %2, iter(%1 : !torch.vtensor)
    } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor

becomes, with count=1,

    %first = torch.prim.min.int %n, %int1 : !torch.int, !torch.int -> !torch.int
    %0:2 = torch.prim.Loop %first, %go, init(%x, %go) {
    ^bb0(%i: !torch.int, %a: !torch.vtensor, %c: !torch.bool):
      %1 = torch.aten.add.Scalar %a, %i, %int1 : ...
      %2 = ...
      torch.prim.Loop.condition %2, iter(%1, %2 : !torch.vtensor, !torch.bool)
    } {tierup.peeled = 1 : i64} : (!torch.int, !torch.bool, !torch.vtensor, !torch.bool) -> (!torch.vtensor, !torch.bool)
    %left = torch.aten.sub.int %n, %first : !torch.int, !torch.int -> !torch.int
    %3 = torch.prim.Loop %left, %0#1, init(%0#0) {
    ^bb0(%j: !torch.int, %a: !torch.vtensor):
      %i = torch.aten.add.int %first, %j : !torch.int, !torch.int -> !torch.int
      ...
    } {tierup.peeled = 1 : i64} : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor

The attribute `tierup.peeled` keeps a second run away. Loops with profiles or bailouts inside stay: a slot, or a point to resume
at, is one place in the program.
"""

from __future__ import annotations

from typing import Annotated

from tierup.dialect.ir.attributes import i64
from tierup.dialect.ir.structure import hand_over, handed_over, with_more
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import AtLeast, Pass, register
from tierup.dialect.rewriting.core import create, erase, int_of, number
from tierup.dialect.rewriting.loops import FOREVER, is_counted, loops_inside, may_be_copied, retrip, shift

PEELED = "tierup.peeled"  # how many rounds were taken from the loop, on both halves


@register
class PeelLoops(Pass):
    count: Annotated[int, AtLeast(1)] = 1

    def run_on_function(self, func: ir.Operation) -> None:
        for loop in loops_inside(func):
            if PEELED not in loop.attributes and may_be_copied(loop):
                self._peel(loop)

    def _peel(self, loop: ir.Operation) -> None:
        int_, known = ir.Type.parse("!torch.int", loop.context), int_of(loop.operands[0])
        loop.attributes[PEELED] = i64(self.count, loop.context)
        if known is None:
            first = create(loop, "torch.prim.min.int", [loop.operands[0], number(loop, self.count)], int_)
            left = create(loop, "torch.aten.sub.int", [loop.operands[0], first], int_)
        else:
            rounds = min(known, self.count)
            first = number(loop, rounds)
            left = number(loop, known if known == FOREVER else known - rounds)
        if is_counted(loop):
            condition = loop.operands[1]
            carried = list(retrip(loop, first, condition, list(loop.operands)[2:], loop).results)
        else:
            *carried, condition = _with_condition(loop, first).results
        rest = retrip(loop, left, condition, carried, loop)
        shift(rest, first)
        for result, value in zip(loop.results, rest.results, strict=True):
            result.replace_all_uses_with(value)
        erase(loop)


def _with_condition(loop: ir.Operation, trip: ir.Value) -> ir.Operation:
    """A copy of the loop, before it, whose last result is the condition it ended with."""
    copy = loop.clone(ip=ir.InsertionPoint(loop)).operation
    condition, *carried = list(loop.operands)[1:]
    head = with_more(copy, [trip, condition, *carried, condition], [condition.type])
    body = head.regions[0].blocks[0]
    body.add_argument(condition.type, loop.location)
    go_on, *after = handed_over(body)
    hand_over(body, [go_on, *after, go_on])
    return head
