"""tierup-outline-fallbacks: the unspecialised twin of a region becomes a function, with an executor and versions of its own.

    func.func @f(...) {
      ...
      %1 = "tierup.fallback"(%x) ({
      ^bb0(%a: !torch.vtensor):
        %2 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
        "tierup.yield"(%2) : (!torch.vtensor) -> ()
      }, {}) : (!torch.vtensor) -> !torch.vtensor

becomes

    func.func @f(...) {
      ...
      %1 = call @f_fallback_0(%x) : (!torch.vtensor) -> !torch.vtensor
    }
    func.func private @f_fallback_0(%a: !torch.vtensor) -> !torch.vtensor attributes {tierup.fallback} {
      %2 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
      return %2 : !torch.vtensor
    }

Numbers count from 0 in each function and skip names that are taken.
"""

from __future__ import annotations

from tierup.dialect.ir.walking import symbol_of, unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, functions, register
from tierup.dialect.rewriting.outlining import outline

FALLBACK = "tierup.fallback"


@register
class OutlineFallbacks(Pass):
    def run(self, module: ir.Module) -> None:
        for func in functions(module.operation):
            prefix = f"{symbol_of(func)}_fallback_"
            for op in unerased(op for op in walk(func) if op.name == FALLBACK):
                outline(func, op, prefix, FALLBACK, module)
