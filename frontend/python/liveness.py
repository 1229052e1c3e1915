"""Whether code that follows reads a name before it sets it."""

from __future__ import annotations

import ast
from typing import Any


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
        if _loads(name, node.test):
            return True
        arms = [_uses(name, node.body), _uses(name, node.orelse)]
        return True if True in arms else False if arms == [False, False] else None
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
