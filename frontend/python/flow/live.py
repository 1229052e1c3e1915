"""Where names are needed and certain to have a value.

`Flow.of(body, local)` asks it of a whole function body. What may raise, and what a context manager may end, is taken for possible:
a name is said to be live, or not certain to be bound, wherever the other is not proved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tierup.frontend.python.flow.names import NONE, Names, binds, certainly_binds, reads
from tierup.frontend.python.flow.parts import Label, To, parts_of


@dataclass
class Flow:
    """Of each statement of a function, by identity: the names that are live after it and those certain to be bound before it."""

    live_after: dict[ast.stmt, Names] = field(default_factory=dict)
    bound_before: dict[ast.stmt, Names] = field(default_factory=dict)
    watched: dict[ast.stmt, Names] = field(default_factory=dict)  # live where the statement takes an exception that is raised in it
    managers_end: bool = True  # whether a context manager may end an exception
    _known: dict[tuple[Any, Names], Names] = field(default_factory=dict)  # live before a statement, by what is after it: `live_before`

    @classmethod
    def of(cls, body: Sequence[ast.stmt], arguments: Names, always: Names = NONE) -> Flow:
        """`always`: names that code elsewhere may read at any time, as functions inside do."""
        made = cls()
        made._live(body, always, _Targets(always, always, always))
        made._bound(body, arguments)
        return made

    def live_before(self, body: Sequence[Any]) -> Names:
        """The names that running the statements may read before they bind them. Asked again of the end of a body, it looks at no statement
        again."""
        after = NONE
        for node in reversed(body):
            if (node, after) not in self._known:
                self._known[node, after] = self._before(node, after, _Targets(NONE, NONE, NONE))
            after = self._known[node, after]
        return after

    # --- backwards: what is read later ---------------------------------------------------------------------------------

    def _live(self, body: Sequence[Any], after: Names, to: _Targets) -> Names:
        for node in reversed(body):
            after = self._before(node, after, to) | to.always
        return after

    def _before(self, node: Any, after: Names, to: _Targets) -> Names:
        parts = parts_of(node)
        _note(self.live_after, node, after)
        live: dict[Label, Names] = {
            To.END: after, To.ENDED: after if self.managers_end else NONE, To.BREAK: to.breaks, To.CONTINUE: to.goes_on,
            To.RESUMED: after.union(to.breaks, to.goes_on, to.always),
        }  # fmt: skip
        before = None
        while before != live:
            before = dict(live)
            for label, part in reversed(parts.items()):
                follows, always = _all(live, part.then), to.always | _all(live, part.raised)
                if part.starts:
                    _note(self.live_after, part.starts, after)
                if part.place:
                    targets = _Targets(after, follows, always) if part.loops else _Targets(to.breaks, to.goes_on, always)
                    live[label] = self._live(part.statements, follows, targets)
                    continue
                for expression in reversed(part.nodes):
                    follows = reads([expression]) | always | (follows - certainly_binds(expression))
                live[label] = follows
            if not any(part.loops for part in parts.values()):
                break
        _note(self.watched, node, _all(live, [label for part in parts.values() for label in part.raised]))
        return live[next(iter(parts))]

    # --- forwards: what has a value ------------------------------------------------------------------------------------

    def _bound(self, body: Sequence[ast.stmt], before: Names) -> Names | None:
        """What is bound behind the statements; None where nothing gets there."""
        ends = True
        for node in body:
            found = self._after(node, before)
            ends = ends and found is not None
            before = before if found is None else found
        return before if ends else None

    def _after(self, node: ast.stmt, before: Names) -> Names | None:
        parts = parts_of(node)
        repeats = any(part.loops for part in parts.values())
        left = before - _deletes(node)  # what it leaves bound wherever it is left, or begins another round
        bound: dict[Label, Names | None] = {next(iter(parts)): left if repeats else before}
        self._note_bound(node, before)
        for label, part in parts.items():
            at = bound.get(label)
            reached, at = at is not None, left if at is None else at
            if part.starts:
                self._note_bound(part.starts, at)
            end = self._bound(part.statements, at) if part.place else self._evaluated(part.nodes, at)
            for to in part.then if reached else ():
                bound[to] = _both(bound.get(to), end)
            for to in (*part.raised, *([To.END] if part.loops else [])) if reached else ():
                bound[to] = _both(bound.get(to), left)
        return _both(bound.get(To.END), bound.get(To.ENDED))

    def _evaluated(self, nodes: Sequence[ast.AST], before: Names) -> Names:
        for node in nodes:
            before = (before | certainly_binds(node)) - (binds([node]) if isinstance(node, ast.Delete) else NONE)
        return before

    def _note_bound(self, node: ast.stmt, before: Names) -> None:
        self.bound_before[node] = before & self.bound_before.get(node, before)


@dataclass(frozen=True)
class _Targets:
    """What is live where `break` and `continue` lead, and everywhere."""

    breaks: Names
    goes_on: Names
    always: Names


def _note(notes: dict[ast.stmt, Names], node: ast.stmt, names: Names) -> None:
    """Of a statement that control gets to on more than one way."""
    notes[node] = names | notes.get(node, NONE)


def _all(live: dict[Label, Names], labels: Iterable[Label]) -> Names:
    return NONE.union(*(live.get(label, NONE) for label in labels))


def _both(a: Names | None, b: Names | None) -> Names | None:
    return b if a is None else a if b is None else a & b


def _deletes(node: ast.stmt) -> Names:
    """The names that a statement may leave without a value, as `except` does with the one of its exception."""
    parts = parts_of(node).values()
    inside = (_deletes(inner) for part in parts for inner in part.statements)
    return binds(n for part in parts for n in part.nodes if isinstance(n, ast.Delete)).union(*inside)
