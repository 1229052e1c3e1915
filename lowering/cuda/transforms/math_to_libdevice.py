"""tierup-math-to-libdevice: math that NVIDIA's libdevice computes better is left for it, where it is to be linked.

    %r = math.sin %x : f16                          // in a module with the attribute `tierup.libdevice`
becomes
    %w = arith.extf %x : f16 to f32
    %s = math.sin %w {tierup.library_call} : f32    // which tierup-expand-math leaves, and convert-gpu-to-nvvm makes a call of __nv_sinf
    %r = arith.truncf %s : f32 to f16

Better is: its largest error is within the 4 ulp in which tiers agree (`Tolerance`), with 1.5 to spare for tier 0's own and for rounding:
NVIDIA's figure is at most 2; and it takes at most half of the instructions of our expansion, or of those in f64, for which many devices
have one unit for 64 threads. Remainders are exact either way. docs/math-accuracy.md has both figures for every function.
"""

from __future__ import annotations

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import dtype_of, of
from tierup.lowering.math.emit import LIBRARY_CALL

LIBDEVICE = "tierup.libdevice"  # a module's attribute
# by type, function, and why: what of ours libdevice's takes (instructions in all, of those in f64), sm_90
BETTER = {
    "f32": {
        "atan": "20%, none in f64", "cos": "3% of those in f64", "cosh": "19%, none in f64", "erf": "29%", "exp2": "50%", "log": "30%",
        "log10": "27%", "log1p": "26%", "log2": "27%", "remf": "24%", "rsqrt": "20%", "sin": "3% of those in f64", "tanh": "26%",
    },
    "f64": {
        "atan": "32%", "atan2": "47% of those in f64", "cos": "11% of those in f64", "cosh": "45%", "erf": "46% of those in f64",
        "log10": "50%", "remf": "38%", "rsqrt": "47%", "sin": "10% of those in f64", "sinh": "36% of those in f64",
        "tan": "16% of those in f64",
    },
}  # fmt: skip
_THEIR_NAMES = {"remf": "fmod"}
# the functions of libdevice that programs may come to call
CALLED = frozenset(
    f"__nv_{_THEIR_NAMES.get(name, name)}{'f' if dtype == 'f32' else ''}" for dtype, names in BETTER.items() for name in names
)


@register
class MathToLibdevice(Pass):
    def run(self, module: ir.Module) -> None:
        if LIBDEVICE not in module.operation.attributes:
            return
        for op in b.unerased(b.walk(module.operation)):
            if op.name.startswith(("math.", "arith.remf")) and len(op.results) == 1:
                _leave(op)


def _leave(op: ir.Operation) -> None:
    type_ = op.results[0].type
    half = isinstance(type_, (ir.F16Type, ir.BF16Type))
    wide = ir.F32Type.get(op.context) if half else type_
    if op.name.rpartition(".")[2] not in BETTER.get(str(wide), {}):
        return
    call = op
    if half:
        with op.location, ir.InsertionPoint(op):
            call = b.op(op.name, [of(v).cast(dtypes.f32) for v in op.operands], [wide])
            op.results[0].replace_all_uses_with(of(call.results[0]).cast(dtype_of(type_)))
        op.erase()
    call.attributes[LIBRARY_CALL] = ir.UnitAttr.get(call.context)
