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

import numpy as np

from tierup.dialect.mlir import ir
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.building.branch import select
from tierup.frontend.python.building.frame import Frame, GrowsList, NeedsStatic, Room, Site
from tierup.frontend.python.building.knowledge import with_certain_dtypes
from tierup.frontend.python.building.templates import OneScalar, lower, template_of, unify
from tierup.frontend.python.building.values import (
    NONE,
    ZERO,
    Array,
    Const,
    Growing,
    Scalar,
    Sequence,
    Slice,
    Value,
    describe,
    is_number,
    number_kind,
)
from tierup.frontend.python.operations import array_operators, arrays, stores
from tierup.frontend.python.operations.growing import DTYPES, dtypes, leaves, length, position
from tierup.frontend.python.operations.scalars import binary, compare, raise_if

FIRST, TIMES, MOST = 1024, 8, 1 << 26  # items of the first graph; how many times more the next has; more are Python's


def made(frame: Frame, node: ast.AST, items: list[Value]) -> Sequence | Growing:
    """The list that a display of items makes."""
    site = _site(frame, node)
    room = frame.outside.rooms.get(site)
    if room is None:
        return Sequence("list", items, frame.em.region, site=site)
    growing = _empty_one(frame, node, room)
    for item in items:
        append(frame, node, growing, item)
    return growing


def _empty_one(frame: Frame, node: ast.AST, room: Room) -> Growing:
    array_operators.require_mutation(frame)
    sizes = arrays.int_list(frame, node, Const(room.most))[0]
    buffers = [_empty(frame, sizes, 1, dtype) for dtype in dtypes(room.item)]
    count = _empty(frame, frame.em.int_list([]), 0, DTYPES["int"])
    stores.fill(frame, node, count, ZERO)
    return Growing(room, tuple(buffers), count)


def repeated(frame: Frame, node: ast.AST, items: list[Value], times: Value) -> Sequence | Growing | None:
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
    growing = _empty_one(frame, node, room)
    is_some = compare(frame, ast.Gt, times, ZERO).ssa
    length = select(frame, node, is_some, lambda: times, lambda: ZERO)
    _leave_to_python(frame, node, compare(frame, ast.Gt, length, Const(room.most)).ssa, room)
    check_item(frame, node, growing, items[0])
    _write(frame, node, growing, Slice(NONE, length, NONE), items[0])
    stores.fill(frame, node, growing.count, length)
    return growing


def _leave_to_python(frame: Frame, node: ast.AST, is_full: ir.Value, room: Room) -> None:
    raise_if(frame, is_full, "MemoryUnanswerable", f"a list of more than {room.most} items")
    frame.outside.made_by_python = frame.error(node, "a list that grows, in a function that writes its arguments", "use an array")


def enlarge(most: dict[Site, int], sites: Iterable[Site]) -> None:
    """Let the lists that are made there have room for more items in the next graph."""
    most.update((site, most[site] * TIMES) for site in sites)


def _site(frame: Frame, node: ast.AST) -> Site:
    if isinstance(node, ast.BinOp):  # where it ends: a display may begin where it does
        return frame.source.function.__qualname__, node.end_lineno or 0, node.end_col_offset or 0
    return frame.source.function.__qualname__, getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _empty(frame: Frame, sizes: ir.Value, rank: int, dtype: np.dtype) -> Array:
    em = frame.em
    code = em.int(arrays.program_dtype(frame, None, dtype).code)
    return Array(em.room(sizes, code), rank, dtype=dtype, decays=False)


def refuse(frame: Frame, node: ast.AST, owner: Sequence, value: Value, error: UnsupportedSyntax) -> UnsupportedSyntax:
    """The error of an append that stands where only the run decides whether it happens; another try builds the list as one that grows."""
    sites = {one.site for one in owner.perhaps or [owner] if isinstance(one, Sequence) and one.site is not None}
    if len(sites) != 1 or any(one.external for one in (owner, *owner.perhaps)):
        return error
    item = template_of(with_certain_dtypes(frame, value), generalise=True)
    try:
        list(leaves(item))
    except LookupError:
        return error
    found = frame.error(node, error.construct, error.remedy, GrowsList)
    assert isinstance(found, GrowsList)
    found.grows = sites.pop(), item
    return found


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


def append(frame: Frame, node: ast.AST, owner: Growing, value: Value) -> None:
    """`owner.append(value)`. Raises UnsupportedSyntax for an item of another kind than those before."""
    check_item(frame, node, owner, value)
    owner.appended += 1
    n = length(frame, owner)
    _leave_to_python(frame, node, compare(frame, ast.GtE, n, Const(owner.room.most)).ssa, owner.room)
    _write(frame, node, owner, n, value)
    stores.fill(frame, node, owner.count, binary(frame, node, ast.Add, n, Const(1)))


def extend(frame: Frame, node: ast.AST, owner: Growing, items: list[Value]) -> None:
    """`owner += items`"""
    for item in items:
        append(frame, node, owner, item)


def store(frame: Frame, node: ast.AST, owner: Growing, index: Value, value: Value) -> None:
    """`owner[index] = value`, of an int."""
    check_item(frame, node, owner, value)
    _write(frame, node, owner, position(frame, node, owner, index, "list assignment index out of range"), value)


def check_item(frame: Frame, node: ast.AST, owner: Growing, value: Value) -> None:
    """Raises UnsupportedSyntax for an item of another kind than those of the list."""
    item = owner.room.item
    if unify(item, template_of(with_certain_dtypes(frame, value), generalise=True)) != item:
        raise frame.error(node, f"{describe(value)} in a list of others", "give a list items of one kind, for example floats")


def _write(frame: Frame, node: ast.AST, owner: Growing, at: Value, value: Value) -> None:
    item = owner.room.item
    for leaf, ssa, buffer in zip(leaves(item), lower(frame.em, value, item), owner.buffers, strict=True):
        number: Value = Scalar(ssa, leaf.kind) if isinstance(leaf, OneScalar) else Array(ssa, 0, dtype=leaf.dtype)
        stores.store(frame, node, buffer, at, number)
