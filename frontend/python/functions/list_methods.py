"""Methods of lists, `sorted`, and `del` of an item: of lists whose items are known one by one, and of those of which only the run knows how
many there are (operations/appending.py), which are changed in the arrays that their items are in."""

from __future__ import annotations

import ast

from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python import lists_rewritten
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.table import constant, function
from tierup.frontend.python.building.templates import OneScalar
from tierup.frontend.python.building.values import (
    FALSE,
    NONE,
    ZERO,
    Const,
    Given,
    Growing,
    Grows,
    Reference,
    Sequence,
    Slice,
    Value,
    describe,
    is_number,
    number_kind,
)
from tierup.frontend.python.functions import consuming
from tierup.frontend.python.operations import appending, growing
from tierup.frontend.python.operations.scalars import binary, compare, not_, raise_if, to_bool
from tierup.frontend.python.operations.stores import require_own

_CHANGES = ("append", "extend", "insert", "pop", "reverse", "sort", "remove", "clear")
_KNOWN = ".append, .extend, .insert, .pop, .remove, .clear, .sort of numbers, .copy, .reverse, .count and .index"


def call(frame: Frame, node: ast.expr, owner: Sequence | Grows, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`owner.name(...)`. Raises UnsupportedSyntax for what is not translated; where a list's items are known one by one, another try may
    build it as one that grows."""
    if isinstance(owner, Grows):
        return _of_growing(frame, node, owner, name, args, kwargs)
    if owner.kind == "list" and name in _CHANGES:
        try:
            return _change(frame, node, owner, name, args, kwargs)
        except UnsupportedSyntax as e:
            item, spread = _item(owner, name, args)
            raise (e if item is None else appending.refuse(frame, node, owner, item, e, spread=spread)) from None
    raise _unknown(frame, node, owner, name)


def _unknown(frame: Frame, node: ast.AST, owner: Value, name: str) -> UnsupportedSyntax:
    return frame.error(node, f"the method `.{name}` of {describe(owner)} with these arguments", f"lists have {_KNOWN} here")


def _item(owner: Sequence, name: str, args: list[Value]) -> tuple[Value | None, bool]:
    """What the items of a list are like that changes, by one of them, or by a list of some."""
    if name in ("append", "insert") and args:
        return args[-1], False
    if name == "extend" and args and isinstance(args[0], Grows):
        return args[0], True
    others = args[0].items if name == "extend" and args and isinstance(args[0], Sequence) else []
    return next(iter([*others, *owner.items]), None), False


def _change(frame: Frame, node: ast.expr, owner: Sequence, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A change of a list whose items are known one by one."""
    require_own(frame, node, owner)
    if name == "append" and len(args) == 1:
        owner.items.append(args[0])
    elif name == "extend" and len(args) == 1 and isinstance(args[0], Sequence):
        owner.items.extend(args[0].items)
    elif name == "reverse" and not args:
        owner.items.reverse()
    elif name == "clear" and not args:
        owner.items.clear()
    elif name == "insert" and len(args) == 2:
        owner.items.insert(constant(frame, node, args[0], "the position"), args[1])
    elif name == "pop" and len(args) <= 1:
        try:
            return owner.items.pop(*(constant(frame, node, a, "the position") for a in args))
        except IndexError as e:
            raise WillRaise(e) from e
    else:
        raise _unknown(frame, node, owner, name)
    return NONE


def _of_growing(frame: Frame, node: ast.expr, owner: Grows, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    match name, args:
        case "append", [value]:
            appending.append(frame, node, owner, value)
        case "extend", [Sequence() as items]:
            appending.extend(frame, node, owner, items.items)
        case "extend", [Growing() | Reference() | Given() as other]:
            appending.extend_by(frame, node, owner, other)
        case "insert", [index, value]:
            _insert(frame, node, owner, index, value)
        case "pop", []:
            return appending.pop(frame, node, owner)
        case "pop", [index]:
            is_empty = not_(frame, to_bool(frame, growing.length(frame, owner)))
            raise_if(frame, is_empty, "IndexError", "pop from empty list")
            at = growing.position(frame, node, owner, index, "pop index out of range")
            item = growing.item_at(frame, node, owner, at)
            _close(frame, node, owner, at)
            return item
        case "remove", [value]:
            _close(frame, node, owner, _place_of(frame, node, owner, value))
        case "clear", []:
            appending.cut(frame, node, owner, ZERO)
        case "sort", []:
            sort(frame, node, owner, **kwargs)
        case "copy", []:
            return appending.part(frame, node, owner, Slice(NONE, NONE, NONE))
        case "reverse", []:
            appending.reverse(frame, node, owner)
        case "count", [value]:
            return growing.sought(frame, node, owner, value, lists_rewritten.times_of)
        case "index", [value]:
            return _place_of(frame, node, owner, value)
        case _:
            raise _unknown(frame, node, owner, name)
    if kwargs and name != "sort":
        raise _unknown(frame, node, owner, name)
    return NONE


def _place_of(frame: Frame, node: ast.AST, owner: Grows, value: Value) -> Value:
    """Where a number is; Python answers the call where it is nowhere."""
    place = growing.sought(frame, node, owner, value, lists_rewritten.place_of)
    raise_if(frame, compare(frame, ast.Lt, place, ZERO).ssa, "ValueUnanswerable", "a number that is not in a list")
    frame.outside.made_by_python = frame.error(node, "a place in a list, in a function that writes its arguments")
    return place


def _insert(frame: Frame, node: ast.expr, owner: Grows, index: Value, value: Value) -> None:
    """`owner.insert(index, value)`: an index beyond an end is that end."""
    if not (is_number(index) and number_kind(index) == "int"):
        raise frame.error(node, f"{describe(index)} as a place in a list", "use an int")
    n = growing.length(frame, owner)
    at = frame.call_function(frame, node, lists_rewritten.place_before, [n, index], {})
    appending.append(frame, node, owner, value)
    first = growing.place(frame, node, owner, at)
    for buffer in growing.buffers(frame, owner):
        frame.call_function(frame, node, lists_rewritten.opened, [buffer, first, binary(frame, node, ast.Sub, n, at)], {})
    appending.write(frame, node, owner, at, value)


def _close(frame: Frame, node: ast.AST, owner: Grows, at: Value) -> None:
    """Take the item at a place out."""
    last = binary(frame, node, ast.Sub, growing.length(frame, owner), Const(1))
    first = growing.place(frame, node, owner, at)
    appending.cut(frame, node, owner, last)
    for buffer in growing.buffers(frame, owner):
        frame.call_function(frame, node, lists_rewritten.closed, [buffer, first, binary(frame, node, ast.Sub, last, at)], {})


def delete(frame: Frame, node: ast.AST, owner: Value, index: Value) -> None:
    """`del owner[index]`, of an int."""
    if isinstance(owner, Grows):
        _close(frame, node, owner, growing.position(frame, node, owner, index, "list assignment index out of range"))
        return
    error = frame.error(node, f"`del` of an item of {describe(owner)}")
    if not isinstance(owner, Sequence) or owner.kind != "list":
        raise error
    try:
        require_own(frame, node, owner)
        del owner.items[constant(frame, node, index, "the position")]
    except IndexError as e:
        raise WillRaise(e) from e
    except UnsupportedSyntax as e:
        raise (appending.refuse(frame, node, owner, owner.items[0], e) if owner.items else e) from None


def sort(frame: Frame, node: ast.expr, owner: Grows, *, key: Value = NONE, reverse: Value = FALSE) -> None:
    """`owner.sort()`, of numbers. Python, to which nothing is less than a NaN, sorts those with NaNs."""
    item = growing.item_of(owner)
    if key is not NONE or not isinstance(item, OneScalar):
        raise frame.error(node, f"{describe(owner)} sorted by a key, or by other than numbers", "sort numbers, or use np.argsort")
    appending.change(frame, node, owner)
    where = [*growing.buffers(frame, owner), growing.place(frame, node, owner, ZERO), growing.length(frame, owner)]
    is_turned = constant(frame, node, reverse, "`reverse`")
    for how in (lists_rewritten.turned, lists_rewritten.ordered, lists_rewritten.turned) if is_turned else (lists_rewritten.ordered,):
        frame.call_function(frame, node, how, where, {})  # equal ones, which 0.0 and -0.0 are, stay in their order
    frame.outside.made_by_python = frame.error(node, "NaNs in a list that is sorted, in a function that writes its arguments")


@function(sorted)
def sorted_(frame: Frame, node: ast.expr, iterable: Value, *, key: Value = NONE, reverse: Value = FALSE) -> Value:
    """`sorted(...)`, of numbers."""
    made = consuming.listed(frame, node, iterable, *consuming.every_item())
    if isinstance(made, Sequence):
        error = frame.error(node, f"{describe(iterable)}, sorted", "make an array of it: np.sort(...)")
        raise error if not made.items else appending.refuse(frame, node, made, made.items[0], error)
    assert isinstance(made, Grows)
    sort(frame, node, made, key=key, reverse=reverse)
    return made
