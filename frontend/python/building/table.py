"""The functions that the body of a program may call, by the Python object that the user's code names.

A handler is `handler(frame, node, *values, **values) -> Value`; its Python signature is the function's own, so that a call that
does not bind is the user's mistake. Arguments that a handler does not name are not supported.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from types import FunctionType
from typing import Any

import numpy as np

from tierup.dialect.optable.core import Op
from tierup.frontend.python.building.frame import NOT_GIVEN, Frame
from tierup.frontend.python.building.values import Const, Object, Value

Handler = Callable[..., Value]

FUNCTIONS: dict[Any, Handler] = {}
METHODS: dict[str, Handler] = {}
_OF_OTHERS: dict[str, Handler] = {}


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


def named(name: str) -> Callable[[Handler], Handler]:
    """Register a handler for a function of a library that may not be there, by the name that `name_of` gives."""

    def register(handler: Handler) -> Handler:
        _OF_OTHERS[name] = handler
        return handler

    return register


def find(obj: Any) -> Handler | None:
    """What builds a call of a Python object; None for one that is not in the table."""
    try:
        return FUNCTIONS.get(obj) or _OF_OTHERS.get(name_of(obj))
    except TypeError:  # not hashable: no function of ours
        return None


def name_of(obj: Any) -> str:
    """How the user would spell it, with the first public module that has it: np.sum, np.fft.fft, scipy.ndimage.gaussian_filter."""
    short = getattr(obj, "__name__", None) or repr(obj)
    owner = getattr(obj, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"{name_of(owner)}.{short}"
    of_numpy = "numpy.random" if isinstance(owner, np.random.RandomState) else ""
    module = "builtins" if owner is builtins else getattr(obj, "__module__", None) or of_numpy
    parts = [part for part in module.split(".") if part and not part.startswith("_")]
    homes = [".".join(parts[:i]) for i in range(1, len(parts) + 1)] or ["numpy", "scipy.special"]  # ufuncs do not say it
    home = next((h for h in homes if getattr(sys.modules.get(h), short, None) is obj), None)
    if home is None:
        home, short = ".".join(parts), getattr(obj, "__qualname__", short)
    home = "" if home == "builtins" else home + "."
    return ("np." + home.removeprefix("numpy.") if home.startswith("numpy.") else home).lstrip(".") + short


@cache
def _signature(obj: Any) -> inspect.Signature | None:
    """None of built-ins of which nobody knows it, or not all: ndarray.sum(axis, dtype, out, **kwargs) takes `keepdims` by position, too,
    and np.arange's says less than it takes."""
    try:
        found = inspect.signature(obj)
    except (TypeError, ValueError):
        return None
    says_less = obj in (np.arange, np.ndarray.conj, np.ndarray.conjugate) or any(p.kind is p.VAR_KEYWORD for p in found.parameters.values())
    return None if says_less else found


LEFT_OUT = Const(NOT_GIVEN)  # the default of a parameter of which None is a value, too


_NONE_BY_DEFAULT = ("out", "dtype", "device", "like")


def given(kwargs: Mapping[str, Value]) -> dict[str, Value]:
    """Without what NumPy passes on though nobody gave it."""
    left_out: Callable[[str, Value], bool] = lambda name, v: isinstance(v, Const) and (
        v.value is NOT_GIVEN or name in _NONE_BY_DEFAULT and v.value is None
    )
    return {name: v for name, v in kwargs.items() if not left_out(name, v)}


def invoke(
    frame: Frame, node: ast.AST, obj: Any, handler: Handler, args: list[Value], kwargs: dict[str, Value], method: str | None = None
) -> Value:
    """Call the handler of `obj`; `method`: as an array's method. UnsupportedSyntax where `obj` does not take such arguments,
    or the handler alone does not."""
    own = _signature(obj)
    if own is not None:
        try:
            own.bind(*args, **kwargs)
        except TypeError as e:
            raise frame.error(node, f"this call of {_called(obj, method)}", str(e)) from e  # which raises, in NumPy's words
    for value in (*args, *kwargs.values()):
        if isinstance(value, Object) and any(hasattr(type(value.value), name) for name in ("__array_function__", "__array_ufunc__")):
            raise frame.error(node, f"{_called(obj, method)} of a {type(value.value).__name__}, which answers NumPy's calls itself")
    kwargs = given(kwargs)
    parameters = inspect.signature(handler).parameters
    names = list(parameters)[2:]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    named = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for keyword in () if named else kwargs:
        if keyword not in names:
            takes = f"leave it out: it takes {', '.join(n for n in names if n != 'args') or 'no such argument'} here"
            raise frame.error(node, f"the argument `{keyword}` of {_called(obj, method)}", takes)
    if not variadic and len(args) > len(names):
        raise frame.error(node, f"{len(args)} arguments for {_called(obj, method)}", f"it takes {', '.join(names)} here")
    try:
        bound = inspect.signature(handler).bind(frame, node, *args, **kwargs)
    except TypeError as e:
        raise frame.error(node, f"this call of {_called(obj, method)}", str(e)) from e
    return handler(*bound.args, **bound.kwargs)


def _called(obj: Any, method: str | None) -> str:
    return name_of(obj) if method is None else f"the method `.{method}`"


def unknown(frame: Frame, node: ast.AST, obj: Any) -> Exception:
    """The error for a function that is not in the table."""
    name = name_of(obj)
    if name.startswith("np.random."):
        return frame.error(node, f"`{name}`", "draw random numbers outside and pass them in")
    return frame.error(node, f"`{name}` is not translated", _INSTEAD.get(name, "call it outside the function"))


_INSTEAD = {
    "tierup.vjp": "use tierup.value_and_grad there, or call vjp outside the function",
    "round": "use np.round",
    "ord": "pass the codes of its characters as an array, np.frombuffer(text.encode(), np.uint8)",
}


def unknown_method(frame: Frame, node: ast.AST, name: str) -> Exception:
    """The error for a method that arrays have, but not here."""
    return frame.error(node, f"the array method `.{name}`")


A_KEY = "a dict key"
OTHER_KEYS = "use a constant key, or an array that the key is an index of; np.unique(x, return_counts=True) counts, np.bincount small ints"


def constant(frame: Frame, node: ast.AST, value: Value, what: str) -> Any:
    """A value that must be known at build time. `what` it is; a key has a remedy of its own."""
    if isinstance(value, Object) and isinstance(value.value, FunctionType):  # one that calls bring, and may bring anew
        frame.outside.constant(value.access, "identity", value.value)
        return value.value
    if not isinstance(value, Const):
        raise frame.error(node, f"{what} known only at run time", OTHER_KEYS if what == A_KEY else f"write {what} as a constant")
    return value.value
