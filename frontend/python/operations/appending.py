"""Lists that a loop appends to: the items stand in arrays with room for so many, and how many there are in another one.

    out = []                          x0 = empty(room)        # one array for each number of an item
    for v in x:                       n = zeros(())
        if v > 0:             ->      for v in x:
            out.append(2 * v)             if v > 0:
    return out                                if n >= room: Python answers the call, and the next graph has more room
                                              x0[n] = 2 * v; n += 1
                                      return x0[:n].tolist()

A list is built so once a statement is refused that changes it in a branch or loop that the run decides, or reads or writes it at a place
that only the run knows, and where `[0] * n` has as many items as only the run knows. All items are of one kind: a Python number, a NumPy
scalar, or a tuple of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from tierup.dialect.mlir import ir
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python import heaps, lists_rewritten
from tierup.frontend.python.building.branch import each, in_arm, select
from tierup.frontend.python.building.frame import Frame, GrowsList, NeedsStatic, Room, Site
from tierup.frontend.python.building.knowledge import with_certain_dtypes
from tierup.frontend.python.building.templates import OneScalar, dtypes_of, leaves, lower, template_of, unify
from tierup.frontend.python.building.values import (
    NONE,
    ZERO,
    Array,
    Const,
    Given,
    Growing,
    Grows,
    OneOf,
    Reference,
    Scalar,
    Sequence,
    Slice,
    Value,
    describe,
    is_none,
    is_number,
    number_kind,
)
from tierup.frontend.python.operations import array_operators, growing, indexing, stores
from tierup.frontend.python.operations.growing import length, position
from tierup.frontend.python.operations.scalars import binary, check_zero_step, compare, raise_if

FEWEST = 4  # items that a list in a heap has room for once it moves
FIRST, TIMES, MOST = 1024, 8, 1 << 26  # items of the first graph; how many times more the next has; more are Python's


def made(frame: Frame, node: ast.AST, items: list[Value]) -> Sequence | Growing | Reference:
    """The list that a display of items, a comprehension, a slice or a sum makes."""
    site = _site(frame, node)
    room = frame.outside.rooms.get(site)
    if room is None:
        return Sequence("list", items, frame.em.region, site=site)
    found = _of_length(frame, node, room, Const(len(items)))
    for i, item in enumerate(items):
        check_item(frame, node, found, item)
        write(frame, node, found, Const(i), item)
    return found


def _empty_one(frame: Frame, node: ast.AST, room: Room, size: Value = ZERO) -> Growing | Reference:
    """A list without items. In a heap it has room for `size`."""
    array_operators.require_mutation(frame)
    if room.in_heap:
        return _in_heap(frame, node, room, size)
    buffers = [heaps.room(frame, (room.most,), dtype) for dtype in dtypes_of(room.item)]
    count = heaps.room(frame, (), np.dtype(np.int64))
    stores.fill(frame, node, count, ZERO)
    return Growing(room, tuple(buffers), count, site=_site(frame, node))


def _in_heap(frame: Frame, node: ast.AST, room: Room, size: Value) -> Reference:
    heap = frame.heap(room.item)
    at, end = (_read(frame, node, heap.ends, Const(i)) for i in (0, 1))
    behind = binary(frame, node, ast.Add, end, size)
    is_full = frame.em.scalar(
        "aten.__or__.bool",
        [compare(frame, op, a, Const(b)).ssa for op, a, b in ((ast.GtE, at, heap.most // heaps.LISTS), (ast.Gt, behind, heap.most))],
        frame.em.types.bool,
    )
    _leave_to_python(frame, node, is_full, heap.most)
    made = Reference(room.item, at)
    for column, number in ((growing.START, end), (growing.LENGTH, ZERO), (growing.SIZE, size)):
        stores.fill(frame, node, growing.fact(frame, made, column), number)
    for i, number in enumerate((binary(frame, node, ast.Add, at, Const(1)), behind)):
        stores.store(frame, node, heap.ends, Const(i), number)
    return made


def _read(frame: Frame, node: ast.AST, array: Array, index: Value) -> Scalar:
    element = indexing.load(frame, node, array, index)
    assert isinstance(element, Array)
    return Scalar(frame.em.numpy("aten.Int.Tensor", [element.ssa], frame.em.types.int), "int")


def repeated(frame: Frame, node: ast.AST, items: list[Value], times: Value) -> Sequence | Growing | Reference | None:
    """`[item] * times`, or `times * [item]`; None for a list of more items, or of none. Raises UnsupportedSyntax where only the run knows
    how often: another try builds the list as one that grows."""
    if len(items) != 1 or not (is_number(times) and number_kind(times) == "int"):
        return None
    site, known = _site(frame, node), isinstance(times, Const)
    room = frame.outside.rooms.get(site)
    if room is None:
        made = Sequence("list", items * times.value if known else items, frame.em.region, site=site)  # type: ignore[union-attr]  # a Const
        if known:
            return made
        what = "a list repeated a number of times known only at run time"
        raise refuse(frame, node, made, items[0], frame.error(node, what, "use np.full", NeedsStatic))
    is_some = compare(frame, ast.Gt, times, ZERO).ssa
    length = select(frame, node, is_some, lambda: times, lambda: ZERO)
    made_now = _of_length(frame, node, room, length)
    check_item(frame, node, made_now, items[0])
    write(frame, node, made_now, Slice(ZERO, length, NONE), items[0])
    return made_now


def _of_length(frame: Frame, node: ast.AST, room: Room, length: Value) -> Growing | Reference:
    """A list with so many items, which are yet to be written."""
    made = _empty_one(frame, node, room, length)
    if isinstance(made, Growing):
        _leave_to_python(frame, node, compare(frame, ast.Gt, length, Const(room.most)).ssa, room.most)
    stores.fill(frame, node, _count(frame, made), length)
    return made


def _count(frame: Frame, owner: Growing | Reference) -> Array:
    return growing.fact(frame, owner, growing.LENGTH) if isinstance(owner, Reference) else owner.count


def _leave_to_python(frame: Frame, node: ast.AST, is_full: ir.Value, most: int) -> None:
    raise_if(frame, is_full, "MemoryUnanswerable", f"a list of more than {most} items")
    frame.outside.made_by_python = frame.error(node, "a list that grows, in a function that writes its arguments", "use an array")


def enlarge(most: dict[Any, int], keys: Iterable[object]) -> None:
    """Let the lists that are made there, and heaps of such items, have room for more in the next graph."""
    most.update((key, most[key] * TIMES) for key in keys)


def _site(frame: Frame, node: ast.AST) -> Site:
    function = frame.source.function.__qualname__
    if isinstance(node, (ast.List, ast.ListComp)):
        return function, node.lineno, node.col_offset
    # others by where they end: a display may begin where they do
    return f"{function} {type(node).__name__}", getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0


def refuse(
    frame: Frame, node: ast.AST, owner: Sequence, value: Value, error: UnsupportedSyntax, *, spread: bool = False
) -> UnsupportedSyntax:
    """The error of a change that stands where only the run decides whether it happens; another try builds the list as one that grows. In a
    heap, where it is another one's by the path taken, or another function's. `spread`: `value` is a list of items, and no item."""
    wanted: heaps.Wanted = {}
    alike = owner.perhaps or [owner]
    sites = {one.site for one in alike if isinstance(one, Sequence) and one.site is not None}
    try:
        item = growing.item_of(value) if spread and isinstance(value, Grows) else heaps.item_of(frame, value, wanted)
        if growing.lists_in(item):
            if spread:
                return error
            item = heaps.together(frame, [replace(owner, items=[*owner.items, value])], wanted)
    except LookupError:
        return error
    if not sites or any(one.external and (not isinstance(one, Sequence) or one.site is None) for one in alike):
        return error
    in_heap = len(sites) > 1 or owner.external
    wanted.update((site, Room(item, 0, in_heap)) for site in sites)
    return heaps.wanting(frame, node, error, wanted)


@contextmanager
def or_grows(frame: Frame, node: ast.AST, owner: Value, value: Value | None) -> Iterator[None]:
    """What is refused inside the `with` because a list changes there, or is read at a place that only the run knows: another try builds the
    list as one that grows. `value`: what its items are like; None: like the first one."""
    try:
        yield
    except NeedsStatic as e:
        if not isinstance(owner, Sequence) or owner.kind != "list" or not owner.items or isinstance(e, GrowsList) and e.grows:
            raise
        raise refuse(frame, node, owner, owner.items[0] if value is None else value, e) from None


def own(frame: Frame, node: ast.AST, owner: Grows) -> Growing | Reference:
    """A list that may grow. Raises UnsupportedSyntax for one that came in, of which programs have the numbers alone."""
    if isinstance(owner, Given):
        raise frame.error(node, "another length of a list that came in", "build a new list and return it")
    return owner


def change(frame: Frame, node: ast.AST, owner: Grows) -> None:
    """Note that the items of a list change, which may be one that came in: its arrays are written, and the list has what they have when
    the call ends (runtime/arguments/lists/changed.py)."""
    if isinstance(owner, Given):
        array_operators.require_mutation(frame)
        what = "a change of a list that came in, beside lists of other kinds, which may be the same"
        frame.outside.changes_list = frame.outside.changes_list or frame.error(node, what, "pass an array")


def append(frame: Frame, node: ast.AST, owner: Grows, value: Value) -> None:
    """`owner.append(value)`. Raises UnsupportedSyntax for an item of another kind than those before."""
    owner = own(frame, node, owner)
    check_item(frame, node, owner, value)
    n = length(frame, owner)
    end = binary(frame, node, ast.Add, n, Const(1))
    _make_room(frame, node, owner, n, end)
    write(frame, node, owner, n, value)
    stores.fill(frame, node, _count(frame, owner), end)


def _make_room(frame: Frame, node: ast.AST, owner: Growing | Reference, n: Value, end: Value) -> None:
    """See to it that a list of `n` items has room for `end`."""
    if isinstance(owner, Growing):
        owner.appended += 1
        _leave_to_python(frame, node, compare(frame, ast.Gt, end, Const(owner.room.most)).ssa, owner.room.most)
    else:
        with in_arm(frame, compare(frame, ast.Gt, end, growing.known(frame, owner, growing.SIZE)).ssa):
            _move(frame, node, owner, n, end)


def _move(frame: Frame, node: ast.AST, owner: Reference, n: Value, least: Value) -> None:
    """Move a list of `n` items that is full to the end of its heap, with room for twice as many as `least`."""
    heap = frame.heap(owner.item)
    size = binary(frame, node, ast.Add, binary(frame, node, ast.Mult, least, Const(2)), Const(FEWEST))
    end = _read(frame, node, heap.ends, Const(1))
    behind = binary(frame, node, ast.Add, end, size)
    _leave_to_python(frame, node, compare(frame, ast.Gt, behind, Const(heap.most)).ssa, heap.most)
    begin = growing.known(frame, owner, growing.START)
    for buffer in heap.buffers:
        frame.call_function(frame, node, lists_rewritten.copied, [buffer, end, buffer, begin, n, Const(1)], {})
    for column, number in ((growing.START, end), (growing.SIZE, size)):
        stores.fill(frame, node, growing.fact(frame, owner, column), number)
    stores.store(frame, node, heap.ends, Const(1), behind)


def _copy(frame: Frame, node: ast.AST, to: Grows, at: Value, owner: Grows, first: Value, count: Value, step: Value) -> None:
    """Items of a list to a place in another one, which has room for them."""
    at, first = growing.place(frame, node, to, at), growing.place(frame, node, owner, first)
    for target, buffer in zip(growing.buffers(frame, to), growing.buffers(frame, owner), strict=True):
        frame.call_function(frame, node, lists_rewritten.copied, [target, at, buffer, first, count, step], {})


def part(frame: Frame, node: ast.AST, owner: Grows, index: Slice) -> Growing | Reference:
    """`owner[start:stop:step]`"""
    step = Const(1) if is_none(index.step) else index.step
    ends = [index.start, index.stop]
    are_ints = all(is_none(end) or is_number(end) and number_kind(end) == "int" for end in ends)
    if not isinstance(step, Const) or type(step.value) is not int or not are_ints:
        raise frame.error(node, "a slice of a list that grows by other than ints, and a constant step", "use ints")
    check_zero_step(step.value)
    found = frame.call_function(frame, node, lists_rewritten.within, [length(frame, owner), *ends, step], {})
    assert isinstance(found, Sequence)
    first, count = found.items
    made = _of_length(frame, node, _room_like(frame, node, owner), count)
    _copy(frame, node, made, ZERO, owner, first, count, step)
    return made


def joined(frame: Frame, node: ast.AST, first: Sequence | Grows, second: Sequence | Grows) -> Growing | Reference:
    """`first + second`, of which one grows."""
    like = second if isinstance(first, Sequence) else first
    assert not isinstance(like, Sequence)
    counts = [Const(len(one.items)) if isinstance(one, Sequence) else length(frame, one) for one in (first, second)]
    made = _of_length(frame, node, _room_like(frame, node, like), binary(frame, node, ast.Add, *counts))
    for one, begin, count in ((first, ZERO, counts[0]), (second, counts[0], counts[1])):
        if not isinstance(one, Sequence):
            if growing.item_of(one) != growing.item_of(made):
                what = "a sum of lists whose items are of different kinds"
                raise frame.error(node, what, "give a list items of one kind, for example floats")
            _copy(frame, node, made, begin, one, ZERO, count, Const(1))
            continue
        for i, item in enumerate(one.items):
            check_item(frame, node, made, item)
            write(frame, node, made, binary(frame, node, ast.Add, begin, Const(i)), item)
    return made


def _room_like(frame: Frame, node: ast.AST, owner: Grows) -> Room:
    """The room of a list with the items of another one."""
    found = frame.outside.rooms.get(_site(frame, node))
    if found is not None:
        return found
    if isinstance(owner, Given):
        error = frame.error(node, "a list made of one that came in", "make an array of it: np.array(...)")
        if growing.lists_in(owner.item):
            raise error
        raise heaps.wanting(frame, node, error, {_site(frame, node): Room(growing.item_of(owner), 0)})
    return Room(owner.item, frame.heap(owner.item).most, in_heap=True) if isinstance(owner, Reference) else owner.room


def pop(frame: Frame, node: ast.AST, owner: Grows) -> Value:
    """`owner.pop()`"""
    item, index = growing.last(frame, node, owner, "pop from empty list")
    cut(frame, node, owner, index)
    return item


def reverse(frame: Frame, node: ast.AST, owner: Grows) -> None:
    """`owner.reverse()`"""
    change(frame, node, owner)
    if growing.lists_in(growing.item_of(owner)) and isinstance(owner, Given):
        raise frame.error(node, "another order of lists that came in", "build a new list and return it")
    first, count = growing.place(frame, node, owner, ZERO), length(frame, owner)
    for buffer in growing.buffers(frame, owner):
        frame.call_function(frame, node, lists_rewritten.turned, [buffer, first, count], {})


def extend(frame: Frame, node: ast.AST, owner: Grows, items: list[Value]) -> None:
    """`owner += items`"""
    for item in items:
        append(frame, node, owner, item)


def extend_by(frame: Frame, node: ast.AST, owner: Grows, other: Grows) -> None:
    """`owner += other`, of which only the run knows how many items it has."""
    owner = own(frame, node, owner)
    if growing.item_of(owner) != growing.item_of(other):
        raise frame.error(node, f"{describe(other)} added to a list of other items", "give a list items of one kind, for example floats")
    n, count = length(frame, owner), length(frame, other)
    end = binary(frame, node, ast.Add, n, count)
    _make_room(frame, node, owner, n, end)
    _copy(frame, node, owner, n, other, ZERO, count, Const(1))
    stores.fill(frame, node, _count(frame, owner), end)


def cut(frame: Frame, node: ast.AST, owner: Grows, count: Value) -> None:
    """Let a list have so many items, and no more."""
    owner = own(frame, node, owner)
    if isinstance(owner, Growing):
        owner.appended += 1
    stores.fill(frame, node, _count(frame, owner), count)


def store(frame: Frame, node: ast.AST, owner: Grows, index: Value, value: Value) -> None:
    """`owner[index] = value`, of an int."""
    change(frame, node, owner)
    check_item(frame, node, owner, value)
    write(frame, node, owner, position(frame, node, owner, index, "list assignment index out of range"), value)


def check_item(frame: Frame, node: ast.AST, owner: Grows, value: Value) -> None:
    """Raises UnsupportedSyntax for an item of another kind than those of the list."""
    item, wanted = growing.item_of(owner), heaps.Wanted()
    if unify(item, template_of(with_certain_dtypes(frame, value), generalise=True), choices=True) == item:
        return
    error = frame.error(node, f"{describe(value)} in a list of others", "give a list items of one kind, for example floats")
    if isinstance(owner, Given):
        raise error
    try:
        heaps.seen(frame, owner, heaps.item_of(frame, value, wanted), wanted)
    except LookupError:
        raise error from None
    raise heaps.wanting(frame, node, error, wanted) if wanted else error


def write(frame: Frame, node: ast.AST, owner: Grows, index: Value, value: Value) -> None:
    """Write an item, of the kind of the others, to a place of the list, or to all of a slice."""
    item = growing.item_of(owner)
    if isinstance(value, OneOf) and any(isinstance(v, Array) for v in value.alternatives):  # of those that it is not there is no number

        def written(one: Value) -> Value:
            write(frame, node, owner, index, one)
            return NONE

        each(frame, node, [value], written)
        return
    if isinstance(index, Slice):
        start, stop = (growing.place(frame, node, owner, end) for end in (index.start, index.stop))
        index = Slice(start, stop, NONE)
    else:
        index = growing.place(frame, node, owner, index)
    for leaf, ssa, buffer in zip(leaves(item), lower(frame.em, value, item), growing.buffers(frame, owner), strict=True):
        if not isinstance(ssa.owner, ir.Block) and ssa.owner.name == "torch.prim.Uninitialized":  # what the item is not
            continue
        number: Value = Scalar(ssa, leaf.kind) if isinstance(leaf, OneScalar) else Array(ssa, 0, dtype=leaf.dtype)
        stores.store(frame, node, buffer, index, number)
