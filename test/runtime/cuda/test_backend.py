"""options(backend="cuda"): profiles, versions, guards, misses and errors as on the CPU, on a stand-in of the driver, kernels emulated."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from fake_driver import CUresult, FakeDriver
from thread_emulator import emulated

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.base.events import EventKind
from tierup.runtime.cuda.arrays.arrays import DeviceArray, put
from tierup.runtime.cuda.device.devices import Device
from tierup.runtime.cuda.errors import NoDevice


@pytest.fixture(autouse=True)
def _emulated(api: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TIERUP_CACHE", "0")  # the emulator has what is compiled meanwhile
    with emulated(api):
        yield


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4")


def cuda(function: Any, **options: Any) -> Any:
    return tierup.jit(function, **({"backend": "cuda"} | options))


def soft(x, y):
    return np.tanh(x * y) + 1.0


def test_a_function_is_profiled_on_the_host_and_then_runs_on_the_device(on: Device, api: FakeDriver) -> None:
    f, x, y = cuda(soft), f32(5, 7), f32(7)
    expected = np.tanh(x * y) + 1
    f(x, y)
    assert not api.launched and f.stats().profiled_runs == 1
    for _ in range(3):
        found = f(x, y)
        assert type(found) is np.ndarray and found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert len(api.launched) == 3 and f.stats().hits == 3 and f.stats().compiles == 1
    assert tierup.last_executed_plan().version is f.versions[0]
    assert "on the device (sm_90), 3 hits" in f.explain()


def test_sizes_that_change_make_a_version_for_any_size_as_on_the_cpu(on: Device, api: FakeDriver) -> None:
    f = cuda(lambda x: x * 2.0)
    events: list[Any] = []
    with tierup.events.subscribe(events.append):
        for n in (3, 3, 4, 4, 5, 5, 6, 7, 300):
            assert np.array_equal(f(f32(n)), f32(n) * 2)
    kinds = [e.kind for e in events]
    assert EventKind.COMPILED in kinds and EventKind.GENERALISED in kinds and EventKind.MISS in kinds
    assert [v.guards for v in f.versions if "s0" in v.guards] == ["x: f32[s0]"]
    api.launched.clear()
    f(f32(77))
    assert len(api.launched) == 1  # the guards of the general one hold


def test_arrays_on_the_device_go_in_and_come_out_without_a_copy(on: Device, api: FakeDriver) -> None:
    f, x, y = cuda(soft), put(on, f32(5, 7)), put(on, f32(7))
    first = f(x, y)  # tier 0, on the host; its result goes to where the arguments are
    assert type(first) is DeviceArray
    f(x, y)
    api.calls.clear()
    found = f(x, y)
    assert type(found) is DeviceArray and not {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuStreamSynchronize"} & set(api.calls)
    np.testing.assert_allclose(found.numpy(), np.tanh(x.numpy() * y.numpy()) + 1, rtol=1e-6)


def test_one_version_serves_arrays_of_either_side(on: Device) -> None:
    f, x, y = cuda(soft), f32(5, 7), f32(7)
    for a, b in ((x, y), (x, y), (put(on, x), y), (x, put(on, y)), (put(on, x), put(on, y))):
        found = f(a, b)
        assert (type(found) is DeviceArray) == (DeviceArray in (type(a), type(b)))
    assert f.stats().hits == 4 and len(f.versions) == 1


class _Theirs:
    """Another library's array on the device."""

    def __init__(self, array: DeviceArray) -> None:
        self.array, self.ndim = array, array.ndim

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.array.__cuda_array_interface__


def test_results_are_of_the_library_whose_arrays_came_and_arguments_are_themselves(on: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("theirs")
    library.from_dlpack = _Theirs  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "theirs", library)
    monkeypatch.setattr(_Theirs, "__module__", "theirs")

    def both(x, y):
        x[:] = x + 1.0
        return x, x * y

    f, y = cuda(both), f32(4)
    x = _Theirs(put(on, np.zeros(4, "f4")))
    for n in range(1, 4):
        same, made = f(x, y)
        assert same is x and type(made) is _Theirs
        np.testing.assert_allclose(made.array.numpy(), n * y, rtol=1e-6)
        assert x.array.numpy().tolist() == [n] * 4
    assert f.stats().hits == 2


def test_tier0_writes_where_the_array_lies_and_gives_views_of_it(on: Device) -> None:
    def first_row(x):
        x += 1.0
        return x[0], x

    f = cuda(first_row, profile=False)
    x = put(on, np.zeros((2, 3), "f4"))
    row, same = f(x)
    assert same is x and row.address == x.address and row.shape == (3,) and x.numpy().tolist() == [[1] * 3] * 2
    assert f.stats().interpreted == 1


def test_an_error_in_a_kernels_check_is_the_programs_own_exception_from_tier_0(on: Device) -> None:
    f, x = cuda(lambda x, i: x[i] * 2.0), f32(5, 3)
    good, bad = np.array([0, 2]), np.array([0, 7])
    for _ in range(3):
        assert np.array_equal(f(x, good), x[good] * 2)
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 5"):
        f(x, bad)
    with pytest.raises(IndexError, match="index 7"):
        f(put(on, x), put(on, bad))
    assert f.stats().bailouts == 2 and f.stats().hits == 4
    said = f.explain()
    assert "waits for the device once at the end of a call: whether a check has failed is read there (an index at" in said
    assert "waits for the device in mid-program" not in said  # the check is a kernel


def writes_an_element(x, n):
    y = x[n:] * 2.0
    y[n] = 3.0
    return y


def writes_a_row_of_what_a_mask_keeps(x, n):
    y = x[x[:, 0] > n]
    y[0] = 3.0
    return y


def writes_listed_rows(x, n):
    y = x[n:] * 2.0
    y[[0, 1]] = 5.0
    return y


def adds_to_listed_columns(x, n):
    y = x[:, n:] * 2.0
    y[:, [0, 1]] += x[:, :2]
    return y


@pytest.mark.parametrize("function", [writes_an_element, writes_a_row_of_what_a_mask_keeps, writes_listed_rows, adds_to_listed_columns])
def test_nothing_is_written_into_what_the_run_finds_empty(on: Device, api: FakeDriver, function: Any) -> None:
    f, x = cuda(function), np.ones((8, 300), "f4")
    for rows, n in ((8, 0), (8, 0), (7, 0), (7, 0), (6, 0), (5, 2), (4, 300), (3, 300), (8, 300), (8, 300), (0, 0), (0, 0)):
        try:
            expected = function(x[:rows].copy(), n)
        except IndexError:
            with pytest.raises(IndexError, match="out of bounds"):
                f(put(on, x[:rows]), n)
        else:
            assert np.array_equal(f(put(on, x[:rows]), n).numpy(), expected)
        api.check_zones()


def test_arrays_on_the_device_from_outside_are_hidden_inputs_read_at_every_call(on: Device, api: FakeDriver) -> None:
    class Layer:
        def __init__(self) -> None:
            self.w = put(on, np.full(3, 2, "f4"))

        @tierup.jit(backend="cuda")
        def __call__(self, x):
            self.w[:] = self.w * 2.0
            return x * self.w + bias

    bias, layer, x = put(on, np.ones(3, "f4")), Layer(), put(on, np.arange(3, dtype="f4"))
    for n in range(1, 5):
        if n == 4:
            layer.w, bias = put(on, np.full(3, 4, "f4")), put(on, np.full(3, 5, "f4"))
            api.calls.clear()
        np.testing.assert_allclose(layer(x).numpy(), x.numpy() * (2 ** (n + 1) if n < 4 else 8) + (1 if n < 4 else 5))
    assert layer.w.numpy().tolist() == [8] * 3 and "cuMemcpyHtoDAsync" not in api.calls


def test_a_kernel_that_runs_in_one_thread_is_named_with_its_line_and_why(on: Device) -> None:
    def walked(x, i):
        for k in range(2):
            x[i[k]] = x[i[k]] * 2.0
        return x.sum() + 0.0 * x

    def put_elements(x, i):
        x[i] = x[i] * 2.0
        return x * 1.0

    for function, args, alone in ((put_elements, (f32(5), np.array([1, 1])), True), (walked, (f32(5), np.array([1, 1])), False)):
        f = cuda(function)
        for _ in range(3):
            f(*args)
        said = [line for line in re.sub(r"\n {8,}", " ", f.explain()).splitlines() if "in one thread" in line]
        assert len(said) == alone
        if alone:
            assert re.search(r": a write at an index at .*test_backend.py:\d+:\d+: two iterations of a loop may touch one element$", said[0])


def test_a_branch_on_a_value_on_the_device_waits_for_it_in_mid_program_and_explain_says_so(on: Device) -> None:
    def either(x):
        if x[0] > 0.0:
            return x * 2.0
        return x + 1.0

    f, x = cuda(either), f32(6)
    for sign in (1, 1, -1, 1, -1):
        x[0] = sign
        assert np.array_equal(f(x), x * 2 if sign > 0 else x + 1)
        assert np.array_equal(f(put(on, x)).numpy(), f(x))
    assert [v.record.on_device for v in f.versions] == [True]
    assert "waits for the device in mid-program: what goes on there depends on a value that the device computes (" in f.explain()


def test_without_a_device_the_call_says_what_is_missing(api: FakeDriver) -> None:
    api.refused["cuInit"] = CUresult.CUDA_ERROR_NO_DEVICE
    f = cuda(soft)
    for _ in range(2):
        with pytest.raises(NoDevice, match="CUDA_ERROR_NO_DEVICE.*cuda-or-cpu"):
            f(f32(5, 7), f32(7))


def test_without_a_device_the_cpu_answers_where_that_is_allowed_and_an_event_says_so(api: FakeDriver) -> None:
    api.refused["cuInit"] = CUresult.CUDA_ERROR_NO_DEVICE
    f, x, y = cuda(soft, backend="cuda-or-cpu"), f32(5, 7), f32(7)
    events: list[Any] = []
    with tierup.events.subscribe(events.append):
        for _ in range(4):
            np.testing.assert_allclose(f(x, y), np.tanh(x * y) + 1, rtol=1e-6)
    [told] = [e for e in events if e.reason is Reason.NO_DEVICE]
    assert told.kind is EventKind.FALLBACK and "runs on the CPU: " in told.action
    assert f.stats().hits == 3 and "native, 3 hits" in f.explain() and not f.versions[0].record.on_device


def test_with_a_device_cuda_or_cpu_runs_there(on: Device, api: FakeDriver) -> None:
    f = cuda(soft, backend="cuda-or-cpu")
    for _ in range(2):
        f(f32(5, 7), f32(7))
    assert len(api.launched) == 1


def test_an_array_on_the_device_is_refused_by_a_function_for_the_cpu(on: Device) -> None:
    with pytest.raises(TypeError, match=r'argument x.*lies on a device: give the function options\(backend="cuda"\)'):
        tierup.jit(soft)(put(on, f32(5, 7)), f32(7))


def test_versions_for_the_cpu_and_for_the_device_stand_side_by_side(on: Device, api: FakeDriver) -> None:
    f, x, y = tierup.jit(soft), f32(5, 7), f32(7)
    for _ in range(2):
        f(x, y)
    with tierup.options(backend="cuda"):
        for _ in range(3):
            f(x, y)
    assert [v.record.on_device for v in f.versions] == [False, True] and api.launched
    api.launched.clear()
    f(x, y)
    assert not api.launched


def test_the_target_is_the_devices_or_the_one_asked_for(on: Device) -> None:
    x, y = f32(5, 7), f32(7)
    for options, target in (({}, "sm_90"), ({"target": "sm_80"}, "sm_80")):
        f = cuda(soft, **options)
        f(x, y), f(x, y)
        assert f.versions[0].compiled.target == target
        assert f".target {target}" in f.plan("ptx")


def test_what_no_kernel_does_is_split_and_runs_on_the_host_between_regions(on: Device, api: FakeDriver) -> None:
    def split(x):
        return np.partition(np.tanh(x) + 1.0, -1) * 2.0 + x

    f, x = cuda(split), f32(16)
    for _ in range(6):
        np.testing.assert_allclose(f(x), np.partition(np.tanh(x) + 1, -1) * 2 + x, rtol=1e-6)
    there = f(put(on, x))
    np.testing.assert_allclose(there.numpy(), f(x), rtol=1e-6)


def test_what_only_native_code_of_the_cpu_does_is_split_and_runs_on_the_host(on: Device, api: FakeDriver) -> None:
    def ordered(x):
        return np.sort(np.tanh(x) + 1.0) * 2.0 + x

    f, x = cuda(ordered), f32(16)
    for _ in range(6):
        np.testing.assert_allclose(f(x), ordered(x), rtol=1e-6)
    assert "in tier 0: np.sort" in f.explain() and f.stats().hits


def test_a_call_that_has_no_memory_left_is_a_memory_error(on: Device, api: FakeDriver) -> None:
    f, x, y = cuda(soft), f32(5, 7), f32(7)
    for _ in range(2):
        f(x, y)
    big = [put(on, np.zeros(1 << 20, "f4")) for _ in range(4)]
    api.total = api.allocated
    on.allocator.empty()
    api.total = api.allocated
    with pytest.raises(MemoryError, match="the device has no"):
        f(x, y)
    del big
    f(x, y)


def test_threads_that_share_a_function_get_their_own_results(on: Device) -> None:
    f = cuda(lambda x, y: (x * y, x[0] - y))
    for _ in range(2):
        f(f32(5, 7), f32(7))
    wrong: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(20):
            x, y = rng.standard_normal((5, 7)).astype("f4"), rng.standard_normal(7).astype("f4")
            product, difference = f(x, y)
            if not (np.array_equal(product, x * y) and np.array_equal(difference, x[0] - y)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and f.stats().hits == 81


def test_a_compile_in_the_background_arrives_on_the_device(on: Device, api: FakeDriver) -> None:
    first, x, y = cuda(soft), f32(5, 7), f32(7)
    for _ in range(2):
        first(x, y)  # the emulator has seen the code that a worker is going to make
    f = cuda(soft, compile="background")
    for _ in range(3):
        f(x, y)
    assert f.wait(200)
    api.launched.clear()
    np.testing.assert_allclose(f(x, y), np.tanh(x * y) + 1, rtol=1e-6)
    assert len(api.launched) == 1 and f.versions[0].record.on_device and f.stats().hits == 1


def test_small_unsigned_numbers_that_the_host_reads_are_not_negative(on: Device) -> None:
    def times(x, y):
        return y * int(x[0])

    f, y = cuda(times), f32(4)
    for value in (1, 200, 255, 3):
        x = np.array([value, 0], "u1")
        assert np.array_equal(f(x, y), y * np.float32(value))


# --- kernels whose threads meet -------------------------------------------------------------------------------------------


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x, w, b):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * w + b


def relu_of_product(x, y):
    return np.maximum(x @ y + 1.0, 0.0)


def step(w, g, rate):
    w -= rate * g
    return (w * w).sum()


def largest(x):
    return x.argmax(1), x.max(0), x.mean(), (x > 0).any(1), x.cumsum(1)


_MEET: list[tuple[Any, Any]] = [
    (softmax, lambda n, m: (f32(n, m),)),
    (layer_norm, lambda n, m: (f32(n, m), f32(m), f32(m) + 1)),
    (relu_of_product, lambda n, m: (f32(n, m), f32(m, 7))),
    (step, lambda n, m: (f32(n, m), f32(n + 1, m)[1:].copy(), 0.1)),
    (largest, lambda n, m: (f32(n, m),)),
]


@pytest.mark.parametrize(("function", "arguments"), _MEET, ids=lambda f: f.__name__)
def test_reductions_rows_and_products_give_numpys_values_for_their_sizes_and_for_any(on: Device, function: Any, arguments: Any) -> None:
    f = cuda(function)
    for n, m in ((3, 5), (3, 5), (4, 5), (4, 6), (6, 33)):
        ours, numpys = arguments(n, m), arguments(n, m)
        found, expected = f(*ours), function(*numpys)
        for got, want in zip(np.atleast_1d(*found), np.atleast_1d(*expected)) if type(expected) is tuple else [(found, expected)]:
            np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-5)
        for mine, theirs in zip(ours, numpys):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    assert [v.record.on_device for v in f.versions] == [True, True] and f.stats().hits == 3


# --- stages, which need no device -----------------------------------------------------------------------------------


def test_ptx_of_a_version_for_the_cpu_is_shown_for_the_target_that_is_asked_for() -> None:
    f = tierup.jit(soft, target="sm_86")
    for _ in range(2):
        f(f32(5, 7), f32(7))
    text = f.plan("ptx")
    assert ".target sm_86" in text and ".entry soft_0(" in text and text.startswith("// ")
    assert "gpu.func" in f.plan("kernels") and "nvvm.kernel" in f.plan("nvvm")
    assert not f.versions[0].record.on_device


def größe(x):
    return x.sum(axis=0) * 2


def kernels(x):
    return x.sum(axis=0) * 2


@pytest.mark.parametrize("function", [größe, kernels], ids=["letters_that_ptx_has_not", "the_modules_name"])
def test_a_function_of_any_name_has_kernels(on: Device, function: Any) -> None:
    f, x = cuda(function), f32(5, 7)
    for _ in range(2):
        np.testing.assert_allclose(f(x), function(x), rtol=1e-5)
    assert f.stats().hits == 1
    assert "refuses" not in f.plan("ptx")


def test_ptx_comes_with_ptxas_report_or_with_the_word_that_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tierup.lowering.cuda.assembling import ptxas

    f = tierup.jit(soft)
    for _ in range(2):
        f(f32(5, 7), f32(7))
    if ptxas.find() is not None:
        assert f.plan("ptx").startswith("// assembled for sm_80, not run; of each kernel:\n//   soft_0: ")
    monkeypatch.setattr(ptxas, "find", lambda: None)
    assert f.plan("ptx").startswith("// not assembled: ptxas is not installed")


def test_results_that_share_memory_on_the_host_share_it_on_the_device(on: Device) -> None:
    def several(x):
        v, w = x + 1.0, x * 2.0
        return [v, w, w, v[1:], v.T]

    f, x = cuda(several), f32(5, 4)
    for _ in range(4):
        v, w, same, tail, turned = f(put(on, x))
        assert w is same and (tail.address, turned.address) == (v.address + 16, v.address)
        for found, wanted in zip((v, w, tail, turned), (x + 1, x * 2, (x + 1)[1:], (x + 1).T), strict=True):
            assert np.array_equal(found.numpy(), wanted)


def test_a_call_that_the_device_hands_over_is_a_miss_and_its_value_gets_a_version(on: Device) -> None:
    def chosen(x, c):
        return x[1:] if c else x * 2.0

    f, there = cuda(chosen), put(on, f32(4))
    for c in (False, False, True, True, True, False):
        assert (f(there, c).address == there.address + 4) == c
    stats = f.stats()
    assert (stats.profiled_runs, stats.hits, stats.misses, stats.bailouts, stats.compiles) == (1, 4, 1, 0, 2)
    assert "c: bool = True" in f.explain()
