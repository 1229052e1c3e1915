"""Lists, tuples and strings. Lists are values: no op here writes one."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.ir.values import Bool, Float, Int, List, Opaque, Str, Tensor, Tuple, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import AS_MANY, EXACT, Infer, InferRule, Kind, Op, ShapeError
from tierup.dialect.optable.scalars import folded

_plain = read.or_unknown(read.integer)

_LONGEST = 1 << 16  # items of a repeated list that are kept one by one: a program can ask for more than fits into memory


def _unpack(ctx: Infer, operands: Sequence[Value]) -> tuple[Value, ...]:
    x = operands[0]
    return x.items if isinstance(x, (Tuple, List)) and x.items is not None else ()


def _getitem(ctx: Infer, operands: Sequence[Value]) -> Value:
    x, index = operands[0], _plain(operands[1])
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
        return kind()  # type: ignore[no-any-return]
    return Opaque()


def _both_lists(ctx: Infer, operands: Sequence[Value]) -> Value:
    a, b = operands
    if isinstance(a, List) and isinstance(b, List) and a.items is not None and b.items is not None:
        return List(a.items + b.items)
    return List(None, _kind_of([e for x in operands if isinstance(x, List) for e in (x.items or (x.element or Opaque(),))]))


def _repeat(ctx: Infer, operands: Sequence[Value]) -> Value:
    x, n = operands[0], _plain(operands[1])
    if isinstance(x, List) and x.items is not None and n is not None and len(x.items) * n <= _LONGEST:
        return List(x.items * n)
    return List(None, _kind_of(x.items) if isinstance(x, List) and x.items else None)


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


def _same_list(ctx: Infer, operands: Sequence[Value]) -> Value:
    return operands[0]


def _row(name: str, function: str, infer: InferRule, results: int = 1, raises: bool = False, native: bool = True) -> Op:
    return Op(name, Kind.SCALAR, f"lists.{function}", infer, results=results, raises=raises, native=native, tolerance=EXACT)


ROWS = [
    _row("prim.ListConstruct", "list_construct", lambda ctx, operands: List(tuple(operands))),
    _row("prim.ListUnpack", "unpack", _unpack, results=AS_MANY),
    _row("prim.TupleConstruct", "tuple_construct", lambda ctx, operands: Tuple(tuple(operands))),
    _row("prim.TupleUnpack", "unpack", _unpack, results=AS_MANY),
    _row("prim.TupleIndex", "getitem", _getitem),
    _row("aten.__getitem__.t", "getitem", _getitem, raises=True),
    *(_row(f"aten.__contains__.{k}", "contains", folded("lists.contains", lambda operands: Bool())) for k in ("int_list", "str_list")),
    _row("aten.add.t", "list_add", _both_lists),
    _row("aten.add.str", "list_add", folded("lists.list_add", lambda operands: Str()), native=False),
    _row("aten.mul.left_t", "list_repeat", _repeat),
    _row("aten.slice.t", "list_slice", _slice),
    _row("aten.list.t", "list_copy", _same_list),
    _row("aten.any.bool", "any_of", folded("lists.any_of", lambda operands: Bool())),
    _row("aten.all.bool", "all_of", folded("lists.all_of", lambda operands: Bool())),
]
