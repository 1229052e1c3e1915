"""A function's parameters: which argument each has (`bind`), and what it is in a graph (`parameter_value`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import FunctionType

from tierup.dialect.mlir import ir
from tierup.frontend.python.building.frame import Frame, WillRaise, foreign, is_rewritten
from tierup.frontend.python.building.knowledge import noted
from tierup.frontend.python.building.templates import is_handed_over
from tierup.frontend.python.building.values import NONE, Array, Complex, Const, Mapping_, Scalar, Sequence, Value, describe
from tierup.runtime.arguments.binding import signature_of
from tierup.runtime.arguments.hidden import Access
from tierup.runtime.arguments.trees import Leaf, Tree


def bind(
    frame: Frame, node: ast.AST, function: FunctionType, args: list[Value], kwargs: dict[str, Value], access: Access | None = None
) -> dict[str, Value]:
    """The value of each parameter, defaults filled in. Raises WillRaise where Python's call is a TypeError, UnsupportedSyntax where only a
    version of ours of a function of NumPy's does not take them."""
    signature = signature_of(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as e:
        if is_rewritten(function):
            raise frame.error(node, f"these arguments of `{function.__name__}`", str(e)) from None
        raise WillRaise(TypeError(f"{function.__name__}() {e}")) from e
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
        else:
            way = Access("default", name, (), function) if access is None else _to_default(access, function, name)
            given = frame.outside_value(node, parameter.default, way)
        if not is_handed_over(given):
            raise frame.error(node, f"{describe(given)} for `{name}` of `{function.__name__}`", "call it, or write it in the function")
        values[name] = given
    return values


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
        if tree.kind == "none":
            return NONE
        if tree.kind == "str":
            return Const(tree.value)
        if tree.kind == "object":
            return frame.outside_value(None, access.read(arguments), access)
        return Scalar(next(ssa), tree.kind)
    if tree.kind == "complex":
        frame.meets_complex(None, f"`{access}`, a complex number")
        return Complex(*(Scalar(next(ssa), "float") for _ in tree.items))
    keys = tree.keys if tree.kind == "dict" else range(len(tree.items))
    items = [parameter_value(frame, item, access.item(key), arguments, ssa) for key, item in zip(keys, tree.items, strict=True)]
    if tree.kind == "dict":
        return Mapping_(dict(zip(tree.keys, items, strict=True)), external=True)
    return Sequence(tree.kind, items, external=True)


def external(value: Value) -> Value:
    """A caller's list or dict, which the callee may not change."""
    if isinstance(value, Sequence):
        return Sequence(value.kind, [external(v) for v in value.items], external=True)
    if isinstance(value, Mapping_):
        return Mapping_({k: external(v) for k, v in value.items.items()}, external=True)
    return value
