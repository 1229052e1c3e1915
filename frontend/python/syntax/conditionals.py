"""`if`: a prim.If whose arms join, or whose arms each take the rest of the program."""

from __future__ import annotations

import ast
from typing import Any

from tierup.dialect.mlir import ir
from tierup.frontend.python.building.branch import PendingIf, either, in_arm, join_jumps, join_values
from tierup.frontend.python.building.frame import ALL_NAMES, Frame, Unjoinable
from tierup.frontend.python.building.templates import scalar_ssa
from tierup.frontend.python.building.values import NONE, Array, Const, Ends, GoOn, Jump, Raised, Return, Value, describe
from tierup.frontend.python.flow.parts import always_leaves, jumps
from tierup.frontend.python.heaps import in_one
from tierup.frontend.python.operations import growing
from tierup.frontend.python.syntax.chains import LINKS, Later, NotInOne, join

MAX_DUPLICATES = 64
MAX_COPIED = 128  # statements that are built once more behind a branch; beyond them names may be one of two kinds, as in loops


def branch(
    frame: Frame,
    node: ast.AST,
    condition: ir.Value,
    body: list[Any],
    orelse: list[Any],
    rest: list[Any],
    tail: bool,
    *,
    apart: bool = False,
) -> Ends | None:
    """Build a branch known only at run time. None: it is built and both arms go on. Ends: `rest` is built too. `apart`: the
    arms do not join, because one sets a name that `rest` reads."""
    if frame.links == 0:  # the first link of a chain
        try:
            return _branch(frame, node, condition, (body, orelse), rest, tail, apart)
        except NotInOne:
            with frame.linked(None):
                return _branch(frame, node, condition, (body, orelse), rest, tail, apart)
    return _branch(frame, node, condition, (body, orelse), rest, tail, apart)


_Arms = tuple[list[Any], list[Any]]


def _branch(frame: Frame, node: ast.AST, condition: ir.Value, arms: _Arms, rest: list[Any], tail: bool, apart: bool) -> Ends | None:
    outer = dict(frame.env)
    if apart and not tail:
        raise frame.error(node, "a name that only one path sets and later code reads", "give it a value before", Unjoinable)
    if not apart and not jumps((*arms[0], *arms[1])):
        is_long = frame.copied + len(rest) > MAX_COPIED
        for choices in (False, True) if tail and is_long else (False,):
            saved, frame.joins_choices = frame.joins_choices, choices or frame.joins_choices
            try:
                found = _joined(frame, node, condition, arms, 0 if rest or tail else frame.links)
            except Unjoinable as e:
                if e.differ and (in_turn := in_one(frame, node, e.differ, e)) is not e:
                    raise in_turn from None
                if not tail or isinstance(e, NotInOne):
                    raise
            else:
                if not isinstance(found, int):
                    return found
                return _one_raises(frame, condition, found, arms[found], False, [*arms[1 - found], *rest])
            finally:
                frame.joins_choices = saved
            frame.env = dict(outer)
    if not tail:  # it would be built with all that follows it, which a `try` around it does not know
        raise frame.error(node, "a branch that leaves a `try`", "leave behind it")
    return _with_rest(frame, node, condition, arms, rest)


def _joined(frame: Frame, node: ast.AST, condition: ir.Value, arms: _Arms, links: int | None) -> Later | int | None:
    """Both arms, then their names joined. Gives the index of an arm that can only raise, with nothing built."""
    outer = frame.env
    ends: list[Ends] = []
    with PendingIf(frame, condition) as pending:
        for index, statements in enumerate(arms):
            frame.env = dict(outer)
            is_link = index == 1 and len(statements) == 1 and isinstance(statements[0], ast.If)
            end = _arm(frame, node, pending, index, statements, links if is_link else None, False)
            if isinstance(end, Raised):
                return index
            ends.append(end or Jump(frame.env))
        first, second = ends
        if isinstance(second, Later):
            found = _linked(frame, join(pending, ends), links, False)
            assert found is None or isinstance(found, Later)
            return found
        assert isinstance(first, Jump) and isinstance(second, Jump)
        frame.env = join_jumps(node, pending, first, second).env
    return None


def _arm(frame: Frame, node: ast.AST, pending: PendingIf, index: int, statements: list[Any], links: int | None, tail: bool) -> Ends | None:
    """Build an arm. `links`: how many links of a chain stand around the branch, if the arm holds the next one; else None."""
    if links == LINKS:
        return Later(node, statements, dict(frame.env))
    deeper = None if frame.links is None else 0 if links is None else links + 1
    with pending.arm(index):
        return frame.execute(statements, tail=tail, links=deeper)


def _linked(frame: Frame, end: Ends, links: int | None, tail: bool) -> Later | Ends | None:
    """Build what is left of a chain behind its first link, at the others leave it."""
    if links != 0:
        return end
    while isinstance(end, Later):
        frame.at(end.node)
        other = end.end
        assert other is not None, "a link stands before it"
        frame.env = end.env
        with PendingIf(frame, scalar_ssa(frame.em, end.pending)) as pending:
            frame.env = dict(end.env)
            with pending.arm(0):
                found = frame.execute(end.statements, tail=tail, links=1) or (boundary_end(frame) if tail else Jump(frame.env))
            if isinstance(found, Raised):
                pending.finish([[], []], [])
                end = other
            elif isinstance(found, Later):
                end = join(pending, [found, other])
            else:
                end = _merge(frame, end.node, pending, [found, other], tail)
    if tail:
        return end
    assert isinstance(end, Jump)
    frame.env = end.env
    return None


def _one_raises(frame: Frame, condition: ir.Value, index: int, raising: list[Any], tail: bool, others: list[Any]) -> Ends:
    """`if c: raise ...`: the arm that raises is a branch of its own; the other goes on in line."""
    outer = frame.env
    with in_arm(frame, condition, index):
        frame.env = dict(outer)
        frame.execute(raising, tail=tail)
    frame.env = outer
    return GoOn(others)


def boundary_end(frame: Frame) -> Ends:
    """What falling off the end of the function, or of the loop body, is."""
    return Return(NONE) if frame.boundary is None else Jump(dict(frame.env), Const(False))


def _with_rest(frame: Frame, node: ast.AST, condition: ir.Value, arms: _Arms, rest: list[Any]) -> Ends | None:
    outer = frame.env
    leaves = [always_leaves(arm) for arm in arms]
    if rest and not any(leaves):  # else it is built once
        frame.duplicates += 1
        frame.copied += len(rest)
        if frame.duplicates > MAX_DUPLICATES:
            raise frame.error(node, "too many branches that leave names with values of different kinds", "give each name one kind of value")
    link = 1 if leaves[0] else 0 if leaves[1] else None  # the arm in which the program goes on
    links = frame.links
    ends: list[Ends] = []
    with PendingIf(frame, condition) as pending:
        for index, statements in enumerate(arms):
            frame.env = dict(outer)
            end = _arm(frame, node, pending, index, [*statements, *rest], links if index == link else None, True)
            if end is None:
                with pending.arm(index):
                    end = boundary_end(frame)
            if isinstance(end, Raised):
                break
            ends.append(end)
        else:
            if any(isinstance(e, Later) for e in ends):
                return _linked(frame, join(pending, ends), links, True)
            return _merge(frame, node, pending, ends)
    index = len(ends)
    return _one_raises(frame, condition, index, [*arms[index], *rest], True, [*arms[1 - index], *rest])


def _merge(frame: Frame, node: ast.AST, pending: PendingIf, ends: list[Ends], tail: bool = True) -> Ends:
    first, second = ends
    if isinstance(first, Return) and isinstance(second, Return):
        values = [first.value, second.value]
        joined = None if frame.is_entry and _are_apart(frame, values) else join_values(pending, values)
        if joined is None:
            for index, value in enumerate(values):
                with pending.arm(index):
                    values[index] = growing.grown(frame, value)
            joined = either(frame, pending, values)
        if joined is None:
            remedy = "return the same kind of value on every path, for example np.float64(0) for 0.0"
            raise frame.error(node, f"one path returns {describe(first.value)}, another {describe(second.value)}", remedy, Unjoinable)
        return Return(joined)
    assert isinstance(first, Jump) and isinstance(second, Jump), "no loop has a return in it"
    return join_jumps(node, pending, first, second, None if not tail or frame.boundary == ALL_NAMES else frame.boundary)


def _are_apart(frame: Frame, values: list[Value]) -> bool:
    """Whether both are arrays that no one result of native code can be: of different ranks, or one of them an argument itself."""
    arrays = [v for v in values if isinstance(v, Array)]
    if len(arrays) < 2 or arrays[0].ssa == arrays[1].ssa:
        return False
    ranks = {v.rank for v in arrays}
    given = list(frame.block.arguments)
    return len(ranks) == 2 and None not in ranks or any(v.ssa in given for v in arrays)
