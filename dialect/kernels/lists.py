"""Tier-0 kernels of ops on lists, tuples and strings. IndexError for an index out of range. No kernel writes a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def list_construct(*items: Any) -> list[Any]:
    """prim.ListConstruct."""
    return list(items)


def unpack(items: Sequence[Any]) -> tuple[Any, ...]:
    """prim.ListUnpack, prim.TupleUnpack: the items, in order."""
    return tuple(items)


def tuple_construct(*items: Any) -> tuple[Any, ...]:
    """prim.TupleConstruct."""
    return items


def getitem(items: Sequence[Any], index: int) -> Any:
    """aten.__getitem__.t, prim.TupleIndex: negative indices count from the end. IndexError out of range."""
    if not -len(items) <= index < len(items):
        raise IndexError("list index out of range")
    return items[index]


def contains(items: Sequence[Any], value: Any) -> bool:
    """aten.__contains__."""
    return value in items


def list_add(a: list[Any], b: list[Any]) -> list[Any]:
    """aten.add.t, aten.add.str."""
    return a + b


def list_repeat(items: list[Any], n: int) -> list[Any]:
    """aten.mul.left_t."""
    return items * n


def list_slice(items: list[Any], start: int | None = None, end: int | None = None, step: int = 1) -> list[Any]:
    """aten.slice.t. ValueError for step 0."""
    return items[start:end:step]


def list_copy(items: list[Any]) -> list[Any]:
    """aten.list.t."""
    return list(items)


def any_of(items: list[bool]) -> bool:
    """aten.any.bool."""
    return any(items)


def all_of(items: list[bool]) -> bool:
    """aten.all.bool."""
    return all(items)
