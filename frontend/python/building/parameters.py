"""A function's parameters: which argument each has (`bind`), and what it is in a graph (`parameter_value`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import FunctionType

from tierup.dialect.mlir import ir
from tierup.frontend.python.building.frame import Frame, GrowsList, Room, WillRaise, foreign, is_rewritten
from tierup.frontend.python.building.gradient_spec import function_of
from tierup.frontend.python.building.knowledge import noted
from tierup.frontend.python.building.source import definition
from tierup.frontend.python.building.templates import OneScalar, Structure, Template, is_handed_over
from tierup.frontend.python.building.values import (
    NONE,
    ZERO,
    Array,
    Closure,
    Complex,
    Const,
    Given,
    Growing,
    Mapping_,
    Perhaps,
    Scalar,
    Sequence,
    Unset,
    Value,
    describe,
    parts_of,
)
from tierup.runtime.arguments.binding import refusal, signature_of
from tierup.runtime.arguments.hidden import Access
from tierup.runtime.arguments.lists.columns import Kind, dtype_of, kinds_in
from tierup.runtime.arguments.trees import Leaf, Tree


def bind(
    frame: Frame, node: ast.AST, function: FunctionType, args: list[Value], kwargs: dict[str, Value], access: Access | None = None,
    closure: Closure | None = None,
) -> dict[str, Value]:
    """The value of each parameter, defaults filled in, and of the names around a `closure` that it reads. Raises WillRaise
    where Python's call is a TypeError, UnsupportedSyntax where only a version of ours of a function of NumPy's does not take them."""
    signature = signature_of(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as e:
        if is_rewritten(function):
            raise frame.error(node, f"these arguments of `{function.__name__}`", str(e)) from None
        raise WillRaise(refusal(function, len(args), kwargs)) from e
    values: dict[str, Value] = {}
    for name, parameter in signature.parameters.items():
        if name in bound.arguments:
            given = bound.arguments[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                given = Sequence("tuple", list(given))
            elif parameter.kind is parameter.VAR_KEYWORD:
                given = Mapping_(given)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            given = Sequence("tuple", [])
        elif parameter.kind is parameter.VAR_KEYWORD:
            given = Mapping_({})
        elif closure is not None:
            given = closure.values[name]
        else:
            way = Access("default", name, (), function) if access is None else _to_default(access, function, name)
            given = frame.outside_value(node, parameter.default, way)
        values[name] = handed_over(frame, node, given, f"for `{name}` of `{function.__name__}`", "call it, or write it in the function")
    if closure is not None:
        values |= {name: value for name, value in closure.values.items() if name not in values}
        values |= dict.fromkeys(closure.itself, closure)
    return values


def handed_over(frame: Frame, node: ast.AST | None, value: Value, what: str, remedy: str) -> Value:
    """A value as another function has it. Raises UnsupportedSyntax for what only the one that made it can have."""
    value = captured(frame, node, value)
    if not is_handed_over(value):
        error = frame.error(node, f"{describe(value)} {what}", remedy, GrowsList)
        assert isinstance(error, GrowsList)
        error.grows = {one.site: Room(one.room.item, 0, in_heap=True) for one in _growing_in(value) if one.site is not None}
        raise error if error.grows else error.plain()
    return value


def _growing_in(value: Value) -> Iterator[Growing]:
    if isinstance(value, Growing):
        yield value
    elif isinstance(value, (Sequence, Mapping_, Closure)):
        for part in parts_of(value):
            yield from _growing_in(part)


def captured(frame: Frame, node: ast.AST | None, value: Value, of: tuple[Closure, ...] = ()) -> Value:
    """A value with what functions in it read from around them. `of`: those that read it. Raises UnsupportedSyntax for functions that read
    one another."""
    if isinstance(value, Sequence) and any(map(_reads_around, value.items)):
        return replace(value, items=[captured(frame, node, item, of) for item in value.items])
    if isinstance(value, Mapping_) and any(map(_reads_around, value.items.values())):
        return replace(value, items={key: captured(frame, node, item, of) for key, item in value.items.items()})
    if not isinstance(value, Closure) or not _reads_around(value):
        return value
    had = {name: captured(frame, node, v, of) for name, v in value.values.items()}
    if value.scope is None:
        return replace(value, values=had)
    assert value.scope is frame, "no function has one of another's that reads names there"
    function = function_of(value.target)
    if any(function is function_of(other.target) for other in of):
        raise frame.error(node, f"functions inside that read one another, as `{function.__name__}` does", "define them outside")
    around = definition(function).around
    read = {n: v for n in function.__code__.co_freevars if n not in value.values and (v := _value_of(frame, n, around.get(n))) is not None}
    itself = tuple(name for name, found in read.items() if isinstance(found, Closure) and found.target is function)
    taken = {
        name: Unset(found.why) if isinstance(found, Perhaps) else captured(frame, node, found, (*of, value))
        for name, found in read.items()
        if name not in itself
    }
    return replace(value, values={**had, **taken}, scope=None, itself=itself or value.itself)


def given_back(frame: Frame, value: Value) -> Value:
    """What another function gave. Functions in it that this one made, or that read its names, read these as they are at each call again."""
    if isinstance(value, Sequence) and any(map(_is_function_in, value.items)):
        return replace(value, items=[given_back(frame, item) for item in value.items])
    if isinstance(value, Mapping_) and any(map(_is_function_in, value.items.values())):
        return replace(value, items={key: given_back(frame, item) for key, item in value.items.items()})
    if not isinstance(value, Closure) or value.scope is not None:
        return value
    around = definition(function_of(value.target)).around
    here = {name for name, whose in around.items() if whose is frame.token or whose is frame.comprehended.get(name, around)}
    kept = {name: given_back(frame, v) for name, v in value.values.items() if name not in here}
    itself = tuple(name for name in value.itself if name not in here)
    reads_here = bool(here)
    return replace(value, values=kept, itself=itself, scope=frame if reads_here else None)


def _value_of(frame: Frame, name: str, whose: object) -> Value | None:
    """What a name around a function inside has now; None where it has nothing, or is not read here. A comprehension's name may hide it."""
    if whose is not None and whose is frame.comprehended.get(name):
        return frame.env.get(name)
    if whose is None or whose is not frame.token and whose is not frame.source.around.get(name):
        return None
    return (frame.shadowed if name in frame.comprehended else frame.env).get(name)


def _is_function_in(value: Value) -> bool:
    """Whether there is a function in a value."""
    if isinstance(value, (Sequence, Mapping_)):
        return any(map(_is_function_in, parts_of(value)))
    return isinstance(value, Closure)


def _reads_around(value: Value) -> bool:
    """Whether there is a function in a value that reads names of the one at hand."""
    if isinstance(value, Closure) and value.scope is not None:
        return True
    return isinstance(value, (Sequence, Mapping_, Closure)) and any(map(_reads_around, parts_of(value)))


def _to_default(access: Access, function: FunctionType, name: str) -> Access:
    """The way to the default of a parameter of a function that calls bring anew."""
    if name in (function.__kwdefaults__ or {}):
        return access.attribute("__kwdefaults__").item(name)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return access.attribute("__defaults__").item(names.index(name) - len(names) + len(function.__defaults__ or ()))


def parameter_value(frame: Frame, tree: Tree, access: Access, arguments: Mapping[str, object], ssa: Iterator[ir.Value]) -> Value:
    """A parameter's value: its leaves are the next block arguments."""
    if isinstance(tree, Leaf):
        if tree.kind in ("array", "scalar"):
            input, value = next(ssa), access.read(arguments) if arguments else None
            dtype = None if frame.outside.knows_dtypes in (None, "no") else frame.outside.dtype(access, value)
            return foreign(value) or noted(frame, Array(input, tree.ndim, 0, dtype, tree.kind == "scalar"))
        if tree.kind == "numbers":
            return _given(frame, [next(ssa)], str(tree.value))
        if tree.kind == "none":
            return NONE
        if tree.kind == "str":
            return Const(tree.value)
        if tree.kind in ("object", "itself"):
            return frame.outside_value(None, access.read(arguments), access)
        return Scalar(next(ssa), tree.kind)
    if tree.kind == "whole":
        return _given(frame, [next(ssa) for _ in tree.items], tree.keys[0])  # type: ignore[arg-type]  # a Kind
    if tree.kind == "complex":
        frame.meets_complex(None, f"`{access}`, a complex number")
        return Complex(*(Scalar(next(ssa), "float") for _ in tree.items))
    keys = tree.keys if tree.kind == "dict" else range(len(tree.items))
    items = [parameter_value(frame, item, access.item(key), arguments, ssa) for key, item in zip(keys, tree.items, strict=True)]
    if tree.kind == "dict":
        return Mapping_(dict(zip(tree.keys, items, strict=True)), external=True)
    return Sequence(tree.kind, items, external=True)


def _given(frame: Frame, buffers: list[ir.Value], kind: Kind) -> Given:
    """A list that is read as arrays."""
    arrays = [Array(ssa, 1, 1, dtype_of(k), decays=False) for ssa, k in zip(buffers, kinds_in(kind), strict=True)]
    em = frame.em
    size = em.numpy("aten.size.int", [buffers[0], em.int(0)], em.types.int)
    if not isinstance(kind, str) and kind[0] == "list":  # where they begin, and the end
        size = em.scalar("aten.sub.int", [size, em.int(1)], em.types.int)
    frame.outside.given.append(buffers[0])
    return Given(tuple(arrays), _item(kind), ZERO, Scalar(size, "int"))


def _item(kind: Kind) -> Template:
    if isinstance(kind, str):
        return OneScalar(kind)
    items = tuple(map(_item, kind[1:]))
    if kind[0] == "either":
        return Structure("either", (OneScalar("int"), *items))
    return Structure("rows", (), items) if kind[0] == "list" else Structure("tuple", items)


def external(value: Value) -> Value:
    """A caller's list or dict, which the callee may not change."""
    if isinstance(value, Sequence):
        return Sequence(value.kind, [external(v) for v in value.items], external=True)
    if isinstance(value, Mapping_):
        return Mapping_({k: external(v) for k, v in value.items.items()}, external=True)
    return value
