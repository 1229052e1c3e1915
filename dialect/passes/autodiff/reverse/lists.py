"""Gradients through lists: to those who gave the items, and through lists that are joined, cut, copied and repeated."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients import lists
from tierup.dialect.ops.gradients.core import Gradient
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.ops.gradients.lists import ListGradient
from tierup.dialect.passes.autodiff.reverse.paths import When
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.rewriting.core import int_of, is_none


class Giver(Protocol):
    """What is asked here of a block's gradients (`reverse.Reverse`)."""

    emitter: Emitter
    active: dict[ir.Value, bool]

    def give(self, value: ir.Value, gradient: Gradient | ListGradient, when: When = True, *, zeros: bool = False) -> None:
        """Add to the gradient of a value. `when`: in which runs there is this gradient; `zeros`: it is zeros in the others."""


def packed(reverse: Giver, op: ir.Operation, gradient: ListGradient) -> None:
    """To each item what is its own. Where the place of a part is for the run to say, each item gets it or zeros."""
    e, items = reverse.emitter, list(op.operands)
    if gradient.spans:
        gradient = ListGradient(lists.whole(e, op.results[0], gradient))
    for k, value in enumerate(items):
        if gradient.whole is not None and reverse.active.get(value, False):
            reverse.give(value, e.item(gradient.whole, k))
    for index, part in gradient.parts:
        if isinstance(index, int):
            reverse.give(items[index], part)
            continue
        place = e.call("aten.remainder.int", index, len(items), type_="!torch.int")
        for k, value in enumerate(items):
            if reverse.active.get(value, False):
                if not isinstance(part, ir.Value):
                    raise PassFailure(op, "has no gradient: which of these lists is taken is not known; write the index as a number")
                is_mine = e.call("aten.eq.int", place, k, type_="!torch.bool")
                zeros = partial(e.zeros_like, value)
                reverse.give(value, e.choose(is_mine, partial(_same, part), zeros), is_mine, zeros=True)


def joined(reverse: Giver, op: ir.Operation, gradient: ListGradient) -> None:
    """Lists made of the items of others."""
    e, source = reverse.emitter, op.operands[0]
    name = op.name.removeprefix("torch.aten.")
    if name == "list.t":
        reverse.give(source, gradient)
    elif name == "add.t":
        _parted(reverse, op, lists.whole(e, op.results[0], gradient))
    elif name == "mul.left_t":
        count, times = lists.length(e, source), int_of(op.operands[1])
        if count is None or times is None:
            raise PassFailure(op, "has no gradient: how often it repeats how many items is not known; write the list down")
        items = lists.whole(e, op.results[0], gradient)
        reverse.give(source, ListGradient(None, tuple((k % count, e.item(items, k)) for k in range(count * max(times, 0)))))
    else:
        _, start, end, step = op.operands
        if int_of(step) != 1:
            raise PassFailure(op, "has no gradient: it leaves items out between those that it takes; take them one by one")
        bounds = [None if is_none(v) else v if int_of(v) is None else int_of(v) for v in (start, end)]
        reverse.give(source, ListGradient(spans=((bounds[0], bounds[1], lists.whole(e, op.results[0], gradient)),)))


def _parted(reverse: Giver, op: ir.Operation, items: ir.Value) -> None:
    """The gradients of two lists that were joined."""
    e = reverse.emitter
    left, right = op.operands
    ahead, behind = lists.length(e, left), lists.length(e, right)
    if behind is not None:
        reverse.give(left, lists.cut(e, items, None, -behind) if behind else items)
        reverse.give(right, ListGradient(None, tuple((k, e.item(items, k - behind)) for k in range(behind))))
    else:
        at: ir.Value | int = e.call("aten.len.t", left, type_="!torch.int") if ahead is None else ahead
        reverse.give(left, lists.cut(e, items, None, at))
        reverse.give(right, lists.cut(e, items, at, None))


def _same(value: ir.Value) -> ir.Value:
    return value
