"""tierup-fuse-pointwise: pointwise loops over the same elements become one loop, all at once.

    %1 = linalg.generic {maps = [id, id, id], parallel} ins(%x, %y) outs(%e) { mulf }
    %2 = linalg.generic {maps = [id, id, id], parallel} ins(%1, %y) outs(%e) { addf }
    %3 = linalg.generic {maps = [id, id, id], parallel} ins(%2, %1) outs(%e) { subf }
becomes
    %3 = linalg.generic {maps = [id, id, id], parallel} ins(%x, %y) outs(%e) { mulf, addf, subf }

A loop joins when all that use its result are pointwise loops of one group, which read it element by element. MLIR's
linalg-fuse-elementwise-ops takes two ops at a time and copies the body that has grown so far for each: n ops cost n^2 (0.5 s for
1000), and it leaves a producer with more than one use. Here bodies are moved, once. What does not read element by element
(broadcasts of computed values, reductions, reshapes) is left to MLIR's pass, which comes after.

Before that, a pointwise loop that goes on from what its destination holds is given it as an input. So a sum over no axes:

    %s = linalg.generic {maps = [() -> (), () -> ()]} ins(%c) outs(%zero) { addf %out, %c }
becomes
    %s = linalg.generic {maps = [() -> (), () -> (), () -> ()]} ins(%c, %zero) outs(%e) { addf %0, %c }

To MLIR's pass the first is pointwise as well. Put into a loop that has more rounds (x * sum(c), summed), and needed besides, it would go on
from its own result in each of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import is_used, take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.generics import again, is_identity, is_parallel, maps_of

Shape = tuple[int, ...]


@register
class FusePointwise(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.walk(function):
            if op.name == "linalg.generic" and _goes_on(op):
                _start_apart(op)
        for block in list(_blocks(function)):
            for group in _groups(block):
                if len(group) > 1:
                    _fuse(group)


def _blocks(op: ir.Operation) -> Iterator[ir.Block]:
    for region in op.regions:
        for block in region.blocks:
            yield block
            for view in block.operations:
                if not view.operation.name.startswith("linalg."):
                    yield from _blocks(view.operation)


def _goes_on(op: ir.Operation) -> bool:
    """Whether a loop over tensors is pointwise, reads what its destination holds, and may be put into another."""
    arguments = list(op.regions[0].blocks[0].arguments)[len(op.operands) - len(op.results) :]
    reads = len(op.results) > 0 and is_parallel(op) and any(map(is_used, arguments))
    return reads and any(use.owner.name.startswith("linalg.") for r in op.results for use in r.uses)


def _start_apart(op: ir.Operation) -> None:
    """Make an input of each destination that a loop reads."""
    block = op.regions[0].blocks[0]
    first = len(op.operands) - len(op.results)
    read = [i for i, a in enumerate(block.arguments) if i >= first and is_used(a)]
    places = [*range(first), *read, *range(first, len(op.operands))]  # what the new operands were
    maps = maps_of(op)
    with op.location, ir.InsertionPoint(op):
        outs = [b.empty_like(v, ir.ShapedType(v.type).element_type) if i in read else v for i, v in enumerate(op.operands) if i >= first]
    inputs = places[: -len(outs)]
    made, body = again(op, [*(op.operands[i] for i in inputs), *outs], [maps[i] for i in places])
    for i, argument in zip(inputs, body.arguments, strict=False):
        block.arguments[i].replace_all_uses_with(argument)
    for each in b.ops_of(block):
        body.append(each)
    take_place(op, made.results)


@dataclass(frozen=True, eq=False)
class _Loop:
    """A pointwise linalg.generic with one result, written in order. `at`: its place in the block."""

    op: ir.Operation
    at: int
    maps: tuple[ir.AffineMap, ...]
    shape: Shape

    @property
    def result(self) -> ir.Value:
        return self.op.results[0]

    @property
    def body(self) -> ir.Block:
        return self.op.regions[0].blocks[0]


def _groups(block: ir.Block) -> list[list[_Loop]]:
    """The loops that become one, in their order; the last gives the group's result. Later groups first."""
    loops: dict[ir.Operation, _Loop] = {}
    for at, view in enumerate(block.operations):
        loop = _loop(view.operation, at) if view.operation.name == "linalg.generic" else None
        if loop is not None:
            loops[loop.op] = loop
    root_of: dict[ir.Operation, ir.Operation] = {}
    groups: dict[ir.Operation, list[_Loop]] = {}
    for op, loop in reversed(loops.items()):
        root = _only_root(loop, loops, root_of)
        root_of[op] = op if root is None else root
        groups.setdefault(root_of[op], []).append(loop)
    return [group[::-1] for group in groups.values()]


def _loop(op: ir.Operation, at: int) -> _Loop | None:
    """The op as a loop that may be in a group; None for any other."""
    if len(op.results) != 1 or not is_parallel(op):
        return None
    maps = tuple(maps_of(op))
    if not is_identity(maps[-1]) or any(len(view.operation.regions) for view in op.regions[0].blocks[0].operations):
        return None
    return _Loop(op, at, maps, tuple(b.shape_of(op.results[0].type)))


def _only_root(loop: _Loop, loops: dict[ir.Operation, _Loop], root_of: dict[ir.Operation, ir.Operation]) -> ir.Operation | None:
    """The group of all that use the loop's result, when it is one and they read it element by element in loops of the same shape."""
    if is_used(loop.body.arguments[len(loop.maps) - 1]):
        return None  # it goes on from what its destination holds
    roots = set()
    for use in loop.result.uses:
        user, operand = loops.get(use.owner.operation), use.operand_number
        if user is None or user.shape != loop.shape or operand == len(user.maps) - 1 or not is_identity(user.maps[operand]):
            return None
        roots.add(root_of[user.op])
    return roots.pop() if len(roots) == 1 else None


def _fuse(group: list[_Loop]) -> None:
    """One op in the place of the group's last. What stands for an element is found by the value and how it is read."""
    last = group[-1]
    inside = {loop.result for loop in group[:-1]}
    reads: dict[tuple[ir.Value, ir.AffineMap], None] = {}
    for loop in group:
        for value, read in zip(list(loop.op.operands)[:-1], loop.maps, strict=False):
            if value not in inside:
                reads.setdefault((value, read))
    out = last.op.operands[len(last.maps) - 1]
    made, body = again(last.op, [*(value for value, _ in reads), out], [*(read for _, read in reads), last.maps[-1]])
    element: dict[tuple[ir.Value, ir.AffineMap], ir.Value] = dict(zip(reads, body.arguments, strict=False))
    for loop in group:
        arguments = list(loop.body.arguments)
        for argument, value, read in zip(arguments, list(loop.op.operands)[:-1], loop.maps, strict=False):
            argument.replace_all_uses_with(element[value, read])
        arguments[-1].replace_all_uses_with(body.arguments[len(reads)])
        operations = list(b.ops_of(loop.body))
        element[loop.result, loop.maps[-1]] = operations[-1].operands[0]
        for op in operations if loop is last else operations[:-1]:
            body.append(op)
    last.result.replace_all_uses_with(made.results[0])
    for loop in reversed(group):
        loop.op.erase()
