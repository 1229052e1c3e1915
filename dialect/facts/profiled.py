"""What runs have shown of a value: `Profiled` for tensors, `ProfiledScalar` for numbers. The text of `#tierup.profiled`.

Both are lattices of independent facts, each known or not (None). `join` keeps the facts that two agree on; `a <= b` says
that every fact of b is one of a, so whatever matches a matches b. `join` is commutative, associative and idempotent, and
`a <= b` is `a.join(b) == b`.

An undefined tensor (Python's None) has no dtype and no sizes: it matches only what states neither. So a site that saw
both a tensor and None knows nothing, and no guard of it can let a None through to native code.

Free of MLIR: guards, the profile and the cache key use it when a call is dispatched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.base.records import dataclass

Size = int | str | None  # static, a symbol (at least 2, equal wherever the name stands), unknown

CPU = "cpu"


@dataclass(frozen=True)
class Profiled:
    """Facts about a tensor. `Profiled()` is the top: nothing is known, everything matches.

    sizes: one per dimension; None as a whole for an unknown rank. strides: in elements, one per dimension; the stride of a
    dimension of size 1, and every stride of an empty tensor, says nothing and is never recorded nor compared.
    Raises ValueError for facts that contradict one another.
    """

    dtype: DType | None = None
    device: str | None = None
    sizes: tuple[Size, ...] | None = None
    strides: tuple[int | None, ...] | None = None
    requires_grad: bool | None = None
    defined: bool | None = None

    def __post_init__(self) -> None:
        if self.strides is not None and (self.sizes is None or len(self.strides) != len(self.sizes)):
            raise ValueError("strides need sizes of the same rank")
        if self.defined is False and any(f is not None for f in (self.dtype, self.device, self.sizes, self.requires_grad)):
            raise ValueError("an undefined tensor has neither dtype, device, sizes nor gradient")
        for size in self.sizes or ():
            if isinstance(size, str) and not _SYMBOL.fullmatch(size):
                raise ValueError(f"'{size}' is no symbol's name")
            if isinstance(size, int) and size < 0:
                raise ValueError(f"size {size} is negative")

    @staticmethod
    def of(array: np.ndarray | None, *, requires_grad: bool | None = False) -> Profiled:
        """All there is to know of one tensor: of one without elements no strides, of an unsupported dtype no dtype."""
        if array is None:
            return UNDEFINED
        return Profiled(dtypes.from_numpy(array.dtype), CPU, tuple(array.shape), _strides_of(array), requires_grad, True)

    def join(self, other: Profiled) -> Profiled:
        """What holds of everything that either matches."""
        if self == other:
            return self
        sizes = strides = None
        if self.sizes is not None and other.sizes is not None and len(self.sizes) == len(other.sizes):
            sizes = tuple(map(_same, self.sizes, other.sizes))
            if self.strides is not None and other.strides is not None:
                strides = tuple(map(_same, self.strides, other.strides))
        return Profiled(
            _same(self.dtype, other.dtype),
            _same(self.device, other.device),
            sizes,
            strides,
            _same(self.requires_grad, other.requires_grad),
            _same(self.defined, other.defined),
        )

    def __le__(self, other: Profiled) -> bool:
        """Whether `other` states nothing that self does not: it is what self says, or less."""
        return self.join(other) == other

    def matches(self, array: np.ndarray | None, *, requires_grad: bool = False, symbols: dict[str, int] | None = None) -> bool:
        """Whether every fact holds of `array`. Symbols are bound in `symbols` as they are met, so that several values
        can be held to one binding; on a mismatch some may be left bound."""
        if array is None:
            return self in (UNDEFINED, TOP)
        if self.defined is False:
            return False
        if self.dtype is not None and array.dtype != self.dtype.numpy:
            return False
        if self.device is not None and self.device != CPU:
            return False
        if self.requires_grad is not None and self.requires_grad != requires_grad:
            return False
        return self.sizes is None or self._shape_matches(array, {} if symbols is None else symbols)

    def _shape_matches(self, array: np.ndarray, symbols: dict[str, int]) -> bool:
        assert self.sizes is not None
        if array.ndim != len(self.sizes):
            return False
        for expected, size in zip(self.sizes, array.shape, strict=True):
            if isinstance(expected, str):
                if size < 2 or symbols.setdefault(expected, size) != size:
                    return False
            elif expected is not None and expected != size:
                return False
        if self.strides is None:
            return True
        actual = _strides_of(array)
        told = zip(self.strides, actual, array.shape, strict=True)
        return array.size == 0 or all(want is None or have == want or size == 1 for want, have, size in told)

    def torch_type(self, *, value_semantics: bool = True) -> str:
        """The text of the most refined torch type that follows: `!torch.vtensor<[2,?],f32>`; a symbol is a `?` there."""
        kind = "!torch.vtensor" if value_semantics else "!torch.tensor"
        if self.dtype is None and self.sizes is None:
            return kind
        sizes = "*" if self.sizes is None else f"[{','.join(str(s) if isinstance(s, int) else '?' for s in self.sizes)}]"
        return f"{kind}<{sizes},{'unk' if self.dtype is None else self.dtype.mlir}>"

    def __str__(self) -> str:
        """The text form: `f32[2,?,s0] strides=[4,1,?] device=cpu requires_grad=false defined`; unknown facts are left out."""
        sizes = "*" if self.sizes is None else ",".join(map(_spell, self.sizes))
        parts = [f"{'?' if self.dtype is None else self.dtype.name}[{sizes}]"]
        if self.strides is not None:
            parts.append(f"strides=[{','.join(map(_spell, self.strides))}]")
        if self.device is not None:
            parts.append(f"device={self.device}")
        if self.requires_grad is not None:
            parts.append(f"requires_grad={str(self.requires_grad).lower()}")
        if self.defined is not None:
            parts.append("defined" if self.defined else "undefined")
        return " ".join(parts)

    @staticmethod
    def parse(text: str) -> Profiled:
        """The inverse of `str`. Raises ValueError that says what is wrong."""
        head, *facts = text.split(" ")
        match = _HEAD.fullmatch(head)
        if match is None:
            raise ValueError(f"expected <dtype>[<sizes>] such as f32[2,?], got '{head}'")
        if match["dtype"] != "?" and match["dtype"] not in dtypes.BY_NAME:
            raise ValueError(f"'{match['dtype']}' is no element type; there are {', '.join(dtypes.BY_NAME)}")
        known: dict[str, object] = {"dtype": dtypes.BY_NAME.get(match["dtype"]), "sizes": _parse_sizes(match["sizes"])}
        for fact in facts:
            name, value = _parse_fact(fact)
            if name in known and name != "dtype":
                raise ValueError(f"'{name}' is stated twice")
            known[name] = value
        return Profiled(**known)  # type: ignore[arg-type]  # by name


TOP = Profiled()
UNDEFINED = Profiled(defined=False)


@dataclass(frozen=True, eq=False)
class ProfiledScalar:
    """Facts about a number: its kind and its value. Equal floats are equal bits: -0.0 is not 0.0, and NaN is NaN."""

    kind: str | None = None  # int, float, bool; None: not one kind
    value: int | float | bool | None = None

    def __post_init__(self) -> None:
        if self.kind not in (None, "int", "float", "bool"):
            raise ValueError(f"'{self.kind}' is no kind of number; there are int, float and bool")
        if self.value is not None and type(self.value).__name__ != self.kind:
            raise ValueError(f"{self.value!r} is no {self.kind}")

    @staticmethod
    def of(value: int | float | bool) -> ProfiledScalar:
        """All there is to know of one number; a NumPy scalar or any other object is a TypeError."""
        if type(value) not in (int, float, bool):
            raise TypeError(f"expected an int, a float or a bool, got {type(value).__name__}")
        return ProfiledScalar(type(value).__name__, value)

    def join(self, other: ProfiledScalar) -> ProfiledScalar:
        """What holds of every number that either matches."""
        if self.kind != other.kind:
            return ProfiledScalar()
        return self if self == other else ProfiledScalar(self.kind)

    def __le__(self, other: ProfiledScalar) -> bool:
        return self.join(other) == other

    def matches(self, value: object) -> bool:
        """Whether every fact holds of `value`. A bool is no int here, as in the programs' types."""
        if type(value) not in (int, float, bool):
            return False
        seen = ProfiledScalar.of(value)  # type: ignore[arg-type]  # just checked
        return (self.kind is None or seen.kind == self.kind) and (self.value is None or seen == self)

    def _key(self) -> tuple[object, ...]:
        if isinstance(self.value, float):
            return (self.kind, "nan") if math.isnan(self.value) else (self.kind, self.value, math.copysign(1.0, self.value))
        return self.kind, type(self.value), self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProfiledScalar) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def torch_type(self) -> str:
        """`!torch.int`, `!torch.float`, `!torch.bool`, or `!torch.number` when the kind is not known."""
        return f"!torch.{self.kind or 'number'}"

    def __str__(self) -> str:
        """The text form: `number`, `int`, `int=3`, `float=-0.0`, `bool=true`."""
        if self.value is None:
            return self.kind or "number"
        return f"{self.kind}={str(self.value).lower()}"

    @staticmethod
    def parse(text: str) -> ProfiledScalar:
        """The inverse of `str`. Raises ValueError."""
        kind, equals, value = text.partition("=")
        if kind not in _READ or (equals and kind == "number"):
            raise ValueError(f"expected number, int, float or bool, with =<value> when it is known, got '{text}'")
        return ProfiledScalar(None if kind == "number" else kind, _READ[kind](value) if equals else None)


Fact = Profiled | ProfiledScalar


unset: WeakValueDictionary[int, np.ndarray] = WeakValueDictionary()
"""What stands in tier 0 for arrays that are not set, by their ids: of no dtype or size that means anything."""


def is_unset(value: object) -> bool:
    """Whether a value stands for an array that is not set: no cast, guard or copy of it is one of a value."""
    return id(value) in unset


def observe(value: object) -> Fact | None:
    """The facts of a run-time value that `tierup.profile` records: arrays, None (an undefined tensor, an absent optional), numbers;
    of a list that it is there. None for anything else (strings), and for what stands for an array that is not set: there is nothing to
    assume of it. An array on a device is one as NumPy's."""
    if is_unset(value):
        return None
    if value is None or isinstance(value, np.ndarray):
        return Profiled.of(value)
    if isinstance(value, list):
        return Profiled(defined=True)
    if type(value) in (int, float, bool):
        return ProfiledScalar.of(value)  # type: ignore[arg-type]  # just checked
    if hasattr(type(value), "__cuda_array_interface__"):
        return Profiled.of(value)  # type: ignore[arg-type]  # it has what is asked of an array
    return None


def join(a: Fact, b: Fact) -> Fact | None:
    """The join of two observations of one site; None when one was a tensor and the other a number."""
    if isinstance(a, Profiled) and isinstance(b, Profiled):
        return a.join(b)
    if isinstance(a, ProfiledScalar) and isinstance(b, ProfiledScalar):
        return a.join(b)
    return None


def parse(text: str) -> Fact:
    """A tensor's or a number's facts from their text. Raises ValueError."""
    return Profiled.parse(text) if "[" in text else ProfiledScalar.parse(text)


_SYMBOL = re.compile(r"[A-Za-z_]\w*")
_HEAD = re.compile(r"(?P<dtype>\?|\w+)\[(?P<sizes>\*|[\w?,]*)\]")


T = TypeVar("T")


def _same(a: T, b: T) -> T | None:
    return a if a == b else None


def _strides_of(array: np.ndarray) -> tuple[int | None, ...]:
    if array.size == 0:
        return (None,) * array.ndim
    item = array.itemsize
    return tuple(None if size == 1 or step % item else step // item for size, step in zip(array.shape, array.strides, strict=True))


def _spell(size: Size) -> str:
    return "?" if size is None else str(size)


def _parse_size(text: str) -> Size:
    if text == "?":
        return None
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if not _SYMBOL.fullmatch(text):
        raise ValueError(f"expected a size, a symbol or ?, got '{text}'")
    return text


def _parse_sizes(text: str) -> tuple[Size, ...] | None:
    if text == "*":
        return None
    return tuple(_parse_size(t) for t in text.split(",")) if text else ()


def _parse_fact(text: str) -> tuple[str, object]:
    if text in ("defined", "undefined"):
        return "defined", text == "defined"
    name, _, value = text.partition("=")
    if name == "device" and re.fullmatch(r"\w+(:\d+)?", value):
        return name, value
    if name == "requires_grad" and value in ("true", "false"):
        return name, value == "true"
    if name == "strides" and re.fullmatch(r"\[[-\d,?]*\]", value):
        strides = _parse_sizes(value[1:-1])
        assert strides is not None
        return name, strides
    raise ValueError(f"expected strides=[...], device=..., requires_grad=true|false, defined or undefined, got '{text}'")


def _read_bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"expected true or false, got '{text}'")
    return text == "true"


def _read_number(text: str) -> None:
    raise ValueError("a number of unknown kind has no value")


_READ: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "bool": _read_bool, "number": _read_number}
