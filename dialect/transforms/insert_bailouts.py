"""tierup-insert-bailouts: make each guard a point from which the rest of the program can go on elsewhere.

    func.func @f(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
      %0 = torch.aten.mul.Tensor %x, %y : ...
      %1 = "tierup.guard"(%0) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
      %2 = torch.aten.sub.Tensor %1, %y, ...

becomes

      %0 = torch.aten.mul.Tensor %x, %y : ...
      %1 = "tierup.bailout"(%0, %y) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (...) -> !torch.vtensor<[4],f32>
      %2 = torch.aten.sub.Tensor %1, %y, ...

The operands after the guarded value are those that live there, in the order of their definitions; a value under guards and casts counts
as the value below them, and constants are made again instead. Inside a loop the loop's counter is one of them, and its trip count,
unless that is a constant. Indices count from 0 in the order of the text, after those that the function has.

What a bailout returns is not what the guards proved, so a function that nobody in the module calls no longer promises dtypes and
sizes of its results. A guard inside a fusion group, or another region that is not control flow, is an error.
"""

from __future__ import annotations

from tierup.dialect.facts.inference.refine import is_called
from tierup.dialect.ir.attributes import facts_of
from tierup.dialect.ir.walking import walk
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting import regions
from tierup.dialect.speculation.resume_points import live_values


@register
class InsertBailouts(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        inside = list(walk(func))
        guards = [op for op in inside if op.name == "tierup.guard"]
        if not guards:
            return
        first = 1 + max((ir.IntegerAttr(op.attributes["index"]).value for op in inside if op.name == "tierup.bailout"), default=-1)
        live = live_values(func, guards)
        for index, (guard, values) in enumerate(zip(guards, live, strict=True), first):
            facts, result = facts_of(guard.attributes["expected"]), guard.results[0]
            made = ops.bailout(guard.operands[0], values, index, facts, result.type, loc=guard.location, ip=ir.InsertionPoint(guard))
            result.replace_all_uses_with(made)  # other guards' lists have no guard in them, so they stay right
        for guard in guards:
            guard.erase()
        if not is_called(func):
            regions.return_plain(func)
