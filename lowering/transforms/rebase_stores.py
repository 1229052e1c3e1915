"""tierup-rebase-stores: a store into a part that was stored into before goes on from there.

    %1 = tensor.insert_slice %a into %t[%i] [1] [1]
    %x = tensor.extract_slice %1[%j] [1] [1]
    %2 = tensor.insert_slice %b into %t[%i] [1] [1]

becomes

    %1 = tensor.insert_slice %a into %t[%i] [1] [1]
    %x = tensor.extract_slice %1[%j] [1] [1]
    %2 = tensor.insert_slice %b into %1[%i] [1] [1]

The same value, since %2 overwrites all that %1 has stored. MLIR's canonicaliser does the reverse, which spares a store that nobody reads;
but where %1 is read, both %1 and %t are then needed, and bufferization copies the whole array at each store. So this comes last before
buffers. A store that nobody reads is left to the canonicaliser.
"""

from __future__ import annotations

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import is_used
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b

_STATIC = ("static_offsets", "static_sizes", "static_strides")


@register
@dataclass(frozen=True)
class RebaseStores(Pass):
    """Let stores into one part of an array follow one another."""

    name = "tierup-rebase-stores"

    def run_on_function(self, function: ir.Operation) -> None:
        last: dict[tuple[object, ...], ir.Value] = {}  # by block, array and part: what the last store there gives
        for op in b.walk(function):
            if op.name == "tensor.insert_slice":
                where = (op.block, op.operands[0].type, *list(op.operands)[1:], *(op.attributes[name] for name in _STATIC))
                before = last.get(where)
                last[where] = op.results[0]
                if before is not None and is_used(before):
                    op.operands[1] = before
