"""Gradients of lists of tensors: a list too, or what is known of one so far.

An item that is taken passes on a gradient for one place, which is noted (`parts`) and not yet a list: a loop that takes one item in each
iteration would else make and add as many lists of zeros. What needs them all at once (a branch, a loop, the rest of a list) gets the
list, each item with the gradient of its own or zeros; as all lists of a program in value form it is made anew with each change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Union

from tierup.dialect.facts.values import List
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients.emitter import Emitter

TYPE = "!torch.list<vtensor>"

Index = Union[int, ir.Value]


@dataclass(frozen=True)
class ListGradient:
    """`whole`: a list of the gradients of all items. And more: `spans`, lists of gradients of the items from one place up to another, as
    `slice.t` counts them; `parts`, gradients of single items. Items of a tuple may be lists again."""

    whole: ir.Value | None = None
    parts: tuple[tuple[Index, object], ...] = ()
    spans: tuple[tuple[Index | None, Index | None, ir.Value], ...] = ()

    def plus(self, e: Emitter, other: ListGradient) -> ListGradient:
        """The sum of two gradients of one list: whole lists are added, parts and spans are kept beside each other."""
        whole = self.whole if other.whole is None else other.whole
        if self.whole is not None and other.whole is not None:
            whole = _summed(e, self.whole, other.whole)
        return ListGradient(whole, (*self.parts, *other.parts), (*self.spans, *other.spans))

    @property
    def is_nothing(self) -> bool:
        """Whether no item has a gradient."""
        return self.whole is None and not self.parts and not self.spans


def is_list(value: ir.Value) -> bool:
    """Whether a value is a list of tensors that are values, or a list of such lists."""
    return str(value.type).removeprefix("!torch.").replace("list<", "").startswith("vtensor") and not _is_tensor(value)


def type_of(value: ir.Value) -> str:
    """The type of the gradient of a tensor or a list: nothing is said of dtype and sizes."""
    depth = str(value.type).count("list<")
    return f"!torch.{'list<' * depth}vtensor{'>' * depth}"


def _is_tensor(value: ir.Value) -> bool:
    return str(value.type).startswith("!torch.vtensor")


def length(e: Emitter, value: ir.Value) -> int | None:
    """How many items a list has, where it is known."""
    known = e.known(value)
    return len(known.items) if isinstance(known, List) and known.items is not None else None


def noted(items: Iterable[object]) -> ListGradient:
    """The gradients of the first items of a list, None where there is none."""
    return ListGradient(None, tuple((i, g) for i, g in enumerate(items) if g is not None))


def whole(e: Emitter, value: ir.Value, gradient: ListGradient | None) -> ir.Value:
    """A gradient of a list as a list of the same length."""
    if gradient is None:
        return zeros(e, value)
    spans, parts = list(gradient.spans), list(gradient.parts)
    found = gradient.whole
    if found is None and len(spans) == 1 and (last := _last_items(e, spans[0], parts)) is not None:  # what an item was added to
        return joined(e, spans[0][2], packed(e, last, type_of(value)))
    if found is None and spans:
        start, end, items = spans.pop(0)
        found = items if _is_first(start) else joined(e, zeros(e, cut(e, value, None, start)), items)
        if end is not None:
            found = joined(e, found, zeros(e, cut(e, value, _count(e, found), None)))
    return _with(e, zeros(e, value) if found is None else found, spans, parts)


def _last_items(
    e: Emitter, span: tuple[Index | None, Index | None, ir.Value], parts: Sequence[tuple[Index, object]]
) -> list[ir.Value] | None:
    """The gradients of the items behind a span that goes up to them, when each has one."""
    start, end, _ = span
    if start is not None or not isinstance(end, int) or end >= 0:
        return None
    found: dict[int, ir.Value] = {}
    for index, part in parts:
        if not isinstance(index, int) or not isinstance(part, ir.Value) or not end <= index < 0:
            return None
        found[index] = _sum(e, found[index], part) if index in found else part
    return [found[i] for i in range(end, 0)] if len(found) == -end else None


def each(e: Emitter, gradient: ListGradient, of: Callable[[ir.Value], ir.Value]) -> ListGradient:
    """`of` each tensor of a gradient."""

    def inside(value: ir.Value) -> ir.Value:
        return of(value) if _is_tensor(value) else _mapped(e, value, lambda i: inside(e.item(value, i)))

    whole = None if gradient.whole is None else inside(gradient.whole)
    parts = tuple((i, each(e, g, of) if isinstance(g, ListGradient) else inside(g)) for i, g in gradient.parts)
    return ListGradient(whole, parts, tuple((start, end, inside(items)) for start, end, items in gradient.spans))


def added(e: Emitter, total: ir.Value, gradient: ListGradient) -> ir.Value:
    """A list of gradients, with more of them."""
    start = total if gradient.whole is None else _summed(e, total, gradient.whole)
    return _with(e, start, gradient.spans, gradient.parts)


def _with(
    e: Emitter, items: ir.Value, spans: Sequence[tuple[Index | None, Index | None, ir.Value]], parts: Sequence[tuple[Index, object]]
) -> ir.Value:
    for start, end, more in spans:
        head = packed(e, [], type_of(items)) if _is_first(start) else cut(e, items, None, start)
        front = joined(e, head, _summed(e, cut(e, items, start, end), more))
        items = joined(e, front, cut(e, items, _count(e, front), None))
    for index, gradient in parts:
        assert isinstance(gradient, (ir.Value, ListGradient))
        at: Index = index
        if not (isinstance(index, int) and index >= 0):  # counted from the end, or it may be
            at = e.call("aten.remainder.int", index, _count(e, items), type_="!torch.int")
        behind = at + 1 if isinstance(at, int) else e.call("aten.add.int", at, 1, type_="!torch.int")
        old = e.item(items, at)
        new = packed(e, [added(e, old, gradient) if isinstance(gradient, ListGradient) else _sum(e, old, gradient)], type_of(items))
        items = joined(e, joined(e, cut(e, items, None, at), new), cut(e, items, behind, None))
    return items


def _is_first(start: Index | None) -> bool:
    return start is None or (isinstance(start, int) and start == 0)


def _sum(e: Emitter, a: ir.Value, b: ir.Value) -> ir.Value:
    return e.add(a, b) if _is_tensor(a) else _summed(e, a, b)


def _summed(e: Emitter, a: ir.Value, b: ir.Value) -> ir.Value:
    return _mapped(e, a, lambda i: _sum(e, e.item(a, i), e.item(b, i)))


def _count(e: Emitter, items: ir.Value) -> ir.Value:
    return e.call("aten.len.t", items, type_="!torch.int")


def cut(e: Emitter, items: ir.Value, start: Index | None, end: Index | None) -> ir.Value:
    """Some items of a list."""
    return e.call("aten.slice.t", items, start, end, 1, type_=str(items.type))


def zeros(e: Emitter, value: ir.Value) -> ir.Value:
    """A list of zeros, like the items of a list."""

    def zero(i: Index) -> ir.Value:
        one = e.item(value, i)
        return e.zeros_like(one) if _is_tensor(one) else zeros(e, one)

    return _mapped(e, value, zero)


def _mapped(e: Emitter, value: ir.Value, of: Callable[[Index], ir.Value]) -> ir.Value:
    """The list of `of` each place of a list."""
    count = length(e, value)
    if count is not None:
        return packed(e, [of(i) for i in range(count)], type_of(value))
    return e.built(_count(e, value), type_of(value), of)


def packed(e: Emitter, items: Sequence[ir.Value], type_: str) -> ir.Value:
    """A list of a type in the torch dialect, made of these items."""
    made = e.create("torch.prim.ListConstruct", [ir.Type.parse(type_, e.context)], items).results[0]
    e.inference.values[made] = List(tuple(e.known(v) for v in items))
    return made


def joined(e: Emitter, a: ir.Value, b: ir.Value) -> ir.Value:
    """The items of one list, then those of another of the same type."""
    return e.call("aten.add.t", a, b, type_=type_of(a))
