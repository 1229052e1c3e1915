"""tierup-inline-differentiable: differentiable groups that are too small to be worth one go back into the graph.

    %0 = "tierup.differentiable"(%x) ({
    ^bb0(%a: !torch.vtensor):
      %1 = torch.aten.sigmoid %a : !torch.vtensor -> !torch.vtensor
      "tierup.yield"(%1) : (!torch.vtensor) -> ()
    }, {...}) {...} : (!torch.vtensor) -> !torch.vtensor

becomes

    %0 = torch.aten.sigmoid %x : !torch.vtensor -> !torch.vtensor

A group counts as many ops as it has, those in its branches and loops included; constants, lists, views and scalars do not count, as
when it was made. It stays when one of its ops is none of torch's own (a fusion group, a guard, an op of a library), of which autograd
knows nothing. Inside, what profiles saw of requires_grad is forgotten: its values are detached no more. `threshold` is 2 as in PyTorch 2;
5 in PyTorch up to 1.7.
"""

from __future__ import annotations

from typing import Annotated

from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.autodiff.differentiable import PROFILE, groups, undo
from tierup.dialect.passes.fusion.grouping import weight
from tierup.dialect.passes.registry import AtLeast, Pass, register

_TORCH = ("torch.aten.", "torch.prim.", "torch.constant.", "torch.vtensor.literal", "torch.derefine", "torch.tensor_static_info_cast")


@register
class InlineDifferentiable(Pass):
    threshold: Annotated[int, AtLeast(1)] = 2

    def run_on_function(self, func: ir.Operation) -> None:
        for group in groups(func):
            inside = [view.operation for view in group.regions[0].blocks[0].operations][:-1]
            if sum(map(weight, inside)) < self.threshold and all(_is_torchs_own(op) for op in inside):
                undo(group)


def _is_torchs_own(op: ir.Operation) -> bool:
    return all(inner.name.startswith(_TORCH) or inner.name == PROFILE for inner in (op, *walk(op)))
