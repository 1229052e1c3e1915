"""What a function reads besides its arguments: how to read it again at every call.

Free of MLIR. A front end fills these in; `runtime.function` reads hidden inputs and checks constants.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.runtime.arguments.trees import INT64, Leaf, flatten

_MISSING = object()
GONE = (NameError, AttributeError, KeyError, IndexError, TypeError)  # what reading raises where something is not there that was


@dataclass(frozen=True)
class Access:
    """A way to a value outside a function's body.

    `root`: "global" or "closure" (of `function`), "default" (of `function`'s parameter) or "argument" (of the entry
    function's call). `path`: ("attr", name) and ("item", key) steps from there. Closure cells and globals are read anew each time.
    """

    root: str
    name: str
    path: tuple[tuple[str, Any], ...] = ()
    function: Any = None  # a FunctionType, which mypy would take for a method; None: an argument

    def attribute(self, name: str) -> Access:
        """The way to an attribute of the value that this one gives."""
        return Access(self.root, self.name, (*self.path, ("attr", name)), self.function)

    def item(self, key: object) -> Access:
        """The way to an item of the value that this one gives."""
        return Access(self.root, self.name, (*self.path, ("item", key)), self.function)

    def read(self, arguments: Mapping[str, object]) -> object:
        """The value now. Raises NameError, AttributeError, KeyError or IndexError when it has gone."""
        value: Any = self._root(arguments)
        for at, (kind, step) in enumerate(self.path):
            try:
                value = getattr(value, step) if kind == "attr" else value[step]
            except ValueError:
                if step != "cell_contents":
                    raise
                function = replace(self, path=self.path[: at - 2]).read(arguments)  # before .__closure__[i].cell_contents
                raise _unset(function.__code__.co_freevars[self.path[at - 1][1]]) from None  # type: ignore[attr-defined]  # a function's
        return value

    def _root(self, arguments: Mapping[str, object]) -> object:
        if self.root == "argument":
            return arguments[self.name]
        function = self.function
        assert function is not None
        if self.root == "closure":
            index = function.__code__.co_freevars.index(self.name)
            try:
                return function.__closure__[index].cell_contents
            except ValueError:
                raise _unset(self.name) from None
        if self.root == "default":
            defaults = function.__defaults__ or ()
            names = function.__code__.co_varnames[: function.__code__.co_argcount][-len(defaults) :] if defaults else ()
            if self.name in names:
                return defaults[names.index(self.name)]
            return (function.__kwdefaults__ or {})[self.name]
        value = function.__globals__.get(self.name, _MISSING)
        if value is _MISSING:
            value = getattr(builtins, self.name, _MISSING)
        if value is _MISSING:
            raise NameError(f"name {self.name!r} is not defined")
        return value

    def __str__(self) -> str:
        return self.name + "".join(f".{step}" if kind == "attr" else f"[{step!r}]" for kind, step in self.path)


def _unset(name: str) -> NameError:
    """Python's exception for a free variable that the enclosing function has given no value, or has deleted."""
    return NameError(f"cannot access free variable {name!r} where it is not associated with a value in enclosing scope")


@dataclass(frozen=True)
class HiddenInput:
    """An array that the body reads from outside, or a number that changes: a flat argument after the call's own leaves.

    `leaf` is what the graph was built for: a value of another kind or rank needs another graph. `direct`: what the native entry reads
    instead, where that is one of PyTorch's tensors, which it takes as they are.
    """

    access: Access
    leaf: Leaf
    direct: Access | None = None

    def read(self, arguments: Mapping[str, object]) -> object:
        """The value now. Raises what `Access.read` does."""
        return self.access.read(arguments)

    def flat(self, value: object) -> object:
        """What a program takes for a value that fits."""
        return np.asarray(value) if self.leaf.kind == "scalar" else value

    def fits(self, value: object) -> bool:
        """Whether the graph takes `value` here."""
        try:
            now = flatten(value, [], str(self.access))
        except TypeError:
            return False
        if not isinstance(now, Leaf) or self.leaf.ndim not in (None, now.ndim):
            return False
        return now.kind == self.leaf.kind and now.is_complex == self.leaf.is_complex


@dataclass(frozen=True)
class Constant:
    """A value from outside that is part of the graph. The graph is right for a call only if `holds` is true then.

    `kind`: "value" (numbers, strings, dtypes: same type and equal, NaN equal to itself), "identity" (functions, modules,
    classes, objects), "same" (the object that another access, the `value`, gives in the same call), "structure" (of a list,
    tuple or dict: its type and its length or keys), "dtype" (of an array that is an input), "index dtype" (as `index_dtype_of`)
    or "missing" (the class of the exception that reading it raises: the graph raises it too).
    """

    access: Access
    kind: str
    value: object

    def holds(self, arguments: Mapping[str, object]) -> bool:
        """Whether the graph is right for a call with these arguments, as far as this value goes."""
        try:
            now = self.access.read(arguments)
        except GONE as e:
            return self.kind == "missing" and type(e) is self.value
        if self.kind == "same":
            assert isinstance(self.value, Access)
            return now is self.value.read(arguments)
        if self.kind == "identity":
            return now is self.value
        if self.kind == "structure":
            return structure_of(now) == self.value
        if self.kind in ("dtype", "index dtype"):
            found = (dtype_of if self.kind == "dtype" else index_dtype_of)(now)
            return found is self.value or (found is not None and self.value is not None and found == self.value)  # None == float64 in NumPy
        if self.kind == "missing":
            return False
        return same_value(now, self.value)

    def is_number(self, arguments: Mapping[str, object]) -> bool:
        """Whether it is a number, and now is one that could be a hidden input as well."""
        if self.kind != "value" or not is_number_to_read(self.value):
            return False
        try:
            return is_number_to_read(self.access.read(arguments))
        except GONE:
            return False


def dtype_of(value: object) -> np.dtype | None:
    """The dtype of an array that programs hold; None for all others."""
    dtype = getattr(value, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) and dtypes.from_numpy(dtype) is not None else None


def index_dtype_of(value: object) -> np.dtype | None:
    """The dtype of an array of integers or bools, which picks from another as an index; None for all others."""
    dtype = dtype_of(value)
    return dtype if dtype is not None and dtype.kind in "iub" else None


def is_number_to_read(value: object) -> bool:
    """Whether a number may be a hidden input: an int of 64 bits, a float, a NumPy scalar that programs hold. Truth values stay constants:
    they choose what a program is."""
    if isinstance(value, np.generic):
        return value.dtype.kind != "b" and dtypes.from_numpy(value.dtype) is not None
    if type(value) is int:
        return INT64.min <= value <= INT64.max
    return type(value) is float


def structure_of(value: object) -> object:
    """What a container's `Constant` holds."""
    if isinstance(value, dict):
        return dict, tuple(value)
    return type(value), len(value) if isinstance(value, (list, tuple)) else None


def same_value(a: object, b: object) -> bool:
    """Whether a graph that has one of these values in it is right for the other."""
    return a is b or type(a) is type(b) and same_number(a, b)


def same_number(a: object, b: object) -> bool:
    """Equality that tells 0.0 from -0.0 and finds NaN equal to itself: a constant's bits are what was compiled."""
    if isinstance(a, (float, complex, np.inexact)):
        return np.asarray(a).tobytes() == np.asarray(b).tobytes()
    return bool(a == b)
