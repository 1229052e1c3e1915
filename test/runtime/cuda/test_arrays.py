"""Arrays on the device (a stand-in's): copies there and back, views, and exchange with other libraries without a copy."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from fake_driver import FakeDriver

from tierup.dialect.base import dtypes
from tierup.runtime.cuda.arrays import arrays, dlpack
from tierup.runtime.cuda.arrays.arrays import DeviceArray, device_array, put, taken, to_host
from tierup.runtime.cuda.device.devices import Device


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)], ids=str)
def test_an_array_comes_back_as_it_went(on: Device, dtype: dtypes.DType, shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype.numpy)
    there = put(on, x)
    assert there.shape == shape and there.dtype == x.dtype and there.is_contiguous and there.address % 256 == 0
    back = there.numpy()
    assert back.dtype == x.dtype and back.shape == shape and np.array_equal(back, x)


def test_what_is_not_in_c_order_is_when_it_is_there(on: Device) -> None:
    x = np.arange(12.0).reshape(3, 4).T[::-1]
    assert np.array_equal(put(on, x).numpy(), x) and put(on, x).is_contiguous


def test_a_dtype_that_programs_cannot_hold_is_refused(on: Device) -> None:
    with pytest.raises(TypeError, match="arrays of complex128 have no place"):
        put(on, np.ones(2, complex))
    with pytest.raises(TypeError, match="not list"):
        device_array([1, 2])


def test_nothing_is_copied_to_the_host_unasked(on: Device) -> None:
    with pytest.raises(TypeError, match=r"call its numpy\(\)"):
        np.add(put(on, np.ones(3)), 1)


def _view(base: DeviceArray, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> DeviceArray:
    size = base.itemsize
    return DeviceArray(base.on, base.address + start * size, base.dtype, shape, [s * size for s in strides], base.owner)


def test_copies_on_the_host_share_memory_where_the_originals_do(on: Device) -> None:
    base = put(on, np.arange(24.0).reshape(4, 6))
    rows, backwards, apart = _view(base, 6, (2, 6), (6, 1)), _view(base, 11, (6,), (-1,)), put(on, np.ones(3))
    a, b, c, d = to_host([rows, backwards, apart, base])
    assert np.array_equal(a, np.arange(6.0, 18).reshape(2, 6)) and b.tolist() == [11, 10, 9, 8, 7, 6] and c.tolist() == [1, 1, 1]
    a[0, 0] = -1
    assert b[5] == -1 and d[1, 0] == -1 and b.strides == (-8,) and not np.shares_memory(c, d)
    assert base.numpy()[1, 0] == 6  # they are copies


class _Interface:
    """Another library's array, by the CUDA Array Interface."""

    def __init__(self, array: DeviceArray, **changes: Any) -> None:
        self.array, self.changes = array, changes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.array.__cuda_array_interface__ | self.changes


class _Dlpack:
    """Another library's array, by DLPack."""

    def __init__(self, array: DeviceArray) -> None:
        self.array, self.streams = array, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, 0

    def __dlpack__(self, stream: int) -> object:
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream)


@pytest.mark.parametrize("kind", [_Interface, _Dlpack])
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)], ids=str)
def test_another_librarys_array_is_taken_in_its_own_memory(on: Device, kind: type, shape: tuple[int, ...]) -> None:
    x = put(on, np.arange(np.prod(shape, dtype=int)).reshape(shape).astype("i4"))
    found = device_array(kind(x))
    assert (found.address, found.shape, found.strides, found.dtype) == (x.address, x.shape, x.strides, x.dtype)
    address = x.address
    del x
    gc.collect()
    assert address not in on.allocator._returned  # the array that was taken keeps it alive


def test_the_strides_and_the_flag_of_another_librarys_array_are_kept(on: Device) -> None:
    x = put(on, np.arange(6, dtype="f8").reshape(2, 3))
    turned = _view(x, 0, (3, 2), (1, 3))
    assert device_array(_Interface(turned)).numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert device_array(_Dlpack(turned)).numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert not device_array(_Interface(x, data=(x.address, True))).writeable


def test_kernels_wait_for_the_stream_that_another_library_names(on: Device, api: FakeDriver) -> None:
    x = put(on, np.ones(3))
    device_array(_Interface(x, stream=5))
    assert [s for s, _ in api.waits] == [5, on.driver.stream]
    api.waits.clear()
    device_array(_Interface(x, stream=None))
    device_array(_Interface(x))  # our own
    assert not api.waits
    other = _Dlpack(x)
    device_array(other)
    assert other.streams == [on.driver.stream]  # it lets our stream wait


def test_an_array_on_another_device_is_refused(on: Device, api: FakeDriver) -> None:
    x = put(on, np.ones(3))
    api.ordinals[x.address] = 1
    with pytest.raises(ValueError, match="lies on device 1.*CUDA_VISIBLE_DEVICES"):
        device_array(_Interface(x))


def test_what_lies_on_the_host_is_not_taken(on: Device) -> None:
    assert taken(on, np.ones(3)) is None and taken(on, 2.5) is None


def test_the_array_interface_says_what_the_standard_asks(on: Device) -> None:
    x = put(on, np.ones((2, 3), "f2"))
    assert x.__cuda_array_interface__ == {
        "shape": (2, 3), "typestr": "<f2", "data": (x.address, False), "version": 3, "strides": None, "stream": on.driver.stream,
    }  # fmt: skip
    assert _view(x, 0, (3, 2), (1, 3)).__cuda_array_interface__["strides"] == (2, 6)


# --- DLPack's structs, read by a library that we did not write: the stand-in's memory is the host's ------------------------


class _OnHost:
    def __init__(self, array: DeviceArray) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CPU, 0

    def __dlpack__(self, **_: Any) -> object:
        return dlpack.export(self.array, (dlpack.CPU, 0))


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8"])
def test_numpy_reads_our_capsules(on: Device, dtype: str) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    there = put(on, x)
    read = np.from_dlpack(_OnHost(there))
    assert read.dtype == x.dtype and np.array_equal(read, x) and read.ctypes.data == there.address
    turned = np.from_dlpack(_OnHost(_view(there, 0, (3, 2), (1, 3))))
    assert np.array_equal(turned, x.T)


def test_a_capsule_keeps_its_array_alive_until_it_is_done_with(on: Device) -> None:
    before = len(dlpack._exported)
    read = np.from_dlpack(_OnHost(put(on, np.ones(3))))
    gc.collect()
    assert len(dlpack._exported) == before + 1 and read.tolist() == [1, 1, 1]
    del read
    gc.collect()
    assert len(dlpack._exported) == before


def test_a_capsule_that_nobody_takes_lets_its_array_go(on: Device) -> None:
    before = len(dlpack._exported)
    capsule = put(on, np.ones(3)).__dlpack__()
    assert len(dlpack._exported) == before + 1
    del capsule
    assert len(dlpack._exported) == before


def test_numpys_capsules_are_read_and_given_back() -> None:
    x = np.arange(24, dtype="i2").reshape(4, 6)[::2, 1:]
    capsule = x.__dlpack__()
    found = dlpack.take(capsule)
    assert (found.address, found.shape, found.strides, found.dtype) == (x.ctypes.data, (2, 5), (24, 2), np.dtype("i2"))
    with pytest.raises(ValueError):
        dlpack.take(capsule)  # it was taken
    with pytest.raises(TypeError, match="code 5 with 128 bits"):
        dlpack.take(np.ones(2, complex).__dlpack__())


def test_results_go_to_the_library_whose_arrays_came(on: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    from types import ModuleType

    library = ModuleType("fakelib")
    library.from_dlpack = lambda array: ("theirs", array)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fakelib", library)
    theirs = type("Tensor", (_Interface,), {"__module__": "fakelib.tensors"})
    made = put(on, np.ones(2))
    assert arrays.like(theirs(made), made) == ("theirs", made)
    assert arrays.like(made, made) is made
