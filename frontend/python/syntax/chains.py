"""Long chains of branches, one in the `else` of the other: `elif`s, and `if ...: return` time and again.

Each link stands in the link before it, and the regions of a program may not nest by its length. So behind LINKS links the chain is cut:
the last one says that the rest is still to be built (`Later`), and the first one builds it behind itself, in a branch that runs when no
link before was taken:

    pending, result, names = if c1 { false, A1, unset } else { ... else { true, unset, names } }
    result = if pending { the rest, from names on } else { result }
"""

from __future__ import annotations

import ast
from typing import Any

from tierup.dialect.base.records import dataclass
from tierup.frontend.python.building.branch import PendingIf, Row, meet
from tierup.frontend.python.building.frame import Unjoinable
from tierup.frontend.python.building.templates import OneScalar, template_of
from tierup.frontend.python.building.values import Const, Ends, Jump, Return, Unset, Value

LINKS = 24


class NotInOne(Unjoinable):
    """Links end with values of different kinds: the chain is built without a cut."""


@dataclass
class Later(Ends):
    """Where `pending` holds, `statements` are still to be built, with the names of `env`; elsewhere `end` is how it ended (None: it holds
    everywhere)."""

    node: ast.AST
    statements: list[Any]
    env: dict[str, Value]
    pending: Value = Const(True)
    end: Ends | None = None


_RESULT, _BROKE = "<result>", "<broke>"  # no names of Python's


def _names(end: Ends) -> dict[str, Value]:
    if isinstance(end, Return):
        return {_RESULT: end.value}
    assert isinstance(end, Jump)
    return {**end.env, _BROKE: end.broke}


def join(pending: PendingIf, ends: list[Ends]) -> Later:
    """Finish a branch of which one arm is still to be built on some paths. Raises NotInOne."""
    index = 0 if isinstance(ends[0], Later) else 1
    later, other = ends[index], ends[1 - index]
    assert isinstance(later, Later)

    def in_order(a: Value | None, b: Value | None) -> tuple[Value | None, Value | None]:
        return (b, a) if index else (a, b)

    names = _names(other)
    ended: dict[str, Value | Row]
    if later.end is None:
        ended = {n: v if isinstance(v, Unset) else Row(template_of(v), in_order(None, v)) for n, v in names.items()}
    else:
        before = _names(later.end)
        try:
            ended = meet(pending.frame, later.node, *((names, before) if index else (before, names)))
        except Unjoinable:
            construct = "a long chain of branches that give values of different kinds"
            raise pending.frame.error(later.node, construct, "give one kind", NotInOne) from None
    changed = {n: v for n, v in later.env.items() if pending.outer.get(n) is not v and not isinstance(v, Unset)}
    rows = [Row(OneScalar("bool"), in_order(later.pending, Const(False)))]
    rows += [v for v in ended.values() if isinstance(v, Row)]
    rows += [Row(template_of(v), in_order(v, None)) for v in changed.values()]
    values = iter(pending.join(rows))
    flag = next(values)
    found = {n: next(values) if isinstance(v, Row) else v for n, v in ended.items()}
    end = Return(found[_RESULT], other.line) if isinstance(other, Return) else Jump(found, found.pop(_BROKE))
    return Later(later.node, later.statements, {**later.env, **{n: next(values) for n in changed}}, flag, end)
