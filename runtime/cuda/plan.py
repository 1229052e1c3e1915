"""A compiled program on the device: arguments moved where they must be, kernels launched, results handed over.

    plan = CudaPlan(artifact, device())
    outcome = plan.run(flat, symbols)     # symbols: of sizes and strides, as the guards found them
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import evaluate
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.artifacts.host_steps import walk
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout, ResultKind, ResultSpec
from tierup.runtime.base.recent import Recent
from tierup.runtime.cuda.arrays.arrays import DeviceArray, Memory, copy_of, empty, put
from tierup.runtime.cuda.device.devices import Device
from tierup.runtime.cuda.errors import DriverError
from tierup.runtime.cuda.host.buffers import Buffer
from tierup.runtime.cuda.host.engine import DirectEngine, Kernels, Ready
from tierup.runtime.cuda.host.exits import ALIGNMENT, operands, python_number, sizes_of, view_of
from tierup.runtime.cuda.host.flat import flatten, free_numbers
from tierup.runtime.cuda.host.interpreter import Left, Number, run

_FLATS_KEPT = 16  # per plan: for so many choices of sizes and numbers
NO_STATUS = 0  # the address that programs without checks get
_ELEMENTS = {d.name: f"i{8 * d.itemsize}" for d in (*dtypes.INTS, dtypes.bool_)}  # what MLIR calls them at the boundary


@dataclass(frozen=True)
class Outcome:
    """`site`: 0, or the number of the error site that failed, from 1. `exit`: the exit that was taken, or -1; `live`: the operands of
    its bailout. At either there are no results, and nothing was written."""

    site: int
    results: tuple[Any, ...] = ()
    exit: int = -1
    live: tuple[Any, ...] = ()
    ready: Ready | None = None  # what was launched, where it hangs on no value on the device


class CudaPlan:
    """Raises DriverError when the driver does not take the code. `cubins`: code by target, for devices that need no assembling;
    `libraries`: whether NVIDIA's may compute products. Thread-safe."""

    address = 0  # a native entry cannot call it

    def __init__(self, artifact: CudaArtifact, on: Device, cubins: Mapping[str, bytes] | None = None, *, libraries: bool = True) -> None:
        self.artifact, self.on = artifact, on
        self.kernels = Kernels(on, artifact.host, image_for(artifact, on.driver.capability, cubins or {}), libraries=libraries)
        self.free_numbers = free_numbers(artifact.host)
        self._flats: Recent[tuple[Any, ...], Ready | None] = Recent()
        self._exits = {site.index: site for site in artifact.exits}
        self._lost = (-1, 0)
        self.reads: Counter[int] = Counter()  # how often the host waited for a number, by the number that the read gives
        weakref.finalize(self, on.later, partial(_close, self.kernels, self._flats)).atexit = False

    @property
    def graph_launches(self) -> int:
        """How many calls were one launch of a graph."""
        return sum(ready.graph_launches for ready in self._flats.values() if ready is not None)

    @property
    def checks_on_device(self) -> bool:
        """Whether kernels check something. Sizes that must be equal are compared on the host."""
        return len(self.artifact.error_sites) > len(self.artifact.ties)

    @property
    def forcible(self) -> bool:
        """Whether it was compiled for `force`."""
        return any(step[0] == "forced" for step in walk(self.artifact.host.steps))

    def force(self, index: int = -1, evaluation: int = 0) -> None:
        """As `NativeCode.force`: from now on every call lets this assumption fail at this evaluation in the call; -1: none."""
        if index >= 0 and not (self.forcible and index in self._exits):
            raise ValueError(f"this code was not compiled to lose bailout {index} at will")
        self._lost = index, evaluation

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
            status = self._status()
            values = [_operand(value, spec.dtype) for value, spec in zip(given, self.artifact.arguments, strict=True)]
            values += [_operand(array, spec.dtype) for array, spec in zip(made, self.artifact.results, strict=True) if array is not None]
            values.append(Buffer(NO_STATUS if status is None else status.address, "i32", 0, (), ()))
            try:
                ready = self._ready(values)
                if ready is None:
                    returned = run(self.artifact.host, values, DirectEngine(self.kernels), lost=self._lost, reads=self.reads)
                else:
                    returned = ready.run([v.memory if isinstance(v, Buffer) else v for v in values])
            except Left as left:
                return self._left(left, flat, symbols, [*(g for g, f in zip(given, flat, strict=True) if g is not f), *made], status)
            numbers = self._taken(returned, made)
            wanted = [made[i] for i, spec in enumerate(self.artifact.results) if _comes_to_host(spec, flat, on_device)]
            site, *fetched = self._fetch([status, *wanted])
            if site is not None and site:
                return Outcome(int(site[()]))
            return Outcome(0, self._finish(flat, symbols, made, iter(numbers), iter(fetched), on_device), ready=ready)

    def _left(self, left: Left, flat: Sequence[Any], symbols: Mapping[str, int], own: Sequence[Any], status: DeviceArray | None) -> Outcome:
        """What a call gives that ended at an exit. A check that failed before wins. `own`: what was made for this call."""
        live = operands(self.on, self._exits[left.index], left, flat, symbols, [a for a in own if type(a) is DeviceArray])
        [site] = self._fetch([status])
        if site is not None and site:
            return Outcome(int(site[()]))
        return Outcome(0, exit=left.index, live=live)

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
        if not value.size or value.address % ALIGNMENT == 0 and (spec.layout is Layout.STRIDED or value.is_contiguous):
            return value
        return copy_of(value, ALIGNMENT)

    def _buffer(self, spec: ResultSpec, flat: Sequence[Any], symbols: Mapping[str, int]) -> DeviceArray | None:
        if spec.kind is ResultKind.ARGUMENT:
            return empty(self.on, sizes_of(spec.sizes, symbols), flat[spec.argument].dtype)
        if spec.kind is ResultKind.BUFFER:
            return empty(self.on, sizes_of(spec.sizes, symbols), dtypes.BY_NAME[spec.dtype].numpy)
        return None

    def _status(self) -> DeviceArray | None:
        """Where kernels note which check failed; None where they check nothing."""
        if not self.checks_on_device:
            return None
        made = empty(self.on, (), np.dtype(np.int32))
        self.on.driver.fill(made.address, bytes(4))
        return made

    def _ready(self, values: list[Any]) -> Ready | None:
        """The launches for such arguments; None where they hang on what the program reads from the device."""
        free = self.free_numbers
        key = tuple([(v.sizes, v.strides) if isinstance(v, Buffer) else None if i in free else repr(v) for i, v in enumerate(values)])
        if key in self._flats:
            return self._flats.use(key)
        flat = flatten(self.artifact.host, values, free, self.kernels.has_library)
        ready = None if flat is None else Ready(self.kernels, flat)
        for _, dropped in self._flats.keep(key, ready, _FLATS_KEPT):
            if dropped is not None:
                dropped.close()
        return ready

    # --- what comes out ---------------------------------------------------------------------------------------------

    def _taken(self, returned: Sequence[Number | Buffer], made: list[DeviceArray | None]) -> list[Number]:
        """The numbers of what a host program returned. Its buffers become arrays that own their memory, in their places in `made`."""
        numbers = []
        specs = [(i, spec) for i, spec in enumerate(self.artifact.results) if spec.kind in (ResultKind.SCALAR, ResultKind.ALLOCATED)]
        for (i, spec), value in zip(specs, returned, strict=True):
            if isinstance(value, Buffer):
                made[i] = self.owned(spec, value)
            else:
                numbers.append(value)
        return numbers

    def owned(self, spec: ResultSpec, buffer: Buffer) -> DeviceArray:
        """An array of memory that a host program handed over."""
        memory = Memory(self.on, buffer.memory)
        return DeviceArray(self.on, buffer.memory, dtypes.BY_NAME[spec.dtype].numpy, buffer.sizes, None, memory)

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
                results.append(python_number(next(numbers), spec.dtype))
            elif spec.kind is ResultKind.ALIAS:
                results.append(flat[spec.argument])
            else:
                results.append(view_of(spec, flat[spec.argument], symbols) if spec.kind is ResultKind.VIEW else found)
        return tuple(results)

    def _fetch(self, arrays: Sequence[DeviceArray | None]) -> list[Any]:
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


def _close(kernels: Kernels, flats: dict[Any, Ready | None]) -> None:
    """Of a plan that nobody has any more, when no kernel runs."""
    for ready in flats.values():
        if ready is not None:
            ready.close()
    kernels.close()
