"""What a program's entry takes: one `Parameter` per leaf argument, and the check that a value fits it.

Free of MLIR, and picklable. The generated source tests the common case inline and calls `Parameter.convert` for the rest.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.base.records import dataclass
from tierup.runtime.base.errors import UnsupportedArgument

Convert = Callable[[object, "Kind", "Parameter"], object]
REAL = frozenset(d.numpy for d in dtypes.ALL)
NATIVE = REAL | {d.numpy for d in dtypes.COMPLEX}


@dataclass(frozen=True)
class Kind:
    """A torch type as far as arguments are concerned.

    `name`: tensor, int, float, bool, number, str, none, device, any, list, tuple, optional. `items`: element types of the last
    three. A tensor's `sizes` and `dtype` are None where the type leaves them open; a size of None is open too.
    """

    name: str
    items: tuple[Kind, ...] = ()
    dtype: DType | None = None
    sizes: tuple[int | None, ...] | None = None

    def __str__(self) -> str:
        if self.name in ("list", "optional"):
            return f"{self.name} of {self.items[0]}" if self.name == "list" else f"{self.items[0]} or None"
        if self.name == "tuple":
            return f"tuple ({', '.join(map(str, self.items))})"
        return self.name


@dataclass(frozen=True)
class Parameter:
    """One argument of the entry. `written`: whether some run of the program may write the argument's memory. `takes_complex`: whether it
    may be an array of complex numbers: the front end of Python code has seen to it that each op takes those that it meets."""

    name: str
    kind: Kind
    written: bool = False
    takes_complex: bool = False

    def convert(self, value: object) -> object:
        """The value as kernels take it: the same object where it fits as it is.

        Raises TypeError for a wrong kind or dtype and ValueError for a wrong shape, naming the argument, what was expected and
        what came. An array in foreign byte order is copied into native order; the copy is read-only when the program may
        write it, because the write would not reach the caller.
        """
        return _convert(value, self.kind, self)

    def explain_read_only(self, value: object, error: ValueError) -> bool:
        """Say why a write failed, if it is that this argument cannot be written; whether it is."""
        if not isinstance(value, np.ndarray):
            return False
        if not value.dtype.isnative:
            error.args = (f"argument {self.name} is not in native byte order, so it cannot be written, but the program writes it",)
        elif not value.flags.writeable:
            error.add_note(f"the program writes argument {self.name}")
        return not (value.dtype.isnative and value.flags.writeable)


def _wrong(parameter: Parameter, expected: object, value: object) -> TypeError:
    article = "an" if str(expected)[0] in "aeiou" else "a"
    where = ""
    if getattr(value, "__cuda_array_interface__", None) is not None:
        where = ', which lies on a device: give the function options(backend="cuda"), or copy the array to the host'
    return TypeError(f"argument {parameter.name}: expected {article} {expected}, got {type(value).__name__}{where}")


def _convert(value: object, kind: Kind, parameter: Parameter) -> object:
    return _CONVERTERS[kind.name](value, kind, parameter)


def _tensor(value: object, kind: Kind, parameter: Parameter) -> np.ndarray:
    if isinstance(value, np.generic):
        value = np.asarray(value)  # a NumPy scalar is a rank-0 array in all but name
    if type(value) is np.ndarray:
        array = value
    elif isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):  # `np.ma` is imported when it is first named
        array = value.view(np.ndarray)
    else:
        raise _wrong(parameter, "tensor", value)
    if array.dtype not in NATIVE:
        native = dtypes.native(array.dtype)
        if native not in NATIVE:
            known = ", ".join(d.numpy.name for d in dtypes.ALL)
            raise UnsupportedArgument(f"argument {parameter.name}: dtype {array.dtype} is not supported; programs take {known}")
        array = array.astype(native)
        array.flags.writeable = not parameter.written
    if array.dtype.kind == "c" and not parameter.takes_complex:
        raise UnsupportedArgument(f"argument {parameter.name}: dtype {array.dtype} is not supported but in functions under tierup.jit")
    if kind.dtype is not None and array.dtype != kind.dtype.numpy:
        raise TypeError(f"argument {parameter.name}: expected dtype {kind.dtype.numpy.name}, got {array.dtype.name}")
    if kind.sizes is not None and not fits(array.shape, kind.sizes):
        raise ValueError(f"argument {parameter.name}: expected shape {shape_text(kind.sizes)}, got {shape_text(array.shape)}")
    return array


def fits(shape: tuple[int, ...], sizes: tuple[int | None, ...]) -> bool:
    """Whether a shape is one of those that `sizes`, None for an open size, allows."""
    return len(shape) == len(sizes) and all(size is None or size == dim for dim, size in zip(shape, sizes, strict=True))


def shape_text(sizes: tuple[int | None, ...]) -> str:
    """`(?, 4)`: a shape with `?` for open sizes."""
    return "(" + ", ".join("?" if s is None else str(s) for s in sizes) + ("," if len(sizes) == 1 else "") + ")"


def _is_bool(value: object) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not _is_bool(value)


def _is_real(value: object) -> bool:
    return isinstance(value, (int, float, np.floating, np.integer)) and not _is_bool(value)


def _scalar(fits: Callable[[object], bool], make: Callable[[Any], object]) -> Convert:
    """Of what `fits`, what `make` makes of it; TypeError for all else."""

    def convert(value: object, kind: Kind, parameter: Parameter) -> object:
        if not fits(value):
            raise _wrong(parameter, kind, value)
        return make(value)

    return convert


def _none(value: object, kind: Kind, parameter: Parameter) -> None:
    if value is not None:
        raise TypeError(f"argument {parameter.name}: expected None, got {type(value).__name__}")


def _list(value: object, kind: Kind, parameter: Parameter) -> list[object]:
    if not isinstance(value, (list, tuple)):
        raise _wrong(parameter, kind, value)
    return [_convert(v, kind.items[0], replace(parameter, name=f"{parameter.name}[{i}]", kind=kind.items[0])) for i, v in enumerate(value)]


def _tuple(value: object, kind: Kind, parameter: Parameter) -> tuple[object, ...]:
    if not isinstance(value, tuple):
        raise _wrong(parameter, kind, value)
    if len(value) != len(kind.items):
        raise TypeError(f"argument {parameter.name}: expected {len(kind.items)} items, got {len(value)}")
    pairs = zip(value, kind.items, strict=True)
    return tuple(_convert(v, k, replace(parameter, name=f"{parameter.name}[{i}]", kind=k)) for i, (v, k) in enumerate(pairs))


def _optional(value: object, kind: Kind, parameter: Parameter) -> object:
    return None if value is None else _convert(value, kind.items[0], parameter)


_text = _scalar(lambda value: isinstance(value, str), lambda value: value)
_CONVERTERS: dict[str, Convert] = {
    "tensor": _tensor, "int": _scalar(_is_integer, int), "float": _scalar(_is_real, float), "bool": _scalar(_is_bool, bool),
    "number": _scalar(lambda v: _is_integer(v) or _is_real(v), lambda v: int(v) if _is_integer(v) else float(v)), "str": _text,
    "device": _text, "none": _none, "any": lambda value, kind, parameter: value, "list": _list, "tuple": _tuple, "optional": _optional,
}  # fmt: skip
