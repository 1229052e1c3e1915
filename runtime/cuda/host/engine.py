"""What runs host programs on the device: the interpreter's engine, and launches that are ready to go, as a graph where they repeat."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tierup.dialect.base import switches
from tierup.lowering.artifacts.host_steps import HostProgram
from tierup.runtime.base.recent import Recent
from tierup.runtime.cuda.device.cublas import Cublas
from tierup.runtime.cuda.device.devices import Device
from tierup.runtime.cuda.errors import DriverError
from tierup.runtime.cuda.host import elements
from tierup.runtime.cuda.host.buffers import Buffer
from tierup.runtime.cuda.host.flat import Data, Flat, Given, Launch, Multiply, Temporary
from tierup.runtime.cuda.host.gemm import Gemm
from tierup.runtime.cuda.host.interpreter import Number

_SLOT = 8  # bytes; no parameter is larger
_GRAPHS_KEPT = 4  # per flat program: for so many choices of addresses
CHECK = "TIERUP_CUDA_CHECK"  # the environment variable: wait after each kernel, so that an error names the one at fault


class Kernels:
    """A module on the device: functions by name, constants, and what to say when one of them fails. `libraries`: whether NVIDIA's may
    compute products."""

    def __init__(self, on: Device, program: HostProgram, image: bytes, *, libraries: bool = True) -> None:
        self.on, self.program, self.libraries = on, program, libraries
        self._module = on.driver.load(image)
        self._functions: dict[tuple[str, int], Any] = {}
        self._constants: dict[str, int] = {}
        self.checks = switches.is_on(CHECK, unset=False)
        for name, constant in program.constants.items():
            address = on.driver.allocate(max(len(constant.data), 1))
            self._constants[name] = address
            if constant.data:
                held = ctypes.create_string_buffer(constant.data, len(constant.data))
                on.driver.to_device(address, ctypes.addressof(held), len(constant.data))
                on.driver.synchronize()

    def function(self, name: str, shared: int) -> Any:
        """A kernel, allowed so much shared memory."""
        key = name, shared
        if key not in self._functions:
            self._functions[key] = self.on.driver.function(self._module, name, shared)
        return self._functions[key]

    def has_library(self) -> bool:
        """Whether products may go to NVIDIA's library, and it is there: it is loaded when this is first asked."""
        return self.libraries and isinstance(self.on.library(), Cublas)

    def constant(self, name: str) -> int:
        """The address of a constant. Raises KeyError when the program has none of this name."""
        return self._constants[name]

    def blamed(self, error: DriverError, kernels: Sequence[str]) -> DriverError:
        """An error of the driver with the kernels that may be at fault, and the user's lines."""
        named = [f"{k} ({self.program.origins[k]})" if k in self.program.origins else k for k in dict.fromkeys(kernels)]
        who = f"the kernel {named[0]}" if len(named) == 1 else f"one of the kernels {', '.join(named)}"
        hint = "" if len(named) == 1 else f"; {CHECK}=1 in the environment tells which"
        return type(error)(error.name, f"{error} in {who}{hint}")

    def close(self) -> None:
        """Unload. To be called when no kernel of it can be running."""
        for address in self._constants.values():
            self.on.driver.free(address)
        self.on.driver.unload(self._module)


class Parameters:
    """The parameters of one launch as the driver wants them: an array of addresses of values."""

    def __init__(self, types: Sequence[str]) -> None:
        self._types = types
        self._values = (ctypes.c_uint64 * max(len(types), 1))()
        start = ctypes.addressof(self._values)
        self._pointers = (ctypes.c_void_p * max(len(types), 1))(*[start + _SLOT * i for i in range(len(types))])
        self.address = ctypes.addressof(self._pointers)

    def set(self, index: int, value: int | float) -> None:
        """Put in a number, converted to the parameter's type."""
        packed = elements.pack(value, self._types[index])
        ctypes.memmove(ctypes.addressof(self._values) + _SLOT * index, packed, len(packed))

    def set_address(self, index: int, address: int) -> None:
        """Put in an address, where the parameter is one."""
        self._values[index] = address


class DirectEngine:
    """Does what a host program says, step by step. Memory is an address."""

    def __init__(self, kernels: Kernels) -> None:
        self._kernels, self._on = kernels, kernels.on
        self._launched: list[str] = []

    def allocate(self, dtype: str, count: int) -> int:
        """The address of fresh memory for so many elements. Raises MemoryError."""
        return self._on.fresh(elements.size(dtype) * count)

    def free(self, memory: int) -> None:
        """Give memory back to the device's allocator."""
        self._on.allocator.free(memory)

    def data(self, name: str) -> int:
        """The address of the constant of this name."""
        return self._kernels.constant(name)

    def launch(self, kernel: str, grid: tuple[int, ...], block: tuple[int, ...], shared: int, parameters: tuple[Any, ...]) -> None:
        """Put a kernel on the stream. Raises DriverError, which names the kernel."""
        made = Parameters(self._kernels.program.types[kernel])
        for i, value in enumerate(parameters):
            made.set(i, value)
        self._launched.append(kernel)
        launch(self._kernels, kernel, grid, block, shared, made)

    def has_library(self) -> bool:
        """Whether `multiply` can be called: see `Kernels.has_library`."""
        return self._kernels.has_library()

    def multiply(self, name: str, gemm: Gemm, memories: tuple[Any, ...], flags: tuple[str, ...]) -> None:
        """Put a product by NVIDIA's library on the stream. Raises DriverError, which names the product."""
        multiply(self._kernels, name, gemm, memories, flags)

    def read(self, memory: int, element: int, dtype: str) -> Number:
        """One element, when all before it is done. Raises DriverError, which names the kernels that may be at fault."""
        size = elements.size(dtype)
        held = ctypes.create_string_buffer(size)
        try:
            self._on.driver.to_host(ctypes.addressof(held), memory + size * element, size)
            self._on.driver.synchronize()
        except DriverError as e:
            raise self._kernels.blamed(e, self._launched or self._kernels.program.kernels) from e
        return elements.unpack(held.raw, dtype)

    def write(self, value: Number, memory: int, element: int, dtype: str) -> None:
        """Set one element, in the stream's order: the host does not wait."""
        packed = elements.pack(value, dtype)
        self._on.driver.fill(memory + len(packed) * element, packed)


def launch(kernels: Kernels, name: str, grid: tuple[int, ...], block: tuple[int, ...], shared: int, parameters: Parameters) -> None:
    """One launch; an error names the kernel."""
    driver = kernels.on.driver
    try:
        driver.launch(kernels.function(name, shared), grid, block, shared, parameters.address)
        if kernels.checks:
            driver.synchronize()
    except DriverError as e:
        raise kernels.blamed(e, [name]) from e


def multiply(kernels: Kernels, name: str, gemm: Gemm, addresses: Sequence[int], flags: Sequence[str]) -> None:
    """A product by NVIDIA's library; an error names the program's op."""
    library = kernels.on.library()
    assert isinstance(library, Cublas)
    try:
        library.multiply(gemm, addresses, flags)
        if kernels.checks:
            kernels.on.driver.synchronize()
    except DriverError as e:
        raise type(e)(e.name, f"{e} in the product {name} ({kernels.program.origins[name]}), computed by {library}") from e


class Ready:
    """A flat program with its parameters laid out: a run puts in the addresses and launches. To be run under the device's lock.

    When a run has the very addresses of an earlier one, which it has mostly, since memory is reused, its launches become a CUDA graph:
    from then on one call of the driver launches all of them.
    """

    def __init__(self, kernels: Kernels, flat: Flat) -> None:
        self._kernels, self.flat = kernels, flat
        self._launches: list[tuple[Launch, Parameters]] = []
        self._addresses: list[tuple[Parameters, int, int]] = []  # which of the arguments each is
        self._numbers: list[tuple[Parameters, int, int]] = []
        self._temporaries: list[tuple[Parameters, int, Temporary]] = []
        self._graphs: Recent[tuple[Any, ...], Any] = Recent()  # by addresses; None when they were seen once
        self.graph_launches = 0
        self.is_closed = False
        for op in flat.launches:
            parameters = Parameters(kernels.program.types[op.kernel])
            for i, value in enumerate(op.parameters):
                if isinstance(value, Data):
                    parameters.set_address(i, kernels.constant(value.name))
                elif isinstance(value, Temporary):
                    self._temporaries.append((parameters, i, value))
                elif isinstance(value, Given):
                    is_address = kernels.program.types[op.kernel][i] == "ptr"
                    (self._addresses if is_address else self._numbers).append((parameters, i, value.index))
                else:
                    parameters.set(i, value)
            self._launches.append((op, parameters))

    def run(self, given: Sequence[Any]) -> tuple[Number | Buffer, ...]:
        """`given`: the address of each array, and each number. Buffers that come back are the caller's."""
        on = self._kernels.on
        made = [on.fresh(count) for count in self.flat.handed]
        try:
            given = [*given, *made]
            self._launched(given)
            return tuple([_returned(v, given) for v in self.flat.returns])
        except BaseException:
            for address in made:
                on.allocator.free(address)
            raise

    def _launched(self, given: Sequence[Any]) -> None:
        on = self._kernels.on
        arena = on.fresh(self.flat.bytes) if self.flat.bytes else 0
        try:
            key = (arena, *[repr(v) if type(v) is float else v for v in given])  # -0.0 is not 0.0
            graph = self._graphs.use(key)
            if graph is not None:
                on.driver.launch_graph(graph)
                self.graph_launches += 1
                return
            self._patch(arena, given)
            if key in self._graphs and not self._kernels.checks:
                self._graphs[key] = self._captured(arena, given)
                on.driver.launch_graph(self._graphs[key])
                self.graph_launches += 1
                return
            self._put(arena, given)
            if len(self.flat.ops) > 1:
                for _, dropped in self._graphs.keep(key, None, _GRAPHS_KEPT):
                    self._drop(dropped)
        finally:
            if arena:
                on.allocator.free(arena)

    def _patch(self, arena: int, given: Sequence[Any]) -> None:
        for parameters, i, index in self._addresses:
            parameters.set_address(i, given[index])
        for parameters, i, index in self._numbers:
            parameters.set(i, given[index])
        for parameters, i, temporary in self._temporaries:
            parameters.set_address(i, arena + temporary.offset)

    def _put(self, arena: int, given: Sequence[Any]) -> None:
        """Put everything on the stream."""
        driver = self._kernels.on.driver
        launches = iter(self._launches)
        for op in self.flat.ops:
            if isinstance(op, Launch):
                _, parameters = next(launches)
                launch(self._kernels, op.kernel, op.grid, op.block, op.shared, parameters)
                continue
            if isinstance(op, Multiply):
                multiply(self._kernels, op.name, op.gemm, [self._address(m, arena, given) for m in op.memories], op.flags)
                continue
            packed = elements.pack(op.value, op.dtype)
            driver.fill(self._address(op.memory, arena, given) + len(packed) * op.element, packed)

    def _address(self, memory: Any, arena: int, given: Sequence[int]) -> int:
        if isinstance(memory, Data):
            return self._kernels.constant(memory.name)
        address: int = given[memory.index] if isinstance(memory, Given) else arena + memory.offset
        return address

    def capture(self, given: Sequence[Any]) -> tuple[Any, int]:
        """A run as a graph, and the address of memory for its temporaries: both the caller's. To be called under the device's lock."""
        on = self._kernels.on
        arena = on.fresh(self.flat.bytes) if self.flat.bytes else 0
        try:
            self._patch(arena, given)
            return self._captured(arena, given), arena
        except BaseException:
            if arena:
                on.allocator.free(arena)
            raise

    def _captured(self, arena: int, given: Sequence[Any]) -> Any:
        driver = self._kernels.on.driver
        driver.begin_capture()
        try:
            self._put(arena, given)
        except BaseException:
            driver.abandon_capture()
            raise
        return driver.end_capture()

    def _drop(self, graph: Any) -> None:
        if graph is not None:
            self._kernels.on.driver.destroy_graph(graph)

    def close(self) -> None:
        """Let graphs go. One that is running is run to its end by the driver."""
        self.is_closed = True
        while self._graphs:
            self._drop(self._graphs.popitem()[1])


def _returned(value: Given | Number | Buffer, given: Sequence[Any]) -> Any:
    """A number, or a buffer."""
    if isinstance(value, Buffer):
        return replace(value, memory=given[value.memory.index])
    return given[value.index] if isinstance(value, Given) else value
