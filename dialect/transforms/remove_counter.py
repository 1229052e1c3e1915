"""tierup-remove-counter: take the counter of runs out; the profiles stay.

    %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    "tierup.count_run"() : () -> ()
    return %0 : !torch.vtensor

becomes

    %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    return %0 : !torch.vtensor

For a program that has been recorded often enough and is specialised now: it is not run for its records any more, so the contract
`profiled`, which wants runs counted, does not hold of what comes out.
"""

from __future__ import annotations

from tierup.dialect.ir.walking import unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register


@register
class RemoveCounter(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        for op in unerased(op for op in walk(func) if op.name == "tierup.count_run"):
            op.erase()
