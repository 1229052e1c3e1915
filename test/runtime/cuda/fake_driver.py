"""A stand-in for `cuda.bindings.driver`: memory is the host's, launches are written down, and kernels are Python functions.

It tests the host's part: what is allocated, moved, launched with which parameters, waited for. That a kernel is right it cannot say.

    api = FakeDriver()
    api.kernels["f_0"] = lambda k: np.add(k.array(0, "f4", 5), k.scalar(1, "f8"), out=k.array(2, "f4", 5), casting="unsafe")
    driver = Driver(api)

Copies and kernels happen at once, but during a capture, when they are kept for the graph's launches. What is allocated is poisoned, what
is freed too, and around it lie zones that nobody may write (`check_zones`).
"""

from __future__ import annotations

import ctypes
import enum
from dataclasses import dataclass, field
from typing import Any

import numpy as np

POISON, ZONE, ZONE_BYTES = 0xCB, 0xA5, 256


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900


class _Names(enum.IntEnum):
    """The bindings' enumerations, whatever their numbers."""

    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
    CU_STREAM_DEFAULT = 0
    CU_STREAM_NON_BLOCKING = 1
    CU_EVENT_DEFAULT = 0
    CU_EVENT_DISABLE_TIMING = 2
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9
    CU_JIT_ERROR_LOG_BUFFER = 5
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1


@dataclass
class Launched:
    """A launch as the driver saw it. `raw`: addresses of the values of its parameters."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    values: list[bytes] = field(default_factory=list)

    def scalar(self, index: int, dtype: str) -> Any:
        return np.frombuffer(self.values[index], dtype, 1)[0]

    def address(self, index: int) -> int:
        return int(self.scalar(index, "u8"))

    def array(self, index: int, dtype: str, *shape: int) -> np.ndarray:
        """The memory that a parameter points to, as an array in C order."""
        count = int(np.prod(shape, dtype=np.int64))
        raw = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(self.address(index))
        return np.frombuffer(raw, dtype, count).reshape(shape)


class FakeDriver:
    """See the module. `capability`, `memory` (bytes in all) may be set; `calls` has the name of every call."""

    CUresult = CUresult
    CUdevice_attribute = CUstream_flags = CUevent_flags = CUpointer_attribute = CUjit_option = CUfunction_attribute = _Names
    CUstreamCaptureMode = _Names

    def __init__(self, capability: tuple[int, int] = (9, 0), memory: int = 1 << 30) -> None:
        self.capability, self.total = capability, memory
        self.calls: list[str] = []
        self.launched: list[Launched] = []
        self.kernels: dict[str, Any] = {}  # by name; one that is not here does nothing
        self.code: dict[tuple[str, str], Any] = {}  # as `kernels`, by name and PTX (thread_emulator.py)
        self.parameters: dict[str, int] = {}  # how many a kernel has, by name; else as many as its PTX declares
        self.images: list[bytes] = []
        self.waits: list[tuple[int, int]] = []  # (stream, event)
        self.refused: dict[str, CUresult] = {}  # calls that fail, by name
        self.at_wait: CUresult | None = None  # what the next synchronisation fails with
        self.ordinals: dict[int, int] = {}  # of addresses on other devices
        self._memory: dict[int, tuple[Any, int]] = {}
        self._capturing: list[Any] | None = None
        self._capturing_on = 0
        self.streams: dict[int, int] = {}
        self._graphs: dict[int, list[Any]] = {}
        self._handles = iter(range(1000, 1 << 30))
        self._modules: dict[int, bytes] = {}
        self._functions: dict[int, tuple[str, int, str]] = {}
        self.function_attributes: list[tuple[str, int]] = []

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("cu") and not name.startswith("cuGetError"):
            self.calls.append(name)
            if name in self.refused:
                return lambda *a: (self.refused[name], 0)
        return found

    @property
    def allocated(self) -> int:
        """Bytes in use."""
        return sum(count for _, count in self._memory.values())

    def check_zones(self) -> None:
        """Raise AssertionError if something was written beside what was allocated."""
        for base, (held, count) in self._memory.items():
            raw = (ctypes.c_ubyte * (count + 2 * ZONE_BYTES)).from_address(base - ZONE_BYTES)
            around = bytes(raw[:ZONE_BYTES]) + bytes(raw[ZONE_BYTES + count :])
            assert set(around) == {ZONE}, f"something was written beside {count} bytes"

    # --- the driver -------------------------------------------------------------------------------------------------

    def cuInit(self, flags: int) -> tuple[int]:
        return (CUresult.CUDA_SUCCESS,)

    def cuDriverGetVersion(self) -> tuple[int, int]:
        return CUresult.CUDA_SUCCESS, 13000

    def cuGetErrorName(self, error: int) -> tuple[int, bytes]:
        return CUresult.CUDA_SUCCESS, CUresult(error).name.encode()

    def cuGetErrorString(self, error: int) -> tuple[int, bytes]:
        return CUresult.CUDA_SUCCESS, CUresult(error).name.lower().replace("_", " ").encode()

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return CUresult.CUDA_SUCCESS, 1

    def cuDeviceGet(self, ordinal: int) -> tuple[int, int]:
        return CUresult.CUDA_SUCCESS, ordinal

    def cuDeviceGetName(self, length: int, device: int) -> tuple[int, bytes]:
        return CUresult.CUDA_SUCCESS, b"A stand-in\0\0\0"

    def cuDeviceGetAttribute(self, attribute: int, device: int) -> tuple[int, int]:
        return CUresult.CUDA_SUCCESS, self.capability[attribute - 75]

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int, int]:
        return CUresult.CUDA_SUCCESS, 77

    def cuCtxSetCurrent(self, context: int) -> tuple[int]:
        return (CUresult.CUDA_SUCCESS,)

    def cuStreamCreate(self, flags: int) -> tuple[int, int]:
        made = next(self._handles)
        self.streams[made] = flags
        return CUresult.CUDA_SUCCESS, made

    def cuStreamSynchronize(self, stream: int) -> tuple[int]:
        failed, self.at_wait = self.at_wait, None
        return (failed or CUresult.CUDA_SUCCESS,)

    def cuMemGetInfo(self) -> tuple[int, int, int]:
        return CUresult.CUDA_SUCCESS, self.total - self.allocated, self.total

    def cuMemAlloc(self, count: int) -> tuple[int, int]:
        if self._capturing is not None:
            return CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 0
        if self.allocated + count > self.total:
            return CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
        held = (ctypes.c_ubyte * (count + 2 * ZONE_BYTES + 256))()
        base = -(-(ctypes.addressof(held) + ZONE_BYTES) // 256) * 256
        ctypes.memset(base - ZONE_BYTES, ZONE, count + 2 * ZONE_BYTES)
        ctypes.memset(base, POISON, count)
        self._memory[base] = held, count
        return CUresult.CUDA_SUCCESS, base

    def cuMemFree(self, address: int) -> tuple[int]:
        if address not in self._memory:
            return (CUresult.CUDA_ERROR_INVALID_VALUE,)
        _, count = self._memory.pop(address)
        ctypes.memset(address, POISON, count)
        return (CUresult.CUDA_SUCCESS,)

    def cuPointerGetAttribute(self, attribute: int, address: int) -> tuple[int, int]:
        return CUresult.CUDA_SUCCESS, self.ordinals.get(address, 0)

    def cuMemcpyHtoDAsync(self, target: int, source: int, count: int, stream: int) -> tuple[int]:
        return self._do(lambda: ctypes.memmove(target, source, count), stream, (target, count))

    def cuMemcpyDtoHAsync(self, target: int, source: int, count: int, stream: int) -> tuple[int]:
        return self._do(lambda: ctypes.memmove(target, source, count), stream, (source, count))

    def cuMemcpyDtoDAsync(self, target: int, source: int, count: int, stream: int) -> tuple[int]:
        return self._do(lambda: ctypes.memmove(target, source, count), stream, (target, count), (source, count))

    def cuMemsetD8Async(self, address: int, value: int, count: int, stream: int) -> tuple[int]:
        return self._set(address, value, count, 1, stream)

    def cuMemsetD16Async(self, address: int, value: int, count: int, stream: int) -> tuple[int]:
        return self._set(address, value, count, 2, stream)

    def cuMemsetD32Async(self, address: int, value: int, count: int, stream: int) -> tuple[int]:
        return self._set(address, value, count, 4, stream)

    def _set(self, address: int, value: int, count: int, size: int, stream: int) -> tuple[int]:
        data = value.to_bytes(size, "little") * count
        return self._do(lambda: ctypes.memmove(address, data, len(data)), stream, (address, len(data)))

    def _do(self, work: Any, stream: int, *spans: tuple[int, int]) -> tuple[int]:
        for start, count in spans:
            if not any(base <= start and start + count <= base + held for base, (_, held) in self._memory.items()):
                return (CUresult.CUDA_ERROR_ILLEGAL_ADDRESS,)
        if self._capturing is not None and stream == self._capturing_on:
            self._capturing.append(work)
        else:
            work()
        return (CUresult.CUDA_SUCCESS,)

    def cuModuleLoadDataEx(self, image: int, count: int, names: list[int], values: list[Any]) -> tuple[int, int]:
        found = ctypes.string_at(image)
        if found.startswith(b"broken"):
            said = b"ptxas fatal: no such instruction"
            values[0][: len(said)] = said
            return CUresult.CUDA_ERROR_INVALID_PTX, 0
        self.images.append(found)
        handle = next(self._handles)
        self._modules[handle] = found
        return CUresult.CUDA_SUCCESS, handle

    def cuModuleUnload(self, module: int) -> tuple[int]:
        del self._modules[module]
        return (CUresult.CUDA_SUCCESS,)

    def cuModuleGetFunction(self, module: int, name: bytes) -> tuple[int, int]:
        count = self.parameters.get(name.decode())
        if count is None:
            declared = self._modules[module].partition(b".entry " + name + b"(")[2].partition(b")")[0]
            if not self._modules[module].count(b".entry " + name + b"("):
                return CUresult.CUDA_ERROR_NOT_FOUND, 0
            count = declared.count(b".param")
        handle = next(self._handles)
        self._functions[handle] = name.decode(), count, self._modules[module].decode(errors="replace")
        return CUresult.CUDA_SUCCESS, handle

    def cuFuncSetAttribute(self, function: int, attribute: int, value: int) -> tuple[int]:
        self.function_attributes.append((self._functions[function][0], value))
        return (CUresult.CUDA_SUCCESS,)

    def cuLaunchKernel(self, function: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, *rest: int) -> tuple[int]:
        shared, stream, parameters, _ = rest
        name, count, ptx = self._functions[function]
        if not all((gx, gy, gz, bx, by, bz)) or bx * by * bz > 1024 or gy > 65535 or gz > 65535:
            return (CUresult.CUDA_ERROR_INVALID_VALUE,)
        if shared > max([48 << 10, *[most for allowed, most in self.function_attributes if allowed == name]]):
            return (CUresult.CUDA_ERROR_INVALID_VALUE,)
        pointers = (ctypes.c_void_p * count).from_address(parameters)
        launched = Launched(name, (gx, gy, gz), (bx, by, bz), shared, [ctypes.string_at(p, 8) for p in pointers])

        def run() -> None:
            self.launched.append(launched)
            kernel = self.kernels.get(name) or self.code.get((name, ptx))
            if kernel is not None:
                kernel(launched)

        return self._do(run, stream)

    def cuEventCreate(self, flags: int) -> tuple[int, int]:
        return CUresult.CUDA_SUCCESS, next(self._handles)

    def cuEventRecord(self, event: int, stream: int) -> tuple[int]:
        self.waits.append((stream, event))
        return (CUresult.CUDA_SUCCESS,)

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> tuple[int]:
        self.waits.append((stream, event))
        return (CUresult.CUDA_SUCCESS,)

    def cuEventSynchronize(self, event: int) -> tuple[int]:
        return (CUresult.CUDA_SUCCESS,)

    def cuEventElapsedTime(self, start: int, end: int) -> tuple[int, float]:
        return CUresult.CUDA_SUCCESS, 1.5

    def cuEventDestroy(self, event: int) -> tuple[int]:
        return (CUresult.CUDA_SUCCESS,)

    def cuStreamBeginCapture(self, stream: int, mode: int) -> tuple[int]:
        assert self.streams[stream] == _Names.CU_STREAM_NON_BLOCKING, "the default stream is refused to others meanwhile"
        self._capturing, self._capturing_on = [], stream
        return (CUresult.CUDA_SUCCESS,)

    def cuStreamEndCapture(self, stream: int) -> tuple[int, int]:
        handle = next(self._handles)
        self._graphs[handle], self._capturing = self._capturing or [], None
        return CUresult.CUDA_SUCCESS, handle

    def cuGraphInstantiate(self, graph: int, flags: int) -> tuple[int, int]:
        return CUresult.CUDA_SUCCESS, graph

    def cuGraphDestroy(self, graph: int) -> tuple[int]:
        return (CUresult.CUDA_SUCCESS,)

    def cuGraphLaunch(self, graph: int, stream: int) -> tuple[int]:
        for work in self._graphs[graph]:
            work()
        return (CUresult.CUDA_SUCCESS,)

    def cuGraphExecDestroy(self, graph: int) -> tuple[int]:
        del self._graphs[graph]
        return (CUresult.CUDA_SUCCESS,)
