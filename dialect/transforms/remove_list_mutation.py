"""tierup-remove-list-mutation: lists that grow before anyone looks are made as they are to be.

    %l = torch.prim.ListConstruct %a : (!torch.vtensor) -> !torch.list<vtensor>
    %b = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    %0 = torch.aten.append.t %l, %b : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
    %1 = torch.aten.cat %l, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor

becomes

    %b = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
    %l = torch.prim.ListConstruct %a, %b : (!torch.vtensor, !torch.vtensor) -> !torch.list<vtensor>
    %1 = torch.aten.cat %l, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor

`append`, `insert` at a constant index (which clamps, as Python's), assignment to a constant index in range. They must stand in the
list's block, and before them nobody may have got to know the list, so no other alias need be looked for: an op that only reads it, between
two writes, gets a list of what is in it then. A write at an index that only the run knows, or out of range, and every one after it, stays.

A list of tensors to which a loop appends in each iteration becomes one that the loop carries (dialect/passes/functional/carried_lists.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import blocks
from tierup.dialect.ir.walking import ops_of, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.functional.carried_lists import carry_lists
from tierup.dialect.passes.fusion.nativeness import only_reads
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import create, drop_unused, int_of

_CONSTRUCT = "torch.prim.ListConstruct"
_APPEND, _INSERT, _SET = "torch.aten.append.t", "torch.aten.insert.t", "torch.aten._set_item.t"


@register
class RemoveListMutation(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        if any(op.name in (_APPEND, _INSERT, _SET) for op in walk(func)):  # it runs in every compile, and few programs write lists
            _rewrite(func)
            carry_lists(func)


@dataclass
class _Growing:
    """A list that only writers and readers have used so far, what is in it after them, and what was in it for each reader."""

    made: ir.Operation
    items: list[ir.Value]
    writers: list[ir.Operation] = field(default_factory=list)
    readers: list[tuple[ir.Operation, int, list[ir.Value]]] = field(default_factory=list)  # each with the number of writers before it

    @property
    def element(self) -> str:
        return torch_types.elements(str(self.made.results[0].type))[0]


def _rewrite(op: ir.Operation) -> None:
    for block in blocks(op):
        growing: dict[ir.Value, _Growing] = {}
        for inner in ops_of(block):
            _rewrite(inner)
            if not _write(inner, growing):
                for value in [v for v in dict.fromkeys(_uses(inner)) if v in growing]:
                    if only_reads(inner):
                        found = growing[value]
                        found.readers.append((inner, len(found.writers), list(found.items)))
                    else:
                        _finish(growing.pop(value))
            if inner.name == _CONSTRUCT:
                growing[inner.results[0]] = _Growing(inner, list(inner.operands))
        for found in growing.values():
            _finish(found)


def _uses(op: ir.Operation) -> Iterator[ir.Value]:
    yield from op.operands
    for inner in walk(op):
        yield from inner.operands


def _write(op: ir.Operation, growing: dict[ir.Value, _Growing]) -> bool:
    """Note a write to a list that nobody else knows; whether the op is one."""
    if op.name not in (_APPEND, _INSERT, _SET) or op.operands[0] not in growing:
        return False
    found, item = growing[op.operands[0]], list(op.operands)[-1]
    if str(item.type) != found.element or item in growing:
        return False  # an item that its type calls something else, or a list that others know from here on
    if op.name != _APPEND:
        index, length = int_of(op.operands[1]), len(found.items)
        if index is None or (op.name == _SET and not -length <= index < length):
            return False
        if op.name == _SET:
            found.items[index] = item
        else:
            found.items.insert(index, item)
    else:
        found.items.append(item)
    found.writers.append(op)
    for result in op.results:  # the list itself
        result.replace_all_uses_with(op.operands[0])
    return True


def _finish(found: _Growing) -> None:
    """One construction where the last write stood, and one for each reader before it."""
    if not found.writers:
        return
    for reader, count, items in found.readers:
        if count < len(found.writers):
            then = create(reader, _CONSTRUCT, items, found.made.results[0].type)
            for i, operand in enumerate(reader.operands):
                if operand == found.made.results[0]:
                    reader.operands[i] = then
    last = found.writers[-1]
    list_ = create(last, _CONSTRUCT, found.items, found.made.results[0].type)
    unused = [v for op in found.writers for v in list(op.operands)[1:]]
    for op in found.writers:
        op.erase()
    found.made.results[0].replace_all_uses_with(list_)
    found.made.erase()
    drop_unused(unused)
