"""tierup-print-requires-grad: remarks that say which tensors require a gradient.

    func.func @f(%x: !torch.vtensor<[4],f32> {tierup.requires_grad = true}) {
      %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
      %1 = torch.aten.detach %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>

gives

    remark: 'torch.aten.tanh' op %0 requires a gradient
    remark: 'torch.aten.detach' op %1 requires no gradient

or `may require a gradient` where it depends on the call. With `profiles`, what profiles recorded is taken for true. Nothing is changed.
"""

from __future__ import annotations

from tierup.dialect.analysis.requires_grad import RequiresGrad
from tierup.dialect.ir.structure import arguments_of
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.registry import Pass, register

_WORDS = {True: "requires a gradient", False: "requires no gradient", None: "may require a gradient"}


@register
class PrintRequiresGrad(Pass):
    profiles: bool = False

    def run_on_function(self, func: ir.Operation) -> None:
        states, printer = RequiresGrad(func, profiles=self.profiles), ir.AsmState(func)
        for op in (func, *walk(func)):
            for value in (*arguments_of(op), *op.results):
                if "tensor" in str(value.type):
                    diagnostics.remark(op, f"{value.get_name(printer)} {_WORDS[states[value]]}")
