"""Which names statements read and bind, and where those are needed and certain to have a value: of a function's syntax tree alone.

`Flow.of(body, local)` asks it of a whole function body. What may raise, and what a context manager may swallow, is taken for possible:
a name is said to be live, or not certain to be bound, wherever the other is not proved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Names = frozenset[str]
NONE: Names = frozenset()

Loop = ast.For | ast.AsyncFor | ast.While
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def blocks_of(node: ast.stmt) -> list[list[ast.stmt]]:
    """The lists of statements in a compound statement, in the order of the source; those of a function or class inside are not its own."""
    if isinstance(node, SCOPES):
        return []
    found = [getattr(node, name) for name in ("body", "orelse", "finalbody") if getattr(node, name, None)]
    for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        found.append(inner.body)
    return found


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
    the names of its own."""
    found: set[str] = set()
    stack: list[tuple[ast.AST, Names]] = [(node, NONE) for node in nodes]
    while stack:
        node, own = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Load, ast.Del)) and node.id not in own:
            found.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        if isinstance(node, _COMPREHENSIONS):
            stack.append((node.generators[0].iter, own))
            own = own | binds(c.target for c in node.generators)
        stack.extend((inner, own) for inner in ast.iter_child_nodes(node))
    return frozenset(found)


def binds(nodes: Iterable[ast.AST]) -> Names:
    """The names that code in the nodes may bind or delete in the function they stand in."""
    found: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(a.asname or a.name).partition(".")[0] for a in node.names}
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name is not None:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            found.add(node.rest)
        if isinstance(node, SCOPES):
            if not isinstance(node, ast.Lambda):
                found.add(node.name)
            continue
        if isinstance(node, _COMPREHENSIONS):
            inner = {n for c in node.generators for n in binds([c.target])}
            found |= {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)} - inner  # `:=` binds outside of it
            continue
        stack.extend(ast.iter_child_nodes(node))
    return frozenset(found)


def certainly_binds(node: ast.stmt) -> Names:
    """The names that a simple statement, a definition or an import has bound when it did not raise."""
    if isinstance(node, ast.Assign):
        return binds(t for t in node.targets)
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return binds([node.target]) if node.value is not None else NONE
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return binds([node])
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return frozenset([node.name])
    return NONE


@dataclass
class Flow:
    """Of each statement of a function, by identity: the names that are live after it and those certain to be bound before it."""

    live_after: dict[ast.stmt, Names] = field(default_factory=dict)
    bound_before: dict[ast.stmt, Names] = field(default_factory=dict)

    @classmethod
    def of(cls, body: Sequence[ast.stmt], arguments: Names, always: Names = NONE) -> Flow:
        """`always`: names that code elsewhere may read at any time, as functions inside do."""
        made = cls()
        made._live(body, always, _Targets(always, always))
        made._bound(body, arguments)
        return made

    def live_before(self, body: Sequence[ast.stmt]) -> Names:
        """The names that running the statements may read before they bind them."""
        return self._live(body, NONE, _Targets(NONE, NONE))

    # --- backwards: what is read later ---------------------------------------------------------------------------------

    def _live(self, body: Sequence[ast.stmt], after: Names, to: _Targets) -> Names:
        for node in reversed(body):
            self.live_after[node] = after
            after = self._before(node, after, to) | to.always
        return after

    def _before(self, node: ast.stmt, after: Names, to: _Targets) -> Names:
        if isinstance(node, ast.If):
            return reads([node.test]) | self._live(node.body, after, to) | self._live(node.orelse, after, to)
        if isinstance(node, Loop):
            return self._loop(node, after, to)
        if isinstance(node, ast.Match):
            arms = [reads([*([c.guard] if c.guard else []), c.pattern]) | self._live(c.body, after, to) for c in node.cases]
            return reads([node.subject]).union(after, *arms)
        if isinstance(node, (ast.Return, ast.Raise)):
            return reads([node])
        if isinstance(node, ast.Break):
            return to.breaks
        if isinstance(node, ast.Continue):
            return to.goes_on
        if blocks_of(node):  # try, with: it may be left at any point, and what follows runs
            around = after | reads([node]) | to.breaks | to.goes_on
            for block in blocks_of(node):
                self._live(block, around, _Targets(around, around, around))
            return around
        return reads([node]) | (after - certainly_binds(node))

    def _loop(self, node: Loop, after: Names, to: _Targets) -> Names:
        head = reads([node.test if isinstance(node, ast.While) else node.iter])
        target = NONE if isinstance(node, ast.While) else binds([node.target])
        at_head = head | self._live(node.orelse, after, to) | after
        while True:
            again = at_head | (self._live(node.body, at_head, _Targets(after, at_head, to.always)) - target)
            if again == at_head:
                return at_head
            at_head = again

    # --- forwards: what has a value ------------------------------------------------------------------------------------

    def _bound(self, body: Sequence[ast.stmt], before: Names) -> Names | None:
        """What is bound behind the statements; None where nothing gets there."""
        for node in body:
            self.bound_before[node] = before
            found = self._after(node, before)
            if found is None:
                self._mark([*body[body.index(node) + 1 :]], before)
                return None
            before = found
        return before

    def _mark(self, body: Sequence[ast.stmt], before: Names) -> None:
        """Statements that nothing gets to."""
        for node in body:
            self.bound_before[node] = before
            for block in blocks_of(node):
                self._mark(block, before)

    def _after(self, node: ast.stmt, before: Names) -> Names | None:
        if isinstance(node, ast.If):
            return _both(self._bound(node.body, before), self._bound(node.orelse, before))
        if isinstance(node, Loop):
            deleted = _deletes(node)
            inside = before - deleted
            self._bound(node.body, inside | (NONE if isinstance(node, ast.While) else binds([node.target])))
            self._bound(node.orelse, inside)
            return inside
        if isinstance(node, ast.Match):
            arms: Names | None = before
            for case in node.cases:
                arms = _both(arms, self._bound(case.body, before | binds([case.pattern])))
            return arms
        if isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return None
        if blocks_of(node):
            inside = before - _deletes(node)
            for block in blocks_of(node):
                self._bound(block, inside)
            return inside
        if isinstance(node, ast.Delete):
            return before - binds([node])
        return before | certainly_binds(node)


@dataclass(frozen=True)
class _Targets:
    """What is live where `break` and `continue` lead, and everywhere."""

    breaks: Names
    goes_on: Names
    always: Names = NONE


def _both(a: Names | None, b: Names | None) -> Names | None:
    return b if a is None else a if b is None else a & b


def _deletes(node: ast.stmt) -> Names:
    """The names that a statement may leave without a value: deleted, or that of an exception handler."""
    found = [n for n in ast.walk(node) if isinstance(n, (ast.Delete, ast.ExceptHandler))]
    return binds(t for n in found if isinstance(n, ast.Delete) for t in n.targets) | {
        n.name for n in found if isinstance(n, ast.ExceptHandler) and n.name is not None
    }
