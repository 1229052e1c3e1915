"""tierup-store-bools-as-bytes: a bool in memory is read and written as the byte that it is.

    %0 = llvm.load %p : !llvm.ptr -> i1
    llvm.store %1, %q : i1, !llvm.ptr
becomes
    %b = llvm.load %p : !llvm.ptr -> i8
    %0 = llvm.icmp "ne" %b, %zero : i8
    %c = llvm.zext %1 : i1 to i8
    llvm.store %c, %q : i8, !llvm.ptr

An i1 has no layout of its own in a vector, so LLVM neither vectorises loops that read or write one in memory, nor sees that a loop fills
it. A byte that is not 0 is true, as for NumPy. Behind the conversion to the LLVM dialect.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import attributes_of, take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import CmpI


@register
class StoreBoolsAsBytes(Pass):
    def run(self, module: ir.Module) -> None:
        for op in b.unerased(b.walk(module.operation)):
            if op.name == "llvm.load" and _is_bool(op.results[0]):
                with op.location, ir.InsertionPoint(op):
                    byte = _again(op, list(op.operands), [b.integer_type(8)]).results[0]
                    zero = b.value("llvm.mlir.constant", [], byte.type, value=ir.IntegerAttr.get(byte.type, 0))
                    asked = {"predicate": ir.IntegerAttr.get(b.integer_type(64), CmpI.NE)}
                    take_place(op, ir.Operation.create("llvm.icmp", [b.integer_type(1)], [byte, zero], asked).results)
            elif op.name == "llvm.store" and _is_bool(op.operands[0]):
                with op.location, ir.InsertionPoint(op):
                    byte = b.value("llvm.zext", [op.operands[0]], b.integer_type(8))
                    _again(op, [byte, op.operands[1]], [])
                op.erase()


def _is_bool(value: ir.Value) -> bool:
    return isinstance(value.type, ir.IntegerType) and ir.IntegerType(value.type).width == 1


def _again(op: ir.Operation, operands: list[ir.Value], types: list[ir.Type]) -> ir.Operation:
    """A read or a write with the same marks."""
    return ir.Operation.create(op.name, types, operands, attributes_of(op))
