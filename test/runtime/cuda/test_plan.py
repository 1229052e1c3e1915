"""Plans: programs that were compiled for the GPU, run by the real runtime on a stand-in of the driver, their kernels emulated.

What is tested is the host's part. The kernels' values say that they got what they should; not that a device would compute them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from compiled import artifact_of
from fake_driver import CUresult, FakeDriver
from thread_emulator import emulated

from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.runtime.arguments import guards
from tierup.runtime.cuda.arrays.arrays import DeviceArray, put
from tierup.runtime.cuda.device.devices import Device
from tierup.runtime.cuda.errors import DriverError
from tierup.runtime.cuda.plan import CudaPlan, Outcome, image_for


@pytest.fixture(autouse=True)
def _emulated(api: FakeDriver) -> Iterator[None]:
    with emulated(api):
        yield


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4")


def run(plan: CudaPlan, *flat: Any) -> Outcome:
    written = [r.argument for r in plan.artifact.results if r.kind.value == "argument"]
    symbols = guards.bind(plan.artifact.arguments, flat, written, on_device=True)
    assert isinstance(symbols, dict), symbols
    return plan.run(flat, symbols)


def chain(x, y, k):
    return np.tanh(x * y + k), y + 1.0, k


def test_arrays_of_the_host_are_moved_and_results_come_back(on: Device, api: FakeDriver) -> None:
    x, y = f32(5, 7), f32(7)
    plan = CudaPlan(artifact_of(chain, (x, y, 2.5)), on)
    found, other, k = run(plan, x, y, 2.5).results
    np.testing.assert_allclose(found, np.tanh(x * y + 2.5), rtol=1e-6)
    assert np.array_equal(other, y + 1)
    assert k == 2.5 and type(k) is float and type(found) is np.ndarray
    assert {launched.kernel for launched in api.launched} == set(plan.artifact.host.kernels)


def test_arrays_on_the_device_stay_there(on: Device, api: FakeDriver) -> None:
    x, y = f32(5, 7), f32(7)
    plan = CudaPlan(artifact_of(chain, (x, y, 2.5)), on)
    there = put(on, x), put(on, y)
    api.calls.clear()
    found, other, _ = run(plan, *there, 2.5).results
    assert not {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuStreamSynchronize"} & set(api.calls)  # nothing is waited for
    np.testing.assert_allclose(found.numpy(), np.tanh(x * y + 2.5), rtol=1e-6)
    assert np.array_equal(other.numpy(), y + 1)


def test_a_kernel_is_given_addresses_and_numbers_in_its_order(on: Device, api: FakeDriver) -> None:
    x, y = put(on, f32(5, 7)), put(on, f32(7))
    plan = CudaPlan(artifact_of(chain, (x.numpy(), y.numpy(), 2.5)), on)
    found = run(plan, x, y, 2.5).results[0]
    [first] = [k for k in api.launched if k.kernel == plan.artifact.host.kernels[0]]
    types = plan.artifact.host.types[first.kernel]
    assert sorted(first.address(i) for i, t in enumerate(types) if t == "ptr") == sorted([x.address, y.address, found.address])
    assert [first.scalar(i, "f8") for i, t in enumerate(types) if t == "f64"] == [2.5]


def scaled(x, k):
    return x * k, x[0] + 1.0


def test_a_call_at_the_addresses_of_an_earlier_one_is_captured_and_later_ones_are_one_launch(on: Device, api: FakeDriver) -> None:
    x = f32(6, 9)
    plan = CudaPlan(artifact_of(scaled, (x, 2.0)), on)
    assert len(plan.artifact.host.kernels) > 1
    for _ in range(5):  # results at the same addresses from the second on, since those of the call before are let go
        double = row = None
        double, row = run(plan, x, 2.0).results
        assert np.array_equal(double, x * 2) and np.array_equal(row, x[0] + 1)
        x = x + 1
    # the first may find its addresses again at once, or the second
    assert plan.graph_launches in (3, 4) and api.calls.count("cuStreamEndCapture") == 1
    assert api.calls.count("cuLaunchKernel") == (6 - plan.graph_launches) * len(plan.artifact.host.kernels)


def test_one_launch_is_not_made_a_graph(on: Device, api: FakeDriver) -> None:
    x = f32(6, 9)
    plan = CudaPlan(artifact_of(lambda x: x * 2.0, (x,)), on)
    for _ in range(5):
        assert np.array_equal(run(plan, x).results[0], x * 2)
    assert not plan.graph_launches and "cuStreamBeginCapture" not in api.calls


def test_a_graph_is_not_used_for_another_number_nor_for_minus_zero(on: Device) -> None:
    x = np.ones((2, 2), "f4")
    plan = CudaPlan(artifact_of(lambda x, k: (np.copysign(x, x * k), x[0] + k), (x, 2.0)), on)
    for k in (0.0, 0.0, 0.0, -0.0, -0.0, 3.0, 0.0):
        signs, row = run(plan, x, k).results
        assert np.array_equal(np.signbit(signs), np.full((2, 2), np.signbit(k))) and row.tolist() == [1 + k] * 2
    assert plan.graph_launches


def test_a_number_that_only_kernels_see_is_no_reason_to_flatten_again(on: Device) -> None:
    x = f32(6, 9)
    plan = CudaPlan(artifact_of(scaled, (x, 2.0)), on)
    for k in range(40):
        assert np.array_equal(run(plan, x, float(k)).results[0], x * np.float32(k))
    assert len(plan._flats) == 1


def test_sizes_that_the_program_leaves_open_are_those_of_the_call(on: Device) -> None:
    calls = [(f32(n, m),) for n, m in ((5, 7), (6, 7), (5, 9), (8, 11))]
    plan = CudaPlan(artifact_of(lambda x: (x.T * 2.0, x.sum(0)), *calls), on)
    assert plan.artifact.arguments[0].sizes == ("s0", "s1")
    for n, m in ((2, 2), (33, 5)):
        x = f32(n, m)
        turned, total = run(plan, x).results
        assert np.array_equal(turned, x.T * 2) and turned.shape == (m, n)
        np.testing.assert_allclose(total, x.sum(0), rtol=1e-4, atol=1e-5)


def test_sizes_that_should_be_equal_and_are_not_are_an_error_site_before_anything_runs(on: Device, api: FakeDriver) -> None:
    calls = [(f32(n + 1, 7), f32(n, 7)) for n in range(4, 8)]
    plan = CudaPlan(artifact_of(lambda x, y: x[1:] + y, *calls), on)
    assert plan.artifact.ties
    x, y = calls[0]
    assert np.array_equal(run(plan, x, y).results[0], x[1:] + y)
    api.launched.clear()
    outcome = run(plan, x, x)
    assert outcome.site == len(plan.artifact.error_sites) and plan.artifact.error_sites[outcome.site - 1].op == "sizes"
    assert not api.launched and not outcome.results


def test_a_check_that_fails_is_the_outcome_and_nothing_is_written(on: Device) -> None:
    def put_rows(x, i, y):
        x[:] = y[i]
        return x

    x, i, y = f32(3, 4), np.array([0, 2, 1]), f32(5, 4)
    plan = CudaPlan(artifact_of(put_rows, (x.copy(), i, y)), on)
    bad = np.array([0, 9, 1])
    before = x.copy()
    outcome = run(plan, x, bad, y)
    assert outcome.site and "index" in plan.artifact.error_sites[outcome.site - 1].op and np.array_equal(x, before)
    there = put(on, x)
    assert run(plan, there, put(on, bad), put(on, y)).site == outcome.site and np.array_equal(there.numpy(), before)
    assert run(plan, x, i, y).results[0] is x and np.array_equal(x, y[i])


def add_to(x, y):
    x[:] = x + y
    return x


def test_arguments_that_are_written_are_written_where_they_lie(on: Device) -> None:
    x, y = f32(5, 7), f32(5, 7)
    plan = CudaPlan(artifact_of(add_to, (x.copy(), y)), on)
    there, expected = put(on, x), x + y
    assert run(plan, there, y).results[0] is there and np.array_equal(there.numpy(), expected)
    assert run(plan, x, put(on, y)).results[0] is x and np.array_equal(x, expected)


def _strided(on: Device, x: np.ndarray, pad: int) -> DeviceArray:
    """The array in the middle of a wider one."""
    wide = np.full((x.shape[0], x.shape[1] + 2 * pad), -7, x.dtype)
    wide[:, pad:-pad] = x
    base = put(on, wide)
    return DeviceArray(on, base.address + pad * x.itemsize, x.dtype, x.shape, base.strides, base)


def test_a_strided_array_is_read_and_written_in_place_and_nothing_beside_it(on: Device) -> None:
    x, y = f32(5, 7), f32(5, 7)
    host = np.full((5, 11), -7, "f4")
    host[:, 2:9] = x
    plan = CudaPlan(artifact_of(add_to, (host[:, 2:9].copy(), y), (host[:, 2:9], y)), on)
    assert plan.artifact.arguments[0].layout.value == "strided"
    there = _strided(on, x, 2)
    run(plan, there, y)
    assert np.array_equal(there.numpy(), x + y)
    around = there.owner.numpy()
    assert np.all(around[:, :2] == -7) and np.all(around[:, 9:] == -7)


def test_an_array_that_is_not_aligned_as_kernels_want_it_is_copied(on: Device, api: FakeDriver) -> None:
    base = put(on, f32(41))
    part = DeviceArray(on, base.address + 4, base.dtype, (40,), None, base)
    plan = CudaPlan(artifact_of(lambda x: x * 2.0, (f32(40),)), on)
    assert np.array_equal(run(plan, part).results[0].numpy(), base.numpy()[1:] * 2)
    types = plan.artifact.host.types[api.launched[-1].kernel]
    assert all(api.launched[-1].address(i) % 16 == 0 for i, t in enumerate(types) if t == "ptr")


def test_a_view_of_an_argument_is_a_view_of_it_on_either_side(on: Device) -> None:
    x = f32(4, 6)
    plan = CudaPlan(artifact_of(lambda x: (x[1:, ::2], x * 1.0), (x,)), on)
    view, _ = run(plan, x).results
    assert view.base is not None and np.shares_memory(view, x) and np.array_equal(view, x[1:, ::2])
    there = put(on, x)
    view, _ = run(plan, there).results
    assert view.address == there.address + 24 and view.strides == (24, 8) and np.array_equal(view.numpy(), x[1:, ::2])


def by_value(x):
    return (x[1:] * 2.0 if x[0] > 0 else x + 1.0), x * 3.0


def by_number(x, k):
    return (x[1:] * 2.0 if k > 3 else x + 1.0), x * 3.0, k


@pytest.mark.parametrize("on_device", [False, True])
def test_a_result_of_a_size_that_the_run_finds_owns_its_memory(on: Device, api: FakeDriver, on_device: bool) -> None:
    x, minus = f32(5) ** 2 + 1, -(f32(5) ** 2) - 1
    first, second = CudaPlan(artifact_of(by_value, (x,)), on), CudaPlan(artifact_of(by_number, (x, 2), (x, 5), (x, 7)), on)
    assert {plan.artifact.results[0].kind.value for plan in (first, second)} == {"allocated"}
    assert first.artifact.host.synchronises and not second.artifact.host.synchronises  # launches alone: a flat plan, with graphs
    found = []
    for n in range(8):
        plan, flat = (first, (x if n % 2 == 0 else minus,)) if n < 4 else (second, (x, 2 + 3 * (n % 2)))
        results = run(plan, *[put(on, v) if on_device and isinstance(v, np.ndarray) else v for v in flat]).results
        assert type(results[0]) is (DeviceArray if on_device else np.ndarray)
        found += [results[0], results[1]]
    for n in range(8):
        got, other = [v.numpy() if on_device else v for v in found[2 * n : 2 * n + 2]]
        np.testing.assert_allclose(got, ([x[1:] * 2, minus + 1] * 2 + [x + 1, x[1:] * 2] * 2)[n], rtol=1e-6)
        np.testing.assert_allclose(other, (minus if n in (1, 3) else x) * 3, rtol=1e-6)
    del found, got, other, results
    gc.collect()
    on.allocator.allocate(1)
    assert on.allocator.bytes_in_use == 512  # what was asked for last: all the rest came back, and once
    for _ in range(4):  # at the addresses of the call before
        assert np.array_equal(run(second, x, 5).results[0], x[1:] * 2)
    assert second.graph_launches and not first.graph_launches


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_an_array_without_elements_needs_no_launch(on: Device, api: FakeDriver, shape: tuple[int, int]) -> None:
    x = np.zeros(shape, "f4")
    plan = CudaPlan(artifact_of(lambda x: np.tanh(x) + 1.0, (x,)), on)
    assert run(plan, x).results[0].shape == shape and not api.launched


def test_an_error_in_a_kernel_names_the_kernels_and_the_users_lines(on: Device, api: FakeDriver) -> None:
    x = f32(6, 9)
    plan = CudaPlan(artifact_of(scaled, (x, 2.0)), on)
    api.at_wait = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DriverError, match=r"ILLEGAL_ADDRESS.*in one of the kernels scaled_\d \(aten.*test_plan.py.*TIERUP_CUDA_CHECK=1") as raised:
        run(plan, x, 2.0)
    assert raised.value.name == "CUDA_ERROR_ILLEGAL_ADDRESS"


def test_with_the_check_the_error_names_the_one_kernel(on: Device, api: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERUP_CUDA_CHECK", "1")
    x = f32(6, 9)
    artifact = artifact_of(scaled, (x, 2.0))
    plan = CudaPlan(artifact, on)
    api.kernels[artifact.host.kernels[1]] = lambda launched: setattr(api, "at_wait", CUresult.CUDA_ERROR_ILLEGAL_ADDRESS)
    with pytest.raises(DriverError, match=rf"in the kernel {artifact.host.kernels[1]} \("):
        run(plan, x, 2.0)


def test_a_plan_that_nobody_has_is_unloaded_before_the_next_call(on: Device, api: FakeDriver) -> None:
    x = f32(6, 9)
    plan, other = CudaPlan(artifact_of(scaled, (x, 2.0)), on), CudaPlan(artifact_of(add_to, (x.copy(), x)), on)
    for _ in range(3):
        run(plan, x, 2.0)
    del plan
    gc.collect()
    assert "cuModuleUnload" not in api.calls
    run(other, x.copy(), x)
    assert api.calls.count("cuModuleUnload") == 1 and api.calls.count("cuGraphExecDestroy") == api.calls.count("cuStreamEndCapture") > 0


def test_the_best_code_for_a_device_is_chosen() -> None:
    artifact = CudaArtifact("ptx", "sm_80", None, (), ())  # type: ignore[arg-type]
    cubins = {"sm_80": b"80", "sm_86": b"86", "sm_90": b"90"}
    found = {c: image_for(artifact, c, cubins) for c in ((8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (7, 5))}
    assert found == {(8, 0): b"80", (8, 6): b"86", (8, 9): b"86", (9, 0): b"90", (10, 0): b"ptx", (7, 5): b"ptx"}
