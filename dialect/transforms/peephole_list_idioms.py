"""tierup-peephole-list-idioms: lists whose items are written down, and which nobody changes.

    %l = torch.prim.ListConstruct %a, %b, %c : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %n = torch.aten.len.t %l : !torch.list<int> -> !torch.int
    %i = torch.aten.__getitem__.t %l, %int-1 : !torch.list<int>, !torch.int -> !torch.int

becomes

    %n = torch.constant.int 3       and %c for %i

Length, items (negative indices count from the end; one out of range stays, with its exception), unpacking into as many, copies,
concatenations, and slices whose bounds and step are constants or None. A list that is appended to, inserted into or assigned to
anywhere in the function stays, as does one that an unknown op or a call may change.

`refine-list-len` folds the length of other lists, too, where a comparison or an assertion has decided it:

    %n = torch.aten.len.t %l : ...
    %c = torch.aten.eq.int %n, %int2 : ...
    torch.prim.If %c -> () {            // in here, every torch.aten.len.t of %l is 2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tierup.dialect.analysis.lazy_aliases import LazyAliases
from tierup.dialect.analysis.value_facts import Decision, Decisions, Scope
from tierup.dialect.ir.structure import maker
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import register
from tierup.dialect.rewriting.core import LocalRewrites, Rule, create, int_of, is_none, items_of, number, replace


@register
class PeepholeListIdioms(LocalRewrites):
    refine_list_len: bool = False  # also where a comparison decided the length

    def rules(self, func: ir.Operation) -> Mapping[str, Rule]:
        lists = _Lists(LazyAliases(func))
        return {
            "aten.len.t": lists.length, "aten.__getitem__.t": lists.item, "prim.ListUnpack": lists.unpack,
            "aten.add.t": lists.sum, "aten.slice.t": lists.slice, "aten.list.t": lists.copy,
        }  # fmt: skip

    def apply(self, func: ir.Operation) -> bool:
        changed = super().apply(func)
        return _refine_lengths(func) | changed if self.refine_list_len else changed


class _Lists:
    def __init__(self, aliases: LazyAliases) -> None:
        self.aliases = aliases

    def _items(self, value: ir.Value) -> list[ir.Value] | None:
        """The items that a list always has."""
        items = items_of(value)
        return None if items is None or self.aliases.is_written(value) else items

    def _fresh(self, op: ir.Operation, items: Sequence[ir.Value]) -> ir.Value:
        self.aliases.forget()
        return create(op, "torch.prim.ListConstruct", items, op.results[0].type)

    def length(self, op: ir.Operation) -> ir.Value | None:
        items = self._items(op.operands[0])
        return None if items is None else number(op, len(items))

    def item(self, op: ir.Operation) -> ir.Value | None:
        items, index = self._items(op.operands[0]), int_of(op.operands[1])
        if items is None or index is None or not -len(items) <= index < len(items):
            return None
        if items[index].type != op.results[0].type:
            self.aliases.forget()
        return items[index]

    def unpack(self, op: ir.Operation) -> list[ir.Value] | None:
        items = self._items(op.operands[0])
        if items is None or len(items) != len(op.results):
            return None
        self.aliases.forget()
        return items

    def sum(self, op: ir.Operation) -> ir.Value | None:
        left, right = (self._items(v) for v in op.operands)
        return None if left is None or right is None else self._fresh(op, [*left, *right])

    def copy(self, op: ir.Operation) -> ir.Value | None:
        items = self._items(op.operands[0])
        return None if items is None else self._fresh(op, items)

    def slice(self, op: ir.Operation) -> ir.Value | None:
        items = self._items(op.operands[0])
        bounds = [None if is_none(v) else int_of(v) for v in list(op.operands)[1:]]
        known = all(b is not None or is_none(v) for b, v in zip(bounds, list(op.operands)[1:], strict=True))
        if items is None or not known or bounds[2] == 0 or bounds[2] is None:
            return None  # a bound that only the run knows is no default
        return self._fresh(op, items[slice(*bounds)])


# --- lengths that comparisons decide ---------------------------------------------------------------------------------------


def _refine_lengths(func: ir.Operation) -> bool:
    lengths = _Lengths(LazyAliases(func))
    Decisions(lengths.decides, lengths.visit).walk(func)
    for op, length in lengths.found:
        replace(op, [number(op, length)])
    return bool(lengths.found)


class _Lengths:
    def __init__(self, aliases: LazyAliases) -> None:
        self.aliases = aliases
        self.found: list[tuple[ir.Operation, int]] = []

    def decides(self, op: ir.Operation) -> Decision | None:
        """`len(l) == n`: a fact about the list, when nobody changes it."""
        if op.name not in ("torch.aten.eq.int", "torch.aten.ne.int"):
            return None
        for value, other in (tuple(op.operands), tuple(op.operands)[::-1]):
            length, of = int_of(other), maker(value, "torch.aten.len.t")
            if length is not None and of is not None and not self.aliases.is_written(of.operands[0]):
                return Decision(of.operands[0], length, op.name == "torch.aten.eq.int")
        return None

    def visit(self, op: ir.Operation, scope: Scope) -> None:
        if op.name == "torch.aten.len.t" and (length := scope.facts.get(op.operands[0])) is not None:
            self.found.append((op, length))
