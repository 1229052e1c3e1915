"""Lists, tuples and strings. Lists are values: no op here writes one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tierup.dialect.facts.values import Bool, Float, Int, List, Opaque, Str, Tensor, Tuple, Value
from tierup.dialect.ops.scalars.numbers import of_known
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import AS_MANY, EXACT, OF_COMPLEX, Infer, Kind, ShapeError
from tierup.dialect.optable.define import op

_LONGEST = 1 << 16  # items of a repeated list that are kept one by one: a program can ask for more than fits into memory

_integer = read.or_unknown(read.integer)
_op = partial(op, kind=Kind.SCALAR, tolerance=EXACT, **OF_COMPLEX)
_truth = partial(of_known, otherwise=lambda operands: Bool(), differentiable=False)


@_op("prim.ListConstruct(...) -> t[]", infer=lambda ctx, operands: List(tuple(operands)))
def list_construct(*items: Any) -> list[Any]:
    return list(items)


@_op("prim.TupleConstruct(...) -> Any", infer=lambda ctx, operands: Tuple(tuple(operands)))
def tuple_construct(*items: Any) -> tuple[Any, ...]:
    return items


def _unpack(ctx: Infer, operands: Sequence[Value]) -> tuple[Value, ...]:
    x = operands[0]
    return x.items if isinstance(x, (Tuple, List)) and x.items is not None else ()


@_op("prim.ListUnpack(t[] list) -> ...", infer=_unpack, results=AS_MANY, refuses_some=True)
def list_unpack(items: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(items)


@_op("prim.TupleUnpack(Any tup) -> ...", infer=_unpack, results=AS_MANY)
def unpack(items: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(items)


def _getitem(ctx: Infer, operands: Sequence[Value]) -> Value:
    x, index = operands[0], _integer(operands[1])
    items = x.items if isinstance(x, (List, Tuple)) else None
    if items is None:
        return (x.element or Opaque()) if isinstance(x, List) else Opaque()
    if index is not None:
        if not -len(items) <= index < len(items):
            raise IndexError("list index out of range")
        return items[index]
    return items[0] if items and all(i == items[0] for i in items) else _kind_of(items)


def _kind_of(items: Sequence[Value]) -> Value:
    """What every one of some values is: their kind without its value, or Opaque when kinds differ."""
    kinds = {type(i) for i in items}
    if len(kinds) == 1 and (kind := kinds.pop()) in (Int, Float, Bool, Str, Tensor):
        return kind()
    return Opaque()


@_op("prim.TupleIndex(Any tup, int i) -> Any", infer=_getitem, refuses_some=True)
def tuple_item(items: Sequence[Any], index: int) -> Any:
    return getitem(items, index)


@_op("aten.__getitem__.t(t[](a) list, int idx) -> t(*)", infer=_getitem, raises=True)
def getitem(items: Sequence[Any], index: int) -> Any:
    """Negative indices count from the end. IndexError out of range."""
    if not -len(items) <= index < len(items):
        raise IndexError("list index out of range")
    return items[index]


@_truth("aten.__contains__.int_list(int[] l, int item) -> bool", "aten.__contains__.str_list(str[] l, str item) -> bool")
def contains(items: Sequence[Any], value: Any) -> bool:
    return value in items


@_truth("aten.any.bool(bool[] self) -> bool")
def any_of(items: list[bool]) -> bool:
    return any(items)


@_truth("aten.all.bool(bool[] self) -> bool")
def all_of(items: list[bool]) -> bool:
    return all(items)


@_truth(
    "aten.any.int(int[] self) -> bool", "aten.any.float(float[] self) -> bool", "aten.any.str(str[] self) -> bool", native=False,
)  # fmt: skip
def any_other(items: list[Any]) -> bool:
    """Of items that are known, as those of `any(len(m.hooks) for m in ...)`: no native code is asked for."""
    return any(items)


@_truth("aten.all.int(int[] self) -> bool", "aten.all.float(float[] self) -> bool", native=False)
def all_others(items: list[Any]) -> bool:
    return all(items)


def _both_lists(ctx: Infer, operands: Sequence[Value]) -> Value:
    a, b = operands
    if isinstance(a, List) and isinstance(b, List) and a.items is not None and b.items is not None:
        return List(a.items + b.items)
    return List(None, _kind_of([e for x in operands if isinstance(x, List) for e in (x.items or (x.element or Opaque(),))]))


@_op("aten.add.t(t[] a, t[] b) -> t[]", infer=_both_lists)
def list_add(a: list[Any], b: list[Any]) -> list[Any]:
    return a + b


@of_known("aten.add.str(str a, str b) -> str", otherwise=lambda operands: Str(), native=False, differentiable=False)
def text_add(a: str, b: str) -> str:
    return a + b


def _repeat(ctx: Infer, operands: Sequence[Value]) -> Value:
    x, n = operands[0], _integer(operands[1])
    if isinstance(x, List) and x.items is not None and n is not None and len(x.items) * n <= _LONGEST:
        return List(x.items * n)
    return List(None, _kind_of(x.items) if isinstance(x, List) and x.items else None)


@_op("aten.mul.left_t(t[] l, int n) -> t[]", infer=_repeat)
def list_repeat(items: list[Any], n: int) -> list[Any]:
    return items * n


def _slice(ctx: Infer, operands: Sequence[Value]) -> Value:
    x = operands[0]
    if not isinstance(x, List) or x.items is None:
        return x if isinstance(x, List) else List(None)
    try:
        start, end, step = (read.optional(read.integer, v) for v in operands[1:4])
    except read.Unknown:
        return List(None, _kind_of(x.items))
    if step == 0:
        raise ShapeError("slice step cannot be zero")
    return List(x.items[start:end:step])


@_op("aten.slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]", infer=_slice, refuses_some=True)
def list_slice(items: list[Any], start: int | None = None, end: int | None = None, step: int = 1) -> list[Any]:
    """ValueError for step 0."""
    return items[start:end:step]


@_op("aten.list.t(t[] l) -> t[]", infer=lambda ctx, operands: operands[0])
def list_copy(items: list[Any]) -> list[Any]:
    return list(items)
