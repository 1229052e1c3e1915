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

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.frontend.python.building.branch import PendingIf
from tierup.frontend.python.building.frame import Frame, Unjoinable
from tierup.frontend.python.building.templates import OneScalar, Template, lower, raise_, template_of, types_of, unify
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


@dataclass
class _Row:
    """A value that crosses the end of the branch: as the path that is still to be built has it, and as the other has it; None: neither
    does."""

    template: Template
    later: Value | None
    other: Value | None


def join(frame: Frame, pending: PendingIf, ends: list[Ends], outer: dict[str, Value]) -> Later:
    """Finish a branch of which one arm is still to be built on some paths. Raises NotInOne."""
    em = frame.em
    index = 0 if isinstance(ends[0], Later) else 1
    later, other = ends[index], ends[1 - index]
    assert isinstance(later, Later)
    rows = [_Row(OneScalar("bool"), later.pending, Const(False))]
    names, ended = _ended(frame, later, other)
    rows += ended
    changed = {n: v for n, v in later.env.items() if outer.get(n) is not v and not isinstance(v, Unset)}
    rows += [_Row(template_of(v), v, None) for v in changed.values()]
    lowered: list[list[ir.Value]] = [[], []]
    for arm, is_later in ((index, True), (1 - index, False)):
        with pending.arm(arm):
            for row in rows:
                value = row.later if is_later else row.other
                types = types_of(em, row.template)
                unset = [em.create("torch.prim.Uninitialized", [], [t]).results[0] for t in types] if value is None else []
                lowered[arm] += unset if value is None else lower(em, value, row.template)
    results = iter(pending.finish(lowered, [t for row in rows for t in types_of(em, row.template)]))
    values = iter([raise_(row.template, results, em.region) for row in rows])
    flag = next(values)
    end: Ends
    if isinstance(other, Return):
        end = Return(next(values), other.line)
    else:
        assert isinstance(other, Jump)
        env = {n: next(values) if known is None else known for n, known in names.items()}
        end = Jump(env, next(values))
    return Later(later.node, later.statements, {**later.env, **{n: next(values) for n in changed}}, flag, end)


def _ended(frame: Frame, later: Later, other: Ends) -> tuple[dict[str, Value | None], list[_Row]]:
    """The rows of how it ended, and of a Jump the names: None for those that have a row."""
    if isinstance(other, Return):
        assert later.end is None or isinstance(later.end, Return)
        return {}, [_row(frame, later, None if later.end is None else later.end.value, other.value)]
    assert isinstance(other, Jump) and (later.end is None or isinstance(later.end, Jump))
    if later.end is None:
        rows = {n: None if isinstance(v, Unset) else _Row(template_of(v), None, v) for n, v in other.env.items()}
        names = {n: other.env[n] if row is None else None for n, row in rows.items()}
        return names, [*(row for row in rows.values() if row is not None), _Row(template_of(other.broke), None, other.broke)]
    found: list[_Row] = []
    names = {}
    for name in dict.fromkeys((*later.end.env, *other.env)):
        a, b = later.end.env.get(name), other.env.get(name)
        if a is b or a is None or b is None or isinstance(a, Unset) or isinstance(b, Unset):
            names[name] = a if a is b else Unset(f"only one branch of the `if` at line {getattr(later.node, 'lineno', 0)} sets it")
        else:
            names[name] = None
            found.append(_row(frame, later, a, b))
    return names, [*found, _row(frame, later, later.end.broke, other.broke)]


def _row(frame: Frame, later: Later, a: Value | None, b: Value) -> _Row:
    template = template_of(b) if a is None else unify(template_of(a), template_of(b))
    if template is None:
        raise frame.error(later.node, "a long chain of branches that give values of different kinds", "give one kind", NotInOne)
    return _Row(template, a, b)
