"""tierup-drop-messages: exceptions without messages, of which native code has no use.

    %0 = torch.operator "aten.format"(%text, %sizes) : ...
    torch.prim.RaiseException %0, %kind : !torch.str, ...

becomes

    %0 = torch.constant.str ""
    torch.prim.RaiseException %0, %kind : !torch.str, ...

A kernel leaves with a status, and tier 0 runs the call again and raises. So what only makes a message has no need of native code.
"""

from __future__ import annotations

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.constants import constant
from tierup.dialect.ir.structure import is_used
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import str_of
from tierup.lowering.building import builders as b

_RAISE = "torch.prim.RaiseException"


@register
@dataclass(frozen=True)
class DropMessages(Pass):
    """Give exceptions empty messages, and drop what made them and stands in the block that raises."""

    name = "tierup-drop-messages"

    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(b.walk(function)):
            if op.name != _RAISE or str_of(op.operands[0]) is not None:
                continue
            message = op.operands[0]
            op.operands[0] = constant("", ir.InsertionPoint(op), op.location)
            _drop(message, op.block)


def _drop(value: ir.Value, block: ir.Block) -> None:
    """Erase what makes a value that nobody uses any more, in that block: it raises in any case."""
    owner = value.owner
    if isinstance(owner, ir.Block) or is_used(value):
        return
    op = owner.operation
    row = row_of(op)
    if op.block != block or len(op.regions) or len(op.results) != 1 or op.name == "func.call" or (row is not None and row.writes):
        return
    operands = list(op.operands)
    op.erase()
    for operand in operands:
        _drop(operand, block)
