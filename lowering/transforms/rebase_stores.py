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
buffers. The first may stand before the branch or loop that the second is in, as in `t[i] = a; if t[j] > 0: t[i] = b`. A store that nobody
reads is left to the canonicaliser.
"""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.ir.structure import is_used
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b

_STATIC = ("static_offsets", "static_sizes", "static_strides")


@register
class RebaseStores(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        last: dict[tuple[object, ...], dict[ir.Block, ir.Value]] = {}  # by array and part, then block: what the last store there gives
        for op in b.walk(function):
            if op.name == "tensor.insert_slice":
                where = (op.operands[0].type, *list(op.operands)[1:], *(op.attributes[name] for name in _STATIC))
                stores = last.setdefault(where, {})
                before = next((stores[block] for block in _around(op) if block in stores), None)
                stores[op.block] = op.results[0]
                if before is not None and is_used(before):
                    op.operands[1] = before


def _around(op: ir.Operation) -> Iterator[ir.Block]:
    """The blocks that an op is in, inner ones first."""
    while op.parent is not None:
        yield op.block
        op = op.parent.operation
