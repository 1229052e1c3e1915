"""Questions about `torch.prim.Loop`, and copies of its body."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tierup.dialect.ir.structure import blocks, is_used, last_of
from tierup.dialect.ir.walking import ops_of, walk
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import bool_of, create

LOOP = "torch.prim.Loop"
FOREVER = (1 << 63) - 1  # the trip count of a loop that only its condition ends
# Their number of copies means something: a slot or a resume point is one place in the program.
_ONE_PLACE = frozenset({"tierup.profile", "tierup.bailout", "tierup.count_run"})
_NOT_EXECUTED = frozenset({
    "torch.prim.If.yield", "torch.prim.Loop.condition", "torch.bind_symbolic_shape", "torch.symbolic_int", "tierup.yield",
})  # fmt: skip


def loops_inside(op: ir.Operation) -> Iterator[ir.Operation]:
    """The loops inside `op`, inner before outer. The caller may rewrite one before it asks for the next."""
    for block in blocks(op):
        for inner in ops_of(block):
            yield from loops_inside(inner)
            if inner.name == LOOP:
                yield inner


def is_counted(loop: ir.Operation) -> bool:
    """Whether the trip count alone ends the loop: both conditions are constants, and true."""
    after = last_of(loop.regions[0].blocks[0])
    return bool_of(loop.operands[1]) is True and bool_of(after.operands[0]) is True


def may_be_copied(loop: ir.Operation, *, profiles: bool = False) -> bool:
    """Whether the body may stand in the program more than once. `profiles`: profiles may, in a function that records no more."""
    found = {op.name for op in walk(loop)} & _ONE_PLACE
    return not found or (profiles and found == {"tierup.profile"} and not _records(loop))


def _records(op: ir.Operation) -> bool:
    """Whether runs of the function around `op` are counted."""
    while op.name != "func.func" and op.parent is not None:
        op = op.parent.operation
    return any(inner.name == "tierup.count_run" for inner in walk(op))


def size_of(block: ir.Block) -> int:
    """How many ops run at most once in a pass through a block; constants, declarations and terminators cost nothing."""
    count = 0
    for view in block.operations:
        op = view.operation
        count += not (op.name.startswith("torch.constant.") or op.name in _NOT_EXECUTED)
        count += sum(size_of(inner) for inner in blocks(op))
    return count


def inline_body(
    loop: ir.Operation, counter: ir.Value, carried: Sequence[ir.Value], before: ir.Operation
) -> tuple[ir.Value, list[ir.Value]]:
    """A copy of the loop's body before the op `before`, with these arguments: the condition to go on, and the carried values."""
    copy = loop.clone(ip=ir.InsertionPoint(before)).operation
    body = copy.regions[0].blocks[0]
    for argument, value in zip(body.arguments, [counter, *carried], strict=True):
        argument.replace_all_uses_with(value)
    *inner, last = [view.operation for view in body.operations]
    condition, *after = list(last.operands)
    for op in inner:
        op.move_before(before)
    copy.erase()
    return condition, after


def retrip(loop: ir.Operation, trip: ir.Value, condition: ir.Value, carried: Sequence[ir.Value], before: ir.Operation) -> ir.Operation:
    """A copy of the loop before the op `before` that starts from these values."""
    copy: ir.Operation = loop.clone(ip=ir.InsertionPoint(before)).operation
    for i, value in enumerate([trip, condition, *carried]):
        copy.operands[i] = value
    return copy


def shift(loop: ir.Operation, by: ir.Value) -> None:
    """The counter starts from `by`."""
    if not counts(loop):
        return
    body = loop.regions[0].blocks[0]
    counter = body.arguments[0]
    made = create(body.operations[0].operation, "torch.aten.add.int", [by, counter], ir.Type.parse("!torch.int", loop.context))
    counter.replace_all_uses_except(made, made.owner.operation)


def counts(loop: ir.Operation) -> bool:
    """Whether the body reads the counter."""
    return is_used(loop.regions[0].blocks[0].arguments[0])
