"""tierup-drop-messages: exceptions without messages, of which native code has no use.

    %0 = torch.operator "aten.format"(%text, %sizes) : ...
    torch.prim.RaiseException %0, %kind : !torch.str, ...

becomes

    %0 = torch.constant.str ""
    torch.prim.RaiseException %0, %kind : !torch.str, ...

A kernel leaves with a status, and tier 0 runs the call again and raises. So what only makes a message has no need of native code. What
stands before the branch that raises, as the f-string of `torch._assert(n == 3, f"... {n}")` does, is dropped where it cannot raise itself.
"""

from __future__ import annotations

from functools import partial

from tierup.dialect.ir.attributes import constant
from tierup.dialect.ir.structure import is_used
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import drop_unused, str_of
from tierup.lowering.building import builders as b

_RAISE = "torch.prim.RaiseException"


@register
class DropMessages(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(b.walk(function)):
            if op.name != _RAISE or str_of(op.operands[0]) is not None:
                continue
            message = op.operands[0]
            op.operands[0] = constant("", ir.InsertionPoint(op), op.location)
            drop_unused([message], partial(_may_go, block=op.block))
        for op in b.unerased(b.walk(function)):  # of branches that are gone
            if len(op.results) == 1 and not is_used(op.results[0]) and not len(op.regions) and _only_writes_text(op):
                op.erase()


def _may_go(op: ir.Operation, block: ir.Block) -> bool:
    """In that block, which raises in any case, and elsewhere what cannot raise."""
    if len(op.results) != 1 or len(op.regions) or op.name == "func.call":
        return False
    row = row_of(op)
    return (op.block == block or _only_writes_text(op)) and (row is None or not row.writes)


def _only_writes_text(op: ir.Operation) -> bool:
    """Whether an op makes a text for any operands: a format with as many places as operands does."""
    if str(op.results[0].type) != "!torch.str":
        return False
    if torch_name(op) == "aten.format":
        text = str_of(op.operands[0])
        return text is not None and text.count("{}") == len(op.operands) - 1
    row = row_of(op)
    return row is not None and not row.raises and not row.acts
