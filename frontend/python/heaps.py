"""Lists that may have one another's place: rows of a table, a list that a loop gives a name anew, one that a function gets.

    prev = [0] * n                     lists[0] = 0, n, n; ends = 1, n; buffer[0:n] = 0      # begins at 0, n items, room for n
    for v in x:                        prev = 0
        cur = [v]               ->     for v in x:
        cur.append(prev[-1])               lists[1] = n, 1, 1; buffer[n] = v; cur = 1
        prev = cur                         ... append: the list moves to the end of the heap, with twice the room
                                           prev = cur

Lists whose items are of one kind are in one heap then: their numbers in arrays, one list behind the other, and each list is known by its
place, an int that paths, loops, calls and other lists hand on. What a list leaves behind where it moves, and lists that nobody has any
more, stay until the call ends. Which lists are in heaps is found as it is for lists that grow (operations/appending.py): what is refused
says which ones it is about, by where they are made, and another try builds them so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tierup.dialect.base import dtypes
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.building.frame import Frame, GrowsList, Room, Site
from tierup.frontend.python.building.knowledge import with_certain_dtypes
from tierup.frontend.python.building.templates import NotSeen, Structure, Template, dtypes_of, leaves, reference_to, template_of, unify
from tierup.frontend.python.building.values import Array, Growing, Heap, Reference, Sequence, Value

LISTS = 4  # as many items have room as lists, times this
Wanted = dict[Site, Room]


def item_of(frame: Frame, value: Value, wanted: Wanted) -> Template:
    """The template of an item of a list; lists in it, and in these, are in heaps, which `wanted` notes. Raises LookupError for an item that
    none has."""
    if isinstance(value, (Growing, Reference)) or isinstance(value, Sequence) and value.kind == "list":
        return reference_to(together(frame, [value], wanted))
    if isinstance(value, Sequence) and not value.keys and any(isinstance(v, (Sequence, Growing, Reference)) for v in value.items):
        return Structure("tuple", tuple(item_of(frame, v, wanted) for v in value.items))
    item = template_of(with_certain_dtypes(frame, value), generalise=True)
    list(leaves(item))
    return item


def together(frame: Frame, lists: Iterable[Value], wanted: Wanted) -> Template:
    """The template of the items of lists that are to be in one heap. Raises LookupError where there is none that all have."""
    sites: list[Site] = []
    item: Template | None = None
    for one in lists:
        if isinstance(one, Sequence) and one.kind == "list":
            made = [each.site for each in one.perhaps or [one] if isinstance(each, Sequence) and each.site is not None]
            if not made:
                raise LookupError
            sites += made
            found = [item_of(frame, v, wanted) for v in one.items]
        elif isinstance(one, Growing) and one.site is not None:
            sites.append(one.site)
            found = [one.room.item]
        elif isinstance(one, Reference):
            found = [one.item]
        else:
            raise LookupError
        for other in found:
            item = other if item is None else _both(frame, item, other, wanted)
    if item is None:
        item = NotSeen(min(sites))
    wanted.update((site, Room(item, 0, in_heap=True)) for site in sites)
    return item


def _both(frame: Frame, a: Template, b: Template, wanted: Wanted) -> Template:
    """What two items are. What is not seen yet of one of them is as in the other."""
    if a == b:
        return a
    if isinstance(b, NotSeen):
        a, b = b, a
    if isinstance(a, NotSeen):
        if isinstance(b, NotSeen) and a.site < b.site:
            a, b = b, a
        wanted[a.site] = Room(b, 0, in_heap=True)
        learn(frame, a, b, wanted)
        return b
    if isinstance(a, Structure) and isinstance(b, Structure) and a.kind == b.kind == "reference":
        return reference_to(_both(frame, a.keys[0], b.keys[0], wanted))  # type: ignore[arg-type]  # a template
    either = unify(a, b, choices=True)
    if either is None:
        raise LookupError
    list(leaves(either))
    return either


def seen(frame: Frame, owner: Growing | Reference, item: Template, wanted: Wanted) -> None:
    """Note that a list gets an item of this kind, which may be a number of another kind than those before. Raises LookupError where
    there is nothing that all items are."""
    had: Template = owner.item if isinstance(owner, Reference) else owner.room.item
    both = _both(frame, had, item, wanted)
    if both == had or wanted:
        return
    if isinstance(owner, Reference):
        learn(frame, had, both, wanted)
    elif owner.site is not None:
        wanted[owner.site] = replace(owner.room, item=both)


def learn(frame: Frame, unseen: Template, item: Template, wanted: Wanted) -> None:
    """Note what the items of some lists are, of which less was known, wherever there are such lists."""
    for site, room in frame.outside.rooms.items():
        if room is not None and (found := _with_instead(room.item, unseen, item)) != room.item:
            wanted[site] = replace(room, item=found)


def _with_instead(within: Template, unseen: Template, item: Template) -> Template:
    if within == unseen:
        return item
    if isinstance(within, Structure) and within.kind == "reference":
        return reference_to(_with_instead(within.keys[0], unseen, item))  # type: ignore[arg-type]  # a template
    return replace(within, items=tuple(_with_instead(i, unseen, item) for i in within.items)) if isinstance(within, Structure) else within


def in_one(frame: Frame, node: ast.AST | None, lists: Iterable[Value], error: UnsupportedSyntax) -> UnsupportedSyntax:
    """The error of a name that has several lists in turn, of which some grow; another try has them in one heap."""
    lists, wanted = list(lists), Wanted()
    if not any(isinstance(one, (Growing, Reference)) for one in lists):
        return error
    try:
        together(frame, lists, wanted)
    except LookupError:
        return error
    return wanting(frame, node, error, wanted)


def wanting(frame: Frame, node: ast.AST | None, error: UnsupportedSyntax, wanted: Wanted) -> UnsupportedSyntax:
    """The error, with what another try is to know of lists."""
    found = frame.error(node, error.construct, error.remedy, GrowsList)
    assert isinstance(found, GrowsList)
    found.grows = wanted
    return found


def make(frame: Frame) -> None:
    """The heaps of a program, empty, at its beginning."""
    em = frame.em
    for item, most in {room.item: room.most for room in frame.outside.rooms.values() if room is not None and room.in_heap}.items():
        shapes = [(most // LISTS, 3), *((most,) for _ in leaves(item))]
        kinds = [np.dtype(np.int64), *dtypes_of(item)]
        lists, *buffers = (room(frame, shape, dtype) for shape, dtype in zip(shapes, kinds, strict=True))
        ends = Array(em.numpy("aten.zeros", [em.ints(2), em.int(dtypes.i64.code), em.none, em.none, em.none]), 1, 0, kinds[0], decays=False)
        frame.heaps[item] = Heap(lists, ends, tuple(buffers), most)


def room(frame: Frame, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """An array of which nobody reads an element before it was written."""
    found = dtypes.from_numpy(dtype)
    assert found is not None, "of an item's number"
    return Array(frame.em.room(frame.em.ints(*shape), frame.em.int(found.code)), len(shape), dtype=dtype, decays=False)
