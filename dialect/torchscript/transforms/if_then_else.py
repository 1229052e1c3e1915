"""tierup-if-then-else: a branch that only chooses between two values becomes a select.

    %0 = torch.prim.If %c -> (!torch.int) {
      torch.prim.If.yield %n : !torch.int
    } else {
      %int1 = torch.constant.int 1
      torch.prim.If.yield %int1 : !torch.int
    }

becomes

    %int1 = torch.constant.int 1
    %0 = "tierup.if_then_else"(%c, %n, %int1) : (!torch.bool, !torch.int, !torch.int) -> !torch.int

A branch with one result whose arms hold constants at most. Both values are then computed before the choice, as they were.
"""

from __future__ import annotations

from tierup.dialect.ir.walking import walk
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register


@register
class IfThenElse(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        for op in reversed([op for op in walk(func) if op.name == "torch.prim.If"]):  # inner ones first
            _select(op)


def _select(op: ir.Operation) -> None:
    arms = [[view.operation for view in region.blocks[0].operations] for region in op.regions]
    if len(op.results) != 1 or any(not inner.name.startswith("torch.constant.") for arm in arms for inner in arm[:-1]):
        return
    for inner in [inner for arm in arms for inner in arm[:-1]]:
        inner.move_before(op)
    values = [arm[-1].operands[0] for arm in arms]
    made = ops.create("if_then_else", [op.operands[0], *values], [op.results[0].type], loc=op.location, ip=ir.InsertionPoint(op))
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()
