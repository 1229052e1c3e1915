"""What a host program hands over at an exit, as the operands of the bailout: arguments, views of them, numbers, arrays on the device.

An array in memory that the program allocated, or was given for a result, takes that memory along. Copied are the second of two arrays in
one allocation, and what lies in a constant or in memory of the caller's, as on the CPU (`live_values.py`): what is a copy in the program
may be the same memory here. The program has stopped there, so nothing is written to any of them afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import Dim, evaluate
from tierup.lowering.base.abi import ExitSite, Live, ResultKind, ResultSpec
from tierup.lowering.entry.live import view
from tierup.runtime.cuda.arrays.arrays import DeviceArray, Memory, copy_of
from tierup.runtime.cuda.device.devices import Device
from tierup.runtime.cuda.host.buffers import Buffer
from tierup.runtime.cuda.host.interpreter import Left

ALIGNMENT = 16  # bytes; kernels load so many at once (annotate_kernels.py says so of pointers)
_PYTHON: dict[str, Any] = {"int": int, "float": float, "bool": bool}


def operands(
    on: Device, site: ExitSite, left: Left, flat: Sequence[Any], symbols: Mapping[str, int], own: Sequence[DeviceArray]
) -> tuple[Any, ...]:
    """The operands of the bailout at which a program left. `own`: arrays of this call that nobody else has. Raises MemoryError."""
    # all of it at once: memory has its owner before anything can go wrong
    owners: dict[int, object] = {address: Memory(on, address) for address in left.memory}
    owners |= {array.address: array for array in own}
    handed = iter(left.values)

    def value(live: Live) -> Any:
        if isinstance(live, tuple):
            return [value(item) for item in live]
        if live.kind is ResultKind.ALIAS:
            return flat[live.argument]
        if live.kind is ResultKind.NONE:
            return None
        if live.kind is ResultKind.VIEW:
            return view_of(live, flat[live.argument], symbols)
        if live.kind is ResultKind.SCALAR:
            return python_number(next(handed), live.dtype)
        return _array(on, next(handed), live.dtype, owners)

    return tuple([value(live) for live in site.live])


def _array(on: Device, buffer: Buffer, dtype: str, owners: dict[int, object]) -> DeviceArray:
    kind = dtypes.BY_NAME[dtype].numpy
    strides = tuple([s * kind.itemsize for s in buffer.strides])
    owner = owners.pop(buffer.memory, None)
    found = DeviceArray(on, buffer.memory + buffer.offset * kind.itemsize, kind, buffer.sizes, strides, owner)
    return copy_of(found, ALIGNMENT) if owner is None else found


def view_of(spec: ResultSpec, base: Any, symbols: Mapping[str, int]) -> Any:
    """The view of an argument, of either side, that a spec describes."""
    if type(base) is not DeviceArray:
        return view(spec, base, symbols)
    strides = tuple([s * base.itemsize for s in sizes_of(spec.strides, symbols)])
    start = base.address + evaluate(spec.offset, symbols) * base.itemsize
    writeable = base.writeable and not spec.read_only
    return DeviceArray(base.on, start, base.dtype, sizes_of(spec.sizes, symbols), strides, base.owner, writeable)


def sizes_of(dims: Sequence[Dim], symbols: Mapping[str, int]) -> tuple[int, ...]:
    """Sizes as numbers."""
    return tuple([evaluate(d, symbols) for d in dims])


def python_number(value: Any, dtype: str) -> int | float | bool:
    """A number of a host program as a Python object of its kind: int, float or bool."""
    found: int | float | bool = _PYTHON[dtype](value)
    return found


def arrays_in(values: Sequence[Any]) -> Iterator[DeviceArray]:
    """The arrays on the device among values, in lists too."""
    for value in values:
        if isinstance(value, list):
            yield from arrays_in(value)
        elif type(value) is DeviceArray:
            yield value
