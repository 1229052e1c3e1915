"""tierup-verify-promotion: no op follows NumPy's dtype rules any more.

    %0 = torch.aten.sort %x, ... {tierup.promotion = "numpy"}         // error: follows NumPy's rules here, which no torch op gives

What `tierup-explicit-promotion` left has no torch op that gives the same; what comes next, MLIR's canonicaliser first of all, knows torch's
rules only.
"""

from __future__ import annotations

from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.refused import Refused


@register
class VerifyPromotion(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        op = b.first(function, lambda op: PROMOTION in op.attributes)
        if op is not None:
            raise Refused(op, "follows NumPy's rules here, which no torch op gives")
