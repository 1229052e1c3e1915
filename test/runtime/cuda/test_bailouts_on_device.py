"""`speculate="bailout"` and `executor="specializing"` with kernels, on the stand-in of a device: as on the CPU, with arrays of either side."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from device_bailouts import OnDevice
from fake_driver import CUresult, FakeDriver
from thread_emulator import emulated

import tierup
from tierup.runtime.base.events import Event, EventKind
from tierup.runtime.cuda import bundle_file
from tierup.runtime.cuda.arrays.arrays import DeviceArray, put
from tierup.runtime.cuda.device.devices import Device


@pytest.fixture(autouse=True)
def _emulated(api: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TIERUP_CACHE", "0")  # the emulator has what is compiled meanwhile
    with emulated(api):
        yield


def f32(*values: float) -> np.ndarray:
    return np.array(values, "f4")


def clip(x):
    n = int(x.sum())
    y = np.zeros(n, np.float32) + x[0]
    if y[0] > 0:
        y = np.tanh(y) * 2
    else:
        y = y - 1
    return y


UP, DOWN, MORE = f32(1, 4, 1), f32(-1, 6, 1), f32(1, 4, 3)
CALLS = (UP, UP, DOWN, MORE, UP, DOWN, DOWN, DOWN, UP)


def told(function: Any, calls: Any) -> tuple[list[Any], list[Any]]:
    """The results, and what happened, but for how long it took."""
    seen: list[Event] = []
    results = []
    with tierup.events.subscribe(seen.append):
        results = [function(x) for x in calls]
    before = re.compile(r"^after \d+ ms for imports and its graph | in .*")  # said where it took long
    return results, [(e.call, e.kind, e.reason, e.guard, e.expected, e.actual, e.line, before.sub("", e.action)) for e in seen]


def test_assumptions_are_kept_lost_and_dropped_in_the_calls_in_which_the_cpu_does(on: Device, api: FakeDriver) -> None:
    on_cpu, ours = tierup.jit(clip, speculate="bailout"), tierup.jit(clip, speculate="bailout", backend="cuda")
    wanted, events = told(on_cpu, CALLS)
    found, our_events = told(ours, CALLS)
    for got, want in zip(found, wanted, strict=True):
        assert type(got) is np.ndarray
        np.testing.assert_allclose(got, want, rtol=1e-6)
    assert our_events == events
    assert [e[1] for e in events].count(EventKind.BAILOUT) == ours.stats().bailouts >= 3
    assert any("went on natively" in e[-1] for e in events)
    assert ours.stats() == on_cpu.stats()
    assert api.launched and [v.record.on_device for v in ours.versions] == [True]

    there, _ = told(ours, [put(on, x) for x in (UP, MORE, DOWN)])  # kept, and lost by the assumptions that are left
    for got, x in zip(there, (UP, MORE, DOWN), strict=True):
        assert type(got) is DeviceArray
        np.testing.assert_allclose(got.numpy(), clip(x), rtol=1e-6)


def test_explain_says_which_assumptions_wait_for_the_device_where_and_how_often(on: Device, api: FakeDriver) -> None:
    f = tierup.jit(clip, speculate="bailout", backend="cuda")
    for x in (UP, UP, UP, DOWN, MORE):
        f(x)
    said = re.sub(r"\n {8,}", " ", f.explain()).splitlines()
    first = clip.__code__.co_firstlineno
    [branch] = [i for i, line in enumerate(said) if "assumption: the condition (aten.Bool.Tensor) is bool=true at" in line]
    assert f"test_bailouts_on_device.py:{first + 3}:" in said[branch] and "held in 2 calls, failed in 1" in said[branch]
    assert said[branch + 1].strip() == "the host waits for the device to look at it: 3 times"  # not in the call that the int was lost in
    [number] = [i for i, line in enumerate(said) if "assumption: the int of aten.Int.Tensor is int=6 at" in line]
    assert said[number + 1].strip() == "the host waits for the device to look at it: 4 times"
    [where] = [line for line in said if "waits for the device in mid-program" in line and "aten.Bool.Tensor" in line]
    assert f"test_bailouts_on_device.py:{first + 3}:" in where and where.endswith("waited 3 times")


def assumes_a_number(x, n):
    return x * 2 if n > 3 else x - 1


def test_an_assumption_that_the_host_decides_alone_waits_for_nothing(on: Device, api: FakeDriver) -> None:
    f = tierup.jit(assumes_a_number, speculate="bailout", backend="cuda")
    x = put(on, f32(1, 2, 3))
    for n in (5, 5, 6, 7):
        f(x, n)
    api.calls.clear()
    kept = f(x, 8)
    assert "cuMemcpyDtoHAsync" not in api.calls and "cuStreamSynchronize" not in api.calls
    np.testing.assert_array_equal(kept.numpy(), f32(2, 4, 6))
    np.testing.assert_array_equal(f(x, 2).numpy(), f32(0, 1, 2))
    assert print(f.explain()) or f.stats().bailouts == 1 and "waits for the device" not in f.explain()


def arm(x, y):
    rest = x[1:]
    z = x * 3 - 1
    if z[0] > 0:
        w = np.exp(z) * z
    else:
        w = np.tanh(z) - 1
    y[:] = w + x
    return z * w, x, z, rest


def test_what_goes_on_by_code_is_given_the_arrays_that_lie_on_the_device(on: Device, api: FakeDriver) -> None:
    with tierup.options(testing=True):  # assumptions that fail on purpose are never dropped
        f = tierup.jit(arm, speculate="bailout", backend="cuda")
        for loss in range(5):
            x, y = f32(2, 3, 4), f32(0, 0, 0)
            want = y.copy()
            wanted = arm(x, want)
            ours, into = put(on, x), put(on, y)
            events: list[Event] = []
            api.calls.clear()
            with tierup.testing.faults(guard="arm:bailout0"), tierup.events.subscribe(events.append):
                found = f(ours, into)
            assert found[1] is ours and all(type(v) is DeviceArray for v in found) and found[3].address == ours.address + 4
            if loss == 4:
                assert [e.action for e in events] == ["went on natively"]
                assert api.calls.count("cuMemcpyDtoHAsync") == 1 and "cuMemcpyHtoDAsync" not in api.calls  # the condition
            for got, expected in zip((*found, into), (*wanted, want), strict=True):
                np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5)
        with tierup.testing.faults(guard="arm:bailout0"):
            found = f(x, y)  # of the host, and so are the results
        assert found[1] is x and all(type(v) is np.ndarray for v in found)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5)
        np.testing.assert_allclose(y, want, rtol=1e-5)
        assert f.stats().bailouts == 5


def test_an_argument_on_the_host_beside_one_on_the_device_stays_there_as_a_result(on: Device, api: FakeDriver) -> None:
    with tierup.options(testing=True):
        f = tierup.jit(arm, speculate="bailout", backend="cuda")
        for loss in range(4):  # profiled; lost, first in tier 0, then by code; kept
            x, y = f32(2, 3, 4), f32(0, 0, 0)
            want = y.copy()
            wanted = arm(x, want)
            into = put(on, y)
            with tierup.testing.faults(guard="arm:bailout0" if loss < 3 else ""):
                found = f(x, into)
            assert found[1] is x and type(found[3]) is np.ndarray and np.shares_memory(found[3], x)
            assert type(found[0]) is type(found[2]) is DeviceArray
            for got, expected in zip((found[0], found[2], into), (wanted[0], wanted[2], want), strict=True):
                np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5)
        assert f.stats().bailouts == 2


def write(x, y):
    x[0] = x[0] + 1
    n = int(y.sum())
    z = np.zeros(n, np.float32) + x[0]
    x[1] = z.sum()
    return z, x


def test_arguments_are_written_once_and_after_all_else_on_either_side(on: Device, api: FakeDriver) -> None:
    f = tierup.jit(write, speculate="bailout", backend="cuda")
    for round_, y in enumerate((f32(1, 3), f32(1, 3), f32(1, 5), f32(1, 5), f32(1, 3))):
        want = f32(1, 2, 3)
        wanted = write(want, y)
        for side in (lambda a: a, lambda a: put(on, a)) if round_ else (lambda a: a,):
            mine = side(f32(1, 2, 3))
            z, same = f(mine, side(y))
            assert same is mine
            assert type(z) is type(mine)
            z, mine = (v.numpy() if type(v) is DeviceArray else v for v in (z, mine))
            np.testing.assert_allclose(mine, want, rtol=1e-6)
            np.testing.assert_allclose(z, wanted[0], rtol=1e-6)
    assert f.stats().bailouts >= 3 and f.stats().hits == 8


def test_an_exception_after_a_failed_assumption_is_the_programs_own_with_what_it_writes_before(on: Device, api: FakeDriver) -> None:
    def late(x, i):
        x[0] = x[0] + 1
        n = int(x.sum())
        z = np.zeros(n, np.float32)
        return z[i]

    f = tierup.jit(late, speculate="bailout", backend="cuda")
    for _ in range(3):
        assert f(f32(1, 2), 3) == late(f32(1, 2), 3)
    for side in (lambda a: a, lambda a: put(on, a)):
        x = side(f32(1, 1))
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            f(x, 3)
        assert (x.numpy() if type(x) is DeviceArray else x).tolist() == [2, 1]


def test_what_an_exit_hands_over_owns_its_memory_once_and_nothing_is_left_behind(on: Device, api: FakeDriver) -> None:
    def three(x, y):
        a = np.tanh(x)
        b = a[1:]
        c = x * 1.0
        if a.sum() > 0:
            b = b + y
        return b * 2, c, a + 1

    x, y = f32(1, 2, 3), f32(3, 4)
    native = OnDevice(three, [[x, y]], [x, y], force=True)
    before = None
    for more in (0, 1):
        assert native.losing_each([x + more, y])[0] > 2
        native.left.clear()
        gc.collect()
        on.allocator.allocate(1)  # takes back what was freed
        before = before or on.allocator.bytes_in_use - 512
        assert on.allocator.bytes_in_use - before in (512, 1024, 1536)  # those ones
    for site in native.artifact.exits:
        seen: list[Any] = []
        native.code.force(site.index, 0)
        outcome = native.code.run([put(on, x), put(on, y)], {})
        seen = [v for v in outcome.live if type(v) is DeviceArray]
        assert outcome.exit == site.index and seen
        spans = sorted((v.address, v.address + max(v.nbytes, 1)) for v in seen)
        assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:], strict=False)), "two live values in one place"


def test_a_check_that_failed_before_an_exit_wins(on: Device, api: FakeDriver) -> None:
    def divides(x, i):
        y = x[i] * 2
        n = int(y.sum())
        return np.zeros(n, np.float32) + y[0]

    f = tierup.jit(divides, speculate="bailout", backend="cuda")
    good = np.array([0, 2])
    for _ in range(3):
        np.testing.assert_array_equal(f(f32(1, 2, 3), good), divides(f32(1, 2, 3), good))
    assert len(f.versions) == 1
    seen: list[Event] = []
    with tierup.events.subscribe(seen.append), pytest.raises(IndexError, match="index 7 is out of bounds"):
        f(put(on, f32(5, 2, 3)), put(on, np.array([0, 7])))
    assert [e.kind for e in seen] == [EventKind.ERROR_EXIT]


@pytest.mark.parametrize("options", [{"speculate": "bailout"}, {"executor": "specializing"}], ids=str)
def test_without_a_device_the_cpu_does_so_where_that_is_allowed(api: FakeDriver, options: dict[str, Any]) -> None:
    api.refused["cuInit"] = CUresult.CUDA_ERROR_NO_DEVICE
    f = tierup.jit(clip, backend="cuda-or-cpu", **options)
    for x in (UP, UP, DOWN, MORE):
        np.testing.assert_allclose(f(x), clip(x), rtol=1e-6)
    assert f.stats().hits >= 3 and not any(v.record.on_device for v in f.versions)
    assert f.stats().bailouts == 2 * ("speculate" in options)


def test_a_bundle_has_no_place_for_assumptions_in_mid_program(on: Device, tmp_path: Any) -> None:
    f = tierup.jit(clip, speculate="bailout", backend="cuda")
    f(UP), f(UP)
    packed = bundle_file.PackedProgram("clip", ("x",), (bundle_file.PackedVersion(f.versions[0].compiled.artifact, {}),))
    with pytest.raises(ValueError, match="no version with assumptions in mid-program"):
        bundle_file.write(tmp_path / "clip.tierup", [packed])


# --- executor="specializing" ---------------------------------------------------------------------------------------------------


def scaled(x, s):
    y = np.tanh(x) * s
    x += 1.0
    return y, x


def test_a_plan_per_argument_spec_runs_on_the_device_for_arrays_of_either_side(on: Device, api: FakeDriver) -> None:
    f = tierup.jit(scaled, executor="specializing", backend="cuda")
    for x in (f32(1, 2), f32(1, 2, 3), np.ones((2, 3), "f4"), f32(1), f32(1, 2, 3, 4)):
        for side in (lambda a: a, lambda a: put(on, a)):
            mine, want = side(x.copy()), x.copy()
            wanted, _ = scaled(want, 2.0)
            got, same = f(mine, 2.0)
            assert same is mine and type(got) is type(mine)
            got, mine = (v.numpy() if type(v) is DeviceArray else v for v in (got, mine))
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
            np.testing.assert_array_equal(mine, want)
    stats = f.stats()
    assert (stats.hits, stats.plan_cache_misses, stats.plan_cache_hits) == (10, 2, 8)
    assert all(v.record.on_device for v in f.versions)
    assert "plan for (x: f32[rank 1], s: float): optimised, native, 8 native calls" in f.explain()


def test_a_call_of_a_plan_that_looks_like_an_earlier_one_goes_past_the_guards(on: Device, api: FakeDriver) -> None:
    f = tierup.jit(lambda x: np.tanh(x) * 2.0, executor="specializing", backend="cuda")
    x = put(on, f32(1, 2, 3))
    step = tierup.capture(f, x)
    on.driver.fill(x.address, np.float32(0.5).tobytes(), x.nbytes)
    step()
    np.testing.assert_allclose(step.results.numpy(), np.tanh(f32(0.5, 0.5, 0.5)) * 2, rtol=1e-6)


def test_a_spec_that_comes_first_on_the_device_and_one_without_kernels_are_answered_from_there(on: Device, api: FakeDriver) -> None:
    f = tierup.jit(lambda x: np.partition(np.tanh(x) + 1.0, -1) * 2.0 + x, executor="specializing", backend="cuda")
    for n in (4, 4, 7):
        x = np.random.default_rng(n).standard_normal(n).astype("f4")
        got = f(put(on, x))
        assert type(got) is DeviceArray
        np.testing.assert_allclose(got.numpy(), np.partition(np.tanh(x) + 1, -1) * 2 + x, rtol=1e-6)
    g = tierup.jit(scaled, executor="specializing", backend="cuda", optimize=False)
    x = put(on, f32(1, 2))
    assert g(x, 1.0)[1] is x and x.numpy().tolist() == [2, 3] and g.stats().interpreted == 1
