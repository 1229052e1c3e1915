"""The descriptor that a memref becomes in the LLVM dialect, for passes that need what no memref op says."""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, of


def allocated(memref: ir.Value) -> Scalar:
    """The pointer that the memory was allocated with, which views of it hand on, as i64."""
    rank = ir.MemRefType(memref.type).rank
    arrays = f", array<{rank} x i64>, array<{rank} x i64>" if rank else ""
    whole = b.value("builtin.unrealized_conversion_cast", [memref], ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{arrays})>"))
    pointer = b.value("llvm.extractvalue", [whole], ir.Type.parse("!llvm.ptr"), position=ir.DenseI64ArrayAttr.get([0]))
    return of(b.value("llvm.ptrtoint", [pointer], b.integer_type(64)))
