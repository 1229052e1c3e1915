"""Writes through `aten.detach`, for gradients: what is written there has a gradient there, not in what it was detached from.

As a view, which `tierup-functionalize` takes a detach for, it would give back less: it would detach what was written, too.

    %0 = torch.aten.mul.Tensor %x, %x                  %0 = torch.aten.mul.Tensor %x, %x
    %1 = torch.aten.detach %0                    ->    %1 = torch.aten.detach %0
    torch.aten.add_.Tensor %1, %w, %one                %2 = torch.aten.clone %1, %none
                                                       torch.aten.add_.Tensor %2, %w, %one

Where nothing else sees the detached memory, as with all that a `torch.no_grad` block computes, a copy is the same. Elsewhere what was
detached would lose its gradient, which PyTorch leaves as it is, and the write is refused, but where there is none to lose: what was
detached requires none, and what is written has none either, as numbers and what was detached itself. In programs from Python `z[0] = c` in
a `no_grad` block is such a write to a part that was detached: what is overwritten as a whole has no gradient there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from tierup.dialect.analysis.requires_grad import RequiresGrad
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import constant
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.rewriting.float_constants import is_from_python


def _overwrites(op: ir.Operation) -> bool:
    row = row_of(op)
    return row is not None and row.overwrites


def part_detached_writes(func: ir.Operation, wrt: Sequence[int]) -> None:
    """Let no write go through a detach that something is lost by, when the arguments `wrt` require a gradient. Raises PassFailure, at the
    write, where memory is shared with what was detached."""
    ops = list(walk(func))
    writes = [op for op in ops if (row := row_of(op)) is not None and row.writes]
    from_python = is_from_python(func)
    states = cache(lambda: RequiresGrad(func, arguments=[i in wrt for i in range(len(func.regions[0].blocks[0].arguments))]))
    for detach in [op for op in ops if op.name == "torch.aten.detach"] if writes else []:
        views = _views(detach.results[0])
        through = [op for op in writes if op.operands[0] in views]
        flowing = [op for op in through if not all(map(_is_detached, op.operands[1:]))]
        if not through:
            continue
        if not _is_last(detach):
            overwritten = from_python and all(op.operands[0] == detach.results[0] and _overwrites(op) for op in through)
            if not flowing and (overwritten or not states().may(detach.operands[0])):
                continue
            what = "writes to a detached tensor, through memory that is not its own"
            raise PassFailure((flowing or through)[0], f"{what}: write to a copy (x.detach().clone())")
        if flowing:
            _copy(detach)


def _is_detached(value: ir.Value) -> bool:
    """Whether a written operand surely has no gradient: it is no tensor, or (a view of) what was detached."""
    while torch_types.is_tensor(value.type) and not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        if op.name == "torch.aten.detach":
            return True
        row = row_of(op)
        if row is None or row.aliasing is Aliasing.FRESH or not op.operands:
            return False
        value = op.operands[0]
    return "tensor" not in str(value.type)


def _is_last(detach: ir.Operation) -> bool:
    """Whether what is detached has memory of its own that nobody else sees, in another round of a loop neither."""
    value = detach.operands[0]
    if isinstance(value.owner, ir.Block) or len(list(value.uses)) != 1 or value.owner.operation.block != detach.block:
        return False
    row = row_of(value.owner.operation)
    return row is not None and row.aliasing is Aliasing.FRESH and not row.writes


def _copy(detach: ir.Operation) -> None:
    value = detach.results[0]
    block = detach.block
    later = list(block.operations)
    at = ir.InsertionPoint(later[next(i for i, view in enumerate(later) if view.operation == detach) + 1])
    users = [(use.owner.operation, use.operand_number) for use in value.uses]
    made = ir.Operation.create("torch.aten.clone", [value.type], [value, constant(None, at)], loc=detach.location, ip=at).results[0]
    for user, number in users:
        user.operands[number] = made


def _views(start: ir.Value) -> set[ir.Value]:
    """What may be a value or a view of it, as far as it comes from it."""
    found, waiting = {start}, [start]
    while waiting:
        value = waiting.pop()
        for use in value.uses:
            for v in _next(use.owner.operation, use.operand_number):
                if v not in found:
                    found.add(v)
                    waiting.append(v)
    return found


def _next(op: ir.Operation, number: int) -> Iterator[ir.Value]:
    """What an op's operand may come out as."""
    if op.name == "torch.prim.If.yield":
        yield op.parent.results[number]
    elif op.name == "torch.prim.Loop" and number > 1:
        yield op.regions[0].blocks[0].arguments[number - 1]
        yield op.results[number - 2]
    elif op.name == "torch.prim.Loop.condition" and number > 0:
        yield op.parent.regions[0].blocks[0].arguments[number]
        yield op.parent.results[number - 1]
    elif (row := row_of(op)) is None or row.aliasing is not Aliasing.FRESH or any(map(_is_container, (op.operands[number], *op.results))):
        yield from [v for v in op.results if "tensor" in str(v.type)]


def _is_container(value: ir.Value) -> bool:
    return "tensor" in str(value.type) and not torch_types.is_tensor(value.type)
