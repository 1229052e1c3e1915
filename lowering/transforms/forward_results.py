"""tierup-forward-results: what is computed in memory of its own and copied to a result is computed there.

    %t = memref.alloc() : memref<5x7xf32>
    scf.for ... { ... memref.store %v, %t[%i, %j] ... }
    memref.copy %t, %y                                    // %y : a result's buffer
becomes
    scf.for ... { ... memref.store %v, %y[%i, %j] ... }

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
                allocation = source.owner.operation
                op.erase()
                source.replace_all_uses_with(target)
                allocation.erase()


def _may_go(copy: ir.Operation, block: ir.Block) -> bool:
    source, target = copy.operands
    made = b.defining_op(source)
    if made is None or made.name != "memref.alloc" or made.block != block or source.type != target.type:
        return False
    if b.defining_op(target) is not None or target.owner != block or users(target) != [copy]:
        return False
    return _last_use_is_before(source, copy)


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
