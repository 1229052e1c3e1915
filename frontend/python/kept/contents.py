"""What stands outside of a function, by contents: the same text in every process, another where a graph may be another.

    things = Things()
    things.index(np)         # 0: described as `module numpy`
    things.index(helper)     # 1: by its code, its name, and which parameters have defaults

A graph relies on the identity of functions, modules, classes and objects. In another process they are others, so each gets a number, in the
order in which they are met, and a description. What is met there in the same order with the same numbers and descriptions is the same: all
else that the graph relies on, values, attributes, closures, is noted apart (`Constant`).

What has no description that says all of it raises NotDescribed: nothing is kept then. Free of MLIR.
"""

from __future__ import annotations

import sys
import types
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tierup.frontend.python.building.gradient_spec import GradientSpec
from tierup.frontend.stopping import NO_GRAD
from tierup.lowering.objects.keys import name_of
from tierup.runtime.functions.function import Function
from tierup.runtime.functions.portable.plain import BUILT_IN, NotDescribed, path_of

_NUMBERS = (type(None), type(...), bool, int, float, complex, str, bytes)
_NOT_READ = (  # of a class by the front end
    "__dict__", "__weakref__", "__doc__", "__annotations__", "__static_attributes__", "__firstlineno__",
    "__dataclass_fields__", "__dataclass_params__",
)  # fmt: skip


class Things:
    """What a graph relies on the identity of."""

    def __init__(self) -> None:
        self.all: list[Any] = []
        self.descriptions: list[str] = []
        self._numbers: dict[int, int] = {}  # by id: `all` keeps them

    def index(self, thing: Any) -> int:
        """Its number, a new one where it is new. Raises NotDescribed."""
        known = self.known(thing)
        if known is not None:
            return known
        description = self._described(thing)
        self._numbers[id(thing)] = len(self.all)
        self.all.append(thing)
        self.descriptions.append(description)
        return len(self.all) - 1

    def known(self, thing: Any) -> int | None:
        """Its number; None of one that was not met."""
        return self._numbers.get(id(thing))

    def _described(self, thing: Any) -> str:
        if isinstance(thing, Function):
            return f"tierup function {self.index(thing.__tierup_function__)}"
        if isinstance(thing, GradientSpec):
            about = thing.argnums, thing.is_tuple, thing.has_aux, thing.with_value
            return f"gradients {self.index(thing.target)} {about!r}"
        return described(thing)


def described(thing: Any) -> str:
    """A description. Raises NotDescribed."""
    if isinstance(thing, FunctionType):
        return _function(thing)
    if isinstance(thing, CodeType):
        return f"code {_code(thing)}"
    if isinstance(thing, ModuleType):
        if sys.modules.get(thing.__name__) is thing:
            return f"module {thing.__name__}"
    elif isinstance(thing, dict):
        module = sys.modules.get(str(thing.get("__name__")))
        if module is not None and vars(module) is thing:
            return f"names of {module.__name__}"
    elif isinstance(thing, type):
        return path_of(thing) or _class(thing)
    elif isinstance(thing, BUILT_IN):
        if found := path_of(thing):
            return found
    elif path_of(type(thing)) is None:  # of a class in Python: what is read of it is noted apart
        return f"object of {_class(type(thing))}"
    raise NotDescribed(f"a {type(thing).__name__}")


def _function(function: FunctionType) -> str:
    """By its code and all that the front end asks of a function beside: values of defaults and around it are noted apart."""
    if any(name.startswith("@") for name in function.__code__.co_varnames):  # pytest rewrote it: its source says more than its code
        raise NotDescribed(f"{function.__qualname__}(), whose code is not its source's")
    of = (function.__module__, function.__name__, function.__qualname__, getattr(function, NO_GRAD, None) is function)
    defaults = len(function.__defaults__ or ()), sorted(function.__kwdefaults__ or ())
    return f"function {name_of(repr(of), repr(defaults), _code(function.__code__))}"


def _code(code: CodeType) -> str:
    """A digest of code, and of where it stands: what is made of it names its lines."""
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_firstlineno
    names = code.co_filename, code.co_name, code.co_qualname, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    blobs = code.co_code, code.co_linetable, code.co_exceptiontable
    return name_of(repr(counts), repr(names), repr(blobs), *map(_constant, code.co_consts))


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return f"code {_code(value)}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_constant, value)))}}}"
    if isinstance(value, _NUMBERS):
        return f"{type(value).__name__} {value!r}"
    raise NotDescribed(f"a {type(value).__name__}")


def _class(cls: type) -> str:
    """All of a class in Python: its bases and what stands in it."""
    if type(cls) is not type:
        raise NotDescribed(f"{cls.__qualname__}, a class of the metaclass {type(cls).__name__}")
    bases = [path_of(base) or _class(base) for base in cls.__bases__]
    inside = [f"{name}={_member(value)}" for name, value in sorted(vars(cls).items()) if name not in _NOT_READ]
    return f"class {cls.__qualname__} {name_of(*bases, *inside)}"


def _member(value: Any) -> str:
    if isinstance(value, Function):
        return f"tierup function {_member(value.__tierup_function__)}"
    if isinstance(value, FunctionType):
        return _function(value)
    if isinstance(value, (staticmethod, classmethod)):
        return f"{type(value).__name__} {_member(value.__func__)}"
    if isinstance(value, property):
        return f"property {' '.join(map(_member, (value.fget, value.fset, value.fdel)))}"
    if isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
        return f"{value!r}"
    if isinstance(value, type):
        return path_of(value) or _class(value)
    return path_of(value) or _constant(value)
