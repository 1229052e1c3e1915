"""Merging neighbouring fusion groups of a block: those of earlier runs, of unrolled loops, of branches that were decided.

Two groups become one when no op between them must stay between them: what needs the first goes behind both, all else before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.ir.structure import blocks, external_operands, maker
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.fusion.nativeness import Nativeness, is_copied
from tierup.dialect.rewriting import regions

GROUP = "tierup.fusion_group"

Build = Callable[[ir.Block, list[ir.Operation]], "ir.Operation | None"]
"""Make a group of ops that stand side by side; None when it could not be one."""


def has_neighbours(op: ir.Operation) -> bool:
    """Whether some block inside `op`, groups aside, holds two groups."""
    return any(len(_groups(block)) > 1 for block in _outer_blocks(op))


def merge(func: ir.Operation, inference: Inference, native: Nativeness, build: Build) -> None:
    """Merge neighbours pair by pair, from left to right. `inference` knows the values inside the groups too."""
    for block in list(_outer_blocks(func)):
        groups = _groups(block)
        if len(groups) < 2:
            continue
        order = {group.results[0]: _is_ordered(group, native) for group in groups if len(group.results)}
        is_ordered = native.order_of([view.operation for view in block.operations])
        left: ir.Operation | None = groups[0]
        for right in groups[1:]:
            if left is None or not (len(left.results) and len(right.results)):
                left = right
                continue
            ordered = (order[left.results[0]], order[right.results[0]])
            late = _late(left, right, ordered, is_ordered)
            if late is None or _is_separated(left, right, native):
                left = right
                continue
            left = _merged(left, right, late, inference, build)
            if left is not None and len(left.results):
                order[left.results[0]] = any(ordered)


def _outer_blocks(op: ir.Operation) -> Iterator[ir.Block]:
    for block in blocks(op):
        yield block
        for view in block.operations:
            if view.operation.name in ("torch.prim.If", "torch.prim.Loop"):
                yield from _outer_blocks(view.operation)


def _groups(block: ir.Block) -> list[ir.Operation]:
    return [view.operation for view in block.operations if view.operation.name == GROUP]


def _is_ordered(group: ir.Operation, native: Nativeness) -> bool:
    return any(native.is_ordered(op) for op in walk(group) if op.name != "tierup.yield")


def _late(
    left: ir.Operation, right: ir.Operation, ordered: tuple[bool, bool], is_ordered: Callable[[ir.Operation], bool]
) -> list[ir.Operation] | None:
    """The ops between two groups that go behind the merged one; None when one of them must stay between."""
    between = _between(left, right)
    late: list[ir.Operation] = []
    made, keeps_order = set(left.results), ordered[0]
    for op in between:
        if (keeps_order and is_ordered(op)) or any(v in made for v in external_operands(op)):
            late.append(op)
            made.update(op.results)
            keeps_order = keeps_order or is_ordered(op)
    later = {result for op in late for result in op.results}
    needs_late = any(v in later for v in right.operands)
    return None if needs_late or (ordered[1] and any(map(is_ordered, late))) else late


def _between(left: ir.Operation, right: ir.Operation) -> list[ir.Operation]:
    ops = [view.operation for view in left.block.operations]
    return ops[ops.index(left) + 1 : ops.index(right)]


def _is_separated(left: ir.Operation, right: ir.Operation, native: Nativeness) -> bool:
    """Whether the policy forbids a group in which the ops of the one read what those of the other make."""
    yielded = dict(zip(left.results, _body(left)[-1].operands, strict=True))
    for operand, argument in zip(right.operands, right.regions[0].blocks[0].arguments, strict=True):
        op = maker(yielded[operand]) if operand in yielded else None
        if op is not None and any(native.separates(op, use.owner.operation) for use in argument.uses):
            return True
    return False


def _body(group: ir.Operation) -> list[ir.Operation]:
    return [view.operation for view in group.regions[0].blocks[0].operations]


def _merged(left: ir.Operation, right: ir.Operation, late: list[ir.Operation], inference: Inference, build: Build) -> ir.Operation | None:
    block = left.block
    point = right
    for op in late:
        op.move_after(point)
        point = op
    left.move_before(right)
    members = []
    for group in (left, right):
        regions.drop_declarations(group.regions[0].blocks[0])
        members += [op for op in _body(group)[:-1] if not is_copied(op)]
        for value in (*group.results, *group.regions[0].blocks[0].arguments):
            inference.values.pop(value, None)  # a value made later may take its address
        regions.inline(group)
    return build(block, members)
