"""tierup-leave-loops: a loop of the program is left where that is decided, and not when its condition is asked next.

    ^header(%i, %go, %found):
      %0 = arith.andi %below, %go
      cf.cond_br %0, ^body, ^behind                         %found is used behind
    ^body:
      %next = arith.select %hit, %i, %found
      %on = arith.xori %hit, %true
      cf.cond_br %ok, ^last, ^failed
    ^failed:
      memref.store %site, %status[]
      cf.br ^last
    ^last:
      cf.br ^header(%i1, %on, %next)

becomes

    ^header(%i, %go, %found):
      cf.cond_br %0, ^body, ^left(%found)
    ^left(%result):
      cf.br ^behind
    ^body:
      cf.cond_br %ok, ^last, ^failed
    ^failed:
      memref.store %site, %status[]
      cf.br ^left(%found)
    ^last:
      cf.cond_br %on, ^header(%i1, %true, %found), ^left(%i)

So what a round hands on is no choice between two values, and no round asks for a status that none before it can have set: after a check
that failed the loop ends with what it had before this round, as it would end after it (`asserts_to_status.py`). Values that are put within
bounds where they are used are known to be so behind the check, and LLVM drops what puts them there.

Loops that the program did not write stay as they are, since what follows may take what they compute for whole (`poll_loops.py`); and
those that allocate, or carry memory: who owns what at their end has been decided for whole rounds. So do loops whose header asks for the
flag alone, where no value hangs on it: LLVM asks at the end of a round by itself, and knows some by sight (`while n: n &= n - 1`). Right
after convert-scf-to-cf, for functions that have a status.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from tierup.dialect.ir.structure import last_of, maker
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.natural_loops import NaturalLoop, natural_loops
from tierup.lowering.analysis.stated import ERROR_SITES
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import conjuncts, known
from tierup.lowering.building.origins import is_programs

_JUMP, _BRANCH, _STORE = "cf.br", "cf.cond_br", "memref.store"
_OF_MEMORY = ("memref.alloc", "memref.dealloc", "memref.alloca", "memref.realloc")


@register
class LeaveLoops(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        if ERROR_SITES not in function.attributes:
            return
        region = function.regions[0]
        if any(len(op.regions) for block in region.blocks for op in block.operations):
            return
        status = region.blocks[0].arguments[-1]
        for loop in natural_loops(region):
            if loop.branch.name == _BRANCH and is_programs(loop.branch):
                _leave(loop, status)


def _leave(loop: NaturalLoop, status: ir.Value) -> None:
    blocks = loop.blocks()
    if [to in blocks for to in loop.branch.successors] != [True, False] or _owns_memory(loop, blocks):
        return
    failed = [block for block in blocks if _sets(block, status) and last_of(block).name == _JUMP]
    found = [(latch, flag) for latch in loop.latches if latch not in failed for flag in _flags(loop, latch)[:1]]
    if not failed and not found:
        return
    carried = _used_behind(loop, blocks)
    if not all(isinstance(v.owner, ir.Block) for v in carried):
        found = []  # what the header computes is not computed on the way out
        if not failed:
            return
    left = _gather(loop, blocks, carried)
    for block in failed:
        _replace_last(block, _JUMP, carried, [left])
    for latch, flag in found:
        _branch_out(loop, latch, flag, carried, left)


def _owns_memory(loop: NaturalLoop, blocks: Iterable[ir.Block]) -> bool:
    """Whether a round may take or give up memory, or hand it on."""
    if any(isinstance(argument.type, ir.MemRefType) for argument in loop.header.arguments):
        return True
    return any(_is_of_memory(view.operation) for block in blocks for view in block.operations)


def _is_of_memory(op: ir.Operation) -> bool:
    return op.name in _OF_MEMORY or (op.name == "func.call" and any(isinstance(r.type, ir.MemRefType) for r in op.results))


def _sets(block: ir.Block, status: ir.Value) -> bool:
    """Whether a block sets the status."""
    return any(view.operation.name == _STORE and view.operation.operands[1] == status for view in block.operations)


def _flags(loop: NaturalLoop, latch: ir.Block) -> list[int]:
    """The numbers of what the header asks for another round, and the latch hands on, as a value that a run has to find out."""
    last = last_of(latch)
    if last.name != _JUMP:
        return []
    arguments = list(loop.header.arguments)
    asked = [arguments.index(v) for v in conjuncts(loop.branch.operands[0]) if v in arguments]
    if [view.operation for view in loop.header.operations] == [loop.branch] and loop.branch.operands[0] in arguments:
        asked = [k for k in asked if any(_where(v, last.operands[k], side) != v for v in last.operands for side in (True, False))]
    return [k for k in asked if known(last.operands[k]) is None]


def _used_behind(loop: NaturalLoop, blocks: Container[ir.Block]) -> list[ir.Value]:
    """What the header has that is used behind the loop."""
    ops = [view.operation for view in loop.header.operations]
    values = [*loop.header.arguments, *(result for op in ops for result in op.results)]
    handed = set(list(loop.branch.operands)[1 + _count(loop.branch, 0) :])
    return [v for v in values if v in handed or any(use.owner.operation.block not in blocks for use in v.uses)]


def _count(branch: ir.Operation, side: int) -> int:
    """How many values a conditional branch hands on, when it is true (0) or false (1)."""
    return int(ir.DenseI32ArrayAttr(branch.attributes["operandSegmentSizes"])[1 + side])


def _gather(loop: NaturalLoop, blocks: Container[ir.Block], carried: Sequence[ir.Value]) -> ir.Block:
    """A block on the way out of the loop that takes what is `carried`, for who comes there another way."""
    branch = loop.branch
    body, behind = branch.successors
    to_body = list(branch.operands)[1 : 1 + _count(branch, 0)]
    handed = list(branch.operands)[1 + len(to_body) :]
    left = loop.own[behind].create_before(*(v.type for v in carried), arg_locs=[branch.location] * len(carried))
    loop.own[left] = left
    taken = dict(zip(carried, left.arguments, strict=True))
    for value, argument in taken.items():
        for use in list(value.uses):
            if (user := use.owner.operation).block not in blocks:
                user.operands[use.operand_number] = argument
    with branch.location:
        _jump(left, behind, [taken.get(v, v) for v in handed])
        _replace_last(loop.header, _BRANCH, [branch.operands[0]], [body, left], (to_body, list(carried)))
    return left


def _branch_out(loop: NaturalLoop, latch: ir.Block, flag: int, carried: Sequence[ir.Value], left: ir.Block) -> None:
    """Leave the loop at its end where the flag says that there is no other round."""
    handed = list(last_of(latch).operands)
    goes_on = handed[flag]
    arguments = list(loop.header.arguments)
    stays = [_where(v, goes_on, True) for v in handed]
    leaves = {argument: _where(v, goes_on, False) for argument, v in zip(arguments, handed, strict=True)}
    with last_of(latch).location, ir.InsertionPoint(last_of(latch)):
        stays[flag] = b.integer(1, 1)
    _replace_last(latch, _BRANCH, [goes_on], [loop.header, left], (stays, [leaves[v] for v in carried]))


def _where(value: ir.Value, flag: ir.Value, truth: bool) -> ir.Value:
    """What a value is where `flag` has that truth: of a choice that hangs on the flag, one side."""
    choice = maker(value, "arith.select")
    if choice is None:
        return value
    condition, then, otherwise = choice.operands
    if condition == flag:
        return then if truth else otherwise
    if any(v is not None and v == w for v, w in ((_negated(condition), flag), (_negated(flag), condition))):
        return otherwise if truth else then
    return value


def _negated(value: ir.Value) -> ir.Value | None:
    """The truth value that `value` is the opposite of."""
    made = maker(value, "arith.xori")
    return None if made is None or known(made.operands[1]) is not True else made.operands[0]


def _jump(block: ir.Block, to: ir.Block, operands: Sequence[ir.Value]) -> None:
    ir.Operation.create(_JUMP, [], list(operands), successors=[to], ip=ir.InsertionPoint(block))


def _replace_last(
    block: ir.Block, name: str, operands: Sequence[ir.Value], to: Sequence[ir.Block], handed: tuple[Sequence[ir.Value], ...] = ()
) -> None:
    """End a block another way: with `operands`, and what is `handed` to each successor."""
    old = last_of(block)
    sizes = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, *map(len, handed)], old.context)} if handed else {}
    every = [*operands, *(v for values in handed for v in values)]
    ir.Operation.create(name, [], every, attributes=sizes, successors=list(to), loc=old.location, ip=ir.InsertionPoint(old))
    old.erase()
