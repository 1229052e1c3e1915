"""Which names code reads and binds, and which it has bound for certain: of Python's syntax tree alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from tierup.frontend.python.flow.parts import FUNCTIONS, SCOPES

Names = frozenset[str]
NONE: Names = frozenset()

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def own_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes in a statement, without those of functions inside, which are among them."""
    found: list[ast.AST] = []
    stack = list(ast.iter_child_nodes(node))
    while stack:
        inner = stack.pop()
        found.append(inner)
        if not isinstance(inner, SCOPES):
            stack.extend(ast.iter_child_nodes(inner))
    return found


def reads(nodes: Iterable[ast.AST]) -> Names:
    """The names that may be read by code in the nodes, that of functions inside included. `x += 1` reads `x`; a comprehension does not read
    the names of its own, nor does a function inside."""
    found: set[str] = set()
    stack: list[tuple[ast.AST, Names]] = [(node, NONE) for node in nodes]
    while stack:
        node, own = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Load, ast.Del)) and node.id not in own:
            found.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id not in own:
            found.add(node.target.id)
        elif isinstance(node, FUNCTIONS):
            body = body_of(node)
            stack.extend((inner, own | names_of(node)) for inner in body)
            stack.extend((inner, own) for inner in ast.iter_child_nodes(node) if inner not in body)  # defaults and decorators
            continue
        if isinstance(node, _COMPREHENSIONS):
            stack.append((node.generators[0].iter, own))
            own = own | binds(c.target for c in node.generators)
        stack.extend((inner, own) for inner in ast.iter_child_nodes(node))
    return frozenset(found)


def body_of(definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[Any]:
    """The statements of a function; of a lambda its expression."""
    return [definition.body] if isinstance(definition, ast.Lambda) else definition.body


def names_of(definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Names:
    """A function's own names, parameters among them: it never looks them up around it."""
    body, args = body_of(definition), definition.args
    parameters = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
    declared = (n for n in own_nodes(definition) if isinstance(n, (ast.Global, ast.Nonlocal)))
    return (binds(body) | {a.arg for a in parameters if a is not None}).difference(*(n.names for n in declared))


def binds(nodes: Iterable[ast.AST]) -> Names:
    """The names that code in the nodes may bind or delete in the function they stand in."""
    found: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        found |= _bound_by(node)
        if isinstance(node, SCOPES):
            continue
        if isinstance(node, _COMPREHENSIONS):
            inner = {n for c in node.generators for n in binds([c.target])}
            found |= {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)} - inner  # `:=` binds outside of it
            continue
        stack.extend(ast.iter_child_nodes(node))
    return frozenset(found)


def _bound_by(node: ast.AST) -> Names:
    """The names that a node itself binds or deletes, those in it apart."""
    if isinstance(node, ast.Name):
        return NONE if isinstance(node.ctx, ast.Load) else frozenset([node.id])
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return frozenset((a.asname or a.name).partition(".")[0] for a in node.names)
    if isinstance(node, ast.MatchMapping):
        return frozenset([node.rest] if node.rest else [])
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return frozenset([node.name] if node.name else [])
    return NONE


def certainly_binds(node: ast.AST) -> Names:
    """The names that a simple statement, an expression or a pattern has bound if it did not raise, parts apart that may not run."""
    if isinstance(node, (ast.Delete, ast.Assert, *_COMPREHENSIONS)):
        return NONE
    runs: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, SCOPES):
        runs = []
    elif isinstance(node, ast.BoolOp):
        runs = node.values[:1]
    elif isinstance(node, ast.IfExp):
        runs = [node.test]
    elif isinstance(node, ast.Compare):
        runs = [node.left, node.comparators[0]]
    elif isinstance(node, ast.AnnAssign):
        runs = [node.target, node.value] if node.value else []
    return _bound_by(node).union(*map(certainly_binds, runs))
