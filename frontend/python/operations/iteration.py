"""What loops and comprehensions run over: ranges, sequences, rows of arrays, zip, enumerate, reversed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from collections.abc import Sequence as Keys
from dataclasses import replace
from functools import partial
from typing import Any

from tierup.frontend.python.building.branch import each, select
from tierup.frontend.python.building.frame import Frame, NeedsStatic, WillRaise
from tierup.frontend.python.building.values import (
    LAST,
    ONE,
    ZERO,
    Array,
    Const,
    Grows,
    Iterable_,
    Mapping_,
    OneOf,
    Scalar,
    Sequence,
    ShapeOf,
    Value,
    describe,
    is_array_like,
    is_number,
)
from tierup.frontend.python.operations import array_operators, arrays, growing, indexing, lengths
from tierup.frontend.python.operations.scalars import binary, compare, of_ints

MAX_UNROLLED = 512


def iterate(frame: Frame, node: ast.AST, value: Value) -> Iterable_:
    """iter(value)."""
    if isinstance(value, Iterable_):
        return value
    if isinstance(value, ShapeOf):
        value = Sequence("tuple", arrays.shape_items(frame, node, value))
    if isinstance(value, Mapping_):
        return _live(frame, node, value, list(value.items), Const)
    if isinstance(value, Sequence):
        if value.view is not None:
            owner, name = value.view
            made = {"keys": Const, "values": owner.items.__getitem__, "items": lambda k: Sequence("tuple", [Const(k), owner.items[k]])}
            return _live(frame, node, owner, list(owner.items), made[name])
        at_runtime = None if all(isinstance(v, Const) for v in value.items) else partial(indexing.load, frame, node, value)
        return _live(frame, node, value, range(len(value.items)), value.items.__getitem__, at_runtime)
    if isinstance(value, Grows):
        return growing.iterate(frame, node, value)
    if isinstance(value, Array):
        return _rows(frame, node, value, lengths.Use.ITERATION)
    is_text = isinstance(value, Const) and isinstance(value.value, str)
    remedy = "pass the codes of its characters as an array, np.frombuffer(text.encode(), np.uint8)" if is_text else ""
    raise frame.error(node, "iterating over a string" if is_text else f"iterating over {describe(value)}", remedy)


def kept(frame: Frame, node: ast.AST, value: Value) -> Value:
    """A value that something keeps. Raises UnsupportedSyntax for an iterator, of which only the run may know what it still has."""
    if isinstance(value, Iterable_) and value.once:
        raise frame.error(node, "an iterator that is kept", "write it where it is used, or make a list of it: list(...)")
    return value


def _live(
    frame: Frame, node: ast.AST, owner: Sequence | Mapping_, keys: Keys[Any], item: Callable[[Any], Value],
    at_runtime: Callable[[Value], Value] | None = None,
) -> Iterable_:  # fmt: skip
    """A loop over a list or dict, whose items may be others by the time that it gets there. It may not have other keys then: Python's loop
    over a list goes on with what was appended, or misses what moved up; over a dict it is a RuntimeError. `at_runtime`: the item at a place
    that only the run knows."""
    kind = owner.kind if isinstance(owner, Sequence) else "dict"

    def check() -> None:
        if keys != (list(owner.items) if isinstance(owner, Mapping_) else range(len(owner.items))):
            raise frame.error(node, f"a {kind} that changes in a loop over it", f"loop over a copy of it: {kind}(...)")

    def item_of(i: Value) -> Value:
        check()
        if isinstance(i, Const):
            return item(keys[i.value])
        if at_runtime is None:
            raise frame.error(node, f"a {kind} whose items only the run tells apart", "use constants, or an array", NeedsStatic)
        return at_runtime(i)

    return Iterable_(Const(len(keys)), item_of, needs_static_index=True, check=None if kind == "tuple" else check)


def _all(checks: Iterable[Callable[[], None] | None]) -> Callable[[], None] | None:
    """One that does all."""
    found = [check for check in checks if check is not None]

    def check() -> None:
        for one in found:
            one()

    return check if found else None


def _rows(frame: Frame, node: ast.AST, array: Array, use: lengths.Use) -> Iterable_:
    return Iterable_(lengths.length(frame, node, array, use), lambda i: indexing.load(frame, node, array, i))


def static_items(frame: Frame, node: ast.AST, value: Value) -> list[Value]:
    """Every item, when how many there are is known now."""
    if isinstance(value, Sequence):
        return list(value.items)
    iterable = iterate(frame, node, value)
    return [iterable.item(Const(i)) for i in range(known_length(frame, node, iterable))]


def known_length(frame: Frame, node: ast.AST, iterable: Iterable_) -> int:
    """How many items there are. Raises UnsupportedSyntax where only the run knows, and for too many to write out."""
    length = iterable.length
    if not isinstance(length, Const):
        remedy = "use array operations over the whole axis, or np.empty and a for loop that assigns rows"
        raise frame.error(node, "as many items as only the run knows", remedy, NeedsStatic)
    if length.value > MAX_UNROLLED:
        raise frame.error(node, f"{length.value} items to write out (at most {MAX_UNROLLED})", "use array operations")
    return max(int(length.value), 0)


def first_and_rest(frame: Frame, node: ast.AST, iterable: Iterable_) -> tuple[Value, Iterable_]:
    """The first item, and an iterator over those behind it."""
    first = iterable.item(ZERO)
    rest = add(frame, node, iterable.length, LAST)
    return first, replace(iterable, length=rest, item=lambda i: iterable.item(add(frame, node, i, ONE)), once=True)


def range_of(frame: Frame, node: ast.AST, *args: Value) -> Iterable_:
    """range(stop), range(start, stop), range(start, stop, step)."""
    if not 1 <= len(args) <= 3:
        raise frame.error(node, f"range with {len(args)} arguments")
    ints = [_integer(frame, node, b) for b in args]
    start, stop = (Const(0), ints[0]) if len(ints) == 1 else ints[:2]
    step = ints[2] if len(ints) == 3 else Const(1)
    if isinstance(step, Const) and step.value == 0:
        raise WillRaise(ValueError("range() arg 3 must not be zero"))
    if isinstance(start, Const) and isinstance(stop, Const) and isinstance(step, Const):
        known = range(start.value, stop.value, step.value)
        length: Value = Const(len(known))
    else:
        length = _length(frame, node, start, stop, step)

    def item(i: Value) -> Value:
        if all(isinstance(v, Const) for v in (i, start, step)) or (isinstance(start, Const) and start.value == 0 and step == Const(1)):
            return add(frame, node, start, multiply(frame, node, i, step))
        return Scalar(of_ints(frame, "aten.__derive_index", *(arrays.as_int(frame, node, v) for v in (i, start, step))), "int")

    return Iterable_(length, item, once=False)


def _integer(frame: Frame, node: ast.AST, value: Value) -> Value:
    if isinstance(value, Const) and not isinstance(value.value, float):
        return Const(int(value.value)) if hasattr(value.value, "__index__") else value
    if isinstance(value, Scalar) and value.kind == "int":
        return value
    return Scalar(arrays.as_int(frame, node, value, "range"), "int")


def _length(frame: Frame, node: ast.AST, start: Value, stop: Value, step: Value) -> Value:
    if isinstance(start, Const) and start.value == 0 and isinstance(step, Const) and step.value == 1:
        return stop  # a loop runs max(0, stop) times
    operands = [arrays.as_int(frame, node, v) for v in (start, stop, step)]
    return Scalar(of_ints(frame, "aten.__range_length", *operands), "int")


def add(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """The sum of two ints."""
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(a.value + b.value)
    if isinstance(a, Const) and a.value == 0:
        return b
    if isinstance(b, Const) and b.value == 0:
        return a
    return binary(frame, node, ast.Add, a, b)


def multiply(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """The product of two ints."""
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(a.value * b.value)
    if isinstance(b, Const) and b.value == 1:
        return a
    return binary(frame, node, ast.Mult, a, b)


def enumerated(frame: Frame, node: ast.AST, iterable: Value, start: Value = ZERO) -> Iterable_:
    """enumerate(iterable, start)."""
    inner = iterate(frame, node, iterable)

    def item(i: Value) -> Value:
        return Sequence("tuple", [add(frame, node, i, start), inner.item(i)])

    return Iterable_(inner.length, item, inner.needs_static_index, check=inner.check)


def zipped(frame: Frame, node: ast.AST, values: list[Value], *, strict: bool = False) -> Iterable_:
    """zip(*values, strict=strict)."""
    parts = [iterate(frame, node, v) for v in values]
    if strict:
        lengths = {part.length.value if isinstance(part.length, Const) else None for part in parts}
        if None in lengths:
            raise frame.error(node, "zip(strict=True) of as many items as only the run knows", "leave `strict` out")
        if len(lengths) > 1:  # behind the last items that all have
            raise frame.error(node, "zip(strict=True) of different lengths", "give it as many items of each")
    length: Value = ZERO
    for n, part in enumerate(parts):
        length = part.length if n == 0 else smaller(frame, node, length, part.length)

    def item(i: Value) -> Value:
        return Sequence("tuple", [p.item(i) for p in parts])

    return Iterable_(length, item, any(p.needs_static_index for p in parts), check=_all(p.check for p in parts))


def smaller(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """The smaller of two ints."""
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(min(a.value, b.value))
    return Scalar(frame.em.scalar("prim.min.int", [arrays.as_int(frame, node, v) for v in (a, b)], frame.em.types.int), "int")


def reversed_(frame: Frame, node: ast.AST, sequence: Value) -> Iterable_:
    """reversed(sequence)."""
    if isinstance(sequence, Iterable_) and sequence.once:
        raise frame.error(node, "reversed() of an iterator", "make a list of it: list(...)")
    inner = _rows(frame, node, sequence, lengths.Use.REVERSAL) if isinstance(sequence, Array) else iterate(frame, node, sequence)

    def item(i: Value) -> Value:
        length = inner.length
        if isinstance(length, Const) and isinstance(i, Const):
            return inner.item(Const(length.value - 1 - i.value))
        last = Const(length.value - 1) if isinstance(length, Const) else binary(frame, node, ast.Sub, length, Const(1))
        return inner.item(binary(frame, node, ast.Sub, last, i))

    return Iterable_(inner.length, item, inner.needs_static_index, check=inner.check)


def pick(frame: Frame, node: ast.AST, a: Value, b: Value, *, larger: bool) -> Value:
    """Python's max(a, b) or min(a, b): b when it is strictly beyond a, else a."""
    if isinstance(a, OneOf) or isinstance(b, OneOf):
        return each(frame, node, [a, b], partial(pick, frame, node, larger=larger))
    op = ast.Gt if larger else ast.Lt
    if is_number(a) and is_number(b):
        if isinstance(a, Const) and isinstance(b, Const):
            return Const(max(a.value, b.value) if larger else min(a.value, b.value))
        beyond = compare(frame, op, b, a).ssa
    elif not (is_array_like(a) or is_array_like(b)):
        raise frame.error(node, f"the larger or smaller of {describe(a)} and {describe(b)}")
    else:
        beyond = array_operators.truth(frame, node, array_operators.binary(frame, node, op, b, a))
    return select(frame, node, beyond, lambda: b, lambda: a, choices=True)
