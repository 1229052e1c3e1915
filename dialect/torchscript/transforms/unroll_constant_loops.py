"""tierup-unroll-constant-loops: counted loops of a known number of rounds as copies of their bodies, however large.

    %0 = torch.prim.Loop %int2, %true, init(%x) {
    ^bb0(%i: !torch.int, %a: !torch.vtensor):
      %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
      torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
    } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor

becomes

    %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
    %0 = torch.aten.tanh %1 : !torch.vtensor -> !torch.vtensor

A negative count is no round. Loops of more than `max-trips` rounds, loops that `tierup-unroll-loops` split, and loops with profiles
or bailouts inside stay.
"""

from __future__ import annotations

from typing import Annotated

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import AtLeast, Pass, register
from tierup.dialect.rewriting.loops import loops_inside
from tierup.dialect.rewriting.unrolling import unroll_whole


@register
class UnrollConstantLoops(Pass):
    max_trips: Annotated[int, AtLeast(0)] = 63

    def run_on_function(self, func: ir.Operation) -> None:
        for loop in loops_inside(func):
            unroll_whole(loop, self.max_trips)
