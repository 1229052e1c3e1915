"""A list that a loop appends to, as a value that the loop carries.

    %r = torch.prim.Loop %n, %true, init(%x) {                    %r:2 = torch.prim.Loop %n, %true, init(%x, %l) {
    ^bb0(%i: !torch.int, %a: !torch.vtensor):                     ^bb0(%i: !torch.int, %a: ..., %m: !torch.list<vtensor>):
      torch.aten.append.t %l, %a                         ->         %one = torch.prim.ListConstruct %a
                                                                    %more = torch.aten.add.t %m, %one
      torch.prim.Loop.condition %true, iter(%b)                     torch.prim.Loop.condition %true, iter(%b, %more)
    }                                                             }
    %s = torch.aten.stack %l, %int0                               %s = torch.aten.stack %r#1, %int0

Only a list of tensors that is made in the loop's own block, that nobody uses before the loop, and that is in the loop nothing but appended
to, in the body itself, and so once in each iteration. Up to the loop nobody else knows it, so no other alias need be looked for.
"""

from __future__ import annotations

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import hand_over, handed_over, maker, with_more
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import create
from tierup.dialect.rewriting.loops import loops_inside
from tierup.dialect.rewriting.regions import top_level

_APPEND, _CONSTRUCT = "torch.aten.append.t", "torch.prim.ListConstruct"


def carry_lists(func: ir.Operation) -> None:
    """Let the loops of a function carry the lists that they append to."""
    for loop in loops_inside(func):
        appends = [op.operation for op in loop.regions[0].blocks[0].operations if op.operation.name == _APPEND]
        found = [op for op in appends if _is_carried(loop, op)]
        if found:
            _carry(loop, found)


def _is_carried(loop: ir.Operation, append: ir.Operation) -> bool:
    list_, item = append.operands
    made = maker(list_, _CONSTRUCT)
    if made is None or made.block != loop.block or not torch_types.is_tensor(item.type) or any(list(r.uses) for r in append.results):
        return False
    before = True
    behind: list[ir.Operation] = []  # ops of the block behind the loop
    for op in loop.block.operations:
        if op.operation == loop:
            before = False
        elif not before:
            behind.append(op.operation)
    return all(user == append or top_level(user, loop.block) in behind for user in (use.owner.operation for use in list_.uses))


def _carry(loop: ir.Operation, appends: list[ir.Operation]) -> None:
    lists = [op.operands[0] for op in appends]
    new = with_more(loop, [*loop.operands, *lists], [list_.type for list_ in lists])
    body, grown = new.regions[0].blocks[0], []
    for op, list_ in zip(appends, lists, strict=True):
        argument = body.add_argument(list_.type, new.location)
        one = create(op, _CONSTRUCT, [op.operands[1]], list_.type)
        grown.append(create(op, "torch.aten.add.t", [argument, one], list_.type))
        op.erase()
    hand_over(body, [*handed_over(body), *grown])
    entering = len(new.operands) - len(lists)
    for i, (list_, result) in enumerate(zip(lists, list(new.results)[-len(lists) :], strict=True)):
        list_.replace_all_uses_with(result)
        new.operands[entering + i] = list_
