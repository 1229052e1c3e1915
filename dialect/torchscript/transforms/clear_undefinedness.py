"""tierup-clear-undefinedness: forget which tensors were seen defined or undefined.

    %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<?[*] undefined>} : ...
    %1 = "tierup.profile"(%x) {slot = 1 : i64, profiled = #tierup.profiled<f32[4] defined>} : ...

becomes

    %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<?[*]>} : ...
    %1 = "tierup.profile"(%x) {slot = 1 : i64, profiled = #tierup.profiled<f32[4]>} : ...

A backward graph that is differentiated again inherits records that were made of other gradients than it will get. Only records
change: what a guard or a check expects is tested at run time and stays.
"""

from __future__ import annotations

from dataclasses import replace

from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.ir.attributes import facts_of, profiled_attr
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register


@register
class ClearUndefinedness(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        for op in walk(func):
            if op.name != "tierup.profile" or "profiled" not in op.attributes:
                continue
            fact = facts_of(op.attributes["profiled"])
            if isinstance(fact, Profiled) and fact.defined is not None:
                op.attributes["profiled"] = profiled_attr(replace(fact, defined=None))
