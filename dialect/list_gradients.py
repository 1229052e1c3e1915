"""Gradients of lists of tensors: a list too, or what is known of one so far.

An item that is taken passes on a gradient for one place, which is noted (`parts`) and not yet a list: a loop that takes one item in each
iteration would else make and add as many lists of zeros. What needs them all at once (a branch, a loop, the rest of a list) gets the
list, each item with the gradient of its own or zeros; as all lists of a program in value form it is made anew with each change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Union

from tierup.dialect.gradients.emitter import Emitter
from tierup.dialect.mlir import ir
from tierup.dialect.values import List, Tensor

TYPE = "!torch.list<vtensor>"

Index = Union[int, ir.Value]


@dataclass(frozen=True)
class ListGradient:
    """`whole`: a list of the gradients of all items; `parts`: more gradients of some. Items of a tuple may be lists again."""

    whole: ir.Value | None = None
    parts: tuple[tuple[Index, object], ...] = ()

    def plus(self, e: Emitter, other: ListGradient) -> ListGradient:
        whole = self.whole if other.whole is None else other.whole
        if self.whole is not None and other.whole is not None:
            whole = _mapped(e, self.whole, lambda i: e.add(item(e, self.whole, i), item(e, other.whole, i)))
        return ListGradient(whole, (*self.parts, *other.parts))


def is_list(value: ir.Value) -> bool:
    """Whether a value is a list of tensors that are values."""
    return str(value.type).startswith("!torch.list<vtensor")


def length(e: Emitter, value: ir.Value) -> int | None:
    """How many items a list has, where it is known."""
    known = e.known(value)
    return len(known.items) if isinstance(known, List) and known.items is not None else None


def noted(items: Iterable[object]) -> ListGradient:
    """The gradients of the first items of a list, None where there is none."""
    return ListGradient(None, tuple((i, g) for i, g in enumerate(items) if g is not None))


def whole(e: Emitter, value: ir.Value, gradient: ListGradient | None) -> ir.Value:
    """A gradient of a list as a list of the same length."""
    found = gradient or ListGradient()
    return with_parts(e, zeros(e, value) if found.whole is None else found.whole, found.parts)


def added(e: Emitter, total: ir.Value, gradient: ListGradient) -> ir.Value:
    """A list of gradients, with more of them."""
    return with_parts(e, total, gradient.parts) if gradient.whole is None else whole(e, total, gradient.plus(e, ListGradient(total)))


def with_parts(e: Emitter, items: ir.Value, parts: Sequence[tuple[Index, object]]) -> ir.Value:
    for index, gradient in parts:
        assert isinstance(gradient, ir.Value)
        at: Index = index
        if not (isinstance(index, int) and index >= 0):  # counted from the end, or it may be
            count = e.call("aten.len.t", items, type_="!torch.int")
            at = e.call("aten.remainder.int", index, count, type_="!torch.int")
        behind = at + 1 if isinstance(at, int) else e.call("aten.add.int", at, 1, type_="!torch.int")
        new = packed(e, [e.add(item(e, items, at), gradient)])
        items = _joined(e, _joined(e, cut(e, items, None, at), new), cut(e, items, behind, None))
    return items


def cut(e: Emitter, items: ir.Value, start: Index | None, end: Index | None) -> ir.Value:
    """Some items of a list of gradients."""
    return e.call("aten.slice.t", items, start, end, 1, type_=TYPE)


def zeros(e: Emitter, value: ir.Value) -> ir.Value:
    """A list of zeros, like the items of a list."""
    return _mapped(e, value, lambda i: e.zeros_like(item(e, value, i)))


def _mapped(e: Emitter, value: ir.Value, of: Callable[[Index], ir.Value]) -> ir.Value:
    """The list of `of` each place of a list."""
    count = length(e, value)
    if count is not None:
        return packed(e, [of(i) for i in range(count)])
    return built(e, e.call("aten.len.t", value, type_="!torch.int"), TYPE, of)


def built(e: Emitter, count: ir.Value, type_: str, of: Callable[[Index], ir.Value]) -> ir.Value:
    """The list of `of` each number below `count`, by a loop."""
    made_type = ir.Type.parse(type_, e.context)
    start = e.create("torch.prim.ListConstruct", [made_type], []).results[0]
    loop = e.create("torch.prim.Loop", [made_type], [count, e.value(True), start], regions=1)
    number, items = loop.regions[0].blocks.append(count.type, made_type, arg_locs=[e.location] * 2).arguments
    with e.inside(loop.regions[0].blocks[0]):
        one = e.create("torch.prim.ListConstruct", [made_type], [of(number)]).results[0]
        more = e.create("torch.aten.add.t", [made_type], [items, one]).results[0]
        e.create("torch.prim.Loop.condition", [], [e.value(True), more])
    return loop.results[0]


def packed(e: Emitter, items: Sequence[ir.Value]) -> ir.Value:
    made = e.create("torch.prim.ListConstruct", [ir.Type.parse(TYPE, e.context)], items).results[0]
    e.inference.values[made] = List(tuple(e.known(v) for v in items))
    return made


def _joined(e: Emitter, a: ir.Value, b: ir.Value) -> ir.Value:
    return e.call("aten.add.t", a, b, type_=TYPE)


def item(e: Emitter, items: ir.Value | None, index: Index) -> ir.Value:
    assert items is not None
    element = str(items.type).removeprefix("!torch.list<").removesuffix(">")
    made = e.create("torch.aten.__getitem__.t", [ir.Type.parse(f"!torch.{element}", e.context)], [items, e.value(index)]).results[0]
    known = e.known(items)
    if isinstance(known, List):
        one = known.items[index] if known.items is not None and isinstance(index, int) else known.element
        if isinstance(one, Tensor):
            e.inference.values[made] = one
    return made
