"""The arguments by which a gradient function differentiates: trees of arrays of floats, numbers in them made arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tierup.frontend.python.building.emit import Emitter
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.gradient_spec import GradientSpec
from tierup.frontend.python.building.templates import OneArray, Same, Structure, Template, template_of, types_of
from tierup.frontend.python.building.values import (
    Array,
    Const,
    Mapping_,
    Object,
    Sequence,
    Value,
    describe,
    is_number,
    is_numpy_scalar,
    number_kind,
)
from tierup.frontend.python.operations.arrays import as_array, strong
from tierup.frontend.python.operations.scalars import not_, raise_if


def prepared(frame: Frame, node: ast.AST | None, spec: GradientSpec, bound: Mapping[str, Value]) -> dict[str, Value]:
    """Arguments by parameter, those to differentiate by made arrays, and checked to be of floats, now or in the run."""
    arguments = dict(bound)
    for name, index in spec.places():
        value = arguments[name]
        if index is None:
            arguments[name] = _differentiable(frame, node, spec, value, name)
            continue
        assert isinstance(value, Sequence)
        if index >= len(value.items):
            given = len(value.items)
            raise WillRaise(TypeError(f"{spec}: there is no argument {name}[{index}] to differentiate by: *{name} has {given}"))
        items = list(value.items)
        items[index] = _differentiable(frame, node, spec, items[index], f"{name}[{index}]")
        arguments[name] = replace(value, items=items)
    return arguments


def _differentiable(frame: Frame, node: ast.AST | None, spec: GradientSpec, value: Value, name: str) -> Value:
    if isinstance(value, Sequence):
        return replace(value, items=[_differentiable(frame, node, spec, v, f"{name}[{i}]") for i, v in enumerate(value.items)])
    if isinstance(value, Mapping_):
        return replace(value, items={k: _differentiable(frame, node, spec, v, f"{name}[{k!r}]") for k, v in value.items.items()})
    if isinstance(value, Const) and value.value is None:
        return value
    if is_number(value):
        if number_kind(value) != "float":
            raise WillRaise(TypeError(_complaint(spec, name, describe(value))))
        return strong(frame, node, value)
    if is_numpy_scalar(value):
        value = as_array(frame, node, value)
    if isinstance(value, Object):
        raise WillRaise(TypeError(_complaint(spec, name, describe(value), "pass its arrays in a tuple, list or dict")))
    if not isinstance(value, Array):
        raise WillRaise(TypeError(_complaint(spec, name, describe(value))))
    if value.dtype is not None and value.dtype.kind in "iub":
        raise WillRaise(TypeError(_complaint(spec, name, f"an array of {value.dtype}")))
    if value.dtype is None:
        is_float = frame.em.numpy("aten.is_floating_point", [value.ssa], frame.em.types.bool)
        raise_if(frame, not_(frame, is_float), "TypeError", _complaint(spec, name, "an array of integers or bools"))
    return value


def _complaint(spec: GradientSpec, name: str, what: str, remedy: str = "convert it to float") -> str:
    remedy += ", or leave it out of argnums"
    return f"{spec}: argument {name} is {what}; only arrays of floats, and Python floats, have gradients: {remedy}"


def flat_numbers(em: Emitter, arguments: Mapping[str, Value], spec: GradientSpec) -> list[int]:
    """Which flat arguments of the private function the arrays to differentiate by are, in the order of argnums."""
    starts, offset = {}, 0
    for name, value in arguments.items():
        starts[name] = offset
        offset += _width(em, value)
    found: list[int] = []
    for name, index in spec.places():
        value, start = arguments[name], starts[name]
        if index is not None:
            assert isinstance(value, Sequence)
            items = value.items
            value, start = items[index], start + sum(_width(em, v) for v in items[:index])
        found += _arrays(em, value, start)
    return found


def flat_names(arguments: Mapping[str, Value], hidden: Iterable[object]) -> list[str]:
    """What the flat arguments of the private function are to the user."""
    found: list[str] = []
    for name, value in arguments.items():
        found += _names(value, name)
    return [*found, *map(str, hidden)]


def _names(value: Value, name: str) -> Iterator[str]:
    if isinstance(value, (Sequence, Mapping_)):
        items = value.items.items() if isinstance(value, Mapping_) else enumerate(value.items)
        for key, item in items:
            yield from _names(item, f"{name}[{key!r}]")
    elif not isinstance(template_of(value), Same):
        yield name


def _width(em: Emitter, value: Value) -> int:
    return len(types_of(em, template_of(value)))


def _arrays(em: Emitter, value: Value, start: int) -> Iterator[int]:
    if isinstance(value, Array):
        yield start
    elif isinstance(value, (Sequence, Mapping_)):
        for item in value.items.values() if isinstance(value, Mapping_) else value.items:
            yield from _arrays(em, item, start)
            start += _width(em, item)


def gradient_template(arguments: Mapping[str, Value], spec: GradientSpec) -> Structure:
    """How the gradients cross: a tuple, for each of argnums the tree of its argument, None where that is None."""
    wanted = (arguments[name] if index is None else arguments[name].items[index] for name, index in spec.places())  # type: ignore[union-attr]  # of a Sequence
    return Structure("tuple", tuple(_gradient(template_of(value)) for value in wanted))


def _gradient(template: Template) -> Template:
    if isinstance(template, OneArray):
        decays = template.decays is not False or template.min_rank > 0  # never of rank 0: then it is said as of what arithmetic gives
        return OneArray(template.rank, template.min_rank, template.dtype, decays)
    if isinstance(template, Structure):
        return Structure(template.kind, tuple(_gradient(t) for t in template.items), template.keys)
    assert isinstance(template, Same)
    return template  # None
