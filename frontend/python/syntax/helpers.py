"""Calls of the user's own functions, which are translated as the one that calls them is: decorated ones, and plain ones as well.

What is called is what it is at the call: a graph is right as long as the name, the attribute or the argument gives the same function. Of a
plain function that comes as an argument, which may be made anew for every call as those of `def` and `lambda` inside others are, the
code has to be the same; what it reads from around it and its defaults are read anew.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sysconfig
from types import FunctionType, MethodType
from typing import Any

from tierup.frontend.python.building.frame import Frame, is_numpys
from tierup.frontend.python.building.values import Const, Mapping_, Method, Object, Sequence, Value
from tierup.frontend.python.functions.numpy_rewritten import REWRITTEN
from tierup.frontend.python.functions.numpy_rewritten_grids import BY_KEY
from tierup.frontend.python.functions.python_math_rewritten import REWRITTEN_MATH
from tierup.runtime.arguments.hidden import Access


@functools.cache
def _libraries() -> tuple[str, ...]:
    return tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def code_of(frame: Frame, function: Any) -> Any:
    """What a call of a function builds: a FunctionType or a GradientSpec; None where that is nothing that is translated. A bound method is
    none, though it has its function's attributes: it has an argument more (`bound`)."""
    if isinstance(function, MethodType):
        return None
    target = getattr(function, "__tierup_function__", None)
    return function if target is None and isinstance(function, FunctionType) and _is_users(frame.source.function, function) else target


def numpys(function: Any) -> FunctionType | None:
    """The Python function that a function of NumPy's is, or dispatches to, or it, or one of `math`, is rewritten as; None for others."""
    if not callable(function) or isinstance(function, type):
        return None
    found = REWRITTEN.get(function) or REWRITTEN_MATH.get(function) or inspect.unwrap(function)
    return found if isinstance(found, FunctionType) and is_numpys(found) else None


def by_key(owner: Value) -> Any:
    """What computes an item of an object of NumPy's that only is indexed, np.mgrid; None for another."""
    value = owner.value if isinstance(owner, (Const, Object)) else None
    return next((function for known, function in BY_KEY.items() if known is value), None)


def _is_users(caller: FunctionType, function: FunctionType) -> bool:
    """Whether a plain function is the user's: of no library, or of the package that the caller is of."""
    package = (function.__module__ or "").partition(".")[0]
    if package in ("numpy", "tierup"):
        return False
    file = function.__code__.co_filename
    return not file.startswith((*_libraries(), "<frozen")) or package == (caller.__module__ or "").partition(".")[0]


def call_argument(frame: Frame, node: ast.AST, callee: Object, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    """The result of a call of a plain function that is an argument. None for another object."""
    function, outside = callee.value, frame.outside
    if not isinstance(function, FunctionType) or code_of(frame, function) is not function:
        return None
    outside.constant(callee.access.attribute("__code__"), "identity", function.__code__)
    outside.constant(callee.access.attribute("__globals__"), "identity", function.__globals__)
    return frame.call_function(frame, node, function, args, kwargs, callee.access)


def parts_of_partial(frame: Frame, node: ast.AST, callee: Object) -> tuple[Value, list[Value], dict[str, Value]] | None:
    """What a `functools.partial` calls, with the arguments that it adds. None for another object."""
    if type(callee.value) is not functools.partial:
        return None
    parts = (frame.outside_value(node, getattr(callee.value, name), callee.access.attribute(name)) for name in ("func", "args", "keywords"))
    function, positional, named = parts
    assert isinstance(positional, Sequence) and isinstance(named, Mapping_)
    return function, list(positional.items), dict(named.items)


def bound(frame: Frame, node: ast.AST, callee: Value) -> Method | None:
    """A bound method of the user's that was kept and is called now (`m = self.step`, `m(x)`). None for another value."""
    if not isinstance(callee, (Const, Object)) or not isinstance(callee.value, MethodType) or callee.access is None:
        return None
    if code_of(frame, callee.value.__func__) is None:
        return None
    return method(frame, node, callee, callee.access, callee.value, callee.value.__name__)


def method(frame: Frame, node: ast.AST, owner: Value, of: Access, bound: MethodType, name: str) -> Method:
    """A bound method that `of` gives, of the object `owner` in the program or of another. Raises UnsupportedSyntax for a library's."""
    inner = code_of(frame, bound.__func__)
    if inner is None:
        raise frame.error(node, f"the method `.{name}` of a {type(bound.__self__).__name__} object", "it is no Python of yours")
    frame.outside.constant(of.attribute("__func__"), "identity", bound.__func__)
    if isinstance(owner, Object) and bound.__self__ is owner.value:
        frame.outside.constant(of.attribute("__self__"), "same", owner.access)
        return Method(owner, name, inner)
    return Method(frame.outside_value(node, bound.__self__, of.attribute("__self__")), name, inner)


def property_of(frame: Frame, node: ast.AST, owner: Object, name: str) -> Method | None:
    """The function that reading an attribute calls, about to be called. None where it calls none of the user's. Raises UnsupportedSyntax
    where that is no property's: a graph that looks whether it is still right would call it, too."""
    cls = type(owner.value)
    found = inspect.getattr_static(cls, name, None)
    if isinstance(found, property):
        target = None if found.fget is None else code_of(frame, found.fget)
        if target is None:
            return None
        frame.outside.constant(owner.access.attribute("__class__").attribute(name).attribute("fget"), "identity", found.fget)
        return Method(owner, name, target)
    if isinstance(found, functools.cached_property):  # reading it is a change of the object, which is Python's to make, when it is there
        raise frame.error(node, f"`.{name}` of a {cls.__name__} object, a functools.cached_property", "make it a property, or an attribute")
    is_there = inspect.getattr_static(owner.value, name, owner) is not owner
    runs = getattr(type(found), "__get__", None) if is_there else getattr(cls, "__getattr__", None)
    if isinstance(runs, FunctionType) and _is_users(frame.source.function, runs):
        raise frame.error(node, f"`.{name}` of a {cls.__name__} object, which {runs.__qualname__}() computes", "make it a property")
    return None
