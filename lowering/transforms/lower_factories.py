"""tierup-lower-factories: zeros, ones, full and their kin of the torch dialect become fills.

    %1 = torch.aten.new_full %0, %sizes, %number, ... -> !torch.vtensor<[?,4],bf16>
becomes
    linalg.generic that writes one constant
"""

from __future__ import annotations

from dataclasses import dataclass

from tierup.dialect.infer import PROMOTION
from tierup.dialect.mlir import ir
from tierup.dialect.registry import Pass, register
from tierup.lowering import builders as b
from tierup.lowering.factories import LOWERINGS
from tierup.lowering.pointwise.context import NotHandled, load_casts
from tierup.lowering.reductions.call import Call


@register
@dataclass(frozen=True)
class LowerFactories(Pass):
    """Lower tensors of one number to fills."""

    name = "tierup-lower-factories"

    def run_on_function(self, function: ir.Operation) -> None:
        load_casts(function.context)
        for op in list(b.walk(function)):
            lowering = LOWERINGS.get(op.name.removeprefix("torch."))
            if lowering is None or PROMOTION in op.attributes:
                continue
            try:
                with op.location, ir.InsertionPoint(op):
                    replacement = lowering(Call(op)).to_torch(op.results[0].type)
            except NotHandled:
                continue  # sizes in a list that the run builds: torch-mlir may still do it
            op.results[0].replace_all_uses_with(replacement)
            op.erase()
