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
        arms = [_uses(name, body) for body in bodies]
        return True if True in arms else None if None in arms else False
    if isinstance(node, ast.For):
        if _loads(name, node.iter):
            return True
        if not _stores(name, node.target) and _uses(name, node.body):
            return True
        return None  # it may not run
    if isinstance(node, ast.While):
        return True if _loads(name, node.test) or _uses(name, node.body) else None
    if isinstance(node, ast.With):
        return _uses(name, node.body)
    if isinstance(node, (ast.Return, ast.Raise)):
        return _loads(name, node)
    if not isinstance(node, ast.AST):
        return None  # a made-up statement
    if _loads(name, node) or (isinstance(node, ast.AugAssign) and _stores(name, node.target)):
        return True
    return False if _stores(name, node) else None


def _loads(name: str, node: ast.AST) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in ast.walk(node))


def _stores(name: str, node: ast.AST) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(node))


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
    if isinstance(node, ast.If):
        return any(_leaves(s, inside_loop=inside_loop) for body in links_of(node)[1] for s in body)
    if isinstance(node, ast.With):
        return any(_leaves(s, inside_loop=inside_loop) for s in node.body)
    return getattr(node, "leaves", False)


def jumps_loop(node: Any) -> bool:
    """Whether a statement breaks or continues the loop whose body it is in."""
    if isinstance(node, (ast.Break, ast.Continue)):
        return True
    if isinstance(node, ast.If):
        return any(jumps_loop(s) for body in links_of(node)[1] for s in body)
    return isinstance(node, ast.With) and any(jumps_loop(s) for s in node.body)


def always_leaves(statements: list[Any]) -> bool:
    """Whether what follows the statements certainly does not run."""
    return any(_always_leaves(s) for s in statements)


def _always_leaves(node: Any) -> bool:
    if isinstance(node, ast.If):
        return all(always_leaves(body) for body in links_of(node)[1])
    if isinstance(node, ast.With):
        return always_leaves(node.body)
    return isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue))
