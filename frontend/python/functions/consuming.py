"""What takes the items of an iterable one after the other: comprehensions, `sum`, `any`, `max`, `functools.reduce`.

    sum(v * v for v in x if v > 0)           total = 0
                                             for v in x:
                                                 if v > 0:
                                                     total = total + v * v

They are built as the loops that one would write, with names that no program has; the names of a comprehension are its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from collections.abc import Sequence as Sequence_
from functools import partial

from tierup.frontend.python.building.branch import each, select
from tierup.frontend.python.building.frame import Frame, Unjoinable
from tierup.frontend.python.building.values import NONE, ZERO, Const, Iterable_, OneOf, Value, is_one_of_scalars
from tierup.frontend.python.flow.names import binds
from tierup.frontend.python.flow.parts import placed
from tierup.frontend.python.operations import appending, iteration
from tierup.frontend.python.operations.scalars import compare, raise_if

Generators = Sequence_[ast.comprehension]


def every_item() -> tuple[Generators, ast.expr]:
    """The generators of a comprehension over an iterable itself, and its element."""
    return [ast.comprehension(ast.Name("an item", ast.Store()), ast.Constant(None), [], 0)], ast.Name("an item", ast.Load())


def listed(frame: Frame, node: ast.expr, first: Value, generators: Generators, element: ast.expr) -> Value:
    """`[element for ...]`. `first`: what the first generator runs over."""
    with frame.named(appending.made(frame, node, [])) as name:
        call = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load()), [element], [])
        loop(frame, node, first, generators, [ast.Expr(call)])
        return value_of(frame, node, name)


def found(frame: Frame, node: ast.expr, first: Value, generators: Generators, element: ast.expr, *, wanted: bool) -> Value:
    """`any(element for ...)`, or `all(...)` where False is what is wanted: it stops at the first one."""
    with frame.named(Const(not wanted)) as name:
        is_found: ast.expr = ast.Name(name, ast.Load())
        body = [_bound(name, ast.Constant(wanted)), ast.Break()]
        if not wanted:
            element, is_found = ast.UnaryOp(ast.Not(), element), ast.UnaryOp(ast.Not(), is_found)
        loop(frame, node, first, generators, [ast.If(element, body, [])], is_found)
        return value_of(frame, node, name)


def extreme(frame: Frame, node: ast.expr, first: Value, rest: Value, *, larger: bool, key: Value | None) -> Value:
    """`max(...)`, or `min(...)`, of an item and the rest of them, by what `key` gives of each; the first of equal ones."""
    generators, item = every_item()
    with frame.named(first) as best, frame.named(key or NONE) as call, frame.named(first) as most:
        found, before = item, list[ast.stmt]()
        body = [_bound(best, item)]
        if key is not None:
            measured = partial(ast.Call, ast.Name(call, ast.Load()), keywords=[])
            frame.execute([placed(_bound(most, measured(args=[ast.Name(best, ast.Load())])), node)], tail=False)
            found = ast.Name("its measure", ast.Load())
            before = [_bound("its measure", measured(args=[item]))]
        body.append(_bound(most, found))
        test = ast.Compare(found, [ast.Gt() if larger else ast.Lt()], [ast.Name(most, ast.Load())])
        loop(frame, node, rest, generators, [*before, ast.If(test, body, [])])
        return value_of(frame, node, best)


def reduced(frame: Frame, node: ast.expr, function: Value, start: Value, rest: Value) -> Value:
    """`functools.reduce(function, rest, start)`."""
    with frame.named(function) as call:
        step = lambda so_far, item: ast.Call(ast.Name(call, ast.Load()), [so_far, item], [])
        return gathered(frame, node, rest, *every_item(), start, step)


def gathered(
    frame: Frame, node: ast.expr, first: Value, generators: Generators, element: ast.expr, start: Value,
    step: Callable[[ast.expr, ast.expr], ast.expr],
) -> Value:  # fmt: skip
    """What a step makes of what it made so far, at first of `start`, and of each element."""
    with frame.named(start) as name:
        loop(frame, node, first, generators, [_bound(name, step(ast.Name(name, ast.Load()), element))])
        return value_of(frame, node, name)


def from_start(
    frame: Frame,
    node: ast.expr,
    items: Iterable_,
    start: Value,
    step: Callable[[Value, Value], Value],
    build: Callable[[Value, Iterable_], Value],
) -> Value:
    """What `build` gives of a start and items: by `step` of the start and the first item, where that gives what is of another kind than the
    start, as a sum of arrays that starts with 0 does. A call without items is Python's then; in a function that may write its arguments,
    which Python cannot run again, and of scalars, what is given is of one kind or the other."""
    before, left_to_python = frame.env, frame.outside.python_answers and (not frame.em.mutable or frame.outside.rooms)
    if isinstance(items.length, Const):
        return build(start, items)
    undo = frame.em.to_undo()
    try:
        found = build(start, items)
        if not (left_to_python and isinstance(found, OneOf)):
            return found
        left_to_python = not is_one_of_scalars(found)
    except Unjoinable:
        pass
    undo()
    frame.env = before

    def of_some() -> Value:
        first, rest = iteration.first_and_rest(frame, node, items)
        return build(each(frame, node, [first], partial(step, start)), rest)

    is_empty = compare(frame, ast.LtE, items.length, ZERO).ssa
    if left_to_python:
        raise_if(frame, is_empty, "ValueUnanswerable", "no items, of which the sum is of another kind")
        frame.outside.made_by_python = frame.error(node, "a sum of arrays that may be none, in a function that writes its arguments")
        return of_some()
    return select(frame, node, is_empty, lambda: start, of_some, choices=True)


def value_of(frame: Frame, node: ast.expr, name: str) -> Value:
    """What a name of the loops has after them."""
    return frame.lookup(ast.copy_location(ast.Name(name, ast.Load()), node))


def _bound(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def loop(frame: Frame, node: ast.expr, first: Value, generators: Generators, body: list[ast.stmt], left: ast.expr | None = None) -> None:
    """The loops of a comprehension around a body. When `left` holds, those around the innermost one are left, too."""
    own = frozenset(name for generator in generators for name in binds([generator.target]))
    with frame.comprehension(node, own):
        frame.env = {name: value for name, value in frame.env.items() if name not in own}
        with frame.named(first) as iterable:
            for i, generator in reversed(list(enumerate(generators))):
                for test in reversed(generator.ifs):
                    body = [ast.If(test, body, [])]
                body = [ast.For(generator.target, generator.iter if i else ast.Name(iterable, ast.Load()), body, [])]
                if i and left is not None:
                    body.append(ast.If(left, [ast.Break()], []))
            frame.execute([placed(statement, node) for statement in body], tail=False)
