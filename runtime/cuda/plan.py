"""A compiled program on the device: arguments moved where they must be, kernels launched, results handed over.

    plan = CudaPlan(artifact, device())
    outcome = plan.run(flat, symbols)     # symbols: of sizes and strides, as the guards found them
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.inference.dims import Dim, evaluate
from tierup.dialect.records import dataclass
from tierup.lowering.abi import ArgumentKind, ArgumentSpec, Layout, ResultKind, ResultSpec
from tierup.lowering.cuda.artifact import CudaArtifact
from tierup.lowering.exits.live import view
from tierup.runtime.cuda.arrays import DeviceArray, Memory, empty, put
from tierup.runtime.cuda.buffers import Buffer
from tierup.runtime.cuda.devices import Device
from tierup.runtime.cuda.engine import DirectEngine, Kernels, Ready
from tierup.runtime.cuda.errors import DriverError
from tierup.runtime.cuda.flat import flatten, free_numbers
from tierup.runtime.cuda.host import Number, run
from tierup.runtime.dispatching.guards import extent

_FLATS_KEPT = 16  # per plan: for so many choices of sizes and numbers
_ALIGNMENT = 16  # bytes; kernels load so many at once (annotate_kernels.py says so of pointers)
_ELEMENTS = {"u8": "i8", "bool": "i8"}  # what MLIR calls elements at the boundary, where it is not DType's name


@dataclass(frozen=True)
class Outcome:
    """`site`: 0, or the number of the error site that failed, from 1; then there are no results, and nothing was written."""

    site: int
    results: tuple[Any, ...] = ()


class CudaPlan:
    """Raises DriverError when the driver does not take the code. `cubins`: code by target, for devices that need no assembling;
    `libraries`: whether NVIDIA's may compute products. Thread-safe."""

    def __init__(
        self, artifact: CudaArtifact, on: Device, cubins: Mapping[str, bytes] | None = None, *, libraries: bool = True
    ) -> None:
        self.artifact, self.on = artifact, on
        self.kernels = Kernels(on, artifact.host, image_for(artifact, on.driver.capability, cubins or {}), libraries=libraries)
        self._free_numbers = free_numbers(artifact.host)
        self._flats: OrderedDict[tuple[Any, ...], Ready | None] = OrderedDict()
        weakref.finalize(self, on.later, partial(_close, self.kernels, self._flats)).atexit = False

    @property
    def graph_launches(self) -> int:
        """How many calls were one launch of a graph."""
        return sum(ready.graph_launches for ready in self._flats.values() if ready is not None)

    def run(self, flat: Sequence[Any], symbols: Mapping[str, int]) -> Outcome:
        """One call with arguments that fit. Results are on the device when any argument is, else on the host. Raises DriverError,
        MemoryError."""
        broken = self._broken_tie(symbols)
        if broken:
            return Outcome(broken)
        on_device = any(type(value) is DeviceArray for value in flat)
        with self.on.lock:
            self.on.clean()
            given = [self._argument(spec, value) for spec, value in zip(self.artifact.arguments, flat, strict=True)]
            made = [self._buffer(r, flat, symbols) for r in self.artifact.results]
            status = empty(self.on, (), np.dtype(np.int32))
            self.on.driver.fill(status.address, bytes(4))
            values = [_operand(value, spec.dtype) for value, spec in zip(given, self.artifact.arguments, strict=True)]
            values += [_operand(array, spec.dtype) for array, spec in zip(made, self.artifact.results, strict=True) if array is not None]
            returned = self._launch([*values, Buffer(status.address, "i32", 0, (), ())])
            numbers = self._taken(returned, made)
            wanted = [made[i] for i, spec in enumerate(self.artifact.results) if _comes_to_host(spec, flat, on_device)]
            site, *fetched = self._fetch([status, *wanted] if self.artifact.error_sites else [None, *wanted])
            if site is not None and site:
                return Outcome(int(site[()]))
            return Outcome(0, self._finish(flat, symbols, made, iter(numbers), iter(fetched), on_device))

    def _broken_tie(self, symbols: Mapping[str, int]) -> int:
        """The error site of the first sizes that should be equal and are not; 0 when all are."""
        ties = self.artifact.ties
        for number, (left, right) in enumerate(ties, start=len(self.artifact.error_sites) - len(ties) + 1):
            if evaluate(left, symbols) != evaluate(right, symbols):
                return number
        return 0

    # --- what goes in -----------------------------------------------------------------------------------------------

    def _argument(self, spec: ArgumentSpec, value: Any) -> Any:
        if spec.kind is not ArgumentKind.ARRAY:
            return int(value) if spec.kind is ArgumentKind.BOOL else value
        if type(value) is not DeviceArray:
            return put(self.on, value)
        if not value.size or value.address % _ALIGNMENT == 0 and (spec.layout is Layout.STRIDED or value.is_contiguous):
            return value
        return self._realigned(value)

    def _realigned(self, array: DeviceArray) -> DeviceArray:
        """A copy of the same strides whose first element lies where kernels may load it with its neighbours."""
        low, high = extent(array)
        before = array.address - low
        start = -before % _ALIGNMENT
        memory = Memory(self.on, self.on.fresh(start + high - low))
        self.on.driver.copy(memory.address + start, low, high - low)
        return DeviceArray(self.on, memory.address + start + before, array.dtype, array.shape, array.strides, memory)

    def _buffer(self, spec: ResultSpec, flat: Sequence[Any], symbols: Mapping[str, int]) -> DeviceArray | None:
        if spec.kind is ResultKind.ARGUMENT:
            like = flat[spec.argument]
            return empty(self.on, like.shape, like.dtype)
        if spec.kind is ResultKind.BUFFER:
            return empty(self.on, _sizes(spec.sizes, symbols), dtypes.BY_NAME[spec.dtype].numpy)
        return None

    def _launch(self, values: list[Any]) -> tuple[Number | Buffer, ...]:
        free = self._free_numbers
        key = tuple([(v.sizes, v.strides) if isinstance(v, Buffer) else None if i in free else repr(v) for i, v in enumerate(values)])
        if key in self._flats:
            self._flats.move_to_end(key)
            ready = self._flats[key]
        else:
            flat = flatten(self.artifact.host, values, free, self.kernels.has_library)
            ready = self._flats[key] = None if flat is None else Ready(self.kernels, flat)
            while len(self._flats) > _FLATS_KEPT:
                _, dropped = self._flats.popitem(last=False)
                if dropped is not None:
                    dropped.close()
        if ready is None:
            return run(self.artifact.host, values, DirectEngine(self.kernels))
        return ready.run([v.memory if isinstance(v, Buffer) else v for v in values])

    # --- what comes out ---------------------------------------------------------------------------------------------

    def _taken(self, returned: Sequence[Number | Buffer], made: list[DeviceArray | None]) -> list[Number]:
        """The numbers of what a host program returned. Its buffers become arrays that own their memory, in their places in `made`."""
        numbers = []
        specs = [(i, spec) for i, spec in enumerate(self.artifact.results) if spec.kind in (ResultKind.SCALAR, ResultKind.ALLOCATED)]
        for (i, spec), value in zip(specs, returned, strict=True):
            if isinstance(value, Buffer):
                made[i] = DeviceArray(
                    self.on, value.memory, dtypes.BY_NAME[spec.dtype].numpy, value.sizes, None, Memory(self.on, value.memory)
                )
            else:
                numbers.append(value)
        return numbers

    def _finish(
        self,
        flat: Sequence[Any],
        symbols: Mapping[str, int],
        made: Sequence[DeviceArray | None],
        numbers: Iterator[Number],
        fetched: Iterator[np.ndarray],
        on_device: bool,
    ) -> tuple[Any, ...]:
        """The user's results; arguments that the program writes are written."""
        results: list[Any] = []
        for spec, array in zip(self.artifact.results, made, strict=True):
            found: Any = next(fetched) if _comes_to_host(spec, flat, on_device) else array
            if spec.kind is ResultKind.ARGUMENT:
                into = flat[spec.argument]
                self._write(into, found) if type(into) is DeviceArray else np.copyto(into, found)
            elif spec.kind is ResultKind.SCALAR:
                results.append(_PYTHON[spec.dtype](next(numbers)))
            elif spec.kind is ResultKind.ALIAS:
                results.append(flat[spec.argument])
            else:
                results.append(_view(spec, flat[spec.argument], symbols) if spec.kind is ResultKind.VIEW else found)
        return tuple(results)

    def _fetch(self, arrays: Sequence[DeviceArray | None]) -> list[np.ndarray | None]:
        """Copies on the host of arrays in C order, of None nothing. Errors of kernels come out here."""
        found = [None if a is None else np.empty(a.shape, a.dtype) for a in arrays]
        try:
            for host, array in zip(found, arrays, strict=True):
                if host is not None and array is not None and array.size:
                    self.on.driver.to_host(host.ctypes.data, array.address, array.nbytes)
            if any(a is not None for a in arrays):
                self.on.driver.synchronize()
        except DriverError as e:
            raise self.kernels.blamed(e, self.artifact.host.kernels) from e
        return found

    def _write(self, into: DeviceArray, array: DeviceArray) -> None:
        """Contents of an argument that the program writes."""
        if not into.size:
            return
        if into.is_contiguous:
            self.on.driver.copy(into.address, array.address, array.nbytes)
            return
        for target, source, count in _runs(into, array):
            self.on.driver.copy(target, source, count)


def _comes_to_host(spec: ResultSpec, flat: Sequence[Any], on_device: bool) -> bool:
    """Whether what the program computes of a result is to be an array on the host."""
    if spec.kind is ResultKind.ARGUMENT:
        return type(flat[spec.argument]) is not DeviceArray
    return spec.kind in (ResultKind.BUFFER, ResultKind.ALLOCATED) and not on_device


def _runs(into: DeviceArray, array: DeviceArray) -> Sequence[tuple[int, int, int]]:
    """(target, source, bytes) of copies that fill a strided array from one in C order: as many inner dims at once as lie dense."""
    run, inner = into.itemsize, into.ndim
    while inner and (into.strides[inner - 1] == run or into.shape[inner - 1] == 1):
        inner -= 1
        run *= into.shape[inner]
    outer = into.shape[:inner]
    starts = [sum(i * s for i, s in zip(at, into.strides, strict=False)) for at in np.ndindex(*outer)]
    return [(into.address + start, array.address + n * run, run) for n, start in enumerate(starts)]


def image_for(artifact: CudaArtifact, capability: tuple[int, int], cubins: Mapping[str, bytes]) -> bytes:
    """The best code for a device: a cubin for its generation that is not newer than it, else PTX, which the driver assembles."""
    major, minor = capability
    fitting = [t for t in cubins if _numbers(t)[0] == major and _numbers(t)[1] <= minor]
    return cubins[max(fitting, key=_numbers)] if fitting else artifact.ptx.encode()


def _numbers(target: str) -> tuple[int, int]:
    return divmod(int(target.removeprefix("sm_")), 10)


def _operand(value: Any, dtype: str) -> Any:
    if type(value) is not DeviceArray:
        return value
    strides = tuple([s // value.itemsize for s in value.strides])
    return Buffer(value.address, _ELEMENTS.get(dtype, dtype), 0, value.shape, strides)


def _sizes(dims: Sequence[Dim], symbols: Mapping[str, int]) -> tuple[int, ...]:
    return tuple([evaluate(d, symbols) for d in dims])


def _view(spec: ResultSpec, base: Any, symbols: Mapping[str, int]) -> Any:
    if type(base) is not DeviceArray:
        return view(spec, base, symbols)
    strides = tuple([s * base.itemsize for s in _sizes(spec.strides, symbols)])
    start = base.address + evaluate(spec.offset, symbols) * base.itemsize
    return DeviceArray(base.on, start, base.dtype, _sizes(spec.sizes, symbols), strides, base.owner, base.writeable)


def _close(kernels: Kernels, flats: dict[Any, Ready | None]) -> None:
    """Of a plan that nobody has any more, when no kernel runs."""
    for ready in flats.values():
        if ready is not None:
            ready.close()
    kernels.close()


_PYTHON: dict[str, Any] = {"int": int, "float": float, "bool": bool}
