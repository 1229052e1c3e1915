"""tierup-verify-strides: no view raises, or may, for how its operand lies in memory.

    func.func @f(%x: !torch.vtensor<[2,3],f32> {tierup.guard = {..., layout = "strided"}}) attributes {tierup.entry} {
      %0 = torch.aten.view %x, %sizes : ...         // error: has an operand that need not be row-major

Among values, which all are row-major, such a view could always be had; tier 0 and PyTorch raise. See dialect/analysis/contiguity.py.
"""

from __future__ import annotations

from tierup.dialect.analysis.contiguity import doubtful_view
from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.values import Tensor
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.typed import infer_or_remark
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.analysis.stated import ENTRY, guards
from tierup.lowering.base.abi import ArgumentKind, Layout
from tierup.lowering.building.refused import Refused


@register
@dataclass(frozen=True)
class VerifyStrides(Pass):
    """Fail at a view that may raise for the strides of its operand."""

    name = "tierup-verify-strides"

    def run_on_function(self, function: ir.Operation) -> None:
        if ENTRY not in function.attributes:
            return
        strided = [i for i, s in enumerate(guards(function)) if s.kind is ArgumentKind.ARRAY and s.layout is not Layout.CONTIGUOUS]
        op = doubtful_view(function, strided)
        if op is not None and (inference := infer_or_remark(function)) is not None:
            op = doubtful_view(function, strided, lambda v: t.shape if isinstance(t := inference.values.get(v), Tensor) else None)
        if op is not None:
            raise Refused(op, "has an operand that need not be row-major", reason=Reason.STRIDES)
