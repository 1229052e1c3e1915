"""Comprehensions and generator expressions. What is known when the graph is built is written out; else loops are built (consuming.py).

A generator expression is used where it stands: an element is evaluated when it is asked for, as in Python.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tierup.frontend.python.building import table
from tierup.frontend.python.building.frame import Frame, GrowsList, NeedsStatic
from tierup.frontend.python.building.values import ONE, ZERO, Const, Iterable_, Mapping_, Sequence, Value, is_none
from tierup.frontend.python.flow.names import binds, reads
from tierup.frontend.python.flow.parts import placed
from tierup.frontend.python.functions import consuming, summing
from tierup.frontend.python.operations import appending
from tierup.frontend.python.operations.iteration import iterate, kept, known_length
from tierup.frontend.python.operations.scalars import compare, raise_if
from tierup.frontend.python.syntax import nested
from tierup.frontend.python.syntax.calls import call
from tierup.frontend.python.syntax.expressions import FILTERED, HANDLERS, TABLES, TAKERS, assign_target, condition, evaluate, evaluate_any


def _listcomp(frame: Frame, node: ast.ListComp | ast.GeneratorExp) -> Value:
    """A list of all items now; a loop makes it where only the run knows how many there are."""
    first = evaluate(frame, node.generators[0].iter)
    before, writes, out = dict(frame.env), frame.em.writes, list[Value]()
    try:
        _comprehend(frame, node, first, 0, lambda: out.append(_element(frame, node, node.elt)))
    except NeedsStatic as e:
        if frame.is_numpys or frame.em.writes != writes:
            raise
        frame.env = before
        try:
            return consuming.listed(frame, node, first, node.generators, node.elt)
        except NeedsStatic as again:
            raise again if isinstance(again, GrowsList) and again.grows else e from None  # else no list of native code has such items
    return appending.made(frame, node, out)


def _generator(frame: Frame, node: ast.GeneratorExp) -> Value:
    """What is used up where it stands: an element is evaluated when it is asked for."""
    generator = node.generators[0]
    if frame.is_numpys:
        return _listcomp(frame, node)
    if not _is_simple(node):
        what = "a generator expression with tests, of several loops, or that binds a name by `:=`, here"
        raise frame.error(node, what, "use a list comprehension")
    inner = iterate(frame, generator.iter, evaluate(frame, generator.iter))
    own = binds([generator.target])

    def item(i: Value) -> Value:
        with frame.comprehension(node, own):
            assign_target(frame, generator.target, inner.item(i))
            return _element(frame, node, node.elt)

    return Iterable_(inner.length, item, inner.needs_static_index, check=inner.check)


def _is_simple(node: ast.GeneratorExp) -> bool:
    """Whether nothing is decided and nothing bound where an element is evaluated: who asks for it need not know of any of it."""
    return len(node.generators) == 1 and not node.generators[0].ifs and not _binds_more(node)


def _binds_more(node: ast.AST) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))


def _taken(frame: Frame, node: ast.Call, taker: Any) -> Value:
    """`sum`, `any`, `all` or `math.prod` of a comprehension, with nothing made of it where it has tests or several loops."""
    given = node.args[0]
    assert isinstance(given, ast.GeneratorExp)
    if frame.is_numpys or _is_simple(given):
        return call(frame, node, Const(taker), [_generator(frame, given)], {})
    first = evaluate(frame, given.generators[0].iter)
    if taker is sum:
        return summing.summed(frame, given, first, given.generators, given.elt, ZERO)
    if taker is math.prod:
        return summing.multiplied(frame, given, first, given.generators, given.elt, ONE)
    return consuming.found(frame, given, first, given.generators, given.elt, wanted=taker is any)


def _list_taken(frame: Frame, node: ast.Call, taker: Any) -> Value:
    """What takes all items before it gives anything."""
    given = node.args[0]
    assert isinstance(given, ast.GeneratorExp)
    items = _generator(frame, given) if taker in (max, min) and _is_simple(given) else _listcomp(frame, given)
    return call(frame, node, Const(taker), [items], {})


def _filtered(frame: Frame, node: ast.Call, taker: Callable[[Frame, ast.Call], Value]) -> Value | None:
    """What takes `filter(function, iterable)` takes `(v for v in iterable if function(v))`; None for another argument."""
    given = node.args[0]
    if not isinstance(given, ast.Call) or not isinstance(given.func, ast.Name) or given.keywords or len(given.args) != 2:
        return None
    called = frame.lookup(given.func)
    if not isinstance(called, Const) or called.value is not filter or any(isinstance(a, ast.Starred) for a in given.args):
        return None
    function, iterable = (evaluate_any(frame, a) for a in given.args)
    with frame.named(function) as test, frame.named(iterable) as items:
        [generator], item = consuming.every_item()
        generator.iter = ast.Name(items, ast.Load())
        generator.ifs = [item if is_none(function) else ast.Call(ast.Name(test, ast.Load()), [item], [])]
        taken = ast.Call(node.func, [ast.GeneratorExp(item, [generator])], [])
        return taker(frame, placed(taken, node))


def _element(frame: Frame, node: ast.ListComp | ast.GeneratorExp | ast.DictComp, element: ast.expr) -> Value:
    value = kept(frame, element, evaluate_any(frame, element))
    return nested.kept(frame, element, value, [node])


def _dictcomp(frame: Frame, node: ast.DictComp) -> Value:
    out: dict[Any, Value] = {}

    def add() -> None:
        key = table.constant(frame, node.key, evaluate(frame, node.key), table.A_KEY)
        out[key] = _element(frame, node, node.value)

    _comprehend(frame, node, evaluate(frame, node.generators[0].iter), 0, add)
    return Mapping_(out, region=frame.em.region)


def _comprehend(frame: Frame, node: Any, first: Value, depth: int, add: Callable[[], None]) -> None:
    """`first`: what the first generator runs over."""
    if depth == len(node.generators):
        add()
        return
    generator = node.generators[depth]
    with frame.comprehension(node, binds([generator.target])):
        iterable = iterate(frame, generator.iter, evaluate(frame, generator.iter) if depth else first)
        rounds = known_length(frame, generator.iter, iterable)
        frame.writes_out(node, rounds)
        for i in range(rounds):
            assign_target(frame, generator.target, iterable.item(Const(i)))
            if all(_passes(frame, test) for test in generator.ifs):
                _comprehend(frame, node, first, depth + 1, add)
            if iterable.check is not None:
                iterable.check()


def _passes(frame: Frame, node: ast.expr) -> bool:
    test = condition(frame, node)
    if not isinstance(test, Const):
        raise frame.error(node, "a comprehension filter known only at run time", "use a boolean mask", NeedsStatic)
    return bool(test.value)


def _table(frame: Frame, node: ast.Call, made: Any) -> Value | None:
    """`np.array([[element for j in columns] for i in rows])`, where only the run counts the rows or columns: a list of all elements, put in
    rows. None for another call."""
    rows = node.args[0] if len(node.args) == 1 and not node.keywords else None
    columns = rows.elt if isinstance(rows, ast.ListComp) and len(rows.generators) == 1 else None
    if not isinstance(columns, ast.ListComp) or len(columns.generators) > 1 or not frame.outside.python_answers or frame.is_numpys:
        return None
    assert isinstance(rows, ast.ListComp)
    [over], [along] = rows.generators, columns.generators
    asks_more = any(isinstance(n, ast.Call) and getattr(n.func, "id", "") not in ("range", "len") for n in ast.walk(along.iter))
    if over.ifs or along.ifs or _binds_more(rows) or asks_more or reads([along.iter]) & binds([over.target]):
        return None
    first = evaluate(frame, over.iter)
    count = iterate(frame, over.iter, first).length
    length = iterate(frame, along.iter, evaluate(frame, along.iter)).length
    if isinstance(count, Const) and isinstance(length, Const):
        return None
    if not isinstance(count, Const):  # of no rows there are no columns either
        raise_if(frame, compare(frame, ast.LtE, count, ZERO).ssa, "ValueUnanswerable", "an array of no rows")
        frame.outside.made_by_python = frame.error(node, "an array of rows, in a function that writes its arguments", "use np.empty")
    flat = consuming.listed(frame, rows, first, [over, along], columns.elt)
    array = call(frame, node, Const(made), [flat], {})
    return call(frame, node, Const(np.reshape), [array, Sequence("tuple", [count, length])], {})


HANDLERS.update({ast.ListComp: _listcomp, ast.DictComp: _dictcomp, ast.GeneratorExp: _generator})
TAKERS.update({f: partial(_taken, taker=f) for f in (sum, any, all, math.prod)})
TAKERS.update({f: partial(_list_taken, taker=f) for f in (list, tuple, sorted, max, min, math.fsum)})
FILTERED.append(_filtered)
TABLES.update({f: partial(_table, made=f) for f in (np.array, np.asarray)})
