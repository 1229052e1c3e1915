"""Expressions: syntax tree in, value out."""

from __future__ import annotations

import ast
import copy
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tierup.frontend.python.building import table
from tierup.frontend.python.building.branch import choice_in, each, for_each, select
from tierup.frontend.python.building.frame import Frame, Unjoinable, WillRaise
from tierup.frontend.python.building.knowledge import dtype_of, settled
from tierup.frontend.python.building.values import (
    NONE,
    Array,
    Complex,
    Const,
    Grows,
    Iterable_,
    Mapping_,
    Method,
    Object,
    OneOf,
    Scalar,
    Sequence,
    Slice,
    Value,
    copies_in,
    describe,
)  # fmt: skip
from tierup.frontend.python.heaps import in_one
from tierup.frontend.python.operations import appending, array_operators, complex_scalars, indexing, stores
from tierup.frontend.python.operations.array_operators import truth
from tierup.frontend.python.operations.arrays import as_int
from tierup.frontend.python.operations.iteration import kept, static_items
from tierup.frontend.python.operations.operators import FOLDABLE, LONG, compare_two, folded, operate, short_circuit, static_truth
from tierup.frontend.python.operations.scalars import FOLD, SYMBOLS, fits, not_, unary
from tierup.frontend.python.syntax import attributes, helpers, nested
from tierup.frontend.python.syntax.calls import call


def evaluate(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression. Raises UnsupportedSyntax, for one whose kind only the run knows, too; WillRaise for one that raises
    whatever the arguments are; NeedsDtypes where dtypes may tell the kind."""
    value = evaluate_any(frame, node)
    if isinstance(value, OneOf):
        frame.ask_for_dtypes()
        raise frame.error(node, f"{describe(value)}, in this place", "make it one kind: float(...), int(...) or np.asarray(...)")
    return value


def evaluate_any(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression: of one kind or another, maybe."""
    if type(node) not in _DISPLAYS and not _iterates(node) and (choice := choice_in(frame, [node])) is not None:
        return for_each(frame, node, choice, lambda: evaluate_any(frame, node))
    pending = [node]
    while (head := _HEADS.get(type(pending[-1]))) is not None:  # x + x + x, x.T.T: as long as they like
        pending.append(getattr(pending[-1], head))
    em, copied_at = frame.em, frame.em.copied_at
    outer = em.location, em.has_gradients, frame.nested, em.node
    frame.nested += 1
    em.copied_at = None
    value: Value | None = None
    try:
        while pending:
            node = pending.pop()
            handler = HANDLERS.get(type(node))
            if handler is None:
                construct, remedy = _REFUSED.get(type(node), (f"this expression ({type(node).__name__})", ""))
                raise frame.error(node, construct, remedy)
            if frame.nested > MAX_NESTED:
                raise frame.error(node, f"expressions nested deeper than {MAX_NESTED} levels", "give the inner ones names")
            frame.at(node)
            value = handler(frame, node) if value is None else handler(frame, node, value)
            if em.mutable:
                _refuse_stale(frame, node, value)
            if isinstance(value, OneOf) and pending:
                frame.ask_for_dtypes()
                with frame.named(value) as name:
                    return evaluate_any(frame, _with_head(pending, ast.copy_location(ast.Name(name, ast.Load()), node)))
    finally:
        em.location, em.has_gradients, frame.nested, em.node = outer
        em.copied_at = em.copied_at if copied_at is None else copied_at
    assert value is not None
    return value


def _iterates(node: ast.expr) -> bool:
    """Whether an expression is a call of what gives an iterator: not one of each kind, but one of what its arguments are."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ITERATORS


_ITERATORS = ("range", "enumerate", "zip", "reversed")


def _with_head(outer: list[ast.expr], head: ast.expr) -> ast.expr:
    """The outermost of expressions that are each other's heads, with another one in the place of the last one's."""
    for node in reversed(outer):
        made = copy.copy(node)
        setattr(made, _HEADS[type(node)], head)
        head = made
    return head


def _refuse_stale(frame: Frame, node: ast.AST, value: Value) -> None:
    """Raises UnsupportedSyntax where NumPy has a view, ours a copy from before a write: one that is read, or was in this expression."""
    em, copies = frame.em, list(copies_in(value))
    if copies and em.copied_at is None:
        em.copied_at = em.writes
    if em.copied_at not in (None, em.writes) or any(copy.writes != em.writes for copy in copies):
        raise frame.error(node, "keeping a reversed view in a function that writes arrays", "write .copy() after it")


_DISPLAYS = (ast.Name, ast.Tuple, ast.List, ast.Dict, ast.Starred)  # what holds a value of any kind
MAX_NESTED = 200  # as Python's parser

_HEADS = {
    ast.BinOp: "left", ast.UnaryOp: "operand", ast.Compare: "left", ast.Subscript: "value", ast.Attribute: "value", ast.Call: "func",
}  # fmt: skip
"""The part of an expression that is evaluated first, whatever comes of it; handlers get its value."""

_REFUSED: dict[type, tuple[str, str]] = {
    ast.Yield: ("`yield`", "return a tuple or list"),
    ast.YieldFrom: ("`yield from`", "return a tuple or list"),
    ast.Await: ("`await`", ""),
    ast.Set: ("a set", "use a tuple"),
    ast.SetComp: ("a set comprehension", "use a list"),
    ast.Starred: ("a starred expression here", ""),
}


# --- names, literals, structure ------------------------------------------------------------------------------------------


def _constant(frame: Frame, node: ast.Constant) -> Value:
    if isinstance(node.value, bytes):
        raise frame.error(node, "a bytes constant")
    if isinstance(node.value, complex):
        frame.meets_complex(node, "a complex constant")
    if isinstance(node.value, int) and not fits(node.value):
        raise frame.error(node, _TOO_LARGE)
    return Const(node.value)


_TOO_LARGE = "an integer constant of more than 64 bits"


def right_operand(frame: Frame, node: ast.expr, other: Value) -> Value:
    """The right operand of an operator: an int that only uint64 holds is one of these beside an array of them, as NumPy has it."""
    written = node.value if isinstance(node, ast.Constant) and isinstance(other, Array) else None
    value = Const(written) if type(written) is int else evaluate_any(frame, node)
    if not isinstance(value, Const) or not isinstance(other, Array) or type(value.value) is not int or fits(value.value):
        return value
    if value.value >> 63 == 1 and dtype_of(frame, node, other, "an integer of 64 bits beside a dtype") == np.uint64:
        return Const(np.uint64(value.value))
    raise frame.error(node, _TOO_LARGE)


def _items(frame: Frame, nodes: list[ast.expr]) -> list[Value]:
    """Elements of a display or arguments of a call, starred ones spread."""
    out: list[Value] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            out.extend(static_items(frame, node, evaluate(frame, node.value)))
        else:
            out.append(evaluate_any(frame, node))
    return out


def _kept_items(frame: Frame, node: ast.Tuple | ast.List) -> list[Value]:
    return [kept(frame, node, value) for value in _items(frame, node.elts)]


def _dict(frame: Frame, node: ast.Dict) -> Value:
    items: dict[Any, Value] = {}
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        if key_node is None:
            spread = evaluate(frame, value_node)
            if not isinstance(spread, Mapping_):
                raise frame.error(value_node, f"`**` of {describe(spread)}")
            items.update(spread.items)
            continue
        key = evaluate(frame, key_node)
        items[table.constant(frame, key_node, key, table.A_KEY)] = kept(frame, value_node, evaluate_any(frame, value_node))
    return Mapping_(items, region=frame.em.region)


def _slice(frame: Frame, node: ast.Slice) -> Value:
    return Slice(*(NONE if part is None else _as_index(frame, part, "a slice") for part in (node.lower, node.upper, node.step)))


def _as_index(frame: Frame, node: ast.expr, what: str) -> Value:
    """The value of an expression for a place where Python wants an integer: what is one or another is the integer that it is."""
    value = evaluate_any(frame, node)
    if not isinstance(value, OneOf):
        return value
    return each(frame, node, [value], lambda v: Scalar(as_int(frame, node, v, what), "int"))


def _subscript(frame: Frame, node: ast.Subscript, owner: Value) -> Value:
    return each(frame, node, [evaluate_any(frame, node.slice)], lambda index: _item(frame, node, owner, index))


def _item(frame: Frame, node: ast.Subscript, owner: Value, index: Value) -> Value:
    if isinstance(owner, Object) and isinstance(index, Const) and _has_item(owner.value, index.value):
        frame.outside.constant(owner.access.attribute("__class__"), "identity", type(owner.value))
        return frame.outside_value(node, owner.value[index.value], owner.access.item(index.value))
    by_key = helpers.by_key(owner)
    if by_key is not None:
        return frame.call_function(frame, node, by_key, [settled(frame, index)], {})
    with appending.or_grows(frame, node, owner, None):
        if isinstance(owner, Grows) and isinstance(index, Slice):
            return appending.part(frame, node, owner, index)
        found = indexing.load(frame, node, owner, index)
    if isinstance(index, Slice) and isinstance(found, Sequence) and found.kind == "list":
        return appending.made(frame, node, found.items)
    return found


def _has_item(value: Any, key: Any) -> bool:
    """Whether an object has an item that is there to be read: of others an item may be what their own code makes, or changes."""
    for kind in (tuple, list):
        if getattr(type(value), "__getitem__", None) is kind.__getitem__:
            return type(key) is int and -kind.__len__(value) <= key < kind.__len__(value)
    return type(value) is OrderedDict and key in value


def _named(frame: Frame, node: ast.NamedExpr) -> Value:
    value = nested.kept(frame, node, kept(frame, node, evaluate_any(frame, node.value)), frame.comprehended.values())
    frame.env[node.target.id] = value
    frame.has_choices |= isinstance(value, OneOf)
    return value


_CONVERSIONS: dict[int, Callable[[Any], Any]] = {ord("r"): repr, ord("s"): str, ord("a"): ascii}


def _formatted(convert: Callable[[Any], Any], value: Any, spec: str) -> str:
    return format(convert(value), spec)


def _joined_string(frame: Frame, node: ast.JoinedStr) -> Value:
    parts: list[str] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = table.constant(frame, part, evaluate(frame, part.value), "a value in an f-string")
            spec = "" if part.format_spec is None else table.constant(frame, part, evaluate(frame, part.format_spec), "a format")
            convert = _CONVERSIONS.get(part.conversion, lambda v: v)
            found = folded(frame, part, partial(_formatted, convert, value, spec))
            parts.append(table.constant(frame, part, found, "a value in an f-string"))
        else:
            assert isinstance(part, ast.Constant)
            parts.append(str(part.value))
    return Const("".join(parts))


# --- operators -----------------------------------------------------------------------------------------------------------


def _unaryop(frame: Frame, node: ast.UnaryOp, value: Value) -> Value:
    op = type(node.op)
    if op is ast.Not:
        known = static_truth(frame, node, value)
        if known is not None:
            return Const(not known)
        return Scalar(not_(frame, truth(frame, node, value)), "bool")
    if isinstance(value, Const):
        if not isinstance(value.value, FOLDABLE):
            raise frame.error(node, f"`{SYMBOLS[op]}` of {describe(value)}")
        return folded(frame, node, lambda: FOLD[op](value.value))
    if isinstance(value, Scalar):
        return unary(frame, node, op, value)
    if isinstance(value, Complex):
        return complex_scalars.unary(frame, node, op, value)
    if isinstance(value, Array):
        return array_operators.unary(frame, node, op, value)
    raise frame.error(node, f"`{SYMBOLS[op]}` of {describe(value)}")


def condition(frame: Frame, node: ast.expr) -> Value:
    """The truth of an expression as Const or Scalar bool."""
    if (choice := choice_in(frame, [node])) is not None:
        return for_each(frame, node, choice, lambda: condition(frame, node))
    _mark_condition(frame, node)
    value = evaluate_any(frame, node)
    if isinstance(value, OneOf):
        frame.ask_for_dtypes()
        with frame.named(value) as name:
            return condition(frame, ast.copy_location(ast.Name(name, ast.Load()), node))
    known = static_truth(frame, node, value)
    if known is not None:
        return Const(known)
    outer = frame.em.location
    frame.at(node)
    ssa = truth(frame, node, value)
    frame.em.location = outer
    return Scalar(ssa, "bool")


def _mark_condition(frame: Frame, node: ast.expr) -> None:
    if isinstance(node, ast.BoolOp):
        frame.conditions.add(node)
        for value in node.values:
            _mark_condition(frame, value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        _mark_condition(frame, node.operand)


def _compare(frame: Frame, node: ast.Compare, left: Value) -> Value:
    if len(node.ops) > LONG and all(isinstance(n, (ast.Name, ast.Constant)) for n in node.comparators):  # read early: no branch in another
        values = [left, *(evaluate(frame, n) for n in node.comparators)]
        links = [partial(compare_two, frame, node, type(op), a, b) for op, a, b in zip(node.ops, values[:-1], values[1:], strict=True)]
        return short_circuit(frame, node, True, links)
    return _chain(frame, node, left, list(zip(node.ops, node.comparators, strict=True)))


def _chain(frame: Frame, node: ast.Compare, left: Value, links: list[tuple[ast.cmpop, ast.expr]]) -> Value:
    """`a < b < c` is `a < b and b < c`, each operand evaluated once and only when reached."""
    op, right_node = links[0]
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(right_node, ast.Set):
        known = [table.constant(frame, n, evaluate(frame, n), "an element of a set") for n in right_node.elts]
        right: Value = Sequence("tuple", [Const(v) for v in known])
    else:
        right = right_operand(frame, right_node, left)
    first = partial(each, frame, node, [left, right], partial(compare_two, frame, node, type(op)))
    if len(links) == 1:
        return first()
    return short_circuit(frame, node, True, [first, lambda: _chain(frame, node, right, links[1:])])


def _ifexp(frame: Frame, node: ast.IfExp) -> Value:
    test = condition(frame, node.test)
    if isinstance(test, Const):
        return evaluate_any(frame, node.body if test.value else node.orelse)
    assert isinstance(test, Scalar)
    arms = [partial(evaluate_any, frame, arm) for arm in (node.body, node.orelse)]
    try:
        return select(frame, node, test.ssa, *arms, choices=True)
    except Unjoinable as e:
        raise in_one(frame, node, e.differ, e) from None


def function_inside(frame: Frame, node: ast.FunctionDef | ast.Lambda) -> Value:
    """A function that a definition in the body makes: the defaults of its parameters are evaluated now."""
    return nested.made(frame, node, {name: evaluate(frame, default) for name, default in nested.parameters_with_defaults(node)})


# --- targets and calls ---------------------------------------------------------------------------------------------------


def assign_target(frame: Frame, target: ast.expr, value: Value) -> None:
    """Bind a name or a tuple of them, or write. What is of one kind or another is written as each, and so it is where that is an index."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        kept(frame, target, value)
    if isinstance(target, ast.Name):
        if (frame.em.mutable or target.id in frame.source.handed_on) and any(copies_in(value)):
            raise frame.error(target, "keeping a reversed view in a function that writes arrays", "write .copy() after it")
        frame.env[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        if isinstance(value, OneOf) and all(_has_items(v, target) for v in value.alternatives):  # as many choices, of one tag
            items = [v.items for v in value.alternatives]  # type: ignore[union-attr]  # Sequences
            value = Sequence("tuple", [OneOf(value.tag, parts) for parts in zip(*items, strict=True)])
        _assign_tuple(frame, target, value)
    elif isinstance(target, ast.Subscript):
        owner, index = evaluate(frame, target.value), evaluate_any(frame, target.slice)
        if isinstance(owner, (Sequence, Mapping_)):
            with appending.or_grows(frame, target, owner, value):
                stores.store(frame, target, owner, index, value)  # it keeps a value of any kind
        elif isinstance(owner, Grows):  # and so does this
            each(frame, target, [index], lambda i: _stored(frame, target, owner, i, value))
        else:
            each(frame, target, [index, value], lambda i, v: _stored(frame, target, owner, i, v))
    elif isinstance(target, ast.Attribute):
        raise frame.error(
            target, f"assignment to the attribute `.{target.attr}`", f"write into the array: .{target.attr}[...] = value, or return it"
        )
    else:
        raise frame.error(target, "this target of an assignment")


def _has_items(value: Value, target: ast.Tuple | ast.List) -> bool:
    """Whether a value is a tuple or list with an item for each element of a target."""
    return isinstance(value, Sequence) and len(value.items) == len(target.elts) and not any(isinstance(e, ast.Starred) for e in target.elts)


def _stored(frame: Frame, target: ast.Subscript, owner: Value, index: Value, value: Value) -> Value:
    if isinstance(owner, Grows):
        appending.store(frame, target, owner, index, value)
    else:
        stores.store(frame, target, owner, index, value)
    return NONE


def _assign_tuple(frame: Frame, target: ast.Tuple | ast.List, value: Value) -> None:
    stars = [i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
    if isinstance(value, Iterable_):
        value = Sequence("tuple", static_items(frame, target, value))
    if not stars:
        for element, item in zip(target.elts, indexing.unpack(frame, target, value, len(target.elts)), strict=True):
            assign_target(frame, element, item)
        return
    items = static_items(frame, target, value)
    before, after = stars[0], len(target.elts) - stars[0] - 1
    if len(items) < before + after:
        raise WillRaise(ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(items)})"))
    middle = Sequence("list", items[before : len(items) - after], frame.em.region)
    starred = target.elts[before]
    assert isinstance(starred, ast.Starred)
    targets = [*target.elts[:before], starred.value, *target.elts[before + 1 :]]
    for element, item in zip(targets, [*items[:before], middle, *items[len(items) - after :]], strict=True):
        assign_target(frame, element, item)


def _binary(frame: Frame, node: ast.BinOp, left: Value, right: Value) -> Value:
    if isinstance(node.op, ast.Mult):
        for display, value, times in ((node.left, left, right), (node.right, right, left)):
            if isinstance(display, ast.List) and isinstance(value, Sequence):
                found = appending.repeated(frame, node, value.items, times)
                if found is not None:
                    return found
    lists = [v for v in (left, right) if isinstance(v, Grows) or isinstance(v, Sequence) and v.kind == "list"]
    if isinstance(node.op, ast.Add) and len(lists) == 2:
        if any(isinstance(v, Grows) for v in lists):
            return appending.joined(frame, node, *lists)
        return appending.made(frame, node, [item for v in lists for item in v.items])  # type: ignore[union-attr]  # Sequences
    return operate(frame, node, type(node.op), left, right)


def _call(frame: Frame, node: ast.Call, callee: Value) -> Value:
    taker = TAKERS.get(callee.value) if isinstance(callee, Const) and len(node.args) == 1 and not node.keywords else None
    if taker is not None and isinstance(node.args[0], ast.GeneratorExp):
        return taker(frame, node)
    if taker is not None and (found := FILTERED[0](frame, node, taker)) is not None:
        return found
    if isinstance(callee, Const) and callee.value in TABLES and (made := TABLES[callee.value](frame, node)) is not None:
        return made
    if isinstance(callee, Const) and callee.value is np.uint64 and [type(a) for a in node.args] == [ast.Constant]:
        given = ast.literal_eval(node.args[0])
        args = [folded(frame, node, lambda: np.uint64(given)) if type(given) is int else evaluate(frame, node.args[0])]
    elif isinstance(callee, Const) and callee.value is range and not any(isinstance(a, ast.Starred) for a in node.args):
        args = [_as_index(frame, a, "range") for a in node.args]
    else:
        args = _items(frame, node.args)
    kwargs: dict[str, Value] = {}
    for keyword in node.keywords:
        value = evaluate_any(frame, keyword.value)
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
        elif isinstance(value, Mapping_):
            kwargs.update(value.items)
        else:
            raise frame.error(keyword.value, f"`**` of {describe(value)}")
    frame.at(node)
    if isinstance(callee, Method) and isinstance(callee.owner, (Sequence, Mapping_, Grows)):
        return call(frame, node, callee, [kept(frame, node, a) for a in args], kwargs)  # which keeps a value of any kind
    count = len(args)
    with_ = lambda *v: call(frame, node, callee, list(v[:count]), dict(zip(kwargs, v[count:], strict=True)))
    return each(frame, node, [*args, *kwargs.values()], with_)


TAKERS: dict[Any, Callable[[Frame, ast.Call], Value]] = {}
"""Calls of these with a generator expression alone are built with what it is made of (comprehensions.py)."""

FILTERED: list[Callable[[Frame, ast.Call, Callable[[Frame, ast.Call], Value]], Value | None]] = []
"""So are calls of them with a call of `filter` alone; None for other calls."""

TABLES: dict[Any, Callable[[Frame, ast.Call], Value | None]] = {}
"""So are calls of these with a comprehension of comprehensions; None for other calls."""

HANDLERS: dict[type, Callable[..., Value]] = {
    ast.Name: lambda frame, node: frame.lookup(node),
    ast.Tuple: lambda frame, node: Sequence("tuple", _kept_items(frame, node), frame.em.region),
    ast.List: lambda frame, node: appending.made(frame, node, _kept_items(frame, node)),
    ast.Attribute: lambda frame, node, owner: attributes.load(frame, node, owner, node.attr),
    ast.BinOp: lambda frame, node, left: each(
        frame, node, [left, right_operand(frame, node.right, left)], partial(_binary, frame, node)
    ),
    ast.BoolOp: lambda frame, node: short_circuit(
        frame, node, isinstance(node.op, ast.And), [partial(evaluate, frame, v) for v in node.values]
    ),
    ast.Constant: _constant, ast.Dict: _dict, ast.Slice: _slice, ast.Subscript: _subscript, ast.NamedExpr: _named,
    ast.JoinedStr: _joined_string, ast.UnaryOp: _unaryop, ast.Compare: _compare, ast.IfExp: _ifexp,
    ast.Call: _call, ast.Lambda: function_inside,
}  # fmt: skip
