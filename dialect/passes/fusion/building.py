"""Moving ops of a block into the body of one op that is isolated from above: what all grouping passes share.

Constants and lists are copied into the body; everything else that it reads comes in through operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.ir.structure import external_operands
from tierup.dialect.ir.walking import backwards, ops_of, walk
from tierup.dialect.language.ops import yield_
from tierup.dialect.mlir import ir
from tierup.dialect.passes.fusion.grouping import is_boundary
from tierup.dialect.passes.fusion.nativeness import is_copied
from tierup.dialect.rewriting import regions

Make = Callable[..., ir.Operation]
"""make(inputs, types, loc=, ip=): an op of these results, whose first region has one empty block with the inputs as arguments."""


def boundary(block: ir.Block, members: Sequence[ir.Operation]) -> tuple[list[ir.Value], list[ir.Value]]:
    """What a group of these ops takes from outside, and which of its values are used there."""
    inside = set(members)
    outputs = [r for op in members for r in op.results if is_boundary(r.type) and _is_used_outside(r, inside, block)]
    return _inputs(block, members, inside), outputs


def build(block: ir.Block, members: list[ir.Operation], inference: Inference, make: Make) -> tuple[ir.Operation, list[ir.Value]]:
    """Move ops that stand side by side into a new group in their place; the group, and what it takes."""
    inside = set(members)
    inputs, outputs = boundary(block, members)
    last = members[-1]
    group = make(inputs, [v.type for v in outputs], loc=members[0].location, ip=ir.InsertionPoint.after(last))
    body = group.regions[0].blocks[0]
    for result, value in zip(group.results, outputs, strict=True):
        if value in inference.values:
            inference.values[result] = inference[value]  # an input of later groups, perhaps
        for use in [use for use in value.uses if regions.top_level(use.owner.operation, block) not in inside]:
            use.owner.operation.operands[use.operand_number] = result
    for op in members:
        body.append(op)
    yield_(outputs, loc=last.location, ip=ir.InsertionPoint(body))
    # a list of an output that is made outside now reads the group's result: its copy inside reads what the output was made of
    _take_inside(body, dict(zip([*inputs, *group.results], [*body.arguments, *outputs], strict=True)))
    return group, inputs


def _inputs(block: ir.Block, members: Sequence[ir.Operation], inside: set[ir.Operation]) -> list[ir.Value]:
    """The values that members read from outside, also through what is copied, in the order of their first use."""
    found: dict[ir.Value, None] = {}
    stack = [v for op in members for v in external_operands(op)][::-1]
    while stack:
        value = stack.pop()
        definer = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if definer is not None and is_copied(definer):
            stack.extend(reversed(list(definer.operands)))
        elif definer is None or definer not in inside:
            found[value] = None
    return list(found)


def _is_used_outside(value: ir.Value, inside: set[ir.Operation], block: ir.Block) -> bool:
    return any(not _only_members_use(use.owner.operation, inside, block) for use in value.uses)


def _only_members_use(user: ir.Operation, inside: set[ir.Operation], block: ir.Block) -> bool:
    top = regions.top_level(user, block)
    if top in inside:
        return True
    if top is None or top != user or not is_copied(user):
        return False
    return all(_only_members_use(use.owner.operation, inside, block) for r in user.results for use in r.uses)


def _take_inside(body: ir.Block, mapping: dict[ir.Value, ir.Value]) -> None:
    """Make the body isolated: it reads the block arguments in `mapping`, and copies of constants and lists."""

    def taken(value: ir.Value, before: ir.Operation) -> ir.Value:
        owner = value.owner
        if value in mapping:
            return mapping[value]
        if isinstance(owner, ir.Block) or not is_copied(owner.operation) or regions.top_level(owner.operation, body) is not None:
            return value
        op = owner.operation
        if op.name == "torch.derefine":
            mapping[value] = taken(op.operands[0], before)
            return mapping[value]
        operands = [taken(v, before) for v in op.operands]
        copy = op.clone(ir.InsertionPoint(before)).operation
        for i, operand in enumerate(operands):
            copy.operands[i] = operand
        mapping[value] = copy.results[0]
        return copy.results[0]

    for top in ops_of(body):
        for op in (top, *walk(top)):
            for i, operand in enumerate(list(op.operands)):
                new = taken(operand, top)
                if new != operand:
                    op.operands[i] = new


def drop_unused(block: ir.Block) -> None:
    """Constants and lists that only groups used."""
    for op in backwards(block):
        if is_copied(op) and not any(True for r in op.results for _ in r.uses):
            op.erase()
