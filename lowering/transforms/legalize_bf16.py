"""tierup-legalize-bf16: bfloat16 is stored and moved, never computed in; conversions are integer arithmetic.

    %1 = arith.addf %a, %b : bf16
becomes f32 addition of
    bitcast(extui(bitcast(%a)) << 16)
and a truncation that rounds to nearest, ties to even, and keeps NaN quiet.

LLVM would call __truncsfbf2 and its kin, compiler helpers that not every process has, one element at a time. The rounding is
bits + 0x7fff + (bit 16), shifted right by 16: the usual way to round an integer to its upper half.
"""

from __future__ import annotations

from tierup.dialect.base import dtypes
from tierup.dialect.ir.structure import take_place
from tierup.dialect.mlir import ir, passmanager
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import dtype_of, of, select

# what lowering makes no use of, math on bf16: it is for programs that come from elsewhere, and crashes on ops of unregistered dialects
_EXTEND = "func.func(math-extend-to-supported-types{extra-types=f16 target-type=f32})"
_EMULATE = "func.func(arith-emulate-unsupported-floats{source-types=bf16 target-type=f32})"


@register
class LegalizeBf16(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        with function.context, ir.Location.unknown():
            if b.first(function, _touches) is None:
                return
            if b.first(function, lambda op: op.name.startswith("math.") and _touches(op)) is not None:
                passmanager.PassManager.parse(_EXTEND).run(function)
            passmanager.PassManager.parse(_EMULATE).run(function)
            for op in b.unerased(b.walk(function)):
                with ir.InsertionPoint(op):
                    if op.name == "arith.extf" and _is_bf16(op.operands[0]):
                        replacement = _extended(op.operands[0], op.results[0].type)
                    elif op.name == "arith.truncf" and _is_bf16(op.results[0]):
                        replacement = _rounded(op.operands[0], op.results[0].type)
                    else:
                        continue
                take_place(op, [replacement])


def _is_bf16(value: ir.Value) -> bool:
    return isinstance(value.type, ir.BF16Type)


def _touches(op: ir.Operation) -> bool:
    name = op.name
    return name.startswith(("arith.", "math.")) and name != "arith.constant" and any(_is_bf16(v) for v in (*op.operands, *op.results))


def _extended(x: ir.Value, target: ir.Type) -> ir.Value:
    return (of(x).bits().cast(dtypes.u32) << 16).convert("arith.bitcast", dtypes.f32).cast(dtype_of(target))


def _rounded(x: ir.Value, target: ir.Type) -> ir.Value:
    short = of(x).cast(dtypes.f32)  # f64: tier 0 goes by way of f32 as well
    bits = short.bits()
    upper = bits >> 16
    odd = upper & 1
    bias = odd + 0x7FFF
    rounded = (bits + bias) >> 16
    is_nan = short.compare("uno", short)
    return select(is_nan, upper | 0x40, rounded).cast(dtypes.u16).convert("arith.bitcast", dtype_of(target))
