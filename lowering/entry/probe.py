"""Whether the native entry may be used in this process: fields where we think they are, and one call on known data.

A wrong offset would crash or, worse, answer wrongly; so what can be read safely is compared first, and only then is generated
code run. What fails becomes a sentence, and the pure-Python entry takes over.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import sysconfig
from functools import cache
from typing import Any

import numpy as np

from tierup.dialect.base import forking
from tierup.dialect.facts.dims import symbol
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, ResultKind, ResultSpec
from tierup.lowering.entry import layout
from tierup.lowering.entry.records import Form, Inputs, ProbeFailed, VersionRecord

_lock = forking.lock()


def unavailable() -> str | None:
    """Why the native entry cannot be used here, or None. Runs the probe on the first call in a process."""
    with _lock:
        return _probe()


@cache
def _probe() -> str | None:
    try:
        _check_build()
        _check_objects()
        _check_arrays()
        _check_call()
    except (ProbeFailed, RuntimeError, ImportError, AttributeError, OSError) as failure:  # of LLVM, ctypes or NumPy: all end in the twin
        return f"{failure}" if isinstance(failure, ProbeFailed) else f"{type(failure).__name__}: {failure}"
    return None


def _check_build() -> None:
    if sys.implementation.name != "cpython":
        raise ProbeFailed(f"{sys.implementation.name} is not CPython")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise ProbeFailed("a free-threaded build of Python counts references in another way")
    if sys.version_info[:2] not in layout.RELEASES:
        oldest, newest = (".".join(map(str, release)) for release in (min(layout.RELEASES), max(layout.RELEASES)))
        raise ProbeFailed(f"it knows the objects of Python {oldest} to {newest}, this is {sys.version.split()[0]}")
    if sys.maxsize != 2**63 - 1 or sys.byteorder != "little":
        raise ProbeFailed("not a 64-bit little-endian build")
    if hasattr(sys, "gettotalrefcount"):
        raise ProbeFailed("a debug build keeps further counts")


def _read(obj: object, offset: int, kind: type[ctypes._SimpleCData[Any]] = ctypes.c_int64) -> Any:
    return kind.from_address(id(obj) + offset).value


def _expect(what: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise ProbeFailed(f"{what}: read {actual!r}, expected {expected!r}")


def _check_objects() -> None:
    probe = object()
    before = _read(probe, layout.OB_REFCNT)
    another = [probe, probe]
    _expect("reference count", _read(probe, layout.OB_REFCNT) - before, len(another))
    _expect("None is immortal", _read(None, layout.OB_REFCNT, ctypes.c_int32) < 0, layout.RELEASE.count_bits == 32)
    _expect("type", _read(probe, layout.OB_TYPE), id(object))
    _expect("basicsize", _read(int, layout.TYPE_BASICSIZE, ctypes.c_ssize_t), int.__basicsize__)
    # functions are called by vectorcall: their types say where the pointer is, behind the fields of a PyObject
    _expect("vectorcall offset", _read(type(_expect), layout.TYPE_VECTORCALL_OFFSET) in range(16, 256, 8), True)
    _expect("float", _read(1.5, layout.FLOAT_VALUE, ctypes.c_double), 1.5)
    many = (probe, another, *range(40))
    _expect("tuple size", _read(many, layout.OB_SIZE), len(many))
    _expect("tuple items", _read(many, layout.TUPLE_ITEMS + 8), id(another))
    items = _read(another, layout.LIST_ITEMS)
    _expect("list items", ctypes.c_int64.from_address(items + 8).value, id(probe))
    _expect("int digits", _read(123456, layout.LONG_DIGITS, ctypes.c_uint32), 123456)
    for value, tag, size in ((5, 8, 1), (-5, 10, -1), (0, 1, 0), (1 << 30, 16, 2)):
        found = _read(value, layout.LONG_TAG)
        _expect(f"int {value}", *((found & ~4, tag) if layout.RELEASE.tagged_ints else (found, size)))


def _check_arrays() -> None:
    array = np.zeros((3, 5, 2), np.float32)[:, ::2]
    _expect("array data", _read(array, layout.ARRAY_DATA), array.ctypes.data)
    _expect("array rank", _read(array, layout.ARRAY_ND, ctypes.c_int32), 3)
    for what, offset, values in (("sizes", layout.ARRAY_DIMS, array.shape), ("strides", layout.ARRAY_STRIDES, array.strides)):
        _expect(f"array {what}", tuple((ctypes.c_int64 * 3).from_address(_read(array, offset))), values)
    _expect("array dtype", _read(array, layout.ARRAY_DESCR), id(array.dtype))
    _expect("array flags", _read(array, layout.ARRAY_FLAGS, ctypes.c_int32), array.flags.num)
    _expect("contiguous flags", _read(np.zeros(3), layout.ARRAY_FLAGS, ctypes.c_int32) & layout.CARRAY, layout.CARRAY)
    swapped = np.dtype(">i4")
    _expect("dtype order", _read(swapped, layout.DESCR_BYTEORDER, ctypes.c_char), b">")
    _expect("dtype number", _read(swapped, layout.DESCR_TYPE_NUM, ctypes.c_int32), swapped.num)


def _check_call() -> None:
    """The probe kernel doubles a float32 vector and returns its int argument + 1, as a tuple with a float as it came."""
    from tierup.lowering.entry.tables.table import NativeTable  # here: not before the layouts are known to fit

    missed: list[tuple[object, ...]] = []

    def slow(*args: object, **kwargs: object) -> None:
        missed.append(args)

    n = symbol("s0")
    table = NativeTable(Inputs(3), slow)
    arguments = (
        ArgumentSpec(ArgumentKind.ARRAY, "f32", ("s0",)),
        ArgumentSpec(ArgumentKind.INT),
        ArgumentSpec(ArgumentKind.FLOAT),
    )
    results = (ResultSpec(ResultKind.BUFFER, "f32", (n,)), ResultSpec(ResultKind.SCALAR, "int"), ResultSpec(ResultKind.SCALAR, "float"))
    table.add(VersionRecord(arguments, results, table.probe_kernel, form=Form.TUPLE))
    call = table.callable()
    vector = np.arange(5, dtype=np.float32)
    counts = sys.getrefcount(vector), sys.getrefcount(vector.dtype)
    for number in (0, 1, -1, 5, -5, (1 << 30) - 1, 1 << 30, -(1 << 30), 1 << 45, -(1 << 62), (1 << 63) - 2, -(1 << 63)):
        vector += 1  # NumPy's fresh arrays may hold an old answer
        doubled, following, same = call(vector, number, -0.5)
        found = doubled.tolist(), doubled.dtype.char, doubled.flags.num & layout.CARRAY
        _expect("probe array", found, ((vector * 2).tolist(), "f", layout.CARRAY))
        _expect("probe scalars", (following, struct.pack("d", same)), (number + 1, struct.pack("d", -0.5)))
        del doubled
    call(vector, 1 << 63, 0.5)
    call(vector.astype(np.float64), 1, 0.5)
    _expect("misses of the probe", (len(missed), table.counts().misses), (2, 2))
    missed.clear()
    _expect("references after the probe", (sys.getrefcount(vector), sys.getrefcount(vector.dtype)), counts)
