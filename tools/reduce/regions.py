"""tierup-reduce's edits of ops with bodies: one arm in place of a branch, one run or none in place of a loop, fewer results.

See `values.py` for what an edit offers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tierup.dialect.ir.attributes import i64
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.tools.reduce.functions import shorten

Site = Callable[[], None]

_LOOP, _IF = "torch.prim.Loop", "torch.prim.If"


def first_body(module: ir.Module) -> list[Site]:
    """Ops with bodies, each replaced by its first: an If by its then, a group by its ops, a loop by one run."""
    return _bodies(module, 0)


def second_body(module: ir.Module) -> list[Site]:
    """Ops with two bodies, each replaced by its second: an If by its else."""
    return _bodies(module, 1)


def no_run(module: ir.Module) -> list[Site]:
    """Loops that are left out: their results are what went in."""
    return [partial(_skip, op) for op in walk(module.operation) if op.name == _LOOP]


def _skip(loop: ir.Operation) -> None:
    _replace(loop, list(loop.operands)[2:])


def _bodies(module: ir.Module, which: int) -> list[Site]:
    ops = [op for op in walk(module.operation) if op.name != "func.func" and len(op.regions) > which]
    return [partial(_inline, op, which) for op in ops if len(op.regions[which].blocks) == 1]


def _inline(op: ir.Operation, which: int) -> None:
    block = op.regions[which].blocks[0]
    handed, skip = list(op.operands), 0
    if op.name == _LOOP:
        zero = ir.Operation.create(
            "torch.constant.int",
            results=[block.arguments[0].type],
            attributes={"value": i64(0, op.context)},
            loc=op.location,
            ip=ir.InsertionPoint(op),
        )
        handed, skip = [zero.results[0], *handed[2:]], 1  # the counter; the carried values
    for argument, value in zip(block.arguments, handed, strict=False):
        argument.replace_all_uses_with(value)
    *inside, end = [view.operation for view in block.operations]
    for inner in inside:
        inner.move_before(op)
    _replace(op, list(end.operands)[skip:])


def _replace(op: ir.Operation, values: Sequence[ir.Value]) -> None:
    for result, value in zip(op.results, values, strict=False):
        result.replace_all_uses_with(value)
    op.erase()


def results(module: ir.Module) -> list[Site]:
    """Results of branches and loops that nobody reads; of a loop the value carried goes with it."""
    found: list[Site] = []
    for op in walk(module.operation):
        if op.name in (_IF, _LOOP):
            now = [op]  # the op as it is after the edits before: each makes a new one
            found += [partial(_drop, now, i) for i, result in enumerate(op.results) if next(iter(result.uses), None) is None]
    return found


def _drop(now: list[ir.Operation], i: int) -> None:
    op = now[0]
    operands = list(op.operands)
    loop = op.name == _LOOP
    if loop:
        op.regions[0].blocks[0].arguments[1 + i].replace_all_uses_with(operands[2 + i])
        del operands[2 + i]
    kept = [r for j, r in enumerate(op.results) if j != i]
    made = ir.Operation.create(
        op.name,
        results=[r.type for r in kept],
        operands=operands,
        attributes={name: op.attributes[name] for name in _names(op)},
        regions=len(op.regions),
        loc=op.location,
        ip=ir.InsertionPoint(op),
    ).operation
    for old, new in zip(op.regions, made.regions, strict=True):
        block = old.blocks[0]
        block.append_to(new)
        if loop:
            block.erase_argument(1 + i)
        shorten(list(block.operations)[-1].operation, i + loop)
    for before, after in zip(kept, made.results, strict=True):
        before.replace_all_uses_with(after)
    op.erase()
    now[0] = made


def _names(op: ir.Operation) -> list[str]:
    return [a if isinstance(a, str) else a.name for a in op.attributes]
