"""What a call looked like: per argument its kind, dtype, sizes and stride class; the key of profiles and of speculations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
_LAYOUTS = {Layout.CONTIGUOUS: "", Layout.COLUMNS: ", columns", Layout.STRIDED: ", strided"}


@dataclass(frozen=True)
class ArgumentClass:
    """What of an argument is never generalised: kind, dtype, rank, stride class."""

    kind: ArgumentKind
    dtype: str = ""
    rank: int = 0
    layout: Layout = Layout.CONTIGUOUS

    def __str__(self) -> str:
        if self.kind is not ArgumentKind.ARRAY:
            return str(self.kind.value)
        return f"{self.dtype}[rank {self.rank}{_LAYOUTS[self.layout]}]"


_BOOL, _INT, _FLOAT = map(ArgumentClass, (ArgumentKind.BOOL, ArgumentKind.INT, ArgumentKind.FLOAT))


@cache
def _class_of_arrays(dtype: str, rank: int, layout: Layout) -> ArgumentClass:
    """One object for each: comparing a thing with itself is quick."""
    return ArgumentClass(ArgumentKind.ARRAY, dtype, rank, layout)


@dataclass(frozen=True)
class Signature:
    """One call's arguments. `classes` and `sizes` run in parallel; a scalar has sizes () and its value in `values`."""

    classes: tuple[ArgumentClass, ...]
    sizes: tuple[tuple[int, ...], ...]
    values: tuple[int | float | bool | None, ...]

    @property
    def shapes(self) -> tuple[tuple[ArgumentClass, ...], tuple[tuple[int, ...], ...]]:
        """The signature without scalar values: what a static version is keyed on."""
        return self.classes, self.sizes


class Unsupported(Exception):
    """An argument that no native code takes. `reason` and `argument` (its position) say which and why."""

    def __init__(self, argument: int, reason: Reason) -> None:
        super().__init__(reason.sentence)
        self.argument = argument
        self.reason = reason


def signature_of(leaves: tuple[object, ...], columns: Callable[[int], bool] = lambda _: True) -> Signature:
    """The signature of flat arguments. `columns`: whether code may assume of the argument at a position that it is in Fortran order.
    Raises Unsupported for an argument that native code does not take."""
    classes, sizes, values = [], [], []
    for i, leaf in enumerate(leaves):
        shape: tuple[int, ...] = ()
        value: int | float | bool | None = None
        if type(leaf) is np.ndarray:
            dtype, flags = dtypes.from_numpy(leaf.dtype) if leaf.dtype.isnative else None, leaf.flags
            if dtype is None:
                raise Unsupported(i, Reason.WRONG_DTYPE)
            if not flags.aligned:
                raise Unsupported(i, Reason.MISALIGNED)
            layout = Layout.CONTIGUOUS if flags.c_contiguous else Layout.STRIDED
            if layout is Layout.STRIDED and flags.f_contiguous and columns(i):
                layout = Layout.COLUMNS
            if layout is Layout.STRIDED and any(s % leaf.itemsize for s in leaf.strides):
                raise Unsupported(i, Reason.WRONG_LAYOUT)
            kind_class = _class_of_arrays(dtype.name, leaf.ndim, layout)
            shape = leaf.shape
        elif type(leaf) is bool:
            kind_class, value = _BOOL, leaf
        elif type(leaf) is int and INT64_MIN <= leaf <= INT64_MAX:
            kind_class, value = _INT, leaf
        elif type(leaf) is float:
            kind_class, value = _FLOAT, leaf
        else:
            raise Unsupported(i, Reason.ARGUMENT_UNSUPPORTED)
        classes.append(kind_class)
        sizes.append(shape)
        values.append(value)
    return Signature(tuple(classes), tuple(sizes), tuple(values))


def static_specs(signature: Signature) -> tuple[ArgumentSpec, ...]:
    """Guards that fit calls with exactly these sizes; scalar values stay free."""
    return tuple(ArgumentSpec(c.kind, c.dtype, s, c.layout) for c, s in zip(signature.classes, signature.sizes, strict=True))


def classes_of(specs: tuple[ArgumentSpec, ...]) -> tuple[ArgumentClass, ...]:
    """What arguments that keep these guards are, but for sizes and values."""
    return tuple(ArgumentClass(spec.kind, spec.dtype, len(spec.sizes), spec.layout) for spec in specs)


def describe_specs(specs: tuple[ArgumentSpec, ...], names: tuple[str, ...]) -> str:
    """`x: f32[s0, 4], n: int = 3`: how events and explain() spell a version. Of a container with many items alike how many they are:
    `params: 150 arrays f64[4, 4]`."""
    parts: list[tuple[str, str]] = []
    for name, spec in zip(names, specs, strict=True):
        if spec.kind is ArgumentKind.ARRAY:
            text = f"{spec.dtype}[{', '.join(map(str, spec.sizes))}]" + _LAYOUTS[spec.layout].lstrip(",")
        else:
            text = spec.kind.value
        parts.append((name, text + ("" if spec.value is None else f" = {spec.value}")))
    return ", ".join(_folded(parts))


_MOST_ALIKE = 5


def _folded(parts: list[tuple[str, str]]) -> Iterator[str]:
    for root, group in groupby(parts, lambda part: part[0].partition("[")[0]):
        items = list(group)
        counts = Counter(text for _, text in items)
        if len(items) > _MOST_ALIKE * len(counts):
            yield f"{root}: " + " and ".join(f"{n} {'arrays' if '[' in text else 'numbers'} {text}" for text, n in counts.items())
        else:
            yield from (f"{name}: {text}" for name, text in items)


def fold_names(names: Sequence[str]) -> str:
    """`x, params (150 items)`: the names of arguments, a container with many items as one."""
    made = []
    for root, group in groupby(names, lambda name: name.partition("[")[0]):
        alike = list(group)
        made += [f"{root} ({len(alike)} items)"] if len(alike) > _MOST_ALIKE else alike
    return ", ".join(made)
