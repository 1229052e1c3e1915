"""NVIDIA's driver API, as far as plans need it: one device, its primary context, one stream.

Every call here is one call of the driver through NVIDIA's Python bindings (`cuda.bindings.driver`), which the constructor is given;
errors are exceptions. Addresses, streams, events, functions and graphs are the driver's own, as ints or the bindings' objects.

The context is the device's primary one, which PyTorch and CuPy use too, and the stream is one that the driver orders with the default
stream (CUDA Driver API, "Stream synchronization behavior"): what these put on that before a call is done before our kernels run.
"""

from __future__ import annotations

import ctypes
from typing import Any

from tierup.runtime.cuda.errors import DriverError, NoDevice, OutOfMemory

_LOG_BYTES = 8192


class Driver:
    """Raises DriverError, of which OutOfMemory is one, from every method; the constructor raises NoDevice."""

    def __init__(self, api: Any, ordinal: int = 0) -> None:
        self._api = api
        try:
            error = int(api.cuInit(0)[0])
        except Exception as e:  # noqa: BLE001 - the bindings raise kinds of their own when there is no libcuda
            raise NoDevice(f"NVIDIA's driver is not there: {str(e).splitlines()[0].rstrip('.')}") from e
        if error:
            raise NoDevice(f"NVIDIA's driver found no device: {self._describe(error)[1]}")
        count = self._call("cuDeviceGetCount")
        if not 0 <= ordinal < count:
            raise NoDevice(f"NVIDIA's driver found no device number {ordinal}; it shows {count}")
        self.ordinal = ordinal
        self._device = self._call("cuDeviceGet", ordinal)
        self._context = self._call("cuDevicePrimaryCtxRetain", self._device)
        self.make_current()
        self.name = self._call("cuDeviceGetName", 256, self._device).split(b"\0")[0].decode()
        attribute = api.CUdevice_attribute
        self.capability = (
            int(self._call("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, self._device)),
            int(self._call("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, self._device)),
        )
        self.version = int(self._call("cuDriverGetVersion"))
        flags = api.CUstream_flags
        self._stream = self._call("cuStreamCreate", int(flags.CU_STREAM_DEFAULT))
        # Captures are recorded on a stream of their own: while one that is ordered with the default stream records, the driver refuses
        # other libraries the default stream.
        self._recording = self._call("cuStreamCreate", int(flags.CU_STREAM_NON_BLOCKING))
        self._to = self._stream  # where what comes next is put

    @property
    def stream(self) -> int:
        """The handle of the stream that everything here is put on."""
        return int(self._stream)

    @property
    def target(self) -> int:
        """The handle of the stream that what comes next is put on: `stream`, or the one that records."""
        return int(self._to)

    def make_current(self) -> None:
        """To be called in each thread, before anything else: other libraries may have set another context."""
        self._call("cuCtxSetCurrent", self._context)

    # --- memory -----------------------------------------------------------------------------------------------------

    def allocate(self, count: int) -> int:
        """The address of so many bytes, a multiple of 256."""
        return int(self._call("cuMemAlloc", count))

    def free(self, address: int) -> None:
        """Give back memory that `allocate` gave."""
        self._call("cuMemFree", address)

    def memory(self) -> tuple[int, int]:
        """(free, total) bytes."""
        free, total = self._call("cuMemGetInfo")
        return int(free), int(total)

    def to_device(self, address: int, source: int, count: int) -> None:
        """Copy bytes from the host; they may be changed when this returns."""
        self._call("cuMemcpyHtoDAsync", address, source, count, self._to)

    def to_host(self, target: int, address: int, count: int) -> None:
        """Copy bytes to the host; they are there after `synchronize`."""
        self._call("cuMemcpyDtoHAsync", target, address, count, self._to)

    def copy(self, target: int, source: int, count: int) -> None:
        """Copy bytes on the device."""
        self._call("cuMemcpyDtoDAsync", target, source, count, self._to)

    def fill(self, address: int, element: bytes, count: int = 1) -> None:
        """Set `count` elements of 1, 2, 4 or 8 bytes."""
        if len(element) == 8:
            low, high = element[:4], element[4:]
            if low != high:
                for i in range(count):
                    self.fill(address + 8 * i, low)
                    self.fill(address + 8 * i + 4, high)
                return
            element, count = low, 2 * count
        name = {1: "cuMemsetD8Async", 2: "cuMemsetD16Async", 4: "cuMemsetD32Async"}[len(element)]
        self._call(name, address, int.from_bytes(element, "little"), count, self._to)

    def ordinal_of(self, address: int) -> int:
        """The number of the device that an address belongs to."""
        return int(self._call("cuPointerGetAttribute", self._api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address))

    # --- kernels ----------------------------------------------------------------------------------------------------

    def load(self, image: bytes) -> Any:
        """A module from PTX or a cubin. What the driver's assembler says of PTX that it refuses is in the message."""
        option = self._api.CUjit_option
        log = bytearray(_LOG_BYTES)
        names = [option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        held = ctypes.create_string_buffer(image)  # PTX is a string to the driver: it ends with a zero
        error, module = self._api.cuModuleLoadDataEx(ctypes.addressof(held), len(names), names, [log, _LOG_BYTES])
        if int(error):
            said = log.split(b"\0")[0].decode(errors="replace").strip()
            name, described = self._describe(error)
            raise DriverError(name, f"the driver does not take the kernels' code: {described}" + (f": {said}" if said else ""))
        return module

    def unload(self, module: Any) -> None:
        """Let a module go. No kernel of it may be running."""
        self._call("cuModuleUnload", module)

    def function(self, module: Any, name: str, shared: int = 0) -> Any:
        """A kernel. `shared`: the most bytes of shared memory that a launch asks for at run time, beyond the 48 KiB that all may have."""
        function = self._call("cuModuleGetFunction", module, name.encode())
        if shared > 48 << 10:
            attribute = self._api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call("cuFuncSetAttribute", function, attribute, shared)
        return function

    def launch(self, function: Any, grid: tuple[int, ...], block: tuple[int, ...], shared: int, parameters: int) -> None:
        """`parameters`: the address of an array of addresses, one per parameter, read before this returns."""
        self._call("cuLaunchKernel", function, *grid, *block, shared, self._to, parameters, 0)

    # --- order ------------------------------------------------------------------------------------------------------

    def synchronize(self) -> None:
        """Wait until all that was put on the stream is done. Errors of kernels come out here."""
        self._call("cuStreamSynchronize", self._stream)

    def wait_for(self, stream: int) -> None:
        """Let what comes next wait for what is on another stream by now."""
        self._wait(self._stream, stream)

    def let_wait(self, stream: int) -> None:
        """Let what comes next on another stream wait for what is on ours by now."""
        self._wait(stream, self._stream)

    def _wait(self, later: Any, earlier: Any) -> None:
        event = self._call("cuEventCreate", int(self._api.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        try:
            self._call("cuEventRecord", event, earlier)
            self._call("cuStreamWaitEvent", later, event, 0)
        finally:
            self._call("cuEventDestroy", event)  # the driver keeps it until it has happened

    def event(self) -> Any:
        """A mark on the stream, now; `milliseconds` tells the time between two."""
        event = self._call("cuEventCreate", int(self._api.CUevent_flags.CU_EVENT_DEFAULT))
        self._call("cuEventRecord", event, self._stream)
        return event

    def milliseconds(self, start: Any, end: Any) -> float:
        """Between two marks, on the device's clock. Waits for the second, and ends both."""
        self._call("cuEventSynchronize", end)
        spent = float(self._call("cuEventElapsedTime", start, end))
        for event in (start, end):
            self._call("cuEventDestroy", event)
        return spent

    # --- graphs -----------------------------------------------------------------------------------------------------

    def begin_capture(self) -> None:
        """From here on launches, fills and copies are recorded, not run. Of other threads' calls the driver takes no notice."""
        self._call("cuStreamBeginCapture", self._recording, self._api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        self._to = self._recording

    def end_capture(self) -> Any:
        """What was recorded, ready to be launched."""
        self._to = self._stream
        graph = self._call("cuStreamEndCapture", self._recording)
        try:
            return self._call("cuGraphInstantiate", graph, 0)
        finally:
            self._call("cuGraphDestroy", graph)

    def abandon_capture(self) -> None:
        """End a recording that went wrong, whatever the driver says of it."""
        self._to = self._stream
        self._api.cuStreamEndCapture(self._recording)

    def launch_graph(self, graph: Any) -> None:
        """Put what was recorded on the stream. `graph`: what `end_capture` gave."""
        self._call("cuGraphLaunch", graph, self._stream)

    def destroy_graph(self, graph: Any) -> None:
        """Let go of what `end_capture` gave."""
        self._call("cuGraphExecDestroy", graph)

    # ----------------------------------------------------------------------------------------------------------------

    def _call(self, name: str, *arguments: Any) -> Any:
        error, *values = getattr(self._api, name)(*arguments)
        if int(error):
            found, described = self._describe(error)
            kind = OutOfMemory if found == "CUDA_ERROR_OUT_OF_MEMORY" else DriverError
            raise kind(found, f"{name}: {described}")
        return values[0] if len(values) == 1 else tuple(values)

    def _describe(self, error: Any) -> tuple[str, str]:
        """The driver's name of an error, and that with its words."""
        result = self._api.CUresult(int(error))
        _, name = self._api.cuGetErrorName(result)
        _, words = self._api.cuGetErrorString(result)
        found = name.decode() if name else f"error {int(error)}"
        return found, f"{found} ({words.decode()})" if words else found
