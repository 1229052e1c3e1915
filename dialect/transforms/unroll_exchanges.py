"""tierup-unroll-exchanges: loops whose rounds hand arrays on under each other's names become loops that hand each on under its own.

    %0:2 = torch.prim.Loop %n, %true, init(%x, %y) {
    ^bb0(%i: !torch.int, %a: !torch.tensor, %b: !torch.tensor):
      %1 = torch.aten.add_.Tensor %b, %a, %int1 : ...
      torch.prim.Loop.condition %true, iter(%b, %a : !torch.tensor, !torch.tensor)
    } : ...

becomes

    %0:2 = torch.prim.Loop %pairs, %true, init(%x, %y) {
    ^bb0(%j: !torch.int, %a: !torch.tensor, %b: !torch.tensor):
      %1 = torch.aten.add_.Tensor %b, %a, %int1 : ...
      %2 = torch.aten.add_.Tensor %a, %b, %int1 : ...
      torch.prim.Loop.condition %true, iter(%a, %b : !torch.tensor, !torch.tensor)
    } : ...
    %left = torch.aten.gt.int %rest, %int0 : ...
    %3:2 = torch.prim.If %left -> (!torch.tensor, !torch.tensor) {
      %4 = torch.aten.add_.Tensor %0#1, %0#0, %int1 : ...
      torch.prim.If.yield %0#1, %0#0 : ...
    } else {
      torch.prim.If.yield %0#0, %0#1 : ...
    }

`for _ in range(n): ...; a, b = b, a` is such a loop. What a loop writes must be one array in all rounds, or writes cannot be made values,
and where they can, memory that goes from name to name is copied in each round. A loop that ends by a condition asks it in a branch between
the two rounds, and carries whether it ended there: `while error > limit: ...; a, b = b, a`. Before writes are made values; loops with up to
three arrays that change places, two where a condition ends them, and a body that may be copied and is not too large.
"""

from __future__ import annotations

from math import lcm

from tierup.dialect.ir.structure import handed_over
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import int_of
from tierup.dialect.rewriting.loops import FOREVER, is_counted, loops_inside, may_be_copied, size_of
from tierup.dialect.rewriting.unrolling import unroll_in_branches, unroll_in_pairs

_MOST_ROUNDS = 3
_MOST_OPS = 500  # of a body, in all its copies


@register
class UnrollExchanges(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        for loop in loops_inside(func):
            gets = _gets(loop.regions[0].blocks[0])
            rounds = _rounds(gets)
            if rounds == 1 or rounds > _MOST_ROUNDS or not may_be_copied(loop):
                continue
            if rounds * size_of(loop.regions[0].blocks[0]) > _MOST_OPS:
                continue
            if is_counted(loop) and int_of(loop.operands[0]) != FOREVER:
                unroll_in_branches(loop, rounds)
            elif rounds == 2:
                unroll_in_pairs(loop, [i for i in gets if gets[i] != i and gets.get(gets[i]) == i])


def _gets(body: ir.Block) -> dict[int, int]:
    """By the number of a tensor that a loop carries, the number of the one that it gets from the round before."""
    _, *carried = body.arguments
    _, *yielded = handed_over(body)
    return {i: carried.index(v) for i, v in enumerate(yielded) if str(v.type).startswith("!torch.tensor") and v in carried}


def _rounds(gets: dict[int, int]) -> int:
    """After how many rounds all arrays that change places are where they began."""
    rounds = 1
    for start in gets:
        at, steps = gets[start], 1
        while at != start and at in gets and steps <= len(gets):
            at, steps = gets[at], steps + 1
        if at == start:
            rounds = lcm(rounds, steps)
    return rounds
