"""prim.If whose two arms are built before their results are known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from tierup.dialect.mlir import ir
from tierup.frontend.python.building.emit import Emitter
from tierup.frontend.python.building.frame import Frame, Unjoinable, WillRaise
from tierup.frontend.python.building.templates import Template, lower, raise_, template_of, types_of, unify
from tierup.frontend.python.building.values import Unset, Value, describe


class PendingIf:
    """A branch in the making. Build the arms with `arm(0)` (then) and `arm(1)` (else), then `finish` or `abandon`."""

    def __init__(self, em: Emitter, condition: ir.Value) -> None:
        self.em = em
        self.condition = condition
        self.location = em.location
        self._scratch = em.create("torch.prim.If", [condition], [], regions=2)
        self.blocks = [r.blocks.append() for r in self._scratch.regions]
        self._regions: list[int | None] = [None, None]
        self.is_open = True

    @contextmanager
    def arm(self, index: int) -> Iterator[None]:
        with self.em.at_end(self.blocks[index], region=self._regions[index]):
            self._regions[index] = self.em.region
            yield

    def finish(self, yields: list[list[ir.Value]], types: list[ir.Type]) -> list[ir.Value]:
        """The results, after yielding `yields[0]` and `yields[1]`."""
        for index, values in enumerate(yields):
            with self.arm(index):
                self.em.location = self.location
                self.em.create("torch.prim.If.yield", values, [])
        self.em.location = self.location
        op = self.em.create("torch.prim.If", [self.condition], types, regions=2)
        for region, block in zip(op.regions, self.blocks, strict=True):
            block.append_to(region)
        self._scratch.erase()
        self.is_open = False
        return list(op.results)

    def abandon(self) -> None:
        """As if neither arm had been built."""
        if self.is_open:
            self._scratch.erase()
            self.is_open = False


def select(frame: Frame, node: ast.AST | None, condition: ir.Value, then: Callable[[], Value], orelse: Callable[[], Value]) -> Value:
    """`then() if condition else orelse()`. Raises Unjoinable when the two are of different kinds."""
    pending = PendingIf(frame.em, condition)
    outer = frame.env
    values: list[Value] = []
    try:
        for index, build in enumerate((then, orelse)):
            frame.env = dict(outer)
            with pending.arm(index):
                values.append(build())
            for name, value in frame.env.items():
                if outer.get(name) is not value:
                    outer[name] = Unset("it is set in a part of an expression that may not run")
            frame.env = outer
        joined = join_values(frame, pending, values)
    except WillRaise as e:
        frame.env = outer
        pending.abandon()
        return _one_arm_raises(frame, condition, e, (then, orelse), len(values))
    except BaseException:
        pending.abandon()
        frame.env = outer
        raise
    if joined is None:
        pending.abandon()
        raise frame.error(
            node, f"one branch gives {describe(values[0])}, the other {describe(values[1])}",
            "give both the same kind of value: 0.0 for 0, or an array", Unjoinable,
        )  # fmt: skip
    return joined


def _one_arm_raises(frame: Frame, condition: ir.Value, error: WillRaise, arms: tuple[Callable[[], Value], ...], index: int) -> Value:
    """The arm `index` can only raise: raise when it is chosen, else go on with the other arm's value."""
    pending = PendingIf(frame.em, condition)
    with pending.arm(index):
        raise_error(frame, error.error)
    pending.finish([[], []], [])
    return arms[1 - index]()


def raise_error(frame: Frame, error: Exception) -> None:
    """Emit the raising of a built-in exception, or NumPy's AxisError."""
    em = frame.em
    is_axis = isinstance(error, np.exceptions.AxisError)
    message = str(error) if is_axis else str(error.args[0]) if error.args else ""
    kind = "AxisError" if is_axis else next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")  # UFuncTypeError too
    em.create("torch.prim.RaiseException", [em.str(message), em.str(kind)], [])


def join_values(frame: Frame, pending: PendingIf, values: list[Value]) -> Value | None:
    """Finish a branch that gives one value; None when its arms do not fit together (the branch is then still open)."""
    template = unify(template_of(values[0]), template_of(values[1]))
    if template is None:
        return None
    lowered = []
    for index, value in enumerate(values):
        with pending.arm(index):
            lowered.append(lower(frame.em, value, template))
    results = pending.finish(lowered, types_of(frame.em, template))
    return raise_(template, iter(results), frame.em.region)


def join_environments(
    frame: Frame, node: ast.AST, pending: PendingIf, envs: list[dict[str, Value]], outer: dict[str, Value]
) -> dict[str, Value] | None:
    """Finish a branch after which both arms go on; None when a name's two values do not fit together."""
    line = getattr(node, "lineno", 0)
    merged: dict[str, Value] = {}
    templates: dict[str, Template] = {}
    for name in dict.fromkeys((*envs[0], *envs[1])):
        a, b = envs[0].get(name), envs[1].get(name)
        if a is b and a is not None:
            merged[name] = a
        elif a is None or b is None or isinstance(a, Unset) or isinstance(b, Unset):
            merged[name] = Unset(f"only one branch of the `if` at line {line} sets it")
        else:
            template = unify(template_of(a), template_of(b))
            if template is None:
                return None
            templates[name] = template
    lowered = []
    for index, env in enumerate(envs):
        with pending.arm(index):
            lowered.append([s for name, t in templates.items() for s in lower(frame.em, env[name], t)])
    results = iter(pending.finish(lowered, [t for template in templates.values() for t in types_of(frame.em, template)]))
    for name, template in templates.items():
        merged[name] = raise_(template, results, frame.em.region)
    return {name: merged[name] for name in (*outer, *(n for n in merged if n not in outer)) if name in merged}
