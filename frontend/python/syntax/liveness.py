"""What statements do, asked of Python's syntax tree: whether they read a name before they set it, whether they jump."""

from __future__ import annotations

import ast
from typing import Any


def links_of(node: ast.If) -> tuple[list[ast.expr], list[list[Any]]]:
    """The tests of an `if` and its `elif`s, and what they lead to, the `else` last: a long chain nests in Python's syntax tree."""
    tests, bodies = [node.test], [node.body]
    while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        node = node.orelse[0]
        tests.append(node.test)
        bodies.append(node.body)
    return tests, [*bodies, node.orelse]


def reads_first(name: str, statements: list[Any]) -> bool:
    """Whether running the statements may read `name` before assigning it."""
    return bool(_uses(name, statements))


def _uses(name: str, statements: list[Any]) -> bool | None:
    """True: may be read first; False: certainly assigned first; None: neither."""
    for node in statements:
        found = _use(name, node)
        if found is not None:
            return found
    return None


def _use(name: str, node: Any) -> bool | None:
    if isinstance(node, ast.If):
        tests, bodies = links_of(node)
        if any(_loads(name, test) for test in tests):
            return True
        return _of_either(name, bodies)
    if isinstance(node, ast.Try):
        # what is tried may end anywhere: then a handler goes on, with what was set until then or without
        return _of_either(name, [[*node.body, *node.orelse], *(handler.body for handler in node.handlers), node.body])
    if isinstance(node, ast.For):
        if _loads(name, node.iter):
            return True
        if not _binds(name, node.target) and _uses(name, node.body):
            return True
        return None  # it may not run
    if isinstance(node, ast.While):
        return True if _loads(name, node.test) or _uses(name, node.body) else None
    if isinstance(node, ast.With):
        if any(_loads(name, item) for item in node.items):
            return True
        return False if any(_binds(name, item) for item in node.items) else _uses(name, node.body)
    if isinstance(node, (ast.Return, ast.Raise)):
        return _loads(name, node)
    if not isinstance(node, ast.AST):
        return None  # a made-up statement
    if _loads(name, node) or (isinstance(node, ast.AugAssign) and _binds(name, node.target)):
        return True
    return False if _binds(name, node) else None


def _of_either(name: str, blocks: list[list[Any]]) -> bool | None:
    arms = [_uses(name, block) for block in blocks]
    return True if True in arms else None if None in arms else False


def _loads(name: str, node: ast.AST) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in ast.walk(node))


def _binds(name: str, node: ast.AST) -> bool:
    """Whether a simple statement surely gives the name a value: not in a part that may not run, or that has names of its own."""
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Store)
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)):
        return False
    runs = ast.iter_child_nodes(node)
    if isinstance(node, ast.BoolOp):
        runs = iter(node.values[:1])
    elif isinstance(node, ast.IfExp):
        runs = iter([node.test])
    elif isinstance(node, ast.Compare):
        runs = iter([node.left, node.comparators[0]])
    return any(_binds(name, n) for n in runs)


def _blocks(node: Any) -> list[list[Any]]:
    """The statements inside a statement but a loop: each list runs from its first one, or not at all."""
    if isinstance(node, ast.If):
        return links_of(node)[1]
    if isinstance(node, ast.With):
        return [node.body]
    if isinstance(node, ast.Try):
        return [node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody]
    return []


def has_jump(statements: list[Any] | tuple[Any, ...]) -> bool:
    """Whether the statements may return, or break or continue the loop that they are in."""
    return any(_leaves(s, inside_loop=False) for s in statements)


def _leaves(node: Any, *, inside_loop: bool) -> bool:
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, (ast.Break, ast.Continue)):
        return not inside_loop
    if isinstance(node, (ast.For, ast.While)):
        return any(_leaves(s, inside_loop=True) for s in node.body)
    return getattr(node, "leaves", False) or any(_leaves(s, inside_loop=inside_loop) for block in _blocks(node) for s in block)


def jumps_loop(node: Any) -> bool:
    """Whether a statement breaks or continues the loop whose body it is in."""
    return isinstance(node, (ast.Break, ast.Continue)) or any(jumps_loop(s) for block in _blocks(node) for s in block)


def always_leaves(statements: list[Any]) -> bool:
    """Whether what follows the statements certainly does not run."""
    return any(_always_leaves(s) for s in statements)


def _always_leaves(node: Any) -> bool:
    if isinstance(node, ast.If):
        return all(always_leaves(body) for body in links_of(node)[1])
    if isinstance(node, ast.With):
        return always_leaves(node.body)
    if isinstance(node, ast.Try):
        return always_leaves([*node.body, *node.orelse]) and all(always_leaves(handler.body) for handler in node.handlers)
    return isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue))
