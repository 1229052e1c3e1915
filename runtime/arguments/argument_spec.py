"""Argument specs: what the specialising executor keys its plans on.

Of a tensor its dtype, device, rank and whether its gradient is wanted, and whether it is there at all; never its sizes or strides, so one
plan serves all of them. Of a number its kind, not its value. Tuples, lists and dicts count with their structure; an optional that is
absent is a spec of its own. The ancestor is TorchScript's ArgumentSpec (runtime/argument_spec.cpp).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.profiled import CPU


@dataclass(frozen=True)
class TensorSpec:
    """A tensor. `defined`: False for one that may be there and is not; then nothing else is known. A dtype that tierup has no name for is
    spelled as NumPy does."""

    dtype: str = ""
    rank: int = 0
    device: str = CPU
    requires_grad: bool = False
    defined: bool = True

    def __str__(self) -> str:
        if not self.defined:
            return "undefined"
        device, gradient = "" if self.device == CPU else f", {self.device}", ", gradient" if self.requires_grad else ""
        return f"{self.dtype}[rank {self.rank}{device}{gradient}]"


@dataclass(frozen=True)
class ScalarSpec:
    """A number or another object, by the name of its type."""

    kind: str

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class TreeSpec:
    """A tuple, list or dict. `keys`: a dict's, in its order."""

    kind: str
    items: tuple[Spec, ...]
    keys: tuple[object, ...] = ()

    def __str__(self) -> str:
        parts = [f"{k!r}: {i}" for k, i in zip(self.keys, self.items, strict=True)] if self.kind == "dict" else list(map(str, self.items))
        return f"{self.kind}({', '.join(parts)})"


@dataclass(frozen=True)
class AbsentSpec:
    """None where an optional may be."""

    def __str__(self) -> str:
        return "None"


Spec = TensorSpec | ScalarSpec | TreeSpec | AbsentSpec
UNDEFINED, ABSENT = TensorSpec(defined=False), AbsentSpec()

# One object for each spec that was met (there are some dozens of dtypes and ranks): specs of calls are made in a fraction of the time.
_tensors: dict[tuple[object, int, bool], TensorSpec] = {}
_scalars: dict[type, ScalarSpec] = {}


@dataclass(frozen=True)
class CallSpec:
    """The specs of a call's arguments, in order."""

    arguments: tuple[Spec, ...]

    def describe(self, names: tuple[str, ...]) -> str:
        """`x: f32[rank 2], n: int`."""
        return ", ".join(f"{name}: {spec}" for name, spec in zip(names, self.arguments, strict=True))


def spec_of(values: Sequence[object], gradients: Sequence[bool] = ()) -> CallSpec:
    """The spec of a call's arguments: arrays, numbers, None, and tuples, lists and dicts of them.

    `gradients`: one per array, in order, depth first: whether its gradient is wanted. Left out, none is. Raises ValueError when they
    are more or fewer than the arrays.
    """
    if not gradients:
        return CallSpec(tuple([_array(v, False) if type(v) is np.ndarray else _spec(v, None) for v in values]))
    wanted = iter(gradients)
    spec = CallSpec(tuple([_spec(v, wanted) for v in values]))
    if next(wanted, None) is not None:
        raise ValueError(f"{len(gradients)} gradients for fewer arrays")
    return spec


def _spec(value: object, gradients: Iterator[bool] | None) -> Spec:
    if isinstance(value, np.ndarray):
        wanted = False if gradients is None else next(gradients, None)
        if wanted is None:
            raise ValueError("fewer gradients than arrays")
        return _array(value, wanted)
    if value is None:
        return ABSENT
    if isinstance(value, tuple | list):
        return TreeSpec("tuple" if isinstance(value, tuple) else "list", tuple([_spec(v, gradients) for v in value]))
    if isinstance(value, dict):
        return TreeSpec("dict", tuple([_spec(v, gradients) for v in value.values()]), tuple(value))
    kind = type(value)
    return _scalars.get(kind) or _scalars.setdefault(kind, ScalarSpec(kind.__name__))


def _array(array: np.ndarray, requires_grad: bool) -> TensorSpec:
    key = (array.dtype, array.ndim, requires_grad)
    found = _tensors.get(key)
    if found is None:
        made = TensorSpec(dtypes.spelled(array.dtype), array.ndim, requires_grad=requires_grad)
        found = _tensors.setdefault(key, made)
    return found
