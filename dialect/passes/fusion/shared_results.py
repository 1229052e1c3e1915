"""Results in the memory of an argument, or of another result: a kernel would give each memory of its own, so tier 0 makes these views."""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.ir.structure import last_of, maker
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of

_ALIASES = "tierup.result_aliases"
_OF_LISTS = frozenset({"torch.prim.ListUnpack", "torch.aten.__getitem__.t"})


def shown_apart(func: ir.Operation) -> list[ir.Operation]:
    """Give results that share memory, and what is written to arguments, a chain of views of their own: its ops, which no group may hold."""
    stated = [ir.StringAttr(a).value for a in func.attributes[_ALIASES]] if _ALIASES in func.attributes else []
    shared = {i for i, said in enumerate(stated) if said != "fresh"}
    shared |= {int(j) for said in stated for of in said.split(";") if "result:" in of for j in of.partition(":")[2].split(",")}
    terminator = last_of(func.regions[0].blocks[0])
    made: list[ir.Operation] = []
    own: dict[ir.Value, ir.Value] = {}
    for i in sorted(shared | set(range(len(stated), len(terminator.operands)))) if shared else []:
        value = terminator.operands[i]
        for step in reversed([step for step in _chain(value) if step not in own]):
            op = step.owner.operation
            made.append(copy := op.clone(ir.InsertionPoint(terminator)).operation)
            copy.operands[0] = own.get(op.operands[0], op.operands[0])
            own.update(zip(op.results, copy.results, strict=True))
        terminator.operands[i] = own.get(value, value)
    for value in reversed(list(own)):
        op = value.owner.operation
        if value == op.results[0] and not any(True for r in op.results for _ in r.uses):
            op.erase()
    return made


def _chain(value: ir.Value) -> Iterator[ir.Value]:
    """The views that lead to a value, the last one first."""
    while (op := maker(value)) is not None:
        row = row_of(op)
        if op.name not in _OF_LISTS and (row is None or row.aliasing is Aliasing.FRESH or not len(op.operands)):
            return
        yield value
        value = op.operands[0]
