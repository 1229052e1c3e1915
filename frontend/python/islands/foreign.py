"""What is not translated inside an expression, taken out of its statement so that the rest of it may be native.

    y = np.exp(np.fft.fft(x * 2).real) + 1          _1 = x * 2
                                                    _2 = np.fft.fft(_1)
                                                    y = np.exp(_2.real) + 1

What Python evaluates before it gets a name, too, so that all is evaluated in Python's order. Out of what runs in some calls only, or many
times, nothing is taken: there it is the smallest expression that Python evaluates once, such as a whole comprehension or `a if c else b`.
"""

from __future__ import annotations

import ast
import builtins
import copy
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tierup.frontend.errors import Position, position
from tierup.frontend.python.building.table import name_of
from tierup.frontend.python.flow.names import Names, own_nodes
from tierup.frontend.python.flow.parts import placed, places_of

_Steps = tuple[str | int, ...]

_ORDER: dict[type, tuple[_Steps, ...]] = {
    **{kind: (("value",),) for kind in (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)},
    ast.If: (("test",),), ast.Assert: (("test",),), ast.For: (("iter",),),
    ast.BinOp: (("left",), ("right",)), ast.UnaryOp: (("operand",),), ast.Compare: (("left",), ("comparators", 0)),
    ast.BoolOp: (("values", 0),), ast.IfExp: (("test",),), ast.NamedExpr: (("value",),), ast.keyword: (("value",),),
    ast.Call: (("func",), ("args",), ("keywords",)),
    ast.Attribute: (("value",),), ast.Subscript: (("value",), ("slice",)), ast.Slice: (("lower",), ("upper",), ("step",)),
    ast.Starred: (("value",),), ast.Tuple: (("elts",),), ast.List: (("elts",),), ast.Set: (("elts",),),
    **{kind: (("generators", 0, "iter"),) for kind in (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)},
}  # fmt: skip
"""What Python always evaluates of a node, once, in this order; of a list all items."""

_WORK = (ast.BinOp, ast.UnaryOp, ast.Call, ast.Compare)
_MADE_OF_PARTS = (ast.Tuple, ast.List, ast.Slice, ast.keyword)  # which making does nothing that anybody could see
_NOT_TAKEN = (ast.Name, ast.Constant, ast.Slice, ast.Starred)  # what is around them is

def found_at(statement: ast.stmt, where: Position | None) -> ast.AST | None:
    """The node of a statement that is there."""
    return None if where is None else next((n for n in ast.walk(statement) if position(n) == where), None)


@dataclass(frozen=True)
class Scope:
    """What the names in a function's statements mean. `local`: its own; `certain`: those that have a value before the statement."""

    function: FunctionType
    local: Names
    certain: Names

    def meaning(self, node: ast.expr) -> Any:
        """The object that a global name, or one of a module, stands for now; None for anything else."""
        if isinstance(node, ast.Attribute):
            module = self.meaning(node.value)
            return getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
        if not isinstance(node, ast.Name) or node.id in self.local or node.id in self.function.__code__.co_freevars:
            return None
        return self.function.__globals__.get(node.id, getattr(builtins, node.id, None))


def foreign_call(statement: ast.stmt, where: Position | None, scope: Scope) -> str | None:
    """`foreign call of numpy.fft.fft`, where that is what a statement has there: a library's function, or a method."""
    there = found_at(statement, where)
    node = next((n for n in ast.walk(statement) if isinstance(n, ast.Call) and there in (n, n.func)), None)
    if node is None:
        return None
    meaning = scope.meaning(node.func)
    if meaning is None:
        return f"foreign call of {ast.unparse(node.func)}" if isinstance(node.func, ast.Attribute) else None
    name = re.sub(r"^np\.", "numpy.", name_of(meaning))
    return f"foreign call of {name}" if "." in name else None


@dataclass(frozen=True)
class Taken:
    """Statements that do what one did; `foreign` is the one of them that is Python's."""

    statements: list[ast.stmt]
    foreign: ast.stmt


def take_out(statement: ast.stmt, where: Position | None, scope: Scope, fresh: Callable[[int], str]) -> Taken | None:
    """A statement with the expression at a place taken out of it; of an assignment to what is refused, the value. None where that leaves
    nothing to compute on either side. `fresh` numbers new names."""
    node = found_at(statement, where)
    if node is None or node is statement:
        return None
    if isinstance(statement, ast.AugAssign) and not (isinstance(statement.target, ast.Name) and statement.target.id in scope.certain):
        return None  # what its target is comes first
    parents = {inner: outer for outer in ast.walk(statement) for inner in ast.iter_child_nodes(outer)}
    chain = [node]
    while chain[-1] is not statement:
        chain.append(parents[chain[-1]])
    for node, outer in pairwise(chain):
        if not isinstance(node, ast.expr) or isinstance(node, _NOT_TAKEN) or isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            continue
        if isinstance(outer, ast.Call) and outer.func is node:
            continue
        for is_named in (True, False):
            taking = _Taking(scope, fresh, is_named)
            try:
                made = taking.around(statement, node)
            except _NotInOrder:
                break
            if is_named and any(_works(part) for _, part in _in_order(made)):
                return Taken([*taking.before, made], taking.before[-1])
            if not is_named:
                return Taken([*taking.before, made], made) if taking.before else None
    target = chain[-2]  # of a name it is the value that is refused, wherever the error stands
    if isinstance(statement, ast.Assign) and target in statement.targets and not isinstance(target, ast.Name) and _works(statement.value):
        taking = _Taking(scope, fresh, False)
        made = taking.alone(statement)
        return Taken([*taking.before, made], made)
    return None


def with_instead(body: list[ast.stmt], node: ast.stmt, statements: list[ast.stmt]) -> list[ast.stmt]:
    """A function's body with others in the place of a statement. Lists are new: another thread may be building what they were."""
    for owner, name in (place for inner in body for place in places_of(inner)):
        setattr(owner, name, with_instead(getattr(owner, name), node, statements))
    return [n for inner in body for n in (statements if inner is node else [inner])]


class _NotInOrder(Exception):
    """Python may evaluate it never or often, or something else before it that cannot be evaluated by itself."""


@dataclass
class _Taking:
    scope: Scope
    fresh: Callable[[int], str]
    is_named: bool  # what is taken out, which else stays where it is
    before: list[ast.stmt] = field(default_factory=list)

    def around(self, node: Any, taken: ast.AST) -> Any:
        """`node`, with all in it that is evaluated before `taken` is, and that as well, by names."""
        if node is taken:
            return self.named(self.alone(node), node) if self.is_named else self.alone(node)
        for steps, part in _in_order(node):
            if any(n is taken for n in ast.walk(part)):
                return _with(node, steps, self.around(part, taken))
            node = _with(node, steps, self.early(part, is_callee=steps == ("func",)))
        raise _NotInOrder

    def alone(self, node: Any) -> Any:
        """`node`, with what is to be computed for it by names."""
        parts = list(_in_order(node))
        while parts and not _works(parts[-1][1]):
            parts.pop()
        for steps, part in parts:
            only_owner = steps == ("func",) and len(parts) == 1
            try:
                node = _with(node, steps, self.alone(part) if only_owner else self.early(part))
            except _NotInOrder:
                break
        return node

    def early(self, node: Any, is_callee: bool = False) -> Any:
        """What is evaluated before something else: by a name, but where it makes no difference when it is evaluated."""
        is_certain = isinstance(node, ast.Name) and node.id in self.scope.certain
        if is_certain or callable(self.scope.meaning(node)) or self._is_number(node):
            return node
        if is_callee or isinstance(node, ast.Starred) or isinstance(node, ast.keyword) and node.arg is None:
            raise _NotInOrder  # its method, its items: found before the rest is evaluated
        if isinstance(node, _MADE_OF_PARTS):
            for steps, part in _in_order(node):
                node = _with(node, steps, self.early(part))
            return node
        return self.named(node)

    def _is_number(self, node: Any) -> bool:
        """Whether it is a constant, or one of NumPy's as `2 * np.pi` is."""
        if isinstance(node, (ast.BinOp, ast.UnaryOp)):
            return all(self._is_number(part) for _, part in _in_order(node))
        is_numpys = isinstance(node, ast.Attribute) and self.scope.meaning(node.value) in (np, math)
        return isinstance(node, ast.Constant) or is_numpys and isinstance(self.scope.meaning(node), (int, float))

    def named(self, value: ast.expr, stands_for: ast.AST | None = None) -> ast.expr:
        """A name, bound to the value before the statement. `stands_for`: what people know it as. Raises _NotInOrder for what may bind names
        once it is used: a generator that binds one by `:=`."""
        generators = (n for n in ast.walk(value) if isinstance(n, ast.GeneratorExp))
        if any(isinstance(n, ast.NamedExpr) for generator in generators for n in ast.walk(generator)):
            raise _NotInOrder
        name = self.fresh(len(self.before))
        made = ast.Assign([ast.Name(name, ast.Store())], value)
        self.before.append(placed(made, value))
        read = ast.Name(name, ast.Load())
        read.stands_for = stands_for or value  # type: ignore[attr-defined]  # nodes hold what they are given
        return ast.copy_location(read, value)


def _in_order(node: Any) -> Iterator[tuple[_Steps, Any]]:
    """The parts that Python evaluates of a node, and the way to each; it ends where the next may not be evaluated."""
    if isinstance(node, ast.Dict):
        for i, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if key is None:
                return
            yield ("keys", i), key
            yield ("values", i), value
    for steps in _ORDER.get(type(node), ()):
        part = node
        for step in steps:
            part = getattr(part, step) if isinstance(step, str) else part[step]
        if isinstance(part, list):
            yield from (((*steps, i), inner) for i, inner in enumerate(part))
        elif part is not None:
            yield steps, part


def _with(node: Any, steps: _Steps, part: Any) -> Any:
    """A copy of a node or list, with another part."""
    if not steps:
        return part
    made, first = copy.copy(node), steps[0]
    if isinstance(first, str):
        setattr(made, first, _with(getattr(node, first), steps[1:], part))
    else:
        made[first] = _with(node[first], steps[1:], part)
    return made


def _works(node: ast.AST) -> bool:
    """Whether there is anything to compute in it: operators and calls, of names."""
    inside = [node, *own_nodes(node)] if not isinstance(node, ast.Lambda) else []
    return any(isinstance(n, _WORK) and any(isinstance(m, ast.Name) for m in ast.walk(n)) for n in inside)
