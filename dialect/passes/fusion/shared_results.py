"""Results in the memory of an argument, or of another result: a kernel would give each memory of its own, so tier 0 makes these views."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tierup.dialect.ir.structure import CASTS, last_of, maker
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of

_ALIASES = "tierup.result_aliases"
_HANDING_ON = CASTS | frozenset({"torch.prim.ListUnpack", "torch.aten.__getitem__.t"})
_HOLDING = frozenset({"torch.prim.ListConstruct", "torch.prim.TupleConstruct"})


def shown_apart(func: ir.Operation) -> list[ir.Operation]:
    """Give results that share memory, and what is written to arguments, a chain of views of their own: its ops, which no group may hold.
    A view that may be seen by another way too, as through a branch, a guard or a list, is one object for both: it stays the only one."""
    stated = [ir.StringAttr(a).value for a in func.attributes[_ALIASES]] if _ALIASES in func.attributes else []
    shared = {i for i, said in enumerate(stated) if said != "fresh"}
    shared |= {int(j) for said in stated for of in said.split(";") if "result:" in of for j in of.partition(":")[2].split(",")}
    terminator = last_of(func.regions[0].blocks[0])
    results = sorted(shared | set(range(len(stated), len(terminator.operands)))) if shared else []
    chains = {i: list(_chain(terminator.operands[i])) for i in results}
    views = {step.owner.operation for chain in chains.values() for step in chain}
    made: list[ir.Operation] = []
    own: dict[ir.Value, ir.Value] = {}
    for i, chain in chains.items():
        for step in reversed([step for step in chain if step not in own]):
            op = step.owner.operation
            if any(_is_seen(result, terminator, views) for result in op.results):
                made.append(op)
                continue
            made.append(copy := op.clone(ir.InsertionPoint(terminator)).operation)
            copy.operands[0] = own.get(op.operands[0], op.operands[0])
            own.update(zip(op.results, copy.results, strict=True))
        terminator.operands[i] = own.get(terminator.operands[i], terminator.operands[i])
    for value in reversed(list(own)):
        op = value.owner.operation
        if value == op.results[0] and not any(True for r in op.results for _ in r.uses):
            op.erase()
    return made


def _is_seen(value: ir.Value, terminator: ir.Operation, views: Collection[ir.Operation]) -> bool:
    """Whether anything but the results and their views has the object itself, rather than computes with it."""

    def hands_on(user: ir.Operation) -> bool:
        if user in views:
            return any(_is_seen(r, terminator, views) for r in user.results)
        if user.name in _HOLDING:
            return any(hands_on(use.owner.operation) for r in user.results for use in r.uses)
        return not _is_fresh(user)

    return any(hands_on(use.owner.operation) for use in value.uses if use.owner.operation != terminator)


def _is_fresh(op: ir.Operation) -> bool:
    """Whether no result is, or holds, or shows an operand."""
    row = row_of(op)
    return row is not None and row.aliasing is Aliasing.FRESH and op.name not in _HANDING_ON | _HOLDING


def _chain(value: ir.Value) -> Iterator[ir.Value]:
    """The views that lead to a value, the last one first."""
    while (op := maker(value)) is not None:
        row = row_of(op)
        if op.name not in _HANDING_ON and (row is None or row.aliasing is Aliasing.FRESH or not len(op.operands)):
            return
        yield value
        value = op.operands[0]
