"""prim.If whose two arms are built before their results are known."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from tierup.dialect.base.exceptions import Unanswerable, name_of, unanswerable
from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.frontend.python.building.frame import Frame, Unjoinable, WillRaise
from tierup.frontend.python.building.knowledge import with_certain_dtypes
from tierup.frontend.python.building.templates import (
    OneScalar,
    Template,
    counterparts,
    lower,
    raise_,
    scalar_ssa,
    template_of,
    types_of,
    unify,
    uninitialized,
)
from tierup.frontend.python.building.values import (
    VACANT,
    Array,
    Const,
    Jump,
    OneOf,
    Scalar,
    Unknown,
    Unset,
    Value,
    containers_in,
    describe,
    is_number,
    number_kind,
    tie,
)
from tierup.frontend.python.flow.names import reads


@dataclass
class Row:
    """A value that crosses the end of a branch, as its two arms have it. None: the arm has none, and nothing will read it."""

    template: Template
    arms: tuple[Value | None, Value | None]


class PendingIf:
    """A branch in the making. Build the arms with `arm(0)` (then) and `arm(1)` (else), then `finish` or `join`. A `with` that is left
    without, or by an exception, is as if neither arm had been built, and the names are those before it."""

    def __init__(self, frame: Frame, condition: ir.Value) -> None:
        self.frame = frame
        self.outer = frame.env
        self.em = em = frame.em
        self.condition = condition
        self.location = em.location
        self._scratch = em.create("torch.prim.If", [condition], [], regions=2)
        self.blocks = [r.blocks.append() for r in self._scratch.regions]
        self._regions: list[int | None] = [None, None]
        self.is_open = True

    def __enter__(self) -> PendingIf:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self.is_open or kind is not None:
            self.frame.env = self.outer
        if self.is_open:
            self.is_open = False
            self._scratch.erase()

    @contextmanager
    def arm(self, index: int) -> Iterator[None]:
        """Emit at the end of an arm: 0 is `then`, 1 is `else`. It may be entered again, to go on."""
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
        self.is_open = False  # first: an exception of a signal's handler may come in between
        self._scratch.erase()
        return list(op.results)

    def join(self, rows: Sequence[Row]) -> list[Value]:
        """Finish the branch: what each row is behind it."""
        em = self.em
        lowered: list[list[ir.Value]] = [[], []]
        for row in rows:
            first, found = int(row.arms[0] is VACANT), list[ir.Value]()
            for index in (first, 1 - first):
                value = row.arms[index]
                with self.arm(index):
                    if value is None:
                        found = [uninitialized(em, t) for t in types_of(em, row.template)]
                    elif value is not VACANT or index == first or not all(map(self._is_before, found)):
                        found = lower(em, value, row.template)
                lowered[index] += found  # of what is vacant what the other arm has, if that was there before
        types = [t for row in rows for t in types_of(em, row.template)]
        results = list(lowered[0])
        differ = [i for i, value in enumerate(lowered[1]) if value != results[i]]
        given = self.finish([[values[i] for i in differ] for values in lowered], [types[i] for i in differ])
        for i, value in zip(differ, given, strict=True):
            results[i] = value
        left = iter(results)
        made = [raise_(row.template, left, em.region) for row in rows]
        self.frame.has_choices |= any(isinstance(value, OneOf) for value in made)
        self._tie(rows, made)
        return made

    def _is_before(self, value: ir.Value) -> bool:
        """Whether a value was there before the branch."""
        op = value.owner.owner if isinstance(value.owner, ir.Block) else value.owner
        while op.operation.parent is not None:
            if op.operation.block in self.blocks:
                return False
            op = op.operation.parent
        return True

    def _tie(self, rows: Sequence[Row], made: list[Value]) -> None:
        """Note which lists and dicts may be others than the paths': all but those that an arm made and hands on under one name."""
        seen = Counter(id(c) for row in rows for arm in row.arms if arm is not None for c in containers_in(arm))
        for row, value in zip(rows, made, strict=True):
            for index, arm in enumerate(row.arms):
                for mine, theirs in counterparts(value, arm):
                    if theirs.perhaps or theirs.region != self._regions[index] or theirs.external or seen[id(theirs)] > 1:
                        tie([mine, theirs])


@contextmanager
def in_arm(frame: Frame, condition: ir.Value, index: int = 0) -> Iterator[None]:
    """What is built here runs only when the condition holds (`index` 1: does not hold), and gives nothing."""
    pending = PendingIf(frame, condition)
    with pending.arm(index):
        yield
    pending.finish([[], []], [])


def select(
    frame: Frame,
    node: ast.AST | None,
    condition: ir.Value,
    then: Callable[[], Value],
    orelse: Callable[[], Value],
    *,
    choices: bool = False,
) -> Value:
    """`then() if condition else orelse()`. Raises Unjoinable when the two are of different kinds. `choices`: as in unify."""
    outer = frame.env
    values: list[Value] = []
    try:
        with PendingIf(frame, condition) as pending:
            for index, build in enumerate((then, orelse)):
                frame.env = dict(outer)
                with pending.arm(index):
                    values.append(build())
                for name, value in frame.env.items():
                    if outer.get(name) is not value:
                        outer[name] = Unset("it is set in a part of an expression that may not run")
                frame.env = outer
            joined = join_values(pending, values, choices=choices)
    except WillRaise:  # the arm can only raise: it does when it is chosen, else the other arm's value is the result
        index = len(values)
        with in_arm(frame, condition, index):
            try:
                (then, orelse)[index]()
            except WillRaise as e:
                raise_error(frame, e.error)
            frame.env = outer
        return (orelse, then)[index]()
    if joined is None:
        construct = f"one branch gives {describe(values[0])}, the other {describe(values[1])}"
        error = frame.error(node, construct, "give both the same kind of value: 0.0 for 0, or an array", Unjoinable)
        assert isinstance(error, Unjoinable)
        error.differ = values[0], values[1]
        raise error
    return joined


def raise_error(frame: Frame, error: Exception) -> None:
    """Emit the raising of a built-in exception, or one of NumPy's AxisError and UFuncTypeError. What it says is a text: Python makes a
    KeyError of a number, what else has other arguments or knows a name (`NameError.name`), and exceptions of other classes."""
    is_numpys = isinstance(error, np.exceptions.AxisError) or name_of(error) == "UFuncTypeError"
    message = str(error) if is_numpys else str(error.args[0]) if error.args else ""
    says_text = not error.args or len(error.args) == 1 and type(error.args[0]) is str
    says_text &= not isinstance(error, (AttributeError, NameError))
    if not is_numpys and not isinstance(error, Unanswerable) and not (says_text and _is_built_in(type(error))):
        error = unanswerable(next(filter(_is_built_in, type(error).__mro__)))(message)
    frame.em.raise_now(name_of(error), message)


def _is_built_in(cls: type) -> bool:
    return getattr(builtins, cls.__name__, None) is cls


def for_each(frame: Frame, node: ast.AST | None, name: str, build: Callable[[], Value]) -> Value:
    """What `build` gives for each kind of value that a name may have, where the run decides of which kind it is."""
    choice = frame.env[name]
    assert isinstance(choice, OneOf)

    def narrowed(one: Value) -> Value:
        frame.env[name] = one
        made = build()
        if frame.env[name] is one:
            frame.env[name] = choice
        return made

    return _by_tag(frame, node, choice, narrowed)


def _by_tag(frame: Frame, node: ast.AST | None, choice: OneOf, build: Callable[[Value], Value]) -> Value:
    """A branch for each alternative, by the tag."""

    def from_(index: int) -> Value:
        alternative = choice.alternatives[index]
        if index == len(choice.alternatives) - 1:
            return build(alternative)
        is_it = frame.em.scalar("aten.eq.int", [scalar_ssa(frame.em, choice.tag), frame.em.int(index)], frame.em.types.bool)
        return select(frame, node, is_it, lambda: build(alternative), lambda: from_(index + 1), choices=True)

    return from_(0)


def each(frame: Frame, node: ast.AST | None, values: list[Value], build: Callable[..., Value]) -> Value:
    """What `build` gives of values, for each kind that one of them may be of, where the run decides of which it is. Where dtypes may tell
    the kind they are asked for first (NeedsDtypes)."""
    at = next((i for i, value in enumerate(values) if isinstance(value, OneOf)), None)
    if at is None:
        return build(*values)
    frame.ask_for_dtypes()
    choice = values[at]
    assert isinstance(choice, OneOf)
    return _by_tag(frame, node, choice, lambda one: each(frame, node, [*values[:at], one, *values[at + 1 :]], build))


def choice_in(frame: Frame, nodes: Iterable[ast.AST]) -> str | None:
    """A name that is read there and whose kind of value the run decides."""
    return next((n for n in sorted(reads(nodes)) if isinstance(frame.env.get(n), OneOf)), None) if frame.has_choices else None


def join_values(pending: PendingIf, values: list[Value], *, choices: bool = False) -> Value | None:
    """Finish a branch that gives one value; None when its arms do not fit together (the branch is then still open)."""
    first, second = values
    template = unify(template_of(first), template_of(second), choices=choices)
    return None if template is None else pending.join([Row(template, (first, second))])[0]


def meet(
    frame: Frame, node: ast.AST, first: dict[str, Value], second: dict[str, Value], names: Iterable[str] | None = None
) -> dict[str, Value | Row]:
    """What names are behind a branch whose arms leave them like this: a Row where the arms differ. Raises Unjoinable. In loops, and
    where too much follows, a name may be a number on one path and an array on the other; elsewhere what follows is built for each."""
    met: dict[str, Value | Row] = {}
    for name in dict.fromkeys((*first, *second)) if names is None else names:
        a, b = first.get(name), second.get(name)
        if a is b and a is not None:
            met[name] = a
        elif isinstance(a, Unknown) or isinstance(b, Unknown):
            met[name] = Unknown("")
        elif a is None or b is None or isinstance(a, Unset) or isinstance(b, Unset):
            met[name] = Unset(f"only one branch of the `if` at line {getattr(node, 'lineno', 0)} sets it")
        else:
            template = unify(template_of(a), template_of(b))
            if template is None and (frame.boundary is not None or frame.joins_choices):
                a, b = (with_certain_dtypes(frame, v) if isinstance(v, (Array, OneOf)) else v for v in (a, b))
                template = unify(template_of(a), template_of(b), choices=True)
            if template is None:
                construct = f"`{name}` is {describe(a)} on one path and {describe(b)} on the other"
                error = frame.error(node, construct, same_kind_remedy(name, a, b), Unjoinable)
                assert isinstance(error, Unjoinable)
                error.differ = a, b
                raise error
            met[name] = Row(template, (a, b))
    return met


def same_kind_remedy(name: str, a: Value, b: Value) -> str:
    """What to write so that two paths agree."""
    if is_number(a) and is_number(b) and {number_kind(a), number_kind(b)} == {"int", "float"}:
        return f"make `{name}` a float on both, for example 0.0 for 0"
    return f"give `{name}` the same kind of value on both, for example an array from the start"


def join_jumps(node: ast.AST, pending: PendingIf, first: Jump, second: Jump, names: Iterable[str] | None = None) -> Jump:
    """Finish a branch behind which the program goes on. Raises Unjoinable."""
    met = meet(pending.frame, node, first.env, second.env, names)
    broke = unify(template_of(first.broke), template_of(second.broke))
    assert broke is not None, "two bools"
    rows = [v for v in met.values() if isinstance(v, Row)]
    *joined, stops = pending.join([*rows, Row(broke, (first.broke, second.broke))])
    values = iter(joined)
    return Jump({name: next(values) if isinstance(v, Row) else v for name, v in met.items()}, stops)


def either(frame: Frame, pending: PendingIf, values: list[Value]) -> Value:
    """Results of different kinds: a tag, and every alternative, with dummies for the ones that do not hold."""
    em = frame.em
    first, second = (v if isinstance(v, OneOf) else OneOf(Const(0), (v,)) for v in values)
    with pending.arm(1):
        shifted = em.scalar("aten.add.int", [scalar_ssa(em, second.tag), em.int(len(first.alternatives))], em.types.int)
    rows = [Row(OneScalar("int"), (first.tag, Scalar(shifted, "int")))]
    rows += [Row(template_of(v), (v, VACANT)) for v in first.alternatives]
    rows += [Row(template_of(v), (VACANT, v)) for v in second.alternatives]
    tag, *alternatives = pending.join(rows)
    return OneOf(tag, tuple(alternatives))
