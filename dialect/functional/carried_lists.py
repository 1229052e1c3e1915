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
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import create, maker
from tierup.dialect.rewriting.loops import LOOP, loops_inside

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
    return all(user == append or _holder(user, loop.block) in behind for user in (use.owner.operation for use in list_.uses))


def _holder(op: ir.Operation, block: ir.Block) -> ir.Operation | None:
    """The op of a block that an op is or stands in."""
    at: ir.Operation | None = op
    while at is not None and at.block != block:
        parent = at.parent
        at = None if parent is None or parent.operation.name == "func.func" else parent.operation
    return at


def _carry(loop: ir.Operation, appends: list[ir.Operation]) -> None:
    lists = [op.operands[0] for op in appends]
    body, types = loop.regions[0].blocks[0], [list_.type for list_ in lists]
    attributes = {name: loop.attributes[name] for name in loop.attributes}
    new = ir.Operation.create(
        LOOP, [*(r.type for r in loop.results), *types], [*loop.operands, *lists], attributes,
        regions=1, loc=loop.location, ip=ir.InsertionPoint(loop),
    ).operation  # fmt: skip
    body.append_to(new.regions[0])
    grown = []
    for op, list_ in zip(appends, lists, strict=True):
        argument = body.add_argument(list_.type, loop.location)
        one = create(op, _CONSTRUCT, [op.operands[1]], list_.type)
        grown.append(create(op, "torch.aten.add.t", [argument, one], list_.type))
        op.erase()
    last = list(body.operations)[-1].operation
    ir.Operation.create(last.name, [], [*last.operands, *grown], loc=last.location, ip=ir.InsertionPoint(last))
    last.erase()
    for old, result in zip(loop.results, new.results, strict=False):
        old.replace_all_uses_with(result)
    loop.erase()
    entering = len(new.operands) - len(lists)
    for i, (list_, result) in enumerate(zip(lists, list(new.results)[-len(lists) :], strict=True)):
        list_.replace_all_uses_with(result)
        new.operands[entering + i] = list_
