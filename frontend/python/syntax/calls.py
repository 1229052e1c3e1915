"""Calls: of NumPy's functions, of builtins, of methods, of the user's own functions and objects."""

from __future__ import annotations

import ast
import functools
import inspect
import math
import os
import types
from dataclasses import replace
from typing import Any

import numpy as np

from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.building import table
from tierup.frontend.python.building.branch import each
from tierup.frontend.python.building.frame import Frame, NeedsStatic, WillRaise
from tierup.frontend.python.building.knowledge import settled
from tierup.frontend.python.building.values import ZERO, Closure, Const, Method, Object, Sequence, Value, describe
from tierup.frontend.python.functions import consuming, numpy_ufuncs, python_objects
from tierup.frontend.python.functions.python_math_rewritten import REWRITTEN_MATH
from tierup.frontend.python.operations import iteration
from tierup.frontend.python.operations.scalars import compare, raise_if
from tierup.frontend.python.syntax import attributes, helpers, nested


def call(frame: Frame, node: ast.Call, callee: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A call of a NumPy function, a builtin, an array method or another tierup function."""
    if isinstance(callee, Method):
        return attributes.call_method(frame, node, callee, args, kwargs)
    method = helpers.bound(frame, node, callee)
    if method is not None:
        return attributes.call_method(frame, node, method, args, kwargs)
    if isinstance(callee, Closure):
        return nested.call(frame, node, callee, args, kwargs)
    if isinstance(callee, Object) and callable(callee.value):
        return _call_object(frame, node, callee, args, kwargs)
    if not isinstance(callee, Const):
        raise frame.error(node, f"calling {describe(callee)}")
    function = callee.value
    inner = helpers.code_of(frame, function)
    if inner is not None:
        return frame.call_function(frame, node, inner, args, kwargs)
    if _is_pure(function):
        found = python_objects.computed(frame, node, function, args, kwargs)
        if found is not None:
            return found
    handler, inner = table.find(function), helpers.numpys(function)
    if isinstance(function, np.ufunc) and inner is None:
        return numpy_ufuncs.call(frame, node, function, args, kwargs)
    if isinstance(getattr(function, "__self__", None), np.ufunc) and inner is None:
        return numpy_ufuncs.method(frame, node, function, args, kwargs)
    if handler is not None:
        try:
            return table.invoke(frame, node, function, handler, args, kwargs)
        except UnsupportedSyntax as e:
            if inner is None or isinstance(e, NeedsStatic):
                raise
            refused = e
            try:
                return _call_numpys(frame, node, function, inner, args, kwargs)
            except UnsupportedSyntax:
                raise refused from None
    if inner is not None:
        return _call_numpys(frame, node, function, inner, args, kwargs)
    raise table.unknown(frame, node, function)


def _call_numpys(
    frame: Frame, node: ast.Call, function: Any, inner: types.FunctionType, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A function that NumPy writes in Python is translated from there: what it gives, and what it raises, is NumPy's own."""
    try:
        return frame.call_function(frame, node, inner, [settled(frame, a) for a in args], {k: settled(frame, v) for k, v in kwargs.items()})
    except UnsupportedSyntax as e:
        if frame.is_numpys:
            raise
        whose = "the code for it" if inner in REWRITTEN_MATH.values() else "NumPy's code for it"
        where = f"{os.path.basename(e.filename or '')}:{e.lineno}"
        found = e.construct.removesuffix(" is not translated")
        has = f"calls {found}, which is not" if found != e.construct else f"has {found}"
        raise frame.error(node, f"`{table.name_of(function)}` is not translated", f"{whose} {has} ({where})") from e


def _call_object(frame: Frame, node: ast.Call, callee: Object, args: list[Value], kwargs: dict[str, Value]) -> Value:
    found = helpers.call_argument(frame, node, callee, args, kwargs)
    if found is not None:
        return found
    partial = helpers.parts_of_partial(frame, node, callee)
    if partial is not None:
        function, positional, named = partial
        return call(frame, node, function, [*positional, *args], {**named, **kwargs})
    own = inspect.getattr_static(type(callee.value), "__call__", None)
    if isinstance(own, types.FunctionType) or hasattr(own, "__tierup_function__"):
        return call(frame, node, attributes.load(frame, node, callee, "__call__"), args, kwargs)
    raise frame.error(node, f"calling a {type(callee.value).__name__} object", "call a function or method of your own")


_OF_NUMBERS = {abs, bool, divmod, float, int, len, max, min, pow, round, str, np.finfo, np.iinfo, np.all, np.any}


def _is_pure(function: Any) -> bool:
    """Whether a call with constants may be made at build time: scalar in, scalar out, no effects."""
    try:
        if function in _OF_NUMBERS or function in python_objects.STRUCTURAL:
            return True
    except TypeError:
        return False
    if isinstance(function, np.ufunc):
        return function.nout == 1 and function.signature is None
    if isinstance(function, type) and issubclass(function, np.generic):
        return True
    return getattr(function, "__module__", "") == "math" or getattr(math, getattr(function, "__name__", ""), None) is function


# --- functions that call others ------------------------------------------------------------------------------------------


@table.function(map)
def _map(frame: Frame, node: ast.Call, func: Value, *iterables: Value) -> Value:
    """Each item is computed when it is asked for."""
    if not iterables:
        raise WillRaise(TypeError("map() must have at least two arguments."))
    items = iteration.zipped(frame, node, list(iterables))

    def item(i: Value) -> Value:
        given = items.item(i)
        assert isinstance(given, Sequence)
        return each(frame, node, given.items, lambda *values: call(frame, node, func, list(values), {}))

    return replace(items, item=item)


@table.function(functools.reduce)
def _reduce(frame: Frame, node: ast.Call, function: Value, iterable: Value, initial: Value | None = None) -> Value:
    items = iteration.iterate(frame, node, iterable)
    if initial is not None:
        step = lambda a, b: call(frame, node, function, [a, b], {})
        build = lambda start, rest: consuming.reduced(frame, node, function, start, rest)
        return consuming.from_start(frame, node, items, initial, step, build)
    empty = "reduce() of empty iterable with no initial value"
    if isinstance(items.length, Const) and not items.length.value:
        raise WillRaise(TypeError(empty))
    if not isinstance(items.length, Const):
        raise_if(frame, compare(frame, ast.LtE, items.length, ZERO).ssa, "TypeError", empty)
    return consuming.reduced(frame, node, function, *iteration.first_and_rest(frame, node, items))
