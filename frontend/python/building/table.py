"""The functions that the body of a program may call, by the Python object that the user's code names.

A handler is `handler(frame, node, *values, **values) -> Value`; its Python signature is the function's own, so that a call that
does not bind is the user's mistake. Arguments that a handler does not name are not supported.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from types import FunctionType
from typing import Any

import numpy as np

from tierup.dialect.base.spelling import nearest
from tierup.dialect.optable.core import Op
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.values import Const, Object, Value

Handler = Callable[..., Value]

FUNCTIONS: dict[Any, Handler] = {}
METHODS: dict[str, Handler] = {}
_NAMES: dict[Any, str] = {}


def function(*objects: Any, method: str | None = None) -> Callable[[Handler], Handler]:
    """Register a handler for these functions, and for the array method `method` with the array as first argument."""

    def register(handler: Handler) -> Handler:
        for obj in objects:
            FUNCTIONS[obj] = handler
        if method is not None:
            METHODS[method] = handler
        return handler

    return register


def spelled(op: Op) -> Callable[[Handler], Handler]:
    """Register a handler for what an op's definition says that it is called: "np.cumsum", "ndarray.cumsum"."""

    def register(handler: Handler) -> Handler:
        for name in op.spelled:
            owner, _, rest = name.partition(".")
            if owner == "ndarray":
                METHODS[rest] = handler
            else:
                FUNCTIONS[attrgetter(rest)(np)] = handler
        return handler

    return register


def method(name: str) -> Callable[[Handler], Handler]:
    """Register a handler for an array method only."""
    return function(method=name)


def find(obj: Any) -> Handler | None:
    """What builds a call of a Python object; None for one that is not in the table."""
    try:
        return FUNCTIONS.get(obj)
    except TypeError:  # not hashable: no function of ours
        return None


def name_of(obj: Any) -> str:
    """How the user would spell it: np.sum."""
    if isinstance(obj, np.ufunc):
        return f"np.{obj.__name__}"
    module = getattr(obj, "__module__", "") or ""
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None) or repr(obj)
    owner = getattr(obj, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"np.{owner.__name__}.{name.rpartition('.')[2]}"
    for part in ("linalg", "random"):
        if module.startswith(f"numpy.{part}"):
            return f"np.{part}.{name}"
    if module.startswith("numpy"):
        return f"np.{name}"
    return name if module in ("builtins", "") else f"{module}.{name}"


@cache
def _signature(obj: Any) -> inspect.Signature | None:
    """None of built-ins of which nobody knows it, or not all: ndarray.sum(axis, dtype, out, **kwargs) takes `keepdims` by position, too,
    and np.arange's says less than it takes."""
    try:
        found = inspect.signature(obj)
    except (TypeError, ValueError):
        return None
    return None if obj is np.arange or any(p.kind is p.VAR_KEYWORD for p in found.parameters.values()) else found


def invoke(frame: Frame, node: ast.AST, name: str, obj: Any, handler: Handler, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Call the handler of `obj`. TypeError where `obj` does not take such arguments; UnsupportedSyntax where the handler alone does not."""
    own = _signature(obj)
    if own is not None:
        try:
            own.bind(*args, **kwargs)
        except TypeError as e:
            raise WillRaise(TypeError(f"{name}: {e}")) from e
    parameters = inspect.signature(handler).parameters
    names = list(parameters)[2:]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    for keyword in kwargs:
        if keyword not in names:
            raise frame.error(
                node, f"the argument `{keyword}` of {name}", f"it takes {', '.join(n for n in names if n != 'args') or 'no arguments'} here"
            )
    if not variadic and len(args) > len(names):
        raise frame.error(node, f"{len(args)} arguments for {name}", f"it takes {', '.join(names)} here")
    try:
        bound = inspect.signature(handler).bind(frame, node, *args, **kwargs)
    except TypeError as e:
        raise frame.error(node, f"this call of {name}", str(e)) from e
    return handler(*bound.args, **bound.kwargs)


_INSTEAD = {
    f"np.{ufunc}.{how}": f"write np.{function}(x, axis=0)" for how, functions in {
        "accumulate": {"add": "cumsum", "multiply": "cumprod"},
        "reduce": {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"},
    }.items() for ufunc, function in functions.items()
}  # fmt: skip


def unknown(frame: Frame, node: ast.AST, obj: Any) -> Exception:
    """The error for a function that is not in the table, with the nearest that are."""
    name = name_of(obj)
    known = sorted({name_of(o) for o in FUNCTIONS})
    close = nearest(name, known)
    if isinstance(getattr(obj, "__self__", None), np.random.RandomState) or name.startswith("np.random"):
        return frame.error(node, f"`{name}`", "draw random numbers outside and pass them in")
    if name == "tierup.frontend.vjp.vjp":
        return frame.error(node, "`tierup.vjp` in a program", "use tierup.value_and_grad there, or call vjp outside the function")
    if isinstance(getattr(obj, "__self__", None), np.ufunc):
        ufunc, _, how = name.rpartition(".")
        remedy = f"write {ufunc}(x[:, None], y)" if how == "outer" else _INSTEAD.get(name, "write a loop over the rows of an array")
        return frame.error(node, f"`{name}` is not translated", remedy)
    return frame.error(
        node, f"`{name}` is not translated", f"did you mean {' or '.join(close)}?" if close else "call it outside the function"
    )


def unknown_method(frame: Frame, node: ast.AST, name: str) -> Exception:
    """The error for a method that arrays do not have here, which names similar ones."""
    close = nearest(name, METHODS)
    return frame.error(node, f"the array method `.{name}`", f"did you mean {' or '.join('.' + c for c in close)}?" if close else "")


def constant(frame: Frame, node: ast.AST, value: Value, what: str) -> Any:
    """A value that must be known at build time."""
    if isinstance(value, Object) and isinstance(value.value, FunctionType):  # one that calls bring, and may bring anew
        frame.outside.constant(value.access, "identity", value.value)
        return value.value
    if not isinstance(value, Const):
        raise frame.error(node, f"{what} known only at run time", f"write {what} as a constant")
    return value.value
