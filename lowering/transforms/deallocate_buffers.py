"""tierup-deallocate-buffers: what is allocated is freed, by MLIR's buffer-deallocation-pipeline.

    %y = memref.alloc() : memref<4xf32>
    ... the last use of %y
becomes
    %y = memref.alloc() : memref<4xf32>
    ... the last use of %y
    memref.dealloc %y : memref<4xf32>

Most small programs compute into their callers' memory alone. For those there is nothing to find out, and MLIR's passes, of which the
pipeline has ten, are not run.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.mlir import ir
from tierup.dialect.passes import registry
from tierup.dialect.passes.registry import Pass, register

# Their result is memory that somebody else has to free.
_VIEWS = frozenset({
    "memref.cast", "memref.collapse_shape", "memref.expand_shape", "memref.get_global", "memref.reinterpret_cast", "memref.subview",
    "memref.transpose",
})  # fmt: skip
_HAND_ON = frozenset({"cf.br", "cf.cond_br", "func.return", "scf.while"})  # their operands are what others get


@register
class DeallocateBuffers(Pass):
    def run(self, module: ir.Module) -> None:
        if _owns_memory(module):
            registry.parse("buffer-deallocation-pipeline,convert-bufferization-to-memref").run(module, verify_each=False)


def _owns_memory(module: ir.Module) -> bool:
    """Whether some op may make memory, or choose between memories, of which someone must know who frees them."""
    found = False

    def visit(view: ir.Operation) -> ir.WalkResult:
        nonlocal found
        op = view.operation
        name = op.name
        if name.startswith("linalg."):
            return ir.WalkResult.SKIP  # on buffers, with numbers inside
        given: Sequence[ir.Value] = op.operands if name in _HAND_ON else op.results
        found = name.startswith("bufferization.") or (name not in _VIEWS and any(isinstance(v.type, ir.MemRefType) for v in given))
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
