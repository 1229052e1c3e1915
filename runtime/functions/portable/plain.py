"""Graphs of Python functions as plain data, which `lowering/artifacts/encoding.py` takes: trees, tier 0, what a graph relies on.

    Reader().value(Writer().plain(built.output)) == built.output

What is told by its identity (functions, modules, objects) has a place in Python's, NumPy's or an extension's names, or is for a class
above these to number. Free of MLIR.
"""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields
from types import MethodType
from typing import Any, ClassVar

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.runtime.arguments.fitted import Fitted
from tierup.runtime.arguments.hidden import Access, Constant, HiddenInput
from tierup.runtime.arguments.trees import COMPLEX, CallShape, Leaf, Node, Output, OutputNode, OutputUnion
from tierup.runtime.base.errors import Origin
from tierup.runtime.interpreter.parameters import Kind, Parameter
from tierup.runtime.interpreter.tier0 import Tier0, resolve

_RECORDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Access, CallShape, Constant, Fitted, HiddenInput, Kind, Leaf, Node, Origin, Output, OutputNode, OutputUnion, Parameter, Tier0,
    )
}  # fmt: skip
KIND = "cpu"  # of bundles that hold them
_HARMLESS = frozenset({"builtins", "numpy", "math", "cmath", "operator", "scipy", "tierup"})  # to import, whoever wrote the name
_ARRAYS = "biufc"  # kinds of dtypes
_HOMES = ("builtins", "numpy", "math", "cmath", "operator", "scipy.special")  # of what does not say where it is from
BUILT_IN = (type, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc, type(np.sum))


class NotDescribed(Exception):
    """Something of which there is no text that says all of it."""


def path_of(thing: Any) -> str | None:
    """`numpy:tanh`: where something of Python's, of NumPy's or of an extension module is found, with the version of what has no other place
    in keys; None of what is not found so."""
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None)
    if not isinstance(name, str) or not isinstance(thing, BUILT_IN):
        return None
    for home in (getattr(thing, "__module__", None), *_HOMES):
        module = sys.modules.get(home) if isinstance(home, str) else None
        version = None if module is None else _version(module.__name__)
        if version is None:
            continue
        try:
            found = operator.attrgetter(name)(module)
        except AttributeError:
            continue
        if found is thing:
            return f"{home}:{name}{version}"
    return None


def _version(module: str) -> str | None:
    """What says which release of a module this is: "" of Python's and NumPy's own and of ours, which keys have; None of others without."""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names and root != "__main__" or root in ("numpy", "tierup"):
        return ""
    found = getattr(sys.modules.get(root), "__version__", None)
    is_compiled = not hasattr(sys.modules[module], "__file__") or not str(sys.modules[module].__file__).endswith(".py")
    return f" {found}" if isinstance(found, str) and (is_compiled or root == "scipy") else None


class _Plain:
    """What both have: `modules`, those whose things may be named, by their roots; None: all."""

    modules: ClassVar[frozenset[str] | None] = None

    def _may_name(self, path: str) -> bool:
        return self.modules is None or path.partition(":")[0].partition(".")[0] in self.modules


class Writer(_Plain):
    """To plain data."""

    def plain(self, value: Any) -> Any:
        """Raises NotDescribed."""
        kind = type(value)
        if value is None or kind in (bool, int, float, str, bytes):
            return value
        if kind is tuple or kind is list:
            return kind.__name__, *map(self.plain, value)
        if kind.__name__ in _RECORDS and _RECORDS[kind.__name__] is kind:
            return "record", kind.__name__, *(self.plain(getattr(value, f.name)) for f in fields(value))
        if isinstance(value, Mapping):
            return "dict", *((self.plain(k), self.plain(v)) for k, v in value.items())
        if kind is frozenset:
            return "set", *sorted(value)
        if kind is complex:
            return "complex", value.real, value.imag
        if value is ...:
            return ("ellipsis",)
        if isinstance(value, DType):
            return "element", value.name
        if isinstance(value, np.dtype) and value.kind in _ARRAYS:
            return "dtype", value.str
        if (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype.kind in _ARRAYS:
            whole = np.asarray(value)
            return "array" if kind is np.ndarray else "scalar", whole.dtype.str, whole.shape, whole.tobytes()
        if isinstance(value, MethodType) and value.__func__ is Parameter.convert:
            return "convert", self.plain(value.__self__)
        return self.thing(value)

    def thing(self, value: Any) -> Any:
        """What is told by its identity. Raises NotDescribed."""
        path = path_of(value)
        if path is None or not self._may_name(path):
            raise NotDescribed(f"a {type(value).__name__}")
        return "path", path


class Reader(_Plain):
    """From plain data. Raises all kinds of exceptions for what `Writer` did not write."""

    def value(self, data: Any) -> Any:
        """What it stands for; NotDescribed where something is not what it was."""
        if not isinstance(data, tuple):
            return COMPLEX if data == COMPLEX else data  # which is told by its identity
        tag, *rest = data
        return getattr(self, f"_{tag}")(*rest)

    def _values(self, data: Iterable[Any]) -> list[Any]:
        return [self.value(each) for each in data]

    def _tuple(self, *items: Any) -> tuple[Any, ...]:
        return tuple(self._values(items))

    def _list(self, *items: Any) -> list[Any]:
        return self._values(items)

    def _record(self, name: str, *values: Any) -> Any:
        return _RECORDS[name](*self._values(values))

    def _dict(self, *pairs: Any) -> dict[Any, Any]:
        return {self.value(key): self.value(value) for key, value in pairs}

    def _set(self, *items: Any) -> frozenset[Any]:
        return frozenset(items)

    def _complex(self, real: float, imag: float) -> complex:
        return complex(real, imag)

    def _ellipsis(self) -> Any:
        return ...

    def _element(self, name: str) -> DType:
        return dtypes.BY_NAME[name]

    def _dtype(self, text: str) -> np.dtype:
        return np.dtype(text)

    def _array(self, dtype: str, shape: tuple[int, ...], data: bytes) -> np.ndarray:
        return np.frombuffer(data, dtype).reshape(shape).copy()

    def _scalar(self, dtype: str, shape: tuple[int, ...], data: bytes) -> Any:
        return self._array(dtype, shape, data)[()]

    def _convert(self, parameter: Any) -> Any:
        return self.value(parameter).convert

    def _path(self, text: str) -> Any:
        if not self._may_name(text):
            raise NotDescribed(text)
        found = resolve(text.partition(" ")[0])
        if path_of(found) != text:
            raise NotDescribed(text)
        return found


class PlanWriter(Writer):
    """For files: nothing is named whose import runs what the file's reader does not know."""

    modules = _HARMLESS


class PlanReader(Reader):
    """Of files."""

    modules = _HARMLESS
