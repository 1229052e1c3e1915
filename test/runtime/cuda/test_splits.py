"""Split programs on the device: what is moved to the host and back, and what is not; results and written arguments. On a stand-in of the
driver, kernels emulated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fake_driver import FakeDriver
from thread_emulator import emulated

import tierup
from tierup.runtime.cuda.arrays.arrays import DeviceArray, put
from tierup.runtime.cuda.device.devices import Device


@pytest.fixture(autouse=True)
def _emulated(api: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TIERUP_CACHE", "0")
    with emulated(api):
        yield


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4")


def ranks(x, w):
    y = np.tanh(x * w) * 2.0
    z = np.partition(y, -1, axis=1)
    x[:] = y + w
    q = np.exp(z) - y
    return q, q.T, np.partition(w, -1, axis=0), x


def expected(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    return ranks(x.copy(), w)


def agree(found: tuple[Any, ...], wanted: tuple[np.ndarray, ...], kind: type) -> None:
    for got, want in zip(found, wanted, strict=True):
        assert type(got) is kind
        np.testing.assert_allclose(got.numpy() if kind is DeviceArray else got, want, rtol=1e-5, atol=1e-6)


def cut(function: Any, *args: Any) -> Any:
    """The function after as many calls as its split needs."""
    f = tierup.jit(function, backend="cuda")
    for _ in range(4):
        f(*[a.copy() if isinstance(a, np.ndarray) else a for a in args])
    assert f.stats().hits and "split, 2 native regions" in f.explain()
    return f


def test_only_what_tier_0_reads_is_moved_and_explain_says_what(on: Device, api: FakeDriver) -> None:
    w = f32(4, 6)
    f = cut(ranks, f32(4, 6), w)
    for _ in range(3):
        x, there = f32(4, 6), put(on, w)
        given = put(on, x)
        api.calls.clear()
        hits = f.stats().hits
        found = f(given, there)
        moved = [call for call in api.calls if call.startswith("cuMemcpy") and "DtoD" not in call]
        # read: y and w for the sorts, q for its transpose; sent: what the sorts gave
        assert moved.count("cuMemcpyDtoHAsync") == 3 and moved.count("cuMemcpyHtoDAsync") == 2 and f.stats().hits == hits + 1
        agree(found, expected(x, w), DeviceArray)
        assert found[3] is given and np.allclose(given.numpy(), expected(x, w)[3])
        turned = found[1]
        assert turned.address == found[0].address and turned.strides == found[0].strides[::-1]  # a view of it, as on the CPU
    assert "in its last run moved to the host: 192 bytes for numpy_partition, 96 bytes for numpy_T; to the device: 192 bytes" in f.explain()


def test_arrays_of_the_host_stay_the_hosts_and_are_moved_once(on: Device, api: FakeDriver) -> None:
    x, w = f32(4, 6), f32(4, 6) + 1
    f, wanted = cut(ranks, x, w), expected(x, w)
    api.calls.clear()
    found = f(x, w)
    agree(found, wanted, np.ndarray)
    assert found[3] is x and np.shares_memory(found[0], found[1]) and not np.shares_memory(found[0], x)
    moved = [call for call in api.calls if call.startswith("cuMemcpy") and "DtoD" not in call]
    assert moved.count("cuMemcpyHtoDAsync") == 3 and moved.count("cuMemcpyDtoHAsync") == 3  # x, w, z; y, q, what x becomes
    found = f(put(on, x), w)  # of both sides
    agree(found, expected(x, w), DeviceArray)


def test_an_exception_in_mid_program_is_the_programs_and_writes_what_it_wrote(on: Device) -> None:
    def picks(x, i):
        y = np.partition(x * 2.0, -1)
        x[:] = y + 1.0
        return np.partition(y[i] * 3.0, -1)

    x, i = f32(6), np.array([1, 2])
    f = tierup.jit(picks, backend="cuda")
    for _ in range(4):
        f(x.copy(), i)
    given, plain = put(on, x), x.copy()
    with pytest.raises(IndexError):
        f(given, np.array([1, 9]))
    with pytest.raises(IndexError):
        picks(plain, np.array([1, 9]))
    np.testing.assert_allclose(given.numpy(), plain, rtol=1e-6)


def test_a_written_argument_that_overlaps_another_is_left_to_the_host(on: Device) -> None:
    w = f32(4, 6)
    f = cut(ranks, f32(4, 6), w)
    base = put(on, f32(5, 6))
    x = DeviceArray(on, base.address, base.dtype, (4, 6), None, base)
    y = DeviceArray(on, base.address + 24, base.dtype, (4, 6), None, base)
    host = base.numpy()
    hits = f.stats().hits
    found, wanted = f(x, y), ranks(host[:4], host[1:])
    assert f.stats().hits == hits
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6)
