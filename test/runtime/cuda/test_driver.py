"""The driver's wrapper, the allocator, and what is said when there is no device; on a stand-in of the driver."""

from __future__ import annotations

import ctypes
import gc
import inspect
import re

import ml_dtypes
import numpy as np
import pytest
from compiled import artifact_of
from fake_driver import CUresult, FakeDriver

from tierup.lowering.cuda.products import schemes as product_schemes
from tierup.runtime.cuda.arrays.arrays import empty, put
from tierup.runtime.cuda.device import devices
from tierup.runtime.cuda.device.allocator import Allocator
from tierup.runtime.cuda.device.driver import Driver
from tierup.runtime.cuda.errors import DriverError, NoDevice, OutOfMemory
from tierup.runtime.cuda.plan import CudaPlan


def test_without_bindings_the_error_names_them_and_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    devices.forget()
    with pytest.raises(NoDevice, match=r"bindings of the driver are not installed.*pip install 'tierup\[cuda\]'"):
        devices.device()


def test_without_a_driver_the_error_says_so_and_what_to_do(api: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(flags: int) -> None:
        raise RuntimeError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(api, "cuInit", no_library)
    with pytest.raises(NoDevice, match=r"libcuda.so.1: cannot open.*install the driver.*cuda-or-cpu"):
        devices.device()


def test_without_a_device_the_error_names_the_variable_that_hides_them(api: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    api.refused["cuInit"] = CUresult.CUDA_ERROR_NO_DEVICE
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    for _ in range(2):
        with pytest.raises(NoDevice, match=r"CUDA_ERROR_NO_DEVICE \(cuda error no device\)\. CUDA_VISIBLE_DEVICES is '-1'"):
            devices.device()
    assert api.calls.count("cuInit") == 1  # the driver is not asked again
    del api.refused["cuInit"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert devices.device().driver.name == "A stand-in"  # but after the variable has changed


def test_an_error_of_the_driver_has_its_name_and_its_words(on: devices.Device, api: FakeDriver) -> None:
    api.refused["cuMemGetInfo"] = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DriverError, match=r"cuMemGetInfo: CUDA_ERROR_ILLEGAL_ADDRESS \(cuda error illegal address\)") as raised:
        on.driver.memory()
    assert raised.value.name == "CUDA_ERROR_ILLEGAL_ADDRESS"


def test_code_that_is_refused_comes_with_the_assemblers_words(on: devices.Device) -> None:
    with pytest.raises(DriverError, match="CUDA_ERROR_INVALID_PTX .*: ptxas fatal: no such instruction"):
        on.driver.load(b"broken")


@pytest.mark.parametrize("element", [b"\1", b"\1\2", b"\1\2\3\4", b"\1\2\3\4\5\6\7\x08", bytes(8)])
def test_memory_is_filled_with_elements_of_any_size(on: devices.Device, element: bytes) -> None:
    address = on.driver.allocate(64)
    on.driver.fill(address, element, 3)
    assert ctypes.string_at(address, 3 * len(element) + 1) == element * 3 + b"\xcb"
    on.driver.free(address)


def test_kernels_that_ask_for_much_shared_memory_are_allowed_it_before_they_are_launched(
    on: devices.Device, api: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(product_schemes, "_BY_TIME", (product_schemes.LARGE,))
    x, y = np.ones((24, 40), ml_dtypes.bfloat16), np.ones((40, 32), ml_dtypes.bfloat16)
    plan = CudaPlan(artifact_of(lambda x, y: x @ y, (x, y)), on)
    plan.run((x, y), {})  # launched only: the stand-in runs no code here, but refuses what is not allowed
    (launched,) = api.launched
    assert launched.shared == product_schemes.LARGE.shared == 96 << 10
    assert api.function_attributes == [(launched.kernel, launched.shared)]


def test_streams_wait_for_each_other_by_events(on: devices.Device, api: FakeDriver) -> None:
    on.driver.wait_for(7)
    on.driver.let_wait(8)
    (first, a), (second, b), (third, c), (fourth, d) = api.waits
    assert (first, second, third, fourth) == (7, on.driver.stream, on.driver.stream, 8) and a == b != c == d


def test_time_is_the_devices(on: devices.Device) -> None:
    assert on.driver.milliseconds(on.driver.event(), on.driver.event()) == 1.5


# --- the allocator --------------------------------------------------------------------------------------------------


class _Source:
    """Asked for memory, and with a limit."""

    def __init__(self, limit: int = 1 << 40) -> None:
        self.limit, self.used, self.held, self.waits = limit, 0, {}, 0

    def allocate(self, count: int) -> int:
        if self.used + count > self.limit:
            raise OutOfMemory("CUDA_ERROR_OUT_OF_MEMORY", "no more")
        self.used += count
        self.held[len(self.held) + 1] = count
        return len(self.held)

    def free(self, address: int) -> None:
        self.used -= self.held[address]

    def wait(self) -> None:
        self.waits += 1

    def allocator(self) -> Allocator:
        return Allocator(self.allocate, self.free, self.wait)


def test_memory_that_was_freed_is_used_again_without_asking_the_driver() -> None:
    source = _Source()
    allocator = source.allocator()
    first = allocator.allocate(1000)
    other = allocator.allocate(1000)
    assert first != other
    allocator.free(first)
    assert allocator.allocate(800) == first and len(source.held) == 2  # of the same rounded size
    assert allocator.bytes_in_use == 2048 and allocator.bytes_kept == 0


@pytest.mark.parametrize(("count", "rounded"), [(0, 512), (1, 512), (513, 1024), (1 << 20, 1 << 20), ((1 << 20) + 1, 1310720), (3 << 20, 3 << 20)])
def test_sizes_are_rounded_to_few_kinds(count: int, rounded: int) -> None:
    source = _Source()
    source.allocator().allocate(count)
    assert source.used == rounded


def test_without_memory_what_is_kept_goes_and_the_driver_is_asked_again() -> None:
    source = _Source(limit=4096)
    allocator = source.allocator()
    allocator.free(allocator.allocate(3000))
    allocator.allocate(4000)
    assert source.used == 4096 and source.waits == 1
    with pytest.raises(MemoryError, match="no 512 bytes left: tierup's arrays on it take 4,096"):
        allocator.allocate(1)
    assert allocator.bytes_in_use == 4096


def test_arrays_give_their_memory_back_when_they_go(on: devices.Device, api: FakeDriver) -> None:
    for _ in range(5):
        made = put(on, np.ones(1000, np.float32))
        part = empty(on, (2, 3), np.dtype("f8"))
        del made, part
    gc.collect()
    assert api.calls.count("cuMemAlloc") == 2


# --- the bindings ---------------------------------------------------------------------------------------------------


def test_nvidias_bindings_take_every_call_of_the_driver_as_it_is_spelled() -> None:
    """They look at a call's arguments before they look for the library, which is not there: so each call is tried on them first."""
    real = pytest.importorskip("cuda.bindings.driver")
    fake = FakeDriver()
    tried: set[str] = set()

    class Checked:
        def __getattr__(self, name: str):
            theirs, ours = getattr(real, name), getattr(fake, name, None)
            if not name.startswith("cu") or name.startswith("cuGetError"):
                return ours if name.startswith("cu") or name == "CUresult" else theirs

            def call(*arguments):
                tried.add(name)
                with pytest.raises(RuntimeError, match="driver"):  # no libcuda here; a TypeError is a wrong call
                    theirs(*arguments)
                return ours(*arguments)

            return call

    try:
        real.cuInit(0)
    except RuntimeError:
        pass
    else:
        pytest.skip("there is a driver here: tools/gpu/check.py tries the calls on it")
    driver = Driver(Checked())
    fake.parameters["k"] = 0
    module = driver.load(b".version 7.0")
    function = driver.function(module, "k", 100 << 10)
    address = driver.allocate(64)
    held = ctypes.create_string_buffer(64)
    driver.to_device(address, ctypes.addressof(held), 64)
    driver.begin_capture()
    driver.launch(function, (1, 1, 1), (32, 1, 1), 0, ctypes.addressof(held))
    graph = driver.end_capture()
    driver.launch_graph(graph)
    for element in (b"1", b"12", b"1234", b"12345678"):
        driver.fill(address, element)
    driver.copy(address, address + 32, 32)
    driver.to_host(ctypes.addressof(held), address, 64)
    driver.synchronize()
    driver.milliseconds(driver.event(), driver.event())
    driver.wait_for(1)
    driver.let_wait(1)
    driver.ordinal_of(address)
    driver.memory()
    driver.destroy_graph(graph)
    driver.free(address)
    driver.unload(module)
    driver.begin_capture()
    driver.abandon_capture()
    called = set(re.findall(r'"(cu[A-Z]\w+)"|_api\.(cu[A-Z]\w+)\(', inspect.getsource(Driver)))
    assert {a or b for a, b in called} - {"cuGetErrorName", "cuGetErrorString"} <= tried | {"cuInit"}
