"""tierup-remove-profiling: take the profile ops out; the graph is then what it was before they came, bit for bit.

    %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
    %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
    "tierup.count_run"() : () -> ()
    return %1 : !torch.vtensor

becomes

    %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
    return %0 : !torch.vtensor

What the profiles recorded goes with them; `tierup-specialize-types` is the pass that uses it.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import take_place
from tierup.dialect.ir.walking import unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register


@register
class RemoveProfiling(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        remove_profiles(func)


def remove_profiles(root: ir.Operation) -> None:
    """Take out the profiles in an op, and what counts its runs."""
    for op in unerased(walk(root)):
        if op.name == "tierup.profile":
            take_place(op, op.operands)
        elif op.name == "tierup.count_run":
            op.erase()
