"""What is read of a list that grows (appending.py): how many items it has, one of them, all of them as arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from tierup.dialect.mlir import ir
from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.templates import OneArray, OneScalar, Structure, Template, raise_
from tierup.frontend.python.building.values import (
    Array,
    Const,
    Growing,
    Grown,
    Iterable_,
    Mapping_,
    Scalar,
    Sequence,
    Value,
    containers_in,
    describe,
    is_number,
    number_kind,
    parts_of,
)  # fmt: skip
from tierup.frontend.python.operations.scalars import binary, compare, not_, raise_if, to_bool, to_int
from tierup.runtime.arguments.trees import Output, OutputNode, OutputTree

DTYPES = {"int": np.dtype(np.int64), "float": np.dtype(np.float64), "bool": np.dtype(bool)}
_READ = {"int": "aten.Int.Tensor", "float": "aten.Float.Tensor", "bool": "aten.Bool.Tensor"}


def leaves(item: Template) -> Iterator[OneScalar | OneArray]:
    """The numbers of an item, in order. Raises LookupError for an item that no arrays hold."""
    if isinstance(item, Structure) and item.kind in ("tuple", "complex") and not item.keys:
        for part in item.items:
            yield from leaves(part)
    elif isinstance(item, OneScalar) or isinstance(item, OneArray) and item.rank == 0 and item.decays and item.dtype is not None:
        yield item
    else:
        raise LookupError


def dtypes(item: Template) -> list[np.dtype]:
    """Those of an item's numbers, in order."""
    return [DTYPES[leaf.kind] if isinstance(leaf, OneScalar) else leaf.dtype for leaf in leaves(item)]  # type: ignore[misc]  # known


def length(frame: Frame, owner: Growing) -> Scalar:
    """`len(owner)`. Raises UnsupportedSyntax behind the path or the round of a loop that made it."""
    block, made_in = frame.em.ip.block, owner.count.ssa.owner
    made_in = made_in if isinstance(made_in, ir.Block) else made_in.operation.block
    while block != made_in:
        parent = block.owner
        if parent.operation.parent is None:
            raise frame.error(None, "a list that only a path, or a round of a loop, makes", "make it before")
        block = parent.operation.block
    return Scalar(frame.em.numpy("aten.Int.Tensor", [owner.count.ssa], frame.em.types.int), "int")


def load(frame: Frame, node: ast.AST, owner: Growing, index: Value) -> Value:
    """`owner[index]`, of an int."""
    return _item(frame, owner, position(frame, node, owner, index, "list index out of range"))


def number_in(frame: Frame, element: ir.Value, kind: str) -> Scalar:
    """The Python number in an array of rank 0."""
    return Scalar(frame.em.numpy(_READ[kind], [element], frame.em.types.scalars[kind]), kind)


def iterate(frame: Frame, node: ast.AST, owner: Growing) -> Iterable_:
    """iter(owner), to which nothing may be appended meanwhile."""
    before = owner.appended

    def check() -> None:
        if owner.appended != before:
            raise frame.error(node, "a list that changes in a loop over it", "loop over a copy of it: list(...)")

    def item(i: Value) -> Value:
        check()
        return _item(frame, owner, i)

    return Iterable_(length(frame, owner), item, check=check)


def _item(frame: Frame, owner: Growing, at: Value) -> Value:
    em = frame.em
    found = []
    for leaf, buffer in zip(leaves(owner.room.item), owner.buffers, strict=True):
        element = em.numpy("aten.clone", [em.numpy("aten.select.int", [buffer.ssa, em.int(0), to_int(frame, at)]), em.none])
        found.append(number_in(frame, element, leaf.kind).ssa if isinstance(leaf, OneScalar) else element)
    return raise_(owner.room.item, iter(found), em.region, em.writes)


def position(frame: Frame, node: ast.AST, owner: Growing, index: Value, message: str) -> Value:
    """The place of an index, which may count from the end. Raises IndexError in the run where there is none."""
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


def columns(frame: Frame, node: ast.AST | None, owner: Growing) -> list[Array]:
    """The numbers of all items, by their places in an item: arrays of their own."""
    em = frame.em
    n = to_int(frame, length(frame, owner))
    found = []
    for buffer in owner.buffers:
        part = em.numpy("aten.slice.Tensor", [buffer.ssa, em.int(0), em.int(0), n, em.int(1)])
        found.append(replace(buffer, ssa=em.numpy("aten.clone", [part, em.int(0)])))
    return found


def as_array(frame: Frame, node: ast.AST | None, owner: Growing) -> Array:
    """np.array(owner), of items of one dtype. An empty list, which is one of float64 to NumPy, is Python's where they are of another."""
    found = columns(frame, node, owner)
    item = owner.room.item
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


def grown(frame: Frame, value: Value) -> Value:
    """A value that a path returns, with the lists in it that grow as they are by then."""
    lists: list[Growing] = []
    made = _grown(frame, value, lists)
    others = [c for part in parts_of(value) for c in containers_in(part)] if isinstance(value, (Sequence, Mapping_)) else []
    if len({*map(id, lists)}) < len(lists) or lists and others:
        raise frame.error(None, "returning lists in one another, or one twice, on one of several paths", "return arrays, or one list")
    return made


def _grown(frame: Frame, value: Value, lists: list[Growing]) -> Value:
    if isinstance(value, Growing):
        lists.append(value)
        return Grown(value.room.item, tuple(columns(frame, None, value)))
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
    if isinstance(item, Structure):
        return OutputNode(item.kind, tuple(output(part) for part in item.items))
    return Output("array", isinstance(item, OneArray))
