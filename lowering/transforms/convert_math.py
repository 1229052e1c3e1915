"""tierup-convert-math: what is left of the math dialect becomes LLVM's intrinsics, or calls of the C library.

    %1 = math.sqrt %0 : f64
    %2 = math.erf %1 : f64
becomes
    %1 = llvm.intr.sqrt(%0) : (f64) -> f64
    %2 = call @erf(%1) : (f64) -> f64

MLIR's passes do it: convert-math-to-llvm, and for what has no intrinsic convert-math-to-libm. A program without such ops is spared both.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.passes import registry
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b


@register
class ConvertMath(Pass):
    def run(self, module: ir.Module) -> None:
        if b.first(module.operation, lambda op: op.name.startswith("math.")) is not None:
            registry.parse("convert-math-to-llvm,convert-math-to-libm").run(module, verify_each=False)
