"""prim.Loop: which names it carries, and the rounds that find what kinds of value they keep."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.frontend.python.building.branch import PendingIf, raise_error
from tierup.frontend.python.building.frame import ALL_NAMES, Follows, Frame, NeedsStatic, WillRaise
from tierup.frontend.python.building.knowledge import noted, with_certain_dtypes, with_dtypes
from tierup.frontend.python.building.templates import (
    OneArray,
    Template,
    general,
    is_vacant,
    lower,
    raise_,
    template_of,
    tie_to,
    types_of,
    unify,
)
from tierup.frontend.python.building.values import (
    VACANT,
    Array,
    Const,
    Ends,
    Jump,
    OneOf,
    Perhaps,
    Raised,
    Reference,
    Scalar,
    Unknown,
    Unset,
    Value,
    describe,
    is_number,
)
from tierup.frontend.python.flow.names import NONE, Names, binds
from tierup.frontend.python.flow.parts import jumps, placed
from tierup.frontend.python.heaps import in_one
from tierup.frontend.python.operations.scalars import not_, raise_if, to_bool
from tierup.frontend.python.syntax.conditionals import boundary_end

MAX_ROUNDS = 8
_BROKE = "the loop was left"  # no program has such a name


class Changes(Exception):
    """The first iteration must be built apart: the body gives a carried name another kind of value than it has before the
    loop, or (`before` is None) an array that is read after the loop."""

    def __init__(self, name: str, before: Value | None, after: Value) -> None:
        super().__init__(name)
        self.name, self.before, self.after = name, before, after


@dataclass
class LoopBody:
    """One loop to build. `bind` gives the target its item; `again` is the loop's condition at the end of an iteration. `test`: that
    condition where it binds names, which is then a statement of the iteration."""

    node: ast.For | ast.While
    trips: ir.Value
    first: ir.Value  # !torch.bool: whether a `while` runs at all
    runs: bool  # whether it is known to run at least once
    bind: Callable[[Value], None]
    again: Callable[[], Value]
    test: ast.expr | None = None
    scalars: bool = False  # NeedsStatic where it carries an array, with which rounds that are written out are quicker


@dataclass
class _Plan:
    """The names that cross iterations. Those of `late` get their first value in the body and are read after the loop: they
    start vacant."""

    templates: dict[str, Template]
    late: frozenset[str]


def build_loop(frame: Frame, body: LoopBody, rest: list[Any]) -> None:
    """Make the prim.Loop; `frame.env` is then what holds after it. Raises Changes."""
    assigned = binds([body.node]) | (frame.rebound if any(isinstance(n, ast.Call) for n in ast.walk(body.node)) else NONE)
    outer = frame.env
    carried = [n for n, v in outer.items() if n in assigned and not isinstance(v, Unset)]
    around = frozenset(frame.boundary or ()) if frame.boundary != ALL_NAMES else NONE  # what the loop around this one reads later
    wanted = sorted(assigned.difference(carried) & (frame.flow.live_before(rest) | around | frame.cells))
    plan = _Plan({n: general(template_of(with_dtypes(frame, outer[n]), generalise=True)) for n in carried}, frozenset())
    for _ in range(MAX_ROUNDS):
        if body.scalars and any(isinstance(t, OneArray) and not (t.rank == 0 and t.decays is True) for t in plan.templates.values()):
            raise frame.error(body.node, "a loop that hands on arrays", "", NeedsStatic)
        wider = _attempt(frame, body, outer, plan, assigned, wanted)
        if wider is None:
            return
        plan = wider
    raise frame.error(body.node, "a loop whose values change rank or dtype in every iteration")


def _attempt(frame: Frame, body: LoopBody, outer: dict[str, Value], plan: _Plan, assigned: Names, wanted: list[str]) -> _Plan | None:
    """Build the loop by this plan. None when it fits; else a wider plan, with nothing built."""
    em = frame.em
    location, line = em.location, body.node.lineno
    templates, names = plan.templates, tuple(plan.templates)
    types = [t for template in templates.values() for t in types_of(em, template)]
    initial = [s for name in names for s in lower(em, VACANT if name in plan.late else outer[name], templates[name])]
    loop = em.create("torch.prim.Loop", [body.trips, body.first, *initial], types, regions=1)
    saved = frame.boundary
    counted, done = (frame.duplicates, frame.copied, frame.outside.rounds), False
    try:
        block = loop.regions[0].blocks.append(em.types.int, *types, arg_locs=[location] * (1 + len(types)))
        arguments = list(block.arguments)
        em.writes += 1
        with em.at_end(block):
            values = iter(arguments[1:])
            inside = {name: noted(frame, raise_(templates[name], values, em.region)) for name in names}
            frame.has_choices |= any(isinstance(value, OneOf) for value in inside.values())
            for name in names:
                tie_to(inside[name], outer.get(name))
            unset = (name for name in assigned if name not in inside or name in plan.late)
            frame.env = {**outer, **inside, **_unset(unset, f"the loop at line {line} has not set it yet", outer)}
            frame.boundary = tuple(dict.fromkeys((*names, *wanted)))
            try:
                body.bind(Scalar(arguments[0], "int"))
                end = frame.execute(body.node.body, tail=True) or boundary_end(frame)
            except WillRaise as e:  # an item can only raise: in a round
                raise_error(frame, e.error)
                end = Raised()
            if isinstance(end, Jump) and body.test is not None:
                end = _tested(frame, body.test, Jump({**outer, **end.env}, end.broke))
            if isinstance(end, Raised):
                end = Jump(dict(inside), Const(True))
            assert isinstance(end, Jump), "no loop has a return in it"
            wider = _wider(frame, body, outer, end.env, plan, wanted)
            if wider != plan:
                return wider
            frame.env = {**outer, **end.env}
            frame.boundary = saved
            again = _again(frame, body, end.broke)
            yields = [s for name in names for s in lower(em, end.env[name], templates[name])]
            em.location = location
            em.create("torch.prim.Loop.condition", [again, *yields], [])
        done = True
    finally:
        frame.boundary = saved
        frame.env = outer
        em.location = location
        if not done:
            loop.erase()
            frame.duplicates, frame.copied, frame.outside.rounds = counted
    last = end.env
    frame.env = {**outer, **_unset(assigned, f"the loop at line {line} may not run", outer, last)}
    _leave(frame, body, plan, list(loop.results), outer, last)
    return None


def _unset(names: Iterable[str], why: str, *envs: dict[str, Value]) -> dict[str, Value]:
    """Names that may have no value; those that a refused statement binds are still these."""
    return {n: next((v for env in envs if isinstance(v := env.get(n), Unknown)), Unset(why)) for n in names}


def _leave(frame: Frame, body: LoopBody, plan: _Plan, results: list[ir.Value], *before: dict[str, Value]) -> None:
    """The names that the loop carries, after it. `before`: what they may be, from before it and from its last round."""
    em = frame.em
    ssa = iter(results)
    for name, template in plan.templates.items():
        value = noted(frame, raise_(template, ssa, em.region))
        for env in before:
            tie_to(value, env.get(name))
        frame.env[name] = _perhaps(frame, body, name, value) if name in plan.late and not body.runs else value


def _perhaps(frame: Frame, body: LoopBody, name: str, value: Value) -> Perhaps:
    """A name that only the loop sets: reading it raises Python's error if the loop did not run."""
    em = frame.em
    ran = body.first if isinstance(body.node, ast.While) else em.scalar("aten.gt.int", [body.trips, em.int(0)], em.types.bool)

    def settle() -> Value:
        message = f"cannot access local variable '{name}' where it is not associated with a value"
        raise_if(frame, not_(frame, ran), "UnboundLocalError", message)
        return value

    return Perhaps(f"the loop at line {body.node.lineno} may not run", settle)


def _tested(frame: Frame, test: ast.expr, end: Jump) -> Ends:
    """An iteration that ends like this, and then with `if not test: break`, unless it broke off before."""
    if isinstance(end.broke, Const) and end.broke.value:
        return end
    statement = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
    frame.env = dict(end.env)
    if not isinstance(end.broke, Const):
        frame.env[_BROKE] = end.broke
        statement = ast.If(ast.Name(_BROKE, ast.Load()), [ast.Break()], [statement])
    return frame.execute([placed(statement, test)], tail=True) or boundary_end(frame)


def _again(frame: Frame, body: LoopBody, broke: Value) -> ir.Value:
    """Whether there is a next iteration. The condition is not evaluated after a `break`."""
    em = frame.em
    if isinstance(broke, Const):
        return em.bool(False) if broke.value else to_bool(frame, Const(True) if body.test else body.again())
    assert isinstance(broke, Scalar)
    if isinstance(body.node, ast.For) or body.test:
        return not_(frame, broke.ssa)
    pending = PendingIf(frame, broke.ssa)
    with pending.arm(1):
        again = to_bool(frame, body.again())
    return pending.finish([[em.bool(False)], [again]], [em.types.bool])[0]


def _wider(frame: Frame, body: LoopBody, outer: dict[str, Value], after: dict[str, Value], plan: _Plan, wanted: list[str]) -> _Plan:
    """The plan that the values after an iteration need. Raises Changes when there is none."""
    templates, late = dict(plan.templates), set(plan.late)
    for name, template in plan.templates.items():
        value = after.get(name)
        if isinstance(value, Unknown):
            raise frame.error(body.node, f"`{name}`, which is not translated", cls=Follows)
        if value is None or isinstance(value, Unset):
            raise frame.error(body.node, f"`{name}` may have no value after an iteration", f"give `{name}` a value on every path")
        certain = is_vacant(template) and value is not VACANT
        found = with_certain_dtypes(frame, value) if certain else with_dtypes(frame, value)
        unified = unify(template, template_of(found), choices=isinstance(value, OneOf))
        if unified is None:
            before = outer.get(name, value)
            error = frame.error(body.node, f"`{name}`, which is {describe(before)} before the loop and another in it")
            in_turn = in_one(frame, body.node, [before, value], error)
            raise Changes(name, outer.get(name), value) if in_turn is error else in_turn
        templates[name] = general(unified)
    for name in wanted:
        value = after.get(name)
        if name in templates or value is None or isinstance(value, Unset):
            continue
        if isinstance(value, Array) and jumps(body.node.body):  # which may end the first iteration before it
            value = with_certain_dtypes(frame, value)
        elif not is_number(value) and not isinstance(value, Reference):
            raise Changes(name, None, value)
        templates[name] = general(template_of(value, generalise=True))
        late.add(name)
    return _Plan(templates, frozenset(late))
