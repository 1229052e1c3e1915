"""What a program needs to go on from a point in its middle: the values that are live there.

A value that is another one under a guard or with another type counts as that other one, its root; what costs nothing to make again,
such as constants, is not captured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tierup.dialect.ir.structure import blocks, captured, external_operands, maker, under
from tierup.dialect.ir.walking import backwards
from tierup.dialect.mlir import ir
from tierup.dialect.passes.core import PassFailure

_SAME_VALUE = frozenset({"tierup.bailout", "tierup.guard", "tierup.profile", "torch.tensor_static_info_cast"})
_MADE_AGAIN = ("torch.constant.", "torch.derefine", "torch.prim.Uninitialized")
_LITERAL = "torch.vtensor.literal"
_ALIASES = "tierup.result_aliases"
_CONTROL_FLOW = frozenset({"torch.prim.If", "torch.prim.Loop"})


def root(value: ir.Value) -> ir.Value:
    """What a chain of guards and casts of tensors hands through."""
    return under(value, _SAME_VALUE)


def is_made_again(op: ir.Operation) -> bool:
    """Whether the rest of a program makes the op's result again, of the same operands, instead of taking it along. A literal is taken
    along where results share memory, which it and a view of it may do."""
    return op.name.startswith(_MADE_AGAIN) or (op.name == _LITERAL and not _results_share(op))


def _results_share(op: ir.Operation) -> bool:
    """Whether two results of the function that an op stands in may share memory."""
    while op.name != "func.func":
        op = op.parent.operation
    return _ALIASES in op.attributes and any("result:" in ir.StringAttr(a).value for a in op.attributes[_ALIASES])


def _captured(value: ir.Value) -> Iterator[ir.Value]:
    """The roots that a value is made of."""
    value = root(value)
    op = maker(value)
    if op is not None and is_made_again(op):
        for operand in op.operands:
            yield from _captured(operand)
    else:
        yield value


def live_values(func: ir.Operation, points: Iterable[ir.Operation]) -> list[list[ir.Value]]:
    """For each of `points`, ops of one operand, the roots of all values that were made before it and are read after it, in the order
    of their definitions, without its operand's. After it comes what is left of its block, then what follows the op around that; of
    a loop also all further iterations, which need the loop's trip count and this iteration's number.

    Raises PassFailure for a point inside an op that cannot be left in the middle.
    """
    points = list(points)
    for point in points:
        _check_place(point)
    wanted = {point.results[0] for point in points}
    live: dict[ir.Value, set[ir.Value]] = {}
    _visit(func.regions[0].blocks[0], set(), wanted, live)
    place = {value: i for i, value in enumerate(_definition_order(func))}
    return [sorted(live[point.results[0]] - {root(point.operands[0])}, key=place.__getitem__) for point in points]


def _check_place(point: ir.Operation) -> None:
    block = point.block
    while (owner := block.owner.operation).name != "func.func":
        if owner.name not in _CONTROL_FLOW:
            raise PassFailure(point, f"stands in a {owner.name}, which cannot be left in the middle")
        block = owner.block
    if len(owner.regions[0].blocks) != 1:
        raise PassFailure(point, "stands in a function of several blocks; control flow is torch.prim.If and torch.prim.Loop")


def _visit(block: ir.Block, after: set[ir.Value], wanted: set[ir.Value], found: dict[ir.Value, set[ir.Value]]) -> None:
    """Go through a block backwards. `after`: what is live after the op around it."""
    live = set(after)
    for op in backwards(block):
        live.difference_update(op.results)
        if len(op.results) == 1 and op.results[0] in wanted:
            found[op.results[0]] = set(live)
        reads = {v for operand in external_operands(op) for v in _captured(operand)}
        if op.name == "torch.prim.Loop":
            body = op.regions[0].blocks[0]
            again = {v for operand in captured(op) for v in _captured(operand)}
            trip = set(_captured(op.operands[0]))
            _visit(body, live | again | trip | {body.arguments[0]}, wanted, found)
        elif op.name == "torch.prim.If":
            for region in op.regions:
                _visit(region.blocks[0], live, wanted, found)
        live |= reads


def _definition_order(op: ir.Operation) -> Iterator[ir.Value]:
    """All values that are defined in an op, what an op in it gives behind what is in that."""
    for block in blocks(op):
        yield from block.arguments
        for view in block.operations:
            yield from _definition_order(view.operation)
            yield from view.operation.results
