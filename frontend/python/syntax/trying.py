"""`try`, where what is tried is decided when the graph is built.

    try:                                        axis = 1            `operator.index(axis)` is called now: the body is built, or,
        axis = operator.index(axis)      ->                         where it surely raises, the handler that takes the exception
    except TypeError:
        ...

A body that leaves ops for the run is not translated: there is no op that catches. NumPy's own functions have such ones for objects of other
libraries, which programs do not hold; of these the body is taken as it is, where what the handlers do for arrays would be the same.
"""

from __future__ import annotations

import ast
from typing import Any

from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.values import Const, Ends, GoOn, Sequence, Unset
from tierup.frontend.python.syntax.expressions import evaluate


def try_(frame: Frame, node: ast.Try, rest: list[Any], tail: bool) -> Ends | None:
    """How the statement and what follows it end."""
    if node.finalbody:
        raise frame.error(node, "`finally`", "check the condition before, or catch the exception outside")
    outer, frame.trying = frame.trying, frame.em.depth
    before = _count(frame)
    try:
        end = frame.execute(node.body, tail=False)
    except WillRaise as e:
        found: Exception | None = e.error
    else:
        found = None
    finally:
        frame.trying = outer
    if _count(frame) > before and not (frame.is_numpys and all(_does_the_same(h, _caught(frame, h)) for h in node.handlers)):
        raise frame.error(node, "`try` around what only the run computes", "check the condition before, or catch the exception outside")
    if found is None:
        return end if end is not None else GoOn([*node.orelse, *rest])
    for handler in node.handlers:
        if isinstance(found, _caught(frame, handler)):
            if handler.name is not None:
                frame.env[handler.name] = Unset("it is an exception")
            frame.caught = found
            return GoOn([*handler.body, *rest])
    raise WillRaise(found)


def _count(frame: Frame) -> int:
    """Of the ops in the block at hand, those for constants apart, which stand at the top of a function's."""
    return sum(not view.operation.name.startswith("torch.constant.") for view in frame.em.ip.block.operations)


def _does_the_same(handler: ast.ExceptHandler, caught: tuple[type, ...]) -> bool:
    """Whether a handler of NumPy's catches what no op on arrays raises, computes the same once more, or raises the same."""
    if all(c in (AttributeError, ImportError) for c in caught):
        return True
    inside = [n for statement in handler.body for n in ast.walk(statement)]
    raised = [n.exc.func if isinstance(n.exc, ast.Call) else n.exc for n in inside if isinstance(n, ast.Raise)]
    same = all(n is None or isinstance(n, ast.Name) and n.id in {c.__name__ for c in caught} for n in raised)
    return same and not any(isinstance(n, ast.Return) for n in inside)


def _caught(frame: Frame, handler: ast.ExceptHandler) -> tuple[type, ...]:
    if handler.type is None:
        return (BaseException,)
    named = evaluate(frame, handler.type)
    items = named.items if isinstance(named, Sequence) else [named]
    if not all(isinstance(c, Const) and isinstance(c.value, type) for c in items):
        raise frame.error(handler, "a class of exceptions that only the run knows")
    return tuple(c.value for c in items)  # type: ignore[union-attr]  # Consts
