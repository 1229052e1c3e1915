"""The guards of a version in Python: do these arguments fit, and if not, which guard says so.

The native entry (`lowering/entry/generated/guards.py`) checks the same in the same order; this module is what the pure-Python entry
runs and what `explain()` asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import evaluate
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import (
    INT64_MAX,
    INT64_MIN,
    MOST_BY_NAME,
    ArgumentKind,
    ArgumentSpec,
    Layout,
    ResultKind,
    ResultSpec,
    scalar_bits,
)
from tierup.lowering.entry.records import VersionRecord

device_arrays: set[type] = set()  # of arrays that lie on a device, which versions for devices take too; who defines one adds it
_SCALAR_TYPES: dict[ArgumentKind, type] = {ArgumentKind.INT: int, ArgumentKind.FLOAT: float, ArgumentKind.BOOL: bool}


@dataclass(frozen=True)
class Mismatch:
    """The first guard that does not hold. `argument` is its flat position; -1 when the call as a whole does not fit."""

    argument: int
    reason: Reason
    what: str  # "type", "dtype", "rank", "dim 1", "strides", "alignment", "flags", "value", "overlap", "count", "result size"
    expected: str
    actual: str

    def __str__(self) -> str:
        where = f"argument {self.argument}: " if self.argument >= 0 else ""
        return f"{where}{self.what} expected {self.expected}, got {self.actual}"


def first_mismatch(specs: Sequence[ArgumentSpec], args: Sequence[object], written: Sequence[int] = ()) -> Mismatch | None:
    """The first guard of `specs` that `args` (flat) do not keep, or None when they fit. `written`: arguments the program writes."""
    found = bind(specs, args, written)
    return found if isinstance(found, Mismatch) else None


def explain(record: VersionRecord, args: Sequence[object]) -> Mismatch | None:
    """Why a version does not take these flat arguments; None when it does."""
    found = fit(record, args)
    return found if isinstance(found, Mismatch) else None


def fit(record: VersionRecord, args: Sequence[object]) -> dict[str, int] | Mismatch:
    """The values of the symbols (sizes and strides) with which `args` fit a version, result sizes included, or the first mismatch."""
    symbols = bind(record.arguments, args, record.written, on_device=record.on_device)
    if isinstance(symbols, Mismatch):
        return symbols
    return _result_sizes(record.results, args, symbols) or symbols


def bind(
    specs: Sequence[ArgumentSpec], args: Sequence[object], written: Sequence[int] = (), *, on_device: bool = False
) -> dict[str, int] | Mismatch:
    """The values of the symbols with which `args` keep the guards, or the first mismatch. `on_device`: arrays there are taken too."""
    if len(args) != len(specs):
        return Mismatch(-1, Reason.WRONG_TYPE, "count", str(len(specs)), str(len(args)))
    symbols: dict[str, int] = {}
    for i, (spec, arg) in enumerate(zip(specs, args, strict=True)):
        if spec.kind is ArgumentKind.ARRAY:
            mismatch = _array(i, spec, arg, i in written, symbols, on_device)
        else:
            mismatch = _scalar(i, spec, arg, symbols)
        if mismatch is not None:
            return mismatch
    return _overlap(specs, args, written) or symbols


def _array(i: int, spec: ArgumentSpec, arg: Any, is_written: bool, symbols: dict[str, int], on_device: bool) -> Mismatch | None:
    if type(arg) is not np.ndarray and not (on_device and type(arg) in device_arrays):
        return Mismatch(i, Reason.WRONG_TYPE, "type", "numpy.ndarray", type(arg).__name__)
    if arg.dtype != dtypes.BY_NAME[spec.dtype].numpy:
        return Mismatch(i, Reason.WRONG_DTYPE, "dtype", spec.dtype, dtypes.spelled(arg.dtype))
    if arg.ndim != len(spec.sizes):
        return Mismatch(i, Reason.WRONG_RANK, "rank", str(len(spec.sizes)), str(arg.ndim))
    if not arg.flags.aligned:
        return Mismatch(i, Reason.MISALIGNED, "alignment", f"a multiple of {arg.dtype.alignment} bytes", "misaligned")
    if is_written and not arg.flags.writeable:
        return Mismatch(i, Reason.READ_ONLY, "flags", "writeable", "read-only")
    if spec.layout is Layout.CONTIGUOUS and not arg.flags.c_contiguous:
        return Mismatch(i, Reason.WRONG_LAYOUT, "strides", "contiguous", str(arg.strides))
    if spec.layout is Layout.COLUMNS and not arg.flags.f_contiguous:
        return Mismatch(i, Reason.WRONG_LAYOUT, "strides", "contiguous by columns", str(arg.strides))
    for d, (size, expected) in enumerate(zip(arg.shape, spec.sizes, strict=True)):
        if isinstance(expected, int):
            if size != expected:
                return Mismatch(i, Reason.WRONG_SIZE, f"dim {d}", str(expected), str(size))
        elif symbols.setdefault(expected, size) != size:
            return Mismatch(i, Reason.UNEQUAL_SIZES, f"dim {d}", f"{expected} = {symbols[expected]}", str(size))
        elif size < 2:
            return Mismatch(i, Reason.SMALL_SIZE, f"dim {d}", f"{expected} >= 2", str(size))
        if spec.layout is Layout.STRIDED and size > 1 and arg.strides[d] % arg.itemsize:
            return Mismatch(i, Reason.WRONG_LAYOUT, "strides", f"multiples of {arg.itemsize}", str(arg.strides))
    for d, stride in enumerate(arg.strides):
        symbols[f"stride{i}_{d}"] = stride // arg.itemsize
    return None


def _scalar(i: int, spec: ArgumentSpec, arg: Any, symbols: dict[str, int]) -> Mismatch | None:
    found: object = type(arg)
    if found is not _SCALAR_TYPES[spec.kind]:
        return Mismatch(i, Reason.WRONG_TYPE, "type", spec.kind.value, type(arg).__name__)
    if spec.kind is ArgumentKind.INT and not INT64_MIN <= arg <= INT64_MAX:
        return Mismatch(i, Reason.WRONG_VALUE, "value", "an int of 64 bits", str(arg))
    if isinstance(spec.value, str):
        if not 2 <= arg <= MOST_BY_NAME:
            return Mismatch(i, Reason.SMALL_SIZE if arg < 2 else Reason.WRONG_VALUE, "value", f"2 <= {spec.value} <= 2**30", str(arg))
        if symbols.setdefault(spec.value, arg) != arg:
            return Mismatch(i, Reason.UNEQUAL_SIZES, "value", f"{spec.value} = {symbols[spec.value]}", str(arg))
    elif spec.value is not None and scalar_bits(spec.kind, arg) != scalar_bits(spec.kind, spec.value):
        return Mismatch(i, Reason.WRONG_VALUE, "value", repr(spec.value), repr(arg))
    return None


def extent(array: Any) -> tuple[int, int]:
    """The addresses [low, high) between which an array's elements lie; empty for an empty array."""
    if not array.size:
        return 0, 0
    low = high = array.ctypes.data if type(array) is np.ndarray else array.address
    for size, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (size - 1) * stride
        else:
            high += (size - 1) * stride
    return low, high + array.itemsize


def overlaps_itself(array: np.ndarray[Any, Any]) -> bool:
    """Whether two elements may share memory: some dim's step is shorter than what the finer dims reach."""
    steps = [(abs(stride), size) for size, stride in zip(array.shape, array.strides, strict=True) if size > 1]
    if not array.size:
        return False
    for d, (step, _) in enumerate(steps):
        reach = array.itemsize + sum((n - 1) * s for e, (s, n) in enumerate(steps) if e != d and s <= step)
        if step < reach:
            return True
    return False


def _overlap(specs: Sequence[ArgumentSpec], args: Sequence[Any], written: Sequence[int]) -> Mismatch | None:
    for w in written:
        if overlaps_itself(args[w]):
            return Mismatch(w, Reason.OVERLAP, "overlap", "no two elements share memory", f"strides {args[w].strides}")
        low, high = extent(args[w])
        for i, spec in enumerate(specs):
            if i == w or spec.kind is not ArgumentKind.ARRAY:
                continue
            other_low, other_high = extent(args[i])
            if low < other_high and other_low < high:
                return Mismatch(w, Reason.OVERLAP, "overlap", "memory of its own", f"shared with argument {i}")
    return None


def _result_sizes(results: Sequence[ResultSpec], args: Sequence[Any], symbols: dict[str, int]) -> Mismatch | None:
    """Sizes below 0 or beyond 64 bits are the program's error, which tier 0 raises."""
    for r in results:
        values = list(r.sizes) if r.kind in (ResultKind.BUFFER, ResultKind.VIEW) else []
        for size in values:
            try:
                value = evaluate(size, symbols)
            except ZeroDivisionError:
                value = -1
            if not 0 <= value <= INT64_MAX:
                return Mismatch(-1, Reason.PROGRAM_RAISES, "result size", "a size", f"{size} = {value}")
    return None
