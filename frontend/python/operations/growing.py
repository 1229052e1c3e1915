"""What is read of a list that grows (appending.py): how many items it has, one of them, all of them as arrays. Of one in a heap, too
(heaps.py): how far into the heap's arrays it begins says a row of the heap's. And of one that came in, as an array of its numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.mlir import ir
from tierup.frontend.python import lists_rewritten
from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.knowledge import dtype_of
from tierup.frontend.python.building.templates import OneArray, OneScalar, Structure, Template, leaves, raise_
from tierup.frontend.python.building.values import (
    ZERO,
    Array,
    Const,
    Given,
    Growing,
    Grown,
    Grows,
    Iterable_,
    Itself,
    Mapping_,
    Reference,
    Scalar,
    Sequence,
    Value,
    containers_in,
    describe,
    is_number,
    number_kind,
    parts_of,
)  # fmt: skip
from tierup.frontend.python.heaps import in_one
from tierup.frontend.python.operations.scalars import binary, compare, not_, raise_if, to_bool, to_int
from tierup.runtime.arguments.lists.columns import NUMBER_TYPES
from tierup.runtime.arguments.trees import Output, OutputNode, OutputTree

_READ = {"int": "aten.Int.Tensor", "float": "aten.Float.Tensor", "bool": "aten.Bool.Tensor"}


START, LENGTH, SIZE = range(3)  # columns of a heap's lists


def fact(frame: Frame, owner: Reference, column: int) -> Array:
    """What its heap has of a list, in this column: an element, as a view."""
    em = frame.em
    row = em.numpy("aten.select.int", [frame.heap(owner.item).lists.ssa, em.int(0), to_int(frame, owner.place)])
    return Array(em.numpy("aten.select.int", [row, em.int(0), em.int(column)]), 0, dtype=np.dtype(np.int64), decays=False)


def known(frame: Frame, owner: Reference, column: int) -> Scalar:
    """The number that `fact` is."""
    return Scalar(frame.em.numpy("aten.Int.Tensor", [fact(frame, owner, column).ssa], frame.em.types.int), "int")


def item_of(owner: Grows) -> Template:
    """The template of its items."""
    found: Template = owner.room.item if isinstance(owner, Growing) else owner.item
    return found


def buffers(frame: Frame, owner: Grows) -> tuple[Array, ...]:
    """The arrays that its numbers are in."""
    return frame.heap(owner.item).buffers if isinstance(owner, Reference) else owner.buffers


def place(frame: Frame, node: ast.AST, owner: Grows, index: Value) -> Value:
    """Where in its arrays the item of an index is, which counts from the beginning."""
    if isinstance(owner, Growing) or isinstance(owner, Given) and owner.begin is ZERO:
        return index
    return binary(frame, node, ast.Add, known(frame, owner, START) if isinstance(owner, Reference) else owner.begin, index)


def length(frame: Frame, owner: Grows) -> Value:
    """`len(owner)`. Raises UnsupportedSyntax behind the path or the round of a loop that made it."""
    if isinstance(owner, Reference):
        return known(frame, owner, LENGTH)
    if isinstance(owner, Given):
        return owner.count
    block, made_in = frame.em.ip.block, owner.count.ssa.owner
    made_in = made_in if isinstance(made_in, ir.Block) else made_in.operation.block
    while block != made_in:
        parent = block.owner
        if parent.operation.parent is None:
            raise in_one(frame, None, [owner], frame.error(None, "a list that only a path, or a round of a loop, makes", "make it before"))
        block = parent.operation.block
    return Scalar(frame.em.numpy("aten.Int.Tensor", [owner.count.ssa], frame.em.types.int), "int")


def load(frame: Frame, node: ast.AST, owner: Grows, index: Value) -> Value:
    """`owner[index]`, of an int."""
    return item_at(frame, node, owner, position(frame, node, owner, index, "list index out of range"))


def number_in(frame: Frame, element: ir.Value, kind: str) -> Scalar:
    """The Python number in an array of rank 0."""
    return Scalar(frame.em.numpy(_READ[kind], [element], frame.em.types.scalars[kind]), kind)


def iterate(frame: Frame, node: ast.AST, owner: Grows) -> Iterable_:
    """iter(owner), to which nothing may be appended meanwhile: Python answers a call in which something was, to one in a heap."""
    count = length(frame, owner)
    before = owner.appended if isinstance(owner, Growing) else 0

    def check() -> None:
        if isinstance(owner, Reference):
            is_other = compare(frame, ast.NotEq, length(frame, owner), count).ssa
            raise_if(frame, is_other, "ValueUnanswerable", "a list that changes in a loop over it")
            frame.outside.made_by_python = frame.error(node, "a loop over a list that may change, in a function that writes its arguments")
        elif isinstance(owner, Growing) and owner.appended != before:
            raise frame.error(node, "a list that changes in a loop over it", "loop over a copy of it: list(...)")

    def item(i: Value) -> Value:
        check()
        return item_at(frame, node, owner, i)

    return Iterable_(count, item, check=check)


def item_at(frame: Frame, node: ast.AST, owner: Grows, index: Value) -> Value:
    """The item at a place, which is there."""
    em, item, at = frame.em, item_of(owner), place(frame, node, owner, index)
    if isinstance(item, Structure) and item.kind == "rows":
        assert isinstance(owner, Given)
        starts, *inner = owner.buffers
        begin, end = (_start(frame, starts, i) for i in (at, binary(frame, node, ast.Add, at, Const(1))))
        return Given(tuple(inner), item.keys[0], begin, binary(frame, node, ast.Sub, end, begin))
    found = []
    for leaf, buffer in zip(leaves(item), buffers(frame, owner), strict=True):
        element = em.numpy("aten.clone", [em.numpy("aten.select.int", [buffer.ssa, em.int(0), to_int(frame, at)]), em.none])
        found.append(number_in(frame, element, leaf.kind).ssa if isinstance(leaf, OneScalar) else element)
    frame.has_choices |= _has_kinds(item)
    return raise_(item, iter(found), em.region, em.writes)


def _start(frame: Frame, starts: Array, at: Value) -> Scalar:
    element = frame.em.numpy("aten.select.int", [starts.ssa, frame.em.int(0), to_int(frame, at)])
    return Scalar(frame.em.numpy("aten.Int.Tensor", [element], frame.em.types.int), "int")


def last(frame: Frame, node: ast.AST, owner: Grows, message: str) -> tuple[Value, Value]:
    """The last item, and its index. Raises IndexError in the run where there is none."""
    index = position(frame, node, owner, Const(-1), message)
    return item_at(frame, node, owner, index), index


def position(frame: Frame, node: ast.AST, owner: Grows, index: Value, message: str) -> Value:
    """The place of an index, which may count from the end. Raises IndexError in the run where there is none."""
    if isinstance(index, Array) and index.rank == 0 and dtype_of(frame, node, index, "an index of a dtype").kind in "iu":
        index = Scalar(frame.em.numpy("aten.Int.Tensor", [index.ssa], frame.em.types.int), "int")
    if not (is_number(index) and number_kind(index) == "int"):
        raise frame.error(node, f"{describe(index)} as the index of a list that grows", "make an array of it: np.array(...)")
    return position_of(frame, node, length(frame, owner), index, message)


def position_of(frame: Frame, node: ast.AST, n: Value, index: Value, message: str) -> Value:
    """The place of an int among `n` items, which may count from the end. Raises IndexError in the run where there is none."""
    if isinstance(index, Const):
        if index.value < 0:
            index = binary(frame, node, ast.Add, n, index)
            outside = compare(frame, ast.Lt, index, Const(0)).ssa
        else:
            outside = compare(frame, ast.GtE, index, n).ssa
    else:
        is_behind = to_int(frame, Scalar(compare(frame, ast.Lt, index, Const(0)).ssa, "bool"))
        index = binary(frame, node, ast.Add, index, binary(frame, node, ast.Mult, n, Scalar(is_behind, "int")))
        ends = compare(frame, ast.Lt, index, Const(0)).ssa, compare(frame, ast.GtE, index, n).ssa
        outside = frame.em.scalar("aten.__or__.bool", list(ends), frame.em.types.bool)
    raise_if(frame, outside, "IndexError", message)
    return index


def sought(frame: Frame, node: ast.AST, owner: Grows, value: Value, how: Callable[..., Any]) -> Scalar:
    """What `lists_rewritten.place_of`, or `times_of`, gives of a number in a list of numbers. Raises UnsupportedSyntax for other lists and
    values; Python, which knows whether it is one that the list has, looks for a NaN."""
    item = item_of(owner)
    if not (isinstance(item, OneScalar) and is_number(value)):
        raise frame.error(node, f"{describe(value)} looked for in {describe(owner)}", "write any(v == x for v in xs)")
    if isinstance(value, Scalar) and value.kind == "float" or isinstance(value, Const) and value.value != value.value:
        is_nan = compare(frame, ast.NotEq, value, value).ssa
        raise_if(frame, is_nan, "ValueUnanswerable", "a NaN looked for in a list")
        frame.outside.made_by_python = frame.error(node, "a NaN looked for in a list, in a function that writes its arguments")
    where = [place(frame, node, owner, ZERO), length(frame, owner)]
    found = frame.call_function(frame, node, how, [*buffers(frame, owner), *where, Const(NUMBER_TYPES[item.kind]), value], {})
    assert isinstance(found, Scalar)
    return found


def columns(frame: Frame, node: ast.AST | None, owner: Grows) -> list[Array]:
    """The numbers of all items, by their places in an item: arrays of their own."""
    em, n, node = frame.em, length(frame, owner), node or frame.source.tree
    first = place(frame, node, owner, ZERO)
    ends = [to_int(frame, end) for end in (first, n if first is ZERO else binary(frame, node, ast.Add, first, n))]
    found = []
    for buffer in buffers(frame, owner):
        part = em.numpy("aten.slice.Tensor", [buffer.ssa, em.int(0), *ends, em.int(1)])
        found.append(replace(buffer, ssa=em.numpy("aten.clone", [part, em.int(0)])))
    return found


def as_array(frame: Frame, node: ast.AST | None, owner: Grows) -> Array:
    """np.array(owner), of items of one dtype. An empty list, which is one of float64 to NumPy, is Python's where they are of another."""
    item = item_of(owner)
    if isinstance(item, Structure) and item.kind == "rows":
        assert isinstance(owner, Given)
        return _of_rows(frame, node, owner, item)
    found = columns(frame, node, owner)
    if isinstance(item, Structure) and item.kind == "either":
        return _of_kinds(frame, node or frame.source.tree, *found)
    is_flat = not isinstance(item, Structure)
    is_pair = isinstance(item, Structure) and item.kind == "tuple" and not any(isinstance(part, Structure) for part in item.items)
    if len({c.dtype for c in found}) != 1 or not (is_flat or is_pair):
        raise frame.error(node, "an array of such items of a list that grows", "append one number at a time")
    if not is_flat or found[0].dtype != np.float64:
        is_empty = not_(frame, to_bool(frame, length(frame, owner)))
        raise_if(frame, is_empty, "ValueUnanswerable", "an empty list as an array")
    if is_flat:
        return found[0]
    em = frame.em
    ssa = em.numpy("aten.stack", [em.tensor_list([c.ssa for c in found]), em.int(1)])
    return replace(found[0], ssa=ssa, rank=2)


def _of_kinds(frame: Frame, node: ast.AST, which: Array, *kinds: Array) -> Array:
    """np.array of numbers of several kinds, `which` says of which each is. Python makes one of which none is of the kind that they all
    become."""
    found = [kind.dtype for kind in kinds if kind.dtype is not None]  # all, of items of a list
    dtype = np.result_type(*found)
    if dtype not in found:
        raise frame.error(node, "an array of a list with numbers of several kinds", "give a list items of one kind, for example floats")
    wanted = found.index(dtype)
    has_none = frame.call_function(frame, node, lists_rewritten.has_none, [which, Const(wanted)], {})
    raise_if(frame, to_bool(frame, has_none), "ValueUnanswerable", "an array of a list with numbers of several kinds")
    frame.outside.made_by_python = frame.error(node, "an array of numbers of several kinds, in a function that writes its arguments")
    made: Value = kinds[wanted]
    for i, kind in enumerate(kinds):
        if i != wanted:
            made = frame.call_function(frame, node, lists_rewritten.of_kinds, [which, Const(i), kind, made], {})
    assert isinstance(made, Array)
    return made


def _of_rows(frame: Frame, node: ast.AST | None, owner: Given, item: Structure) -> Array:
    """np.array of a list of lists of numbers. Python raises, or makes an array of lists, where they are not all of one length."""
    em = frame.em
    if owner.begin is not ZERO or not isinstance(item.keys[0], OneScalar):
        raise frame.error(node, "an array of a list of lists of lists that came in", "pass an array")
    starts, numbers = (buffer.ssa for buffer in owner.buffers)
    zero, one, step = em.int(0), em.int(1), em.int(1)
    n = to_int(frame, owner.count)
    ends, begins = (em.numpy("aten.slice.Tensor", [starts, zero, *part, step]) for part in ((one, em.none), (zero, n)))
    each = em.numpy("aten.sub.Tensor", [ends, begins, one])
    first = em.numpy("aten.Int.Tensor", [em.numpy("aten.select.int", [each, zero, zero])], em.types.int)
    differ = em.numpy("aten.Bool.Tensor", [em.numpy("aten.any", [em.numpy("aten.ne.Scalar", [each, first])])], em.types.bool)
    raise_if(frame, differ, "ValueUnanswerable", "an array of lists of several lengths")
    frame.outside.made_by_python = frame.error(node, "an array of a list of lists, in a function that writes its arguments")
    ssa = em.numpy("aten.reshape", [em.numpy("aten.clone", [numbers, zero]), em.int_list([n, first])])
    return replace(owner.buffers[1], ssa=ssa, rank=2, min_rank=2)


def _has_kinds(item: Template) -> bool:
    """Whether a number in an item of a list is of several kinds."""
    return isinstance(item, Structure) and (item.kind == "either" or any(map(_has_kinds, item.items)))


def lists_in(item: Template) -> bool:
    """Whether there are lists in an item of a list."""
    return isinstance(item, Structure) and (item.kind in ("reference", "rows") or any(map(lists_in, item.items)))


def grown(frame: Frame, value: Value) -> Value:
    """A value that a path returns, with the lists in it that grow as they are by then."""
    lists: list[Grows] = []
    made = _grown(frame, value, lists)
    others = [c for part in parts_of(value) for c in containers_in(part)] if isinstance(value, (Sequence, Mapping_)) else []
    if len({*map(id, lists)}) < len(lists) or lists and others:
        raise frame.error(None, "returning lists in one another, or one twice, on one of several paths", "return arrays, or one list")
    return made


def itself(frame: Frame, value: Given) -> Const | None:
    """What stands for a list that came in where it is returned; None for a part of one."""
    first = value.buffers[0].ssa
    return Const(Itself(frame.outside.given.index(first))) if value.begin is ZERO and first in frame.outside.given else None


def _grown(frame: Frame, value: Value, lists: list[Grows]) -> Value:
    if isinstance(value, Given):
        return itself(frame, value) or value
    if isinstance(value, (Growing, Reference)):
        lists.append(value)
        if lists_in(item_of(value)) or isinstance(value, Reference) and len(lists) > 1:
            raise frame.error(None, "returning lists that may be in one another, on one of several paths", "return arrays, or one list")
        return Grown(item_of(value), tuple(columns(frame, None, value)))
    inner = partial(_grown, frame, lists=lists)
    if isinstance(value, Sequence):
        found = list(map(inner, value.items))
        return replace(value, items=found) if lists else value
    if isinstance(value, Mapping_):
        values = {k: inner(v) for k, v in value.items.items()}
        return replace(value, items=values) if lists else value
    return value


def output(item: Template) -> OutputTree:
    """How an item of the list that is returned is made of its numbers."""
    if isinstance(item, Structure) and item.kind == "reference":
        return OutputNode("rows", (Output("array"), output(item.keys[0])))  # type: ignore[arg-type]  # a template
    if isinstance(item, Structure):
        return OutputNode(item.kind, tuple(output(part) for part in item.items))
    return Output("array", isinstance(item, OneArray))
