"""tierup-verify-strides: no view raises, or may, for how its operand lies in memory.

    func.func @f(%x: !torch.vtensor<[2,3],f32> {tierup.guard = {..., layout = "strided"}}) attributes {tierup.entry} {
      %0 = torch.aten.view %x, %sizes : ...         // error: has an operand that need not be row-major

Among values, which all are row-major, such a view could always be had; tier 0 and PyTorch raise. See dialect/analysis/contiguity.py.
"""

from __future__ import annotations

from tierup.dialect.analysis.contiguity import Known, doubtful_view
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import Bool, Shape, Tensor
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.typed import infer_or_remark
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.analysis.stated import ENTRY, guards
from tierup.lowering.base.abi import ArgumentKind, Layout
from tierup.lowering.building.refused import Refused


class _Inferred(Known):
    """What inference knows."""

    def __init__(self, inference: Inference) -> None:
        self._values = inference.values

    def shape(self, tensor: ir.Value) -> Shape | None:
        found = self._values.get(tensor)
        return found.shape if isinstance(found, Tensor) else None

    def is_true(self, condition: ir.Value) -> bool | None:
        found = self._values.get(condition)
        return found.value if isinstance(found, Bool) else None


@register
class VerifyStrides(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        if ENTRY not in function.attributes:
            return
        strided = [i for i, s in enumerate(guards(function)) if s.kind is ArgumentKind.ARRAY and s.layout is not Layout.CONTIGUOUS]
        op = doubtful_view(function, strided)
        if op is not None and (inference := infer_or_remark(function)) is not None:
            op = doubtful_view(function, strided, _Inferred(inference))
        if op is not None:
            raise Refused(op, "has an operand that need not be row-major", reason=Reason.STRIDES)
