"""tierup-peephole-dict-idioms: dicts whose items are written down, and which nobody changes.

    %d = torch.prim.DictConstruct keys(%a, %b : !torch.str, !torch.str) values(%x, %y : !torch.int, !torch.int) -> !torch.dict<str, int>
    %v = torch.aten.__getitem__.Dict_str %d, %b : !torch.dict<str, int>, !torch.str -> !torch.int
    %c = torch.aten.__contains__.str %d, %b : !torch.dict<str, int>, !torch.str -> !torch.bool

becomes, when %a and %b are different constants,

    %y for %v, and %c = torch.constant.bool true

A key that is missing stays, with its KeyError. Dicts with equal keys stay, and those that anything but a lookup uses: with each item
of a dict known, nothing else is left to do. What is left of dicts runs in tier 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from tierup.dialect.ir.structure import maker
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import register
from tierup.dialect.rewriting.core import LocalRewrites, Rule, create, number, str_of

_LENGTH = "aten.len.Dict_str"  # the torch dialect has no op of that name
_READS = frozenset({"aten.__getitem__.Dict_str", "aten.__contains__.str", "aten.keys.str", _LENGTH})


@register
class PeepholeDictIdioms(LocalRewrites):
    def rules(self, func: ir.Operation) -> Mapping[str, Rule]:
        return {"aten.__getitem__.Dict_str": _item, "aten.__contains__.str": _contains, "aten.keys.str": _keys, _LENGTH: _length}


def _items(value: ir.Value) -> Mapping[str, tuple[ir.Value, ir.Value]] | None:
    """Key and value for each key of a dict that nobody changes."""
    op = maker(value, "torch.prim.DictConstruct")
    if op is None or not all(torch_name(use.owner.operation) in _READS for use in value.uses):
        return None
    half = len(op.operands) // 2
    keys, values = list(op.operands)[:half], list(op.operands)[half:]
    names = [str_of(k) for k in keys]
    known = {name: item for name, item in zip(names, zip(keys, values, strict=True), strict=True) if name is not None}
    return known if len(known) == half else None  # fewer: two keys are equal, or one is not known


def _item(op: ir.Operation) -> ir.Value | None:
    items, key = _items(op.operands[0]), str_of(op.operands[1])
    return items[key][1] if items is not None and key is not None and key in items else None


def _contains(op: ir.Operation) -> ir.Value | None:
    items, key = _items(op.operands[0]), str_of(op.operands[1])
    return None if items is None or key is None else number(op, key in items)


def _keys(op: ir.Operation) -> ir.Value | None:
    items = _items(op.operands[0])
    return None if items is None else create(op, "torch.prim.ListConstruct", [key for key, _ in items.values()], op.results[0].type)


def _length(op: ir.Operation) -> ir.Value | None:
    items = _items(op.operands[0])
    return None if items is None else number(op, len(items))
