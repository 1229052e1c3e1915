"""Calls that look like an earlier one go past the guards, and only those."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fake_driver import FakeDriver
from thread_emulator import emulated

import tierup
from tierup.runtime.cuda import steady
from tierup.runtime.cuda.arrays.arrays import DeviceArray, put
from tierup.runtime.cuda.device.devices import Device


@pytest.fixture(autouse=True)
def running(api: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TIERUP_CACHE", "0")
    with emulated(api):
        yield


@pytest.fixture
def past(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has an element for each call that went past the guards."""
    found: list[int] = []
    run = steady.SteadyCall.run
    monkeypatch.setattr(steady.SteadyCall, "run", lambda self, flat: (found.append(1), run(self, flat))[1])
    return found


def f32(on: Device, *shape: int) -> tuple[DeviceArray, np.ndarray]:
    x = np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4")
    return put(on, x), x


def fused(x: Any, y: Any, s: Any, n: Any) -> Any:
    return x * y * s + n, x


def test_only_calls_whose_layouts_and_valued_numbers_are_known_go_past_the_guards(on: Device, past: list[int]) -> None:
    f = tierup.jit(fused, backend="cuda")

    def right(shape: tuple[int, ...], s: float, n: int, past_guards: bool) -> None:
        (x, hx), (y, hy) = f32(on, *shape), f32(on, *shape)
        past.clear()
        before = f.stats()
        product, same = f(x, y, s, n)
        assert same is x
        np.testing.assert_allclose(product.numpy(), (hx * hy * np.float32(s) + np.float32(n)), rtol=1e-6)
        assert bool(past) is past_guards and (not past or f.stats().hits == before.hits + 1)

    right((5, 3), 2.0, 1, False)  # tier 0
    right((5, 3), 2.0, 1, False)  # compiled, and run on copies
    right((5, 3), 2.0, 1, False)  # the first that begins on the device
    right((5, 3), 2.0, 1, True)
    right((5, 3), -7.5, 1, True)  # no guard looks at this number
    for n in (6, 6, 7, 7):  # at last there is a version for any size
        right((n, 3), 2.0, 1, False)
    right((7, 3), 2.0, 1, True)
    right((8, 3), 2.0, 1, False)  # it takes this one too, which it was not asked for yet
    right((8, 3), 2.0, 1, True)
    right((5, 3), 2.0, 1, False)  # the table is another by now
    right((5, 3), 2.0, 1, True)
    assert f.stats().compiles == 3


def test_a_number_that_a_guard_looks_at_is_part_of_what_is_known(on: Device, past: list[int]) -> None:
    f, (x, hx) = tierup.jit(lambda x, n: x[:n] * 2.0, backend="cuda"), f32(on, 9)
    for n in (3, 3, 3, 3, 2, 2, 12, -2, 2, 3, 3):
        assert np.array_equal(f(x, n).numpy(), hx[:n] * 2), n
    assert past


def test_without_an_array_among_the_arguments_results_are_on_the_host_each_time(on: Device, past: list[int]) -> None:
    f = tierup.jit(lambda n: np.full(3, 2.0) * n, backend="cuda")
    for _ in range(4):
        assert type(f(2.5)) is np.ndarray
    assert f.stats().hits == 3 and not past


def test_what_lies_at_an_odd_address_or_strided_or_elsewhere_goes_through_the_guards(on: Device, past: list[int]) -> None:
    f = tierup.jit(lambda x: x * 2.0, backend="cuda")
    base, host = f32(on, 40)
    for _ in range(3):
        f(base)
    for start, step, is_known in ((0, 1, True), (1, 1, False), (0, 2, True), (4, 2, True), (5, 2, False)):
        n = 16
        part = DeviceArray(on, base.address + 4 * start, base.dtype, (n,), (4 * step,), base)
        want = host[start : start + n * step : step] * 2
        for _ in range(3):
            assert np.array_equal(f(part).numpy(), want)
        past.clear()
        assert np.array_equal(f(part).numpy(), want) and bool(past) is is_known
    past.clear()
    assert np.array_equal(f(host[:16]), host[:16] * 2) and not past  # on the host


def test_results_of_calls_past_the_guards_are_fresh_and_keep_their_memory(on: Device) -> None:
    f, (x, hx) = tierup.jit(lambda x: (x + 1.0, x.sum(0)), backend="cuda"), f32(on, 7, 5)
    kept = [f(x) for _ in range(8)]
    assert len({r.address for pair in kept for r in pair}) == 16
    for plus, total in kept:
        assert np.array_equal(plus.numpy(), hx + 1)
        np.testing.assert_allclose(total.numpy(), hx.sum(0), rtol=1e-5)


def test_a_capture_is_one_launch_that_reads_and_writes_the_same_memory(on: Device, api: FakeDriver) -> None:
    f, (x, hx), (y, hy) = tierup.jit(lambda x, y: {"a": (x @ y) * 2.0, "b": (x + 1.0).sum(1)}, backend="cuda"), f32(on, 6, 4), f32(on, 4, 3)
    step = tierup.capture(f, x, y)
    np.testing.assert_allclose(step.results["a"].numpy(), hx @ hy * 2, rtol=1e-5)
    other = np.ones_like(hx)
    on.driver.to_device(x.address, other.ctypes.data, other.nbytes)
    f(x, y)  # memory of others is not the graph's
    api.calls.clear()
    step()
    assert [c for c in api.calls if c != "cuCtxSetCurrent"] == ["cuGraphLaunch"]
    np.testing.assert_allclose(step.results["a"].numpy(), other @ hy * 2, rtol=1e-5)
    np.testing.assert_allclose(step.results["b"].numpy(), (other + 1).sum(1), rtol=1e-5)
    del step
    f(x, y)
    assert "cuGraphExecDestroy" in api.calls


def test_a_call_that_is_no_fixed_sequence_of_kernels_is_not_captured(on: Device) -> None:
    f, (x, hx) = tierup.jit(lambda x: x * 2.0, backend="cuda"), f32(on, 5)
    with pytest.raises(ValueError, match="no fixed sequence of kernels. A call is one if it runs on a device"):
        tierup.capture(f, hx)
    taking, i = tierup.jit(lambda x, i: x[i], backend="cuda"), put(on, np.array([1, 2]))
    with pytest.raises(ValueError, match="checks no index"):
        tierup.capture(taking, x, i)
    with pytest.raises(TypeError, match="capture takes a function of tierup.jit"):
        tierup.capture(np.sin, x)


def test_a_cache_that_is_full_starts_anew(on: Device, past: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steady, "_MOST", 2)
    f = tierup.jit(lambda x: x * 2.0, backend="cuda")
    for n in (2, 3, 4, 5, 2, 3, 4, 5, 5, 5):
        x, hx = f32(on, n)
        assert np.array_equal(f(x).numpy(), hx * 2)
    assert len(past) == 2
