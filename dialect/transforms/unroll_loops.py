"""tierup-unroll-loops: small counted loops as copies of their bodies.

A loop whose trip count alone ends it (both conditions are constant and true) and whose body has at most `max-body-size` ops, not
counting constants, is unrolled, inner loops first. A known count of at most `max-trips` leaves no loop at all; a negative one is
none. Any other becomes a loop over `factor` copies of the body and one for the rounds that are left:

    %0 = torch.prim.Loop %n, %true, init(%x) {
    ^bb0(%i: !torch.int, %a: !torch.vtensor):
      %1 = torch.aten.add.Scalar %a, %i, %int1 : ...
      torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
    } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor

becomes, with factor=2,

    %trips = torch.prim.max.int %n, %int0 : !torch.int, !torch.int -> !torch.int
    %pairs = torch.aten.floordiv.int %trips, %int2 : !torch.int, !torch.int -> !torch.int
    %done = torch.aten.mul.int %pairs, %int2 : !torch.int, !torch.int -> !torch.int
    %left = torch.aten.sub.int %trips, %done : !torch.int, !torch.int -> !torch.int
    %0 = torch.prim.Loop %pairs, %true, init(%x) {
    ^bb0(%j: !torch.int, %a: !torch.vtensor):
      %i = torch.aten.mul.int %j, %int2 : !torch.int, !torch.int -> !torch.int
      %i1 = torch.aten.add.int %i, %int1 : !torch.int, !torch.int -> !torch.int
      %1 = torch.aten.add.Scalar %a, %i, %int1 : ...
      %2 = torch.aten.add.Scalar %1, %i1, %int1 : ...
      torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor)
    } {tierup.unrolled = 2 : i64} : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
    %3 = torch.prim.Loop %left, %true, init(%0) {
    ^bb0(%j: !torch.int, %a: !torch.vtensor):
      %i = torch.aten.add.int %done, %j : !torch.int, !torch.int -> !torch.int
      ...
    } {tierup.unrolled = 1 : i64} : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor

The attribute `tierup.unrolled` keeps a second run away. Loops with profiles or bailouts inside stay: a slot, or a point to resume
at, is one place in the program. With `profiles`, those with profiles go too where runs are no longer counted (tierup-remove-counter):
each copy of a profile keeps the slot, and the record of all rounds.
"""

from __future__ import annotations

from typing import Annotated

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import AtLeast, Pass, register
from tierup.dialect.rewriting.loops import loops_inside, size_of
from tierup.dialect.rewriting.unrolling import unroll_by, unroll_whole


@register
class UnrollLoops(Pass):
    factor: Annotated[int, AtLeast(2)] = 8
    max_body_size: Annotated[int, AtLeast(0)] = 32  # ops that one round executes
    max_trips: Annotated[int, AtLeast(0)] = 63  # a loop of a known count up to this one goes
    profiles: bool = False  # copy profiles as well, once nothing is recorded any more

    def run_on_function(self, func: ir.Operation) -> None:
        for loop in loops_inside(func):
            if size_of(loop.regions[0].blocks[0]) > self.max_body_size or unroll_whole(loop, self.max_trips, profiles=self.profiles):
                continue
            unroll_by(loop, self.factor, self.max_body_size, profiles=self.profiles)
