"""`if`: a prim.If whose arms join, or whose arms each take the rest of the program."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.mlir import ir
from tierup.frontend.python.building.branch import PendingIf, join_environments, join_values
from tierup.frontend.python.building.emit import Emitter
from tierup.frontend.python.building.frame import ALL_NAMES, Frame, Unjoinable
from tierup.frontend.python.building.templates import Template, lower, raise_, scalar_ssa, template_of, types_of, unify
from tierup.frontend.python.building.values import (
    NONE,
    Const,
    Ends,
    GoOn,
    Jump,
    OneOf,
    Raised,
    Return,
    Scalar,
    Unset,
    Value,
    describe,
    is_number,
    number_kind,
)
from tierup.frontend.python.operations.scalars import number
from tierup.frontend.python.syntax.chains import LINKS, Later, NotInOne, join
from tierup.frontend.python.syntax.liveness import always_leaves, has_jump

Execute = Callable[..., Ends | None]
MAX_DUPLICATES = 64


def branch(
    frame: Frame,
    node: ast.AST,
    condition: ir.Value,
    body: list[Any],
    orelse: list[Any],
    rest: list[Any],
    tail: bool,
    execute: Execute,
    *,
    apart: bool = False,
) -> Ends | None:
    """Build a branch known only at run time. None: it is built and both arms go on. Ends: `rest` is built too. `apart`: the
    arms do not join, because one sets a name that `rest` reads."""
    if frame.links == 0:  # the first link of a chain
        try:
            return _branch(frame, node, condition, (body, orelse), rest, tail, execute, apart=apart)
        except NotInOne:
            with frame.linked(None):
                return _branch(frame, node, condition, (body, orelse), rest, tail, execute, apart=apart)
    return _branch(frame, node, condition, (body, orelse), rest, tail, execute, apart=apart)


def _branch(
    frame: Frame,
    node: ast.AST,
    condition: ir.Value,
    arms: tuple[list[Any], list[Any]],
    rest: list[Any],
    tail: bool,
    execute: Execute,
    *,
    apart: bool,
) -> Ends | None:
    outer = dict(frame.env)
    if apart and not tail:
        raise frame.error(node, "a name that only one path sets and later code reads", "give it a value before", Unjoinable)
    if not apart and not has_jump((*arms[0], *arms[1])):
        try:
            found = _joined(frame, node, condition, arms, 0 if rest or tail else frame.links, execute)
        except Unjoinable as e:
            if not tail or isinstance(e, NotInOne):
                raise
        else:
            return _one_raises(frame, condition, arms, found, rest, execute) if isinstance(found, int) else found
        frame.env = outer
    assert tail, "a branch that leaves is built with all that follows it"
    return _with_rest(frame, node, condition, arms, rest, execute)


def _joined(
    frame: Frame, node: ast.AST, condition: ir.Value, arms: tuple[list[Any], list[Any]], links: int | None, execute: Execute
) -> Later | int | None:
    """Both arms, then their names joined. Gives the index of an arm that can only raise, with nothing built."""
    outer = frame.env
    pending = PendingIf(frame.em, condition)
    ends: list[Ends] = []
    try:
        for index, statements in enumerate(arms):
            frame.env = dict(outer)
            is_link = index == 1 and len(statements) == 1 and isinstance(statements[0], ast.If)
            end = _arm(frame, node, pending, index, statements, links if is_link else None, False, execute)
            if isinstance(end, Raised):
                pending.abandon()
                frame.env = outer
                return index
            ends.append(end or Jump(frame.env))
        if isinstance(ends[1], Later):
            found = _linked(frame, join(frame, pending, ends, outer), links, False, execute)
            assert found is None or isinstance(found, Later)
            return found
        merged = join_environments(frame, node, pending, envs := [e.env for e in ends if isinstance(e, Jump)], outer)
    except BaseException:
        frame.env = outer
        pending.abandon()
        raise
    if merged is None:
        pending.abandon()
        frame.env = outer
        raise _unjoinable(frame, node, envs)
    frame.env = merged
    return None


def _arm(
    frame: Frame, node: ast.AST, pending: PendingIf, index: int, statements: list[Any], links: int | None, tail: bool, execute: Execute
) -> Ends | None:
    """Build an arm. `links`: how many links of a chain stand around the branch, if the arm holds the next one; else None."""
    if links == LINKS:
        return Later(node, statements, dict(frame.env))
    with pending.arm(index):
        return execute(frame, statements, tail=tail, links=0 if links is None and frame.links is not None else _next(frame, links))


def _next(frame: Frame, links: int | None) -> int | None:
    return None if links is None or frame.links is None else links + 1


def _linked(frame: Frame, end: Ends, links: int | None, tail: bool, execute: Execute) -> Later | Ends | None:
    """Build what is left of a chain behind its first link, at the others leave it."""
    if links != 0:
        return end
    while isinstance(end, Later):
        frame.at(end.node)
        pending = PendingIf(frame.em, scalar_ssa(frame.em, end.pending))
        other = end.end
        assert other is not None, "a link stands before it"
        try:
            frame.env = dict(end.env)
            with pending.arm(0):
                found = execute(frame, end.statements, tail=tail, links=1) or (boundary_end(frame) if tail else Jump(frame.env))
            if isinstance(found, Raised):
                pending.finish([[], []], [])
                end = other
            elif isinstance(found, Later):
                end = join(frame, pending, [found, other], end.env)
            else:
                end = _merge(frame, end.node, pending, [found, other], tail)
        except BaseException:
            pending.abandon()
            raise
    if tail:
        return end
    assert isinstance(end, Jump)
    frame.env = end.env
    return None


def _unjoinable(frame: Frame, node: ast.AST, envs: list[dict[str, Value]]) -> Unjoinable:
    for name in envs[0]:
        a, b = envs[0][name], envs[1].get(name)
        if b is None or a is b or isinstance(a, Unset) or isinstance(b, Unset) or unify(template_of(a), template_of(b)) is not None:
            continue
        remedy = same_kind_remedy(name, a, b)
        error = frame.error(node, f"`{name}` is {describe(a)} on one path and {describe(b)} on the other", remedy, Unjoinable)
        assert isinstance(error, Unjoinable)
        return error
    raise AssertionError("the environments join")


def same_kind_remedy(name: str, a: Value, b: Value) -> str:
    """What to write so that two paths agree."""
    if is_number(a) and is_number(b) and {number_kind(a), number_kind(b)} == {"int", "float"}:
        return f"make `{name}` a float on both, for example 0.0 for 0"
    return f"give `{name}` the same kind of value on both, for example an array from the start"


def _one_raises(
    frame: Frame, condition: ir.Value, arms: tuple[list[Any], list[Any]], index: int, rest: list[Any], execute: Execute
) -> Ends:
    """`if c: raise ...`: raise in a branch of its own; the other arm goes on in line."""
    outer = frame.env
    pending = PendingIf(frame.em, condition)
    frame.env = dict(outer)
    with pending.arm(index):
        execute(frame, arms[index], tail=False)
    pending.finish([[], []], [])
    frame.env = outer
    return GoOn([*arms[1 - index], *rest])


def boundary_end(frame: Frame) -> Ends:
    """What falling off the end of the function, or of the loop body, is."""
    return Return(NONE) if frame.boundary is None else Jump(dict(frame.env), Const(False))


def _with_rest(
    frame: Frame, node: ast.AST, condition: ir.Value, arms: tuple[list[Any], list[Any]], rest: list[Any], execute: Execute
) -> Ends | None:
    outer = frame.env
    leaves = [always_leaves(arm) for arm in arms]
    if rest and not any(leaves):  # else it is built once
        frame.duplicates += 1
        if frame.duplicates > MAX_DUPLICATES:
            raise frame.error(node, "too many branches that leave names with values of different kinds", "give each name one kind of value")
    link = 1 if leaves[0] else 0 if leaves[1] else None  # the arm in which the program goes on
    links = frame.links
    pending = PendingIf(frame.em, condition)
    ends: list[Ends] = []
    try:
        for index, statements in enumerate(arms):
            frame.env = dict(outer)
            end = _arm(frame, node, pending, index, [*statements, *rest], links if index == link else None, True, execute)
            if end is None:
                with pending.arm(index):
                    end = boundary_end(frame)
            if isinstance(end, Raised):
                pending.abandon()
                frame.env = outer
                return _rest_raises(frame, condition, arms, index, rest, execute)
            ends.append(end)
        if any(isinstance(e, Later) for e in ends):
            return _linked(frame, join(frame, pending, ends, outer), links, True, execute)
        return _merge(frame, node, pending, ends)
    except BaseException:
        frame.env = outer
        pending.abandon()
        raise


def _rest_raises(
    frame: Frame, condition: ir.Value, arms: tuple[list[Any], list[Any]], index: int, rest: list[Any], execute: Execute
) -> Ends | None:
    """As _one_raises, for an arm that raises further on."""
    outer = frame.env
    pending = PendingIf(frame.em, condition)
    frame.env = dict(outer)
    with pending.arm(index):
        execute(frame, [*arms[index], *rest], tail=True)
    pending.finish([[], []], [])
    frame.env = outer
    return GoOn([*arms[1 - index], *rest])


def _merge(frame: Frame, node: ast.AST, pending: PendingIf, ends: list[Ends], tail: bool = True) -> Ends:
    first, second = ends
    if isinstance(first, Return) and isinstance(second, Return):
        values = [first.value, second.value]
        joined = join_values(frame, pending, values)
        if joined is None and frame.is_entry:
            joined = _either(frame, pending, values)
        if joined is None:
            remedy = "return the same kind of value on every path, for example np.float64(0) for 0.0"
            raise frame.error(node, f"one path returns {describe(first.value)}, another {describe(second.value)}", remedy, Unjoinable)
        return Return(joined)
    assert isinstance(first, Jump) and isinstance(second, Jump), "return in a loop is refused before"
    names = tuple(dict.fromkeys((*first.env, *second.env))) if not tail or frame.boundary in (None, ALL_NAMES) else frame.boundary
    templates: dict[str, Template] = {}
    merged: dict[str, Value] = {}
    for name in names:
        a, b = first.env.get(name), second.env.get(name)
        if a is b and a is not None:
            merged[name] = a
            continue
        if a is None or b is None or isinstance(a, Unset) or isinstance(b, Unset):
            merged[name] = Unset(f"only one branch of the `if` at line {getattr(node, 'lineno', 0)} sets it")
            continue
        template = unify(template_of(a), template_of(b))
        if template is None:
            raise _unjoinable(frame, node, [{name: a}, {name: b}])
        templates[name] = template
    broke = unify(template_of(first.broke), template_of(second.broke))
    assert broke is not None, "two bools"
    lowered = []
    for index, jump in enumerate((first, second)):
        with pending.arm(index):
            values_ = [s for name, t in templates.items() for s in lower(frame.em, jump.env[name], t)]
            lowered.append([*values_, *lower(frame.em, jump.broke, broke)])
    types = [t for template in (*templates.values(), broke) for t in types_of(frame.em, template)]
    results = iter(pending.finish(lowered, types))
    for name, template in templates.items():
        merged[name] = raise_(template, results, frame.em.region)
    return Jump(merged, raise_(broke, results, frame.em.region))


def _either(frame: Frame, pending: PendingIf, values: list[Value]) -> Value:
    """Results of different kinds: a tag, and every alternative, with dummies for the ones that do not hold."""
    em = frame.em
    parts = [v.alternatives if isinstance(v, OneOf) else (v,) for v in values]
    tags = [v.tag if isinstance(v, OneOf) else Const(0) for v in values]
    templates = [template_of(v) for v in (*parts[0], *parts[1])]
    lowered = []
    for index in (0, 1):
        with pending.arm(index):
            shift = len(parts[0]) if index else 0
            tag = number(frame, tags[index])
            if shift:
                tag = em.scalar("aten.add.int", [tag, em.int(shift)], em.types.int)
            ssa = [tag]
            for i, (value, template) in enumerate(zip((*parts[0], *parts[1]), templates, strict=True)):
                mine = (i >= len(parts[0])) == bool(index)
                ssa += lower(em, value, template) if mine else [_dummy(em, t) for t in types_of(em, template)]
            lowered.append(ssa)
    types = [em.types.int, *(t for template in templates for t in types_of(em, template))]
    results = iter(pending.finish(lowered, types))
    return OneOf(Scalar(next(results), "int"), tuple(raise_(t, results, em.region) for t in templates))


def _dummy(em: Emitter, type_: ir.Type) -> ir.Value:
    if type_ == em.types.tensor:
        return em.literal(np.zeros(()), dtypes.f64)
    if type_ == em.types.int_list:
        return em.ints()
    return em.int(0) if type_ == em.types.int else em.float(0.0) if type_ == em.types.float else em.bool(False)
