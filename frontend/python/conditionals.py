"""`if`: a prim.If whose arms join, or whose arms each take the rest of the program."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.mlir import ir
from tierup.frontend.python.branch import PendingIf, join_environments, join_values
from tierup.frontend.python.emit import Emitter
from tierup.frontend.python.frame import ALL_NAMES, Frame, Unjoinable
from tierup.frontend.python.scalars import number
from tierup.frontend.python.templates import Template, lower, raise_, template_of, types_of, unify
from tierup.frontend.python.values import (
    NONE,
    Const,
    Ends,
    Fell,
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
    outer = dict(frame.env)
    if apart and not tail:
        raise frame.error(node, "a name that only one path sets and later code reads", "give it a value before", Unjoinable)
    if not apart and not has_jump((*body, *orelse)):
        try:
            found = _joined(frame, node, condition, (body, orelse), execute)
        except Unjoinable:
            if not tail:
                raise
        else:
            if not isinstance(found, int):
                return None
            return _one_raises(frame, condition, (body, orelse), found, rest, tail, execute)
        frame.env = outer
    assert tail, "a branch that leaves is built with all that follows it"
    return _with_rest(frame, node, condition, (body, orelse), rest, execute)


def _joined(frame: Frame, node: ast.AST, condition: ir.Value, arms: tuple[list[Any], list[Any]], execute: Execute) -> int | None:
    """Both arms, then their names joined. Gives the index of an arm that can only raise, with nothing built."""
    outer = frame.env
    pending = PendingIf(frame.em, condition)
    envs = []
    try:
        for index, statements in enumerate(arms):
            frame.env = dict(outer)
            with pending.arm(index):
                end = execute(frame, statements, tail=False)
            if isinstance(end, Raised):
                pending.abandon()
                frame.env = outer
                return index
            envs.append(frame.env)
        merged = join_environments(frame, node, pending, envs, outer)
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
    frame: Frame, condition: ir.Value, arms: tuple[list[Any], list[Any]], index: int, rest: list[Any], tail: bool, execute: Execute
) -> Ends | None:
    """`if c: raise ...`: raise in a branch of its own; the other arm goes on in line."""
    outer = frame.env
    pending = PendingIf(frame.em, condition)
    frame.env = dict(outer)
    with pending.arm(index):
        execute(frame, arms[index], tail=False)
    pending.finish([[], []], [])
    frame.env = outer
    return execute(frame, [*arms[1 - index], *rest], tail=tail) or Fell()


def boundary_end(frame: Frame) -> Ends:
    """What falling off the end of the function, or of the loop body, is."""
    return Return(NONE) if frame.boundary is None else Jump(dict(frame.env), Const(False))


def _with_rest(
    frame: Frame, node: ast.AST, condition: ir.Value, arms: tuple[list[Any], list[Any]], rest: list[Any], execute: Execute
) -> Ends | None:
    outer = frame.env
    if rest:
        frame.duplicates += 1
        if frame.duplicates > MAX_DUPLICATES:
            raise frame.error(node, "too many branches that leave names with values of different kinds", "give each name one kind of value")
    pending = PendingIf(frame.em, condition)
    ends: list[Ends] = []
    try:
        for index, statements in enumerate(arms):
            frame.env = dict(outer)
            with pending.arm(index):
                ends.append(execute(frame, [*statements, *rest], tail=True) or boundary_end(frame))
            if isinstance(ends[-1], Raised):
                pending.abandon()
                frame.env = outer
                return _rest_raises(frame, condition, arms, index, rest, execute)
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
    return execute(frame, [*arms[1 - index], *rest], tail=True) or Fell()


def _merge(frame: Frame, node: ast.AST, pending: PendingIf, ends: list[Ends]) -> Ends:
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
    names = tuple(dict.fromkeys((*first.env, *second.env))) if frame.boundary in (None, ALL_NAMES) else frame.boundary
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
        return any(_leaves(s, inside_loop=inside_loop) for s in (*node.body, *node.orelse))
    if isinstance(node, ast.With):
        return any(_leaves(s, inside_loop=inside_loop) for s in node.body)
    return getattr(node, "leaves", False)
