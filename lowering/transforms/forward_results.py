"""tierup-forward-results: what is computed in memory of its own and copied to a result is computed there.

    %t = memref.alloc() : memref<5x7xf32>
    scf.for ... { ... memref.store %v, %t[%i, %j] ... }
    memref.copy %t, %y                                    // %y : a result's buffer
becomes
    scf.for ... { ... memref.store %v, %y[%i, %j] ... }

An allocated result is made where that memory was:

    %t = memref.alloc(%n) {alignment = 64} : memref<?xf32>
    ...
    %y = memref.alloc(%n) : memref<?xf32>
    memref.copy %t, %y
    return %y
becomes
    %t = memref.alloc(%n) : memref<?xf32>                 // not aligned: the caller frees it
    ...
    return %t

Loops over single elements (scans, scatters) leave such copies: bufferization gives loops memory of their own. A copy reads and writes all
of a result once more. A result's buffer is fresh memory, so nothing else is seen in it; it must be the copy's alone, and nothing may use
the other memory afterwards. Functions that may be left in mid-program stay as they are: what is live there must be theirs to hand over.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import users
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.stated import RESULT_KINDS
from tierup.lowering.building import builders as b


@register
class ForwardResults(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        if RESULT_KINDS not in function.attributes or b.first(function, lambda op: op.name == "func.call") is not None:
            return  # not an entry, or one with exits
        block = function.regions[0].blocks[0]
        for op in [view.operation for view in block.operations]:
            if op.name == "memref.copy" and _may_go(op, block):
                source, target = op.operands
                allocation, made = source.owner.operation, b.defining_op(target)
                op.erase()
                if made is None:
                    source.replace_all_uses_with(target)
                    allocation.erase()
                else:
                    target.replace_all_uses_with(source)
                    made.erase()
                    if "alignment" in allocation.attributes:
                        del allocation.attributes["alignment"]


def _may_go(copy: ir.Operation, block: ir.Block) -> bool:
    source, target = copy.operands
    made = b.defining_op(source)
    if made is None or made.name != "memref.alloc" or made.block != block or source.type != target.type:
        return False
    return _is_results(target, copy, block) and _last_use_is_before(source, copy)


def _is_results(memory: ir.Value, copy: ir.Operation, block: ir.Block) -> bool:
    """Whether memory is an argument for a result, or allocated for one, that nothing but the copy writes or reads."""
    made = b.defining_op(memory)
    if made is None:
        return memory.owner == block and users(memory) == [copy]
    others = [op for op in users(memory) if op != copy]
    return bool(made.name == "memref.alloc" and made.block == block and [op.name for op in others] == ["func.return"])


def _last_use_is_before(buffer: ir.Value, copy: ir.Operation) -> bool:
    """Whether nothing uses a buffer, or a view of it, that does not stand before the copy."""
    for use in buffer.uses:
        user = use.owner.operation
        if user == copy:
            continue
        outermost = user
        while outermost.block != copy.block:
            outermost = outermost.parent.operation
        if not outermost.is_before_in_block(copy):
            return False
        if any(isinstance(r.type, ir.MemRefType) and not _last_use_is_before(r, copy) for r in user.results):
            return False
        if user.name in ("scf.yield", "func.return"):
            return False  # under another name
    return True
