"""tierup-math-to-intrinsics: math that the device has instructions for, as LLVM's intrinsics.

    %r = math.fma %a, %b, %c : f32
becomes
    %r = llvm.call_intrinsic "llvm.fma.f32"(%a, %b, %c) : (f32, f32, f32) -> f32

In gpu.func alone. MLIR's own conversion calls libdevice for these (`__nv_fmaf`), which not every machine has and which does no more than
the instruction. What has neither an instruction nor an expansion of ours (tierup-expand-math), which lowering makes nothing of, and what is
marked for it (tierup-math-to-libdevice), is left, and becomes a call of libdevice.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b

# LLVM, User Guide for NVPTX: these are selected to single instructions, rounded as IEEE 754 says
_INTRINSICS = {
    "math.fma": "fma", "math.absf": "fabs", "math.sqrt": "sqrt", "math.floor": "floor", "math.ceil": "ceil", "math.trunc": "trunc",
    "math.roundeven": "rint", "math.copysign": "copysign", "math.absi": "abs", "math.ctpop": "ctpop", "math.ctlz": "ctlz",
    "math.cttz": "cttz",
}  # fmt: skip
_WITH_FLAG = ("math.absi", "math.ctlz", "math.cttz")  # whether the one value that has no answer is poison: it is not


@register
class MathToIntrinsics(Pass):
    def run(self, module: ir.Module) -> None:
        module.context.get_dialect_descriptor("llvm")
        kernels = [op for op in b.walk(module.operation) if op.name == "gpu.func"]
        for op in [inner for kernel in kernels for inner in b.walk(kernel)]:
            if op.name in _INTRINSICS:
                type_ = op.results[0].type
                with op.location, ir.InsertionPoint(op):
                    operands = [*op.operands, *([b.integer(0, 1)] if op.name in _WITH_FLAG else [])]
                    made = b.value(
                        "llvm.call_intrinsic", operands, type_,
                        intrin=ir.StringAttr.get(f"llvm.{_INTRINSICS[op.name]}.{type_}"),
                        operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(operands), 0]),
                        op_bundle_sizes=ir.DenseI32ArrayAttr.get([]),
                    )  # fmt: skip
                take_place(op, [made])
