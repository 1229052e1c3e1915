"""tierup-verify-lowered: no op of the torch dialect computes any more.

Runs after our lowerings out of the torch dialect, before the types are converted: an op that is still there has no lowering for its
types, and this pass names it. Literals and assertions are converted after it; constants, lists and casts that nothing uses are
left to the next clean-up.
"""

from __future__ import annotations

from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.ir.structure import is_used
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.refused import Refused

_HARMLESS = ("torch.constant.", "torch_c.", "torch.prim.ListConstruct", "torch.prim.TupleConstruct", "torch.symbolic_int",
             "torch.bind_symbolic_shape", "torch.derefine", "torch.vtensor.literal", "torch.runtime.assert")  # fmt: skip


@register
class VerifyLowered(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.walk_unfused(function):
            if op.name.startswith("torch.") and not op.name.startswith(_HARMLESS) and not _is_unused(op):
                if PROMOTION in op.attributes:
                    raise Refused(op, "follows NumPy's rules here, which no torch op gives, so it has no lowering")
                shown = ", ".join(str(v.type) for v in op.operands)
                raise Refused(op, f"has no lowering for operands ({shown})")


def _is_unused(op: ir.Operation) -> bool:
    """Whether nobody sees what the op does: its results have no uses, and it writes to nothing."""
    if not op.results or any(map(is_used, op.results)):
        return False
    row = row_of(op)
    return not row.writes if row is not None else not op.name.startswith("torch.aten.")
