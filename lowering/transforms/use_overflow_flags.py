"""tierup-use-overflow-flags: whether a product of ints fits is asked of the flag that the processor sets.

    %low, %high = arith.mulsi_extended %x, %y : i64
    %sign = arith.shrsi %low, %c63 : i64
    %fits = arith.cmpi eq, %high, %sign : i64
becomes
    %0 = llvm.intr.smul.with.overflow(%x, %y) : (i64, i64) -> !llvm.struct<(i64, i1)>
    %low = llvm.extractvalue %0[0]
    %1 = llvm.extractvalue %0[1]
    %fits = arith.xori %1, %true

LLVM takes the first for what it says, a product of 128 bits, and makes five instructions of what is a multiplication and a branch. Right
before arith becomes the LLVM dialect.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import is_used, maker, users
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import CmpI, known, of

_PRODUCT = "arith.mulsi_extended"


@register
class UseOverflowFlags(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for product in b.unerased(b.walk(function)):
            if product.name == _PRODUCT and product.operands[0].type == b.integer_type(64):
                asked = [op for op in users(product.results[1]) if _asks(op, product)]
                if asked:
                    _by_flag(product, asked)


def _asks(op: ir.Operation, product: ir.Operation) -> bool:
    """Whether an op asks if the high half of a product is the sign of the low one."""
    if op.name != "arith.cmpi" or ir.IntegerAttr(op.attributes["predicate"]).value not in (CmpI.EQ, CmpI.NE):
        return False
    low, high = product.results
    shift = next((maker(v, "arith.shrsi") for v in op.operands if v != high), None)
    return shift is not None and shift.operands[0] == low and known(shift.operands[1]) == ir.IntegerType(low.type).width - 1


def _by_flag(product: ir.Operation, asked: list[ir.Operation]) -> None:
    low, high = product.results
    with product.location, ir.InsertionPoint(product):
        both = b.value("llvm.intr.smul.with.overflow", list(product.operands), ir.Type.parse(f"!llvm.struct<({low.type}, i1)>"))
        product_, overflows = (_part(both, i, type_) for i, type_ in enumerate((low.type, b.integer_type(1))))
        fits = ~of(overflows)
    for op in asked:
        op.results[0].replace_all_uses_with(fits if ir.IntegerAttr(op.attributes["predicate"]).value == CmpI.EQ else overflows)
        op.erase()
    low.replace_all_uses_with(product_)
    if not is_used(high):
        product.erase()


def _part(both: ir.Value, number: int, type_: ir.Type) -> ir.Value:
    return b.value("llvm.extractvalue", [both], type_, position=ir.DenseI64ArrayAttr.get([number]))
