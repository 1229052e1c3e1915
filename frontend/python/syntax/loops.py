"""`for` and `while`: prim.Loop when the run decides how often, or written out when the body needs to know which iteration it is.

A loop carries the names that its body assigns and that had a value before. Types of carried values must stand still: where
the first iteration changes one (a Python 0.0 that becomes an array), that iteration is built apart, in front of the loop.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tierup.frontend.python.building.branch import PendingIf, join_environments
from tierup.frontend.python.building.frame import ALL_NAMES, Frame, NeedsStatic, Unjoinable
from tierup.frontend.python.building.values import Const, Ends, GoOn, Iterable_, Jump, Raised, Scalar, Value, describe
from tierup.frontend.python.functions import iteration
from tierup.frontend.python.functions.iteration import MAX_UNROLLED
from tierup.frontend.python.operations import arrays
from tierup.frontend.python.operations.scalars import not_, raise_if, to_bool
from tierup.frontend.python.syntax.conditionals import boundary_end, branch, same_kind_remedy
from tierup.frontend.python.syntax.expressions import assign_target, condition
from tierup.frontend.python.syntax.liveness import has_jump, jumps_loop
from tierup.frontend.python.syntax.loop_region import Changes, LoopBody, build_loop

Execute = Callable[..., Ends | None]
MAX_PEELED = 3
MAX_ROUNDS = 6
INT64_MAX = (1 << 63) - 1


# --- for -----------------------------------------------------------------------------------------------------------------


def for_(frame: Frame, node: ast.For, iterated: Value, rest: list[Any], tail: bool, execute: Execute, step: type) -> Ends | None:
    """A `for` loop, unrolled where what it runs over is known when the graph is built; how the block ends."""
    if node.orelse:
        raise frame.error(node.orelse[0], "`else` of a loop", "set a flag before `break` and test it after the loop")
    frame.at(node)
    iterable = iteration.iterate(frame, node.iter, iterated)
    return _for_from(frame, node, iterable, 0, rest, tail, execute, step)


def _for_from(
    frame: Frame, node: ast.For, iterable: Iterable_, offset: int, rest: list[Any], tail: bool, execute: Execute, step: type
) -> Ends | None:
    """The loop from item `offset` on."""
    known = iterable.length.value if isinstance(iterable.length, Const) else None
    if known is not None and known <= offset:
        return None
    if iterable.needs_static_index or known == offset + 1:
        return _write_out(frame, node, iterable, offset, rest, tail, execute, step)
    saved = dict(frame.env)
    try:
        _build_for(frame, node, iterable, offset, rest, execute)
        return None
    except NeedsStatic as e:
        frame.env = saved
        if known is None:
            raise e from None
        if known - offset > MAX_UNROLLED:
            raise e.but(f"this loop has {known} rounds: of at most {MAX_UNROLLED} each may be written out") from None
        return _write_out(frame, node, iterable, offset, rest, tail, execute, step)
    except Changes as e:
        frame.env = saved
        return _peel(frame, node, iterable, offset, rest, tail, execute, step, e)


def _build_for(frame: Frame, node: ast.For, iterable: Iterable_, offset: int, rest: list[Any], execute: Execute) -> None:
    em = frame.em
    length = arrays.as_int(frame, node.iter, iterable.length)
    if offset:
        length = em.scalar("aten.sub.int", [length, em.int(offset)], em.types.int)

    def bind(i: Value) -> None:
        assign_target(frame, node.target, iterable.item(iteration.add(frame, node.iter, i, Const(offset))))

    known = isinstance(iterable.length, Const)
    build_loop(frame, LoopBody(node, length, em.bool(True), known, bind, lambda: Const(True)), rest, execute)


def _write_out(
    frame: Frame, node: ast.For, iterable: Iterable_, offset: int, rest: list[Any], tail: bool, execute: Execute, step: type
) -> Ends | None:
    """Every iteration one after the other."""
    if not isinstance(iterable.length, Const):
        raise frame.error(node.iter, "as many items as only the run knows", "loop over an array or a range", NeedsStatic)
    count = iterable.length.value
    if count - offset > MAX_UNROLLED:
        raise frame.error(node, f"{count} iterations to write out (at most {MAX_UNROLLED})", "use array operations")

    def binder(i: int) -> Any:
        def run(_rest: list[Any], _tail: bool) -> None:
            assign_target(frame, node.target, iterable.item(Const(i)))

        return step(run, node)

    if any(jumps_loop(s) for s in node.body):
        return _iterations(frame, node, [[binder(i), *node.body] for i in range(offset, count)], execute)
    statements = [s for i in range(offset, count) for s in (binder(i), *node.body)]
    return GoOn([*statements, *rest])


def _iterations(frame: Frame, node: ast.AST, bodies: list[list[Any]], execute: Execute) -> Ends | None:
    """Iterations that may stop the loop: what follows a `break` that the run decides goes into a branch."""
    pending = iter(bodies)
    end = _until_break(frame, pending, execute)
    while isinstance(end, Jump) and isinstance(end.broke, Scalar):
        end = _unless(frame, node, end.broke, partial(_until_break, frame, pending, execute))
    return end if isinstance(end, Raised) else None


def _until_break(frame: Frame, bodies: Iterator[list[Any]], execute: Execute) -> Ends:
    """Iterations up to one of which the run decides whether it stops the loop."""
    end: Ends = Jump(dict(frame.env), Const(True))
    for body in bodies:
        end = _one_iteration(frame, body, execute)
        if isinstance(end, Raised):
            return end
        assert isinstance(end, Jump)
        frame.env = dict(end.env)
        if not isinstance(end.broke, Const) or end.broke.value:
            return end
    return end


def _one_iteration(frame: Frame, body: list[Any], execute: Execute) -> Ends:
    saved = frame.boundary, frame.in_loop
    frame.boundary, frame.in_loop = ALL_NAMES, True
    try:
        return execute(frame, body, tail=True) or boundary_end(frame)
    finally:
        frame.boundary, frame.in_loop = saved


def _unless(frame: Frame, node: ast.AST, broke: Scalar, build: Callable[[], Ends]) -> Ends:
    """Run `build` if the loop has not stopped, join the names, and say whether it has stopped now."""
    outer = frame.env
    pending = PendingIf(frame.em, broke.ssa)
    try:
        frame.env = dict(outer)
        with pending.arm(1):
            end = build()
        stopped = end.broke if isinstance(end, Jump) else Const(True)
        envs = [{**outer, _STOPPED: Const(True)}, {**frame.env, _STOPPED: stopped}]
        merged = join_environments(frame, node, pending, envs, outer)
    except BaseException:
        frame.env = outer
        pending.abandon()
        raise
    if merged is None:
        pending.abandon()
        frame.env = outer
        raise frame.error(
            node,
            "`break` in a loop that changes what kind of value a name has",
            "give the name one kind of value before the loop",
            Unjoinable,
        )
    broke_now = merged.pop(_STOPPED)
    frame.env = merged
    return Jump(dict(merged), broke_now)


_STOPPED = "<stopped>"  # no name of Python's


# --- while ---------------------------------------------------------------------------------------------------------------


def while_(frame: Frame, node: ast.While, rest: list[Any], tail: bool, execute: Execute) -> Ends | None:
    """A `while` loop, unrolled as long as its condition is known when the graph is built; how the block ends."""
    if node.orelse:
        raise frame.error(node.orelse[0], "`else` of a loop", "set a flag before `break` and test it after the loop")
    saved = dict(frame.env)
    first = condition(frame, node.test)
    frame.at(node)
    if isinstance(first, Const) and not first.value:
        return None
    em = frame.em
    first_ssa = to_bool(frame, first)
    known = isinstance(first, Const)
    body = LoopBody(node, em.int(INT64_MAX), first_ssa, known, lambda i: None, lambda: condition(frame, node.test))
    try:
        build_loop(frame, body, rest, execute)
        return None
    except NeedsStatic as e:
        frame.env = saved
        if isinstance(first, Const) and _times_peeled(node) >= MAX_DEPTH:
            raise e.but(f"of this loop at most {MAX_DEPTH} rounds may be written out") from None
        if not isinstance(first, Const) or any(jumps_loop(s) for s in node.body):
            raise e from None
        return GoOn([*node.body, _peeled(node), *rest])
    except Changes as e:
        frame.env = saved
        if _times_peeled(node) >= MAX_PEELED or any(jumps_loop(s) for s in node.body):
            raise _refused(frame, node, e) from None
        if isinstance(first, Const):
            return GoOn([*node.body, _peeled(node), *rest])
        return branch(frame, node, first_ssa, [*node.body, _peeled(node)], [], rest, tail, execute, apart=e.before is None)


def _peeled(node: ast.While) -> ast.While:
    """The loop again, after one iteration was built apart."""
    again = copy.copy(node)
    again.times_peeled = _times_peeled(node) + 1  # type: ignore[attr-defined]  # ours
    return again


def _times_peeled(node: ast.While) -> int:
    return getattr(node, "times_peeled", 0)


MAX_DEPTH = 32  # iterations of a `while` over static structure


# --- the first iteration apart --------------------------------------------------------------------------------------------


def _peel(
    frame: Frame, node: ast.For, iterable: Iterable_, offset: int, rest: list[Any], tail: bool, execute: Execute, step: type, why: Changes
) -> Ends | None:
    """Build the first iteration apart, so that the loop starts with the kinds of value that it keeps."""
    if offset >= MAX_PEELED or any(jumps_loop(s) for s in node.body):
        raise _refused(frame, node, why)

    def bind(_rest: list[Any], _tail: bool) -> None:
        assign_target(frame, node.target, iterable.item(Const(offset)))

    def remaining(after: list[Any], is_tail: bool) -> Ends | None:
        return _for_from(frame, node, iterable, offset + 1, after, is_tail, execute, step)

    go_on = step(remaining, node)
    go_on.leaves = has_jump(node.body)
    peeled = [step(bind, node), *node.body, go_on]
    if isinstance(iterable.length, Const):
        return GoOn([*peeled, *rest])
    em = frame.em
    runs = em.scalar("aten.gt.int", [arrays.as_int(frame, node.iter, iterable.length), em.int(offset)], em.types.bool)
    if why.before is None or node not in frame.nested_loops:
        return branch(frame, node, runs, peeled, [], rest, tail, execute, apart=why.before is None)
    # Inside another loop both paths must give the same kind of value. A loop that never runs leaves a Python number, whose
    # dtype rules no array has: refuse that when it happens, rather than give another dtype.
    message = f"the loop at line {node.lineno} ran no iteration, which leaves `{why.name}` {describe(why.before)}; start it as an array"
    raise_if(frame, not_(frame, runs), "ValueError", message)
    return GoOn([*peeled, *rest])


def _refused(frame: Frame, node: ast.AST, why: Changes) -> Exception:
    if why.before is None:
        return frame.error(node, f"`{why.name}` may have no value after the loop", f"give `{why.name}` a value before it")
    remedy = same_kind_remedy(why.name, why.before, why.after)
    return frame.error(node, f"`{why.name}` is {describe(why.before)} before the loop and {describe(why.after)} in it", remedy, Unjoinable)
