"""`for` and `while`: prim.Loop when the run decides how often, or written out when the body needs to know which iteration it is.

A loop carries the names that its body assigns and that had a value before. Types of carried values must stand still: where
the first iteration changes one (a Python 0.0 that becomes an array), that iteration is built apart, in front of the loop.
A `return` in a loop, and its `else`, stand behind it (flow/leaving.py).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.building.branch import PendingIf, join_jumps, same_kind_remedy
from tierup.frontend.python.building.frame import ALL_NAMES, Frame, GrowsList, NeedsStatic, Unjoinable
from tierup.frontend.python.building.values import (
    VACANT,
    ZERO,
    Const,
    Ends,
    GoOn,
    Iterable_,
    Jump,
    Raised,
    Scalar,
    Value,
    describe,
    is_none,
)
from tierup.frontend.python.flow.leaving import leaving
from tierup.frontend.python.flow.names import own_nodes
from tierup.frontend.python.flow.parts import To, jumps, placed
from tierup.frontend.python.operations import arrays, iteration
from tierup.frontend.python.operations.iteration import MAX_UNROLLED
from tierup.frontend.python.operations.scalars import of_ints, to_bool
from tierup.frontend.python.syntax.conditionals import boundary_end, branch
from tierup.frontend.python.syntax.expressions import assign_target, condition, evaluate, evaluate_any
from tierup.frontend.python.syntax.loop_region import Changes, LoopBody, build_loop

MAX_PEELED = 3
FEW, FEW_OF_LOOPS = 16, 4  # rounds that are rather written out than read numbers of lists from arrays; of loops with loops in them
MOST_FOR_A_LIST = 8  # rounds that are written out rather than that a list grows in them
INT64_MAX = (1 << 63) - 1


@dataclass(eq=False)
class Step:
    """A made-up statement, to bind a loop's next item or go on with a peeled loop. `stands_for`: one that uses the same names."""

    run: Callable[[list[Any], bool], Ends | None]
    stands_for: ast.stmt

    def __post_init__(self) -> None:
        self.lineno, self.col_offset = self.stands_for.lineno, self.stands_for.col_offset

    @classmethod
    def binding(cls, frame: Frame, name: str, value: Value, node: ast.AST, instead: Value | None = None) -> Step:
        """Gives a name a value. `instead`: unless it has another one than this by then."""

        def run(_rest: list[Any], _tail: bool) -> None:
            if instead is None or frame.env.get(name) is instead:
                frame.env[name] = value

        return cls(run, ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)), node))


def _jumps(node: ast.For | ast.While) -> bool:
    """Whether statements of a loop break or continue it."""
    return bool(jumps(node.body) - {To.RETURN})


def _left_by_break(build: Callable[..., Ends | None]) -> Callable[..., Ends | None]:
    """What builds a loop that is left by `break` alone, for one that has `return` in it or `else`."""

    def for_any(frame: Frame, node: Any, rest: list[Any], tail: bool) -> Ends | None:
        found = leaving(node)
        if found is None:
            return build(frame, node, rest, tail)
        frame.env |= {found.left: ZERO, **dict.fromkeys(found.slots, VACANT)}
        if tail and not node.orelse and not _jumps(node):
            found.loop.as_written = node
        after = [*found.after, *rest]
        end = build(frame, found.loop, after, tail)
        return GoOn(after) if end is None else end

    return for_any


def _as_written(node: Any) -> Any:
    """A loop with the `return`s that stand in it, where it has no other jumps: for iterations that stand in no loop."""
    return getattr(node, "as_written", node)


# --- for -----------------------------------------------------------------------------------------------------------------


def for_statement(frame: Frame, node: ast.For, rest: list[Any], tail: bool) -> Ends | None:
    """A `for` loop. One over `filter(...)` is one over what that filters.

    for v in filter(f, x):           for item in x:
        s += v              ->           if f(item):
                                             v = item
                                             s += v
    """
    given = node.iter
    if not (isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and len(given.args) == 2 and not given.keywords):
        return for_(frame, node, rest, tail)
    called = frame.lookup(given.func)
    if not isinstance(called, Const) or called.value is not filter or any(isinstance(a, ast.Starred) for a in given.args):
        return for_(frame, node, rest, tail)
    function, items = (evaluate_any(frame, a) for a in given.args)
    test, iterated = frame.keep(function), frame.keep(items)
    item: ast.expr = ast.Name("an item", ast.Load())
    passes = item if is_none(function) else ast.Call(ast.Name(test, ast.Load()), [item], [])
    body: list[ast.stmt] = [ast.If(passes, [ast.Assign([node.target], item), *node.body], [])]
    made = ast.For(ast.Name("an item", ast.Store()), ast.Name(iterated, ast.Load()), body, node.orelse)
    return for_(frame, placed(made, node), rest, tail)


@_left_by_break
def for_(frame: Frame, node: ast.For, rest: list[Any], tail: bool) -> Ends | None:
    """A `for` loop, unrolled where what it runs over is known when the graph is built; how the block ends."""
    iterated = evaluate(frame, node.iter)
    frame.at(node)
    iterable = iteration.iterate(frame, node.iter, iterated)
    check = iterable.check
    if check is None:
        return _for_from(frame, node, iterable, 0, rest, tail)
    behind = Step(lambda _rest, _tail: check(), ast.copy_location(ast.Pass(), node))
    end = _for_from(frame, node, iterable, 0, [behind, *rest], tail)
    if end is None:
        check()
    return end


def _for_from(frame: Frame, node: ast.For, iterable: Iterable_, offset: int, rest: list[Any], tail: bool) -> Ends | None:
    """The loop from item `offset` on."""
    known = iterable.length.value if isinstance(iterable.length, Const) else None
    if known is not None and known <= offset:
        return None
    if known == offset + 1:
        return _write_out(frame, node, iterable, offset, rest, tail)
    refused: UnsupportedSyntax | None = None
    saved = dict(frame.env)
    for anywhere in _ways(frame, node, iterable, offset):
        tries = anywhere and known is not None
        try:
            with _reading(frame, anywhere=anywhere, tries=tries):
                _build_for(frame, node, iterable, offset, rest, scalars=tries)
            return None
        except UnsupportedSyntax as e:
            if not (tries or isinstance(e, NeedsStatic)):
                raise
            frame.env, refused = saved, refused or e
        except Changes as e:
            frame.env = saved
            return _peel(frame, node, iterable, offset, rest, tail, e)
        saved = dict(saved)
    may_grow = isinstance(refused, GrowsList) and refused.grows is not None and frame.is_entry
    if refused is not None and (known is None or may_grow and known - offset > MOST_FOR_A_LIST):
        raise refused from None
    if refused is not None and known is not None and known - offset > MAX_UNROLLED:
        raise refused.but(f"this loop has {known} rounds: of at most {MAX_UNROLLED} each may be written out") from None
    return _write_out(frame, node, iterable, offset, rest, tail)


def _ways(frame: Frame, node: ast.For, iterable: Iterable_, offset: int) -> list[bool]:
    """How to try to build a loop before it is written out: without and with lists of numbers read at places that only the run knows, for
    which they are put into arrays. A loop of few rounds is quicker written out."""
    if frame.outside.reads_anywhere:
        return [True]
    plainly = [] if iterable.needs_static_index else [False]
    if isinstance(iterable.length, Const):
        has_loops = any(isinstance(n, (ast.For, ast.While)) for n in own_nodes(node))
        few = FEW_OF_LOOPS if has_loops else FEW
        if iterable.length.value - offset <= few:
            return plainly
    return [*plainly, True]


@contextmanager
def _reading(frame: Frame, *, anywhere: bool, tries: bool = False) -> Iterator[None]:
    """Inside the `with`, numbers of lists may be read at places that only the run knows, or not. `tries`: what is refused is no more than
    raised, since there is another way to build it."""
    outside = frame.outside
    saved = outside.reads_anywhere, outside.tries
    outside.reads_anywhere, outside.tries = anywhere, tries or outside.tries
    try:
        yield
    finally:
        outside.reads_anywhere, outside.tries = saved


def _build_for(frame: Frame, node: ast.For, iterable: Iterable_, offset: int, rest: list[Any], *, scalars: bool = False) -> None:
    em = frame.em
    length = arrays.as_int(frame, node.iter, iterable.length)
    if offset:
        length = of_ints(frame, "aten.sub.int", length, em.int(offset))

    def bind(i: Value) -> None:
        assign_target(frame, node.target, iterable.item(iteration.add(frame, node.iter, i, Const(offset))))

    known = isinstance(iterable.length, Const)
    build_loop(frame, LoopBody(node, length, em.bool(True), known, bind, lambda: Const(True), scalars=scalars), rest)


def _write_out(frame: Frame, node: ast.For, iterable: Iterable_, offset: int, rest: list[Any], tail: bool) -> Ends | None:
    """Every iteration one after the other."""
    if not isinstance(iterable.length, Const):
        raise frame.error(node.iter, "as many items as only the run knows", "loop over an array or a range", NeedsStatic)
    count = iterable.length.value
    if count - offset > MAX_UNROLLED:
        raise frame.error(node, f"{count} iterations to write out (at most {MAX_UNROLLED})", "use array operations")

    frame.writes_out(node, count - offset)
    written = _as_written(node)
    bodies: list[list[Any]] = [[_binder(frame, node, iterable, i), *written.body] for i in range(offset, count)]
    if _jumps(written):
        return _iterations(frame, node, bodies)
    return GoOn([*(s for body in bodies for s in body), *rest])


def _binder(frame: Frame, node: ast.For, iterable: Iterable_, i: int) -> Step:
    """Gives the loop's target its item `i`."""

    def run(_rest: list[Any], _tail: bool) -> None:
        assign_target(frame, node.target, iterable.item(Const(i)))

    return Step(run, ast.copy_location(ast.Assign([node.target], ast.Constant(None)), node))


def _iterations(frame: Frame, node: ast.AST, bodies: list[list[Any]]) -> Ends | None:
    """Iterations that may stop the loop: what follows a `break` that the run decides goes into a branch."""
    pending = iter(bodies)
    end = _until_break(frame, pending)
    while isinstance(end, Jump) and isinstance(end.broke, Scalar):
        end = _unless(frame, node, end.broke, partial(_until_break, frame, pending))
    return end if isinstance(end, Raised) else None


def _until_break(frame: Frame, bodies: Iterator[list[Any]]) -> Ends:
    """Iterations up to one of which the run decides whether it stops the loop."""
    end: Ends = Jump(dict(frame.env), Const(True))
    for body in bodies:
        end = _one_iteration(frame, body)
        if isinstance(end, Raised):
            return end
        assert isinstance(end, Jump)
        frame.env = dict(end.env)
        if not isinstance(end.broke, Const) or end.broke.value:
            return end
    return end


def _one_iteration(frame: Frame, body: list[Any]) -> Ends:
    saved, frame.boundary = frame.boundary, ALL_NAMES
    try:
        return frame.execute(body, tail=True) or boundary_end(frame)
    finally:
        frame.boundary = saved


def _unless(frame: Frame, node: ast.AST, broke: Scalar, build: Callable[[], Ends]) -> Ends:
    """Run `build` if the loop has not stopped, join the names, and say whether it has stopped now."""
    outer = frame.env
    with PendingIf(frame, broke.ssa) as pending:
        frame.env = dict(outer)
        with pending.arm(1):
            end = build()
        stopped = end.broke if isinstance(end, Jump) else Const(True)
        try:
            found = join_jumps(node, pending, Jump(outer, Const(True)), Jump(frame.env, stopped))
        except Unjoinable:
            raise frame.error(
                node,
                "`break` in a loop that changes what kind of value a name has",
                "give the name one kind of value before the loop",
                Unjoinable,
            ) from None
    frame.env = dict(found.env)
    return found


# --- while ---------------------------------------------------------------------------------------------------------------


@_left_by_break
def while_(frame: Frame, node: ast.While, rest: list[Any], tail: bool) -> Ends | None:
    """A `while` loop, unrolled as long as its condition is known when the graph is built; how the block ends."""
    first = condition(frame, node.test)
    frame.at(node)
    if isinstance(first, Const) and not first.value:
        return None
    saved = dict(frame.env)
    em = frame.em
    first_ssa = to_bool(frame, first)
    known = isinstance(first, Const)
    binding = (ast.NamedExpr, ast.Call) if frame.rebound else ast.NamedExpr
    test = node.test if any(isinstance(n, binding) for n in ast.walk(node.test)) else None
    body = LoopBody(node, em.int(INT64_MAX), first_ssa, known, lambda i: None, lambda: condition(frame, node.test), test)
    try:
        with _reading(frame, anywhere=frame.outside.reads_anywhere or not known or _times_peeled(node) >= FEW):
            build_loop(frame, body, rest)
        return None
    except NeedsStatic as e:
        frame.env = saved
        if isinstance(first, Const) and _times_peeled(node) >= MAX_DEPTH:
            raise e.but(f"of this loop at most {MAX_DEPTH} rounds may be written out") from None
        if not isinstance(first, Const):
            raise e from None
        return GoOn([*_peeled_while(frame, node), *rest])
    except Changes as e:
        frame.env = saved
        if _times_peeled(node) >= MAX_PEELED:
            raise _refused(frame, node, e) from None
        if isinstance(first, Const):
            return GoOn([*_peeled_while(frame, node), *rest])
        return branch(frame, node, first_ssa, _peeled_while(frame, node), [], rest, tail, apart=e.before is None)


def _peeled_while(frame: Frame, node: ast.While) -> list[Any]:
    """One iteration, which runs, and the loop again."""
    written = _as_written(node)
    if not _jumps(written):
        return [*written.body, _peeled(written)]
    return [_apart(frame, node, [], lambda rest, tail: while_(frame, _peeled(node), rest, tail))]


def _peeled(node: ast.While) -> ast.While:
    """The loop again, after one iteration was built apart."""
    again = copy.copy(node)
    again.times_peeled = _times_peeled(node) + 1  # type: ignore[attr-defined]  # ours
    return again


def _times_peeled(node: ast.While) -> int:
    return getattr(node, "times_peeled", 0)


MAX_DEPTH = 32  # iterations of a `while` over static structure


# --- the first iteration apart --------------------------------------------------------------------------------------------


def _peel(frame: Frame, node: ast.For, iterable: Iterable_, offset: int, rest: list[Any], tail: bool, why: Changes) -> Ends | None:
    """Build the first iteration apart, so that the loop starts with the kinds of value that it keeps."""
    if offset >= MAX_PEELED:
        raise _refused(frame, node, why)

    def remaining(after: list[Any], is_tail: bool) -> Ends | None:
        return _for_from(frame, node, iterable, offset + 1, after, is_tail)

    first, written = _binder(frame, node, iterable, offset), _as_written(node)
    peeled = [_apart(frame, node, [first], remaining)] if _jumps(written) else [first, *written.body, Step(remaining, node)]
    if isinstance(iterable.length, Const):
        return GoOn([*peeled, *rest])
    em = frame.em
    runs = em.scalar("aten.gt.int", [arrays.as_int(frame, node.iter, iterable.length), em.int(offset)], em.types.bool)
    return branch(frame, node, runs, peeled, [], rest, tail, apart=why.before is None)


def _apart(frame: Frame, node: ast.For | ast.While, before: list[Any], remaining: Callable[[list[Any], bool], Ends | None]) -> Step:
    """One iteration, with what stands `before` it, that may stop the loop; unless it does, the remaining ones."""

    def others() -> Ends:
        return frame.execute([Step(remaining, node)], tail=False) or Jump(dict(frame.env), Const(True))

    def run(rest: list[Any], tail: bool) -> Ends | None:
        end = _one_iteration(frame, [*before, *node.body])
        if not isinstance(end, Jump):
            return end
        frame.env = dict(end.env)
        if isinstance(end.broke, Const):
            return None if end.broke.value else remaining(rest, tail)
        assert isinstance(end.broke, Scalar)
        end = _unless(frame, node, end.broke, others)
        return end if isinstance(end, Raised) else None

    return Step(run, node)


def _refused(frame: Frame, node: ast.AST, why: Changes) -> Exception:
    if why.before is None:
        return frame.error(node, f"`{why.name}` may have no value after the loop", f"give `{why.name}` a value before it")
    remedy = same_kind_remedy(why.name, why.before, why.after)
    return frame.error(node, f"`{why.name}` is {describe(why.before)} before the loop and {describe(why.after)} in it", remedy, Unjoinable)
