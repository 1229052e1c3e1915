"""The built-in `sum`, and `fsum` and `prod` of Python's `math`.

`sum`, from Python 3.12 on, keeps what adding floats rounds away, and adds that at the end: the improved Kahan-Babuska
algorithm (A. Neumaier, Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen, ZAMM 54, 1974), as CPython has it."""

from __future__ import annotations

import ast
import math
import sys
from functools import partial, reduce

from tierup.frontend.python.building.branch import each, select
from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.table import function
from tierup.frontend.python.building.values import (
    ONE,
    ZERO,
    Const,
    Grows,
    Iterable_,
    Scalar,
    Sequence,
    Value,
    is_complex_number,
    is_number,
    number_kind,
)
from tierup.frontend.python.functions import consuming, python_math_rewritten
from tierup.frontend.python.operations import growing, iteration
from tierup.frontend.python.operations.operators import operate
from tierup.frontend.python.operations.scalars import absolute, compare, to_float

KEEPS_ROUNDINGS, OF_ALL_NUMBERS = sys.version_info >= (3, 12), sys.version_info >= (3, 14)
NOTHING = Const(0.0)


@function(sum)
def sum_(frame: Frame, node: ast.expr, iterable: Value, start: Value = ZERO) -> Value:
    items = iteration.iterate(frame, node, iterable)
    if not isinstance(items.length, Const):
        build = lambda start, items: summed(frame, node, items, *consuming.every_item(), start)
        return consuming.from_start(frame, node, items, start, partial(operate, frame, node, ast.Add), build)
    total: Value = start
    rounded: Value = NOTHING
    for i in range(iteration.known_length(frame, node, items)):
        total, rounded = _added(frame, node, total, rounded, items.item(Const(i)))
    return _whole(frame, node, total, rounded)


def summed(frame: Frame, node: ast.expr, first: Value, generators: consuming.Generators, element: ast.expr, start: Value) -> Value:
    """`sum((element for ...), start)`, which adds in order. `first`: what the first generator runs over."""
    with frame.named(start) as total, frame.named(NOTHING) as rounded, frame.named(Const(add_one)) as added:
        read, written = ([ast.Name(name, context) for name in (total, rounded)] for context in (ast.Load(), ast.Store()))
        if KEEPS_ROUNDINGS:
            step = ast.Assign([ast.Tuple([*written], ast.Store())], ast.Call(ast.Name(added, ast.Load()), [*read, element], []))
        else:
            step = ast.Assign(written[:1], ast.BinOp(read[0], ast.Add(), element))  # type: ignore[arg-type]  # a name
        consuming.loop(frame, node, first, generators, [step])
        found, lost = (consuming.value_of(frame, node, name) for name in (total, rounded))
        return each(frame, node, [found], lambda total: _whole(frame, node, total, lost))


def add_one(total: object, rounded: object, item: object) -> None:
    """Stands for a step of `sum` in the loops that are built for it: of a total, what was rounded away, and the next item."""


@function(add_one)
def _one_more(frame: Frame, node: ast.AST, total: Value, rounded: Value, item: Value) -> Value:
    return Sequence("tuple", [*_added(frame, node, total, rounded, item)])


def _added(frame: Frame, node: ast.AST, total: Value, rounded: Value, item: Value) -> tuple[Value, Value]:
    """The total and what was rounded away, after one more item."""
    of = partial(operate, frame, node)
    if not KEEPS_ROUNDINGS or not _is_float(total) or not is_number(item):
        if OF_ALL_NUMBERS and is_complex_number(total) and (is_number(item) or is_complex_number(item)):
            raise frame.error(node, "sum() of complex numbers", "add them in a loop")
        return of(ast.Add, _whole(frame, node, total, rounded), item), NOTHING
    if not _is_float(item):
        if not OF_ALL_NUMBERS:
            raise frame.error(node, "sum() of floats and ints", "write float(...) around the ints")
        item = Const(float(item.value)) if isinstance(item, Const) else Scalar(to_float(frame, item), "float")
    after = of(ast.Add, total, item)
    lost = [lambda a=a, b=b: of(ast.Add, of(ast.Sub, a, after), b) for a, b in ((total, item), (item, total))]
    if isinstance(total, Const) and isinstance(item, Const):
        return after, of(ast.Add, rounded, lost[abs(total.value) < abs(item.value)]())
    sizes = (absolute(frame, node, v) if isinstance(v, Scalar) else Const(abs(v.value)) for v in (total, item))  # type: ignore[union-attr]  # else a Const
    return after, of(ast.Add, rounded, select(frame, node, compare(frame, ast.GtE, *sizes).ssa, *lost))


def _whole(frame: Frame, node: ast.AST, total: Value, rounded: Value) -> Value:
    """The sum, where that is finite with what was rounded away."""
    of = partial(operate, frame, node)
    if not _is_float(total):
        return total
    if isinstance(rounded, Const):
        return total if not rounded.value or rounded.value - rounded.value else of(ast.Add, total, rounded)
    is_zero = compare(frame, ast.Eq, rounded, ZERO).ssa
    is_finite = compare(frame, ast.Eq, of(ast.Sub, rounded, rounded), ZERO).ssa
    more = lambda: select(frame, node, is_finite, lambda: of(ast.Add, total, rounded), lambda: total)
    return select(frame, node, is_zero, lambda: total, more)


@function(math.prod)
def prod(frame: Frame, node: ast.expr, iterable: Value, *, start: Value = ONE) -> Value:
    items, step = iteration.iterate(frame, node, iterable), partial(operate, frame, node, ast.Mult)
    if isinstance(items.length, Const):
        return reduce(step, iteration.static_items(frame, node, items), start)
    build = lambda start, items: multiplied(frame, node, items, *consuming.every_item(), start)
    return consuming.from_start(frame, node, items, start, step, build)


def multiplied(frame: Frame, node: ast.expr, first: Value, generators: consuming.Generators, element: ast.expr, start: Value) -> Value:
    """`math.prod((element for ...), start=start)`."""
    return consuming.gathered(frame, node, first, generators, element, start, lambda a, b: ast.BinOp(a, ast.Mult(), b))


@function(math.fsum)
def fsum(frame: Frame, node: ast.expr, seq: Value) -> Value:
    """Of an array: what else has as many items as only the run knows becomes one."""
    if isinstance(seq, Iterable_):
        items = consuming.every_item()
        known = isinstance(seq.length, Const)
        seq = Sequence("list", iteration.static_items(frame, node, seq)) if known else consuming.listed(frame, node, seq, *items)
    if isinstance(seq, Grows):
        seq = growing.as_array(frame, node, seq)
    return frame.call_function(frame, node, python_math_rewritten.fsum, [seq], {})


def _is_float(value: Value) -> bool:
    return is_number(value) and number_kind(value) == "float"
