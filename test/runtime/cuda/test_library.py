"""Products by NVIDIA's library, on stand-ins of it and of the driver: what it is asked, when, and what happens without it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compiled import artifact_of
from fake_cublas import FakeCublas
from fake_driver import FakeDriver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thread_emulator import emulated

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.artifacts.host_steps import HostProgram
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Request
from tierup.lowering.cuda.assembling import ptx, toolkit
from tierup.lowering.cuda.compile import compile as compile_cuda
from tierup.lowering.cuda.transforms import products_to_library
from tierup.runtime.cuda.arrays.arrays import put
from tierup.runtime.cuda.device import cublas
from tierup.runtime.cuda.device.cublas import Cublas, NoLibrary, open_cublas
from tierup.runtime.cuda.device.devices import Device
from tierup.runtime.cuda.errors import DriverError
from tierup.runtime.cuda.host.buffers import Buffer, dense
from tierup.runtime.cuda.host.flat import Multiply, flatten
from tierup.runtime.cuda.host.gemm import gemm
from tierup.runtime.cuda.plan import CudaPlan

_EMIT = ptx.emit
RNG = np.random.default_rng(11)
bf16 = np.dtype(ml_dtypes.bfloat16)


@pytest.fixture
def library(api: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> FakeCublas:
    """Installed, and products of 2**9 multiplications large enough for it."""
    made = FakeCublas(api)
    monkeypatch.setattr(cublas, "load", made.load)
    monkeypatch.setattr(products_to_library, "LEAST_WORK", 1 << 9)
    return made


@pytest.fixture(autouse=True)
def _emulated(api: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TIERUP_CACHE", "0")
    monkeypatch.setattr(toolkit, "_folders", lambda: iter(()))  # no library of this machine's
    with emulated(api):
        yield


def of(dtype: Any, *sizes: int) -> np.ndarray:
    return (RNG.integers(-8, 9, sizes) / 4).astype(dtype)


# --- one call ---------------------------------------------------------------------------------------------------------

_EQUATIONS = ("ab,bc->ac", "ba,bc->ac", "ab,cb->ac", "ba,cb->ac", "ab,bc->ca", "dab,dbc->dac", "dba,dcb->dac", "adb,dbc->adc", "abe,ebc->ac",
              "aeb,bc->aec")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_the_library_is_asked_is_the_product_for_all_layouts_and_sizes(on: Device, library: FakeCublas, data: st.DataObject) -> None:
    opened = on.library()
    assert isinstance(opened, Cublas)
    equation = data.draw(st.sampled_from(_EQUATIONS))
    terms = equation.replace("->", ",").split(",")
    sizes = {letter: data.draw(st.sampled_from((2, 3, 5, 1, 1, 4, 2, 3, 0)), label=letter) for letter in "abcde"}
    kind, held = data.draw(st.sampled_from((("f32", "f32"), ("f64", "f64"), ("bf16", "f32"), ("bf16", "bf16"), ("f16", "f16"))))
    adds = data.draw(st.booleans())
    dtypes = {"f32": np.dtype("f4"), "f64": np.dtype("f8"), "f16": np.dtype("f2"), "bf16": bf16}
    buffers, arrays, outers = [], [], []
    for which, term in enumerate(terms):
        shape = tuple(sizes[letter] for letter in term)
        dtype = dtypes[held if which == 2 else kind]
        order = data.draw(st.permutations(range(len(term))), label="order in memory") if which < 2 else list(range(len(term)))
        pad = data.draw(st.integers(0, 2), label="elements between lines")
        wide = [shape[axis] + pad * (i == len(order) - 1) for i, axis in enumerate(order)]
        outer = of(dtype, *wide)
        address = on.fresh(outer.nbytes + 64)
        raw = np.frombuffer((ctypes.c_char * outer.nbytes).from_address(address), dtype).reshape(wide)
        raw[...] = outer
        array = raw[..., : wide[-1] - pad].transpose([list(order).index(axis) for axis in range(len(order))]) if order else raw
        buffers.append(Buffer(address - 2 * dtype.itemsize, {v: k for k, v in dtypes.items()}[dtype], 2, shape,
                              tuple(s // dtype.itemsize for s in array.strides)))  # fmt: skip
        arrays.append(array)
        outers.append(raw)
    found = gemm(equation, buffers)
    before = [outer.copy() for outer in outers]
    x, y, out = (array.astype("f8") for array in arrays)
    if found is None:
        assert not x.size or not y.size or any(_lies_apart(term, buffer) for term, buffer in zip(terms, buffers, strict=True))
        return
    opened.multiply(found, [buffer.memory for buffer in buffers], ("adds",) if adds else ())
    expected = np.einsum(equation, x, y) + (out if adds else 0)
    np.testing.assert_allclose(arrays[2].astype("f8"), expected.astype(dtypes[held]).astype("f8"), rtol=1e-2 if held[-2:] == "16" else 1e-6)
    assert found.work == np.prod([sizes[letter] for letter in set("".join(terms))])
    untouched = np.ones(outers[2].shape, bool)
    untouched[..., : arrays[2].shape[-1]] = False
    assert np.array_equal(outers[2][untouched], before[2][untouched]) and np.array_equal(outers[0], before[0])


def _lies_apart(term: str, buffer: Buffer) -> bool:
    """Whether neighbours of no axis, or loops of one part, are neighbours in memory."""
    return len(term) > 2 or not any(step == 1 for step, size in zip(buffer.strides, buffer.sizes, strict=True) if size > 1)


def test_what_no_leading_dimension_describes_is_not_asked_of_the_library() -> None:
    def takes(x: tuple[int, int], y: tuple[int, int] = (4, 1), out: tuple[int, int] = (4, 1)) -> bool:
        return gemm("ab,bc->ac", [Buffer(0, "f32", 0, s, t) for s, t in zip(((2, 3), (3, 4), (2, 4)), (x, y, out), strict=True)]) is not None

    assert takes((3, 1)) and takes((1, 2)) and takes((7, 1)) and takes((3, 1), out=(1, 2))
    for strides in ((0, 1), (1, 0), (2, 1), (6, 2), (-3, 1), (3, -1)):
        assert not takes(strides)
    assert not takes((3, 1), out=(0, 1)) and not takes((3, 1), y=(0, 0))
    summed = ((2, 2, 2), (4, 2, 1)), ((2, 2, 3), (6, 3, 1)), ((2, 3), (3, 1))
    assert gemm("abc,bcd->ad", [Buffer(0, "f32", 0, *each) for each in summed]) is not None
    turned = summed[0], ((2, 2, 3), (3, 6, 1)), summed[2]  # the loops of k lie in one another in x alone
    assert gemm("abc,bcd->ad", [Buffer(0, "f32", 0, *each) for each in turned]) is None


def test_memory_that_a_product_uses_is_nobody_elses_meanwhile() -> None:
    steps = (
        ("constant", 2, 8), ("allocate", 3, "f32", (2, 2)), ("allocate", 4, "f32", (2, 2)), ("constant", 5, 1),
        ("launch", "first", (5, 5, 5), (5, 5, 5), -1, ((3, 1),)), ("multiply", "product_0", "ab,bc->ac", (0, 3, 4), ()),
        ("launch", "last", (5, 5, 5), (5, 5, 5), -1, ((4, 1),)),
    )  # fmt: skip
    flat = flatten(HostProgram(2, steps, (), (), {}), [dense(1, "f32", (8, 8)), dense(2, "f32", (8, 8))])
    assert flat is not None
    [multiply] = [op for op in flat.ops if isinstance(op, Multiply)]
    y, out = multiply.memories[1:]
    assert {y.offset, out.offset} == {0, 256} and flat.bytes == 512


def test_singles_keep_their_bits_unless_tf32_is_allowed(on: Device, api: FakeDriver) -> None:
    fake = FakeCublas(api)
    library = Cublas(fake, "", on.driver, on.allocator.allocate)
    buffers = [Buffer(on.fresh(256), "f32", 0, (2, 2), (2, 1)) for _ in range(3)]
    found = gemm("ab,bc->ac", buffers)
    assert found is not None
    for flags, compute in (((), 68), (("tf32",), 77)):
        library.multiply(found, [buffer.memory for buffer in buffers], flags)
        assert fake.multiplied[-1].compute == compute


# --- programs ---------------------------------------------------------------------------------------------------------


def run(plan: CudaPlan, *flat: Any, **symbols: int) -> Any:
    outcome = plan.run(flat, symbols)
    assert outcome.site == 0
    return outcome.results[0]


def biased(x: Any, y: Any, c: Any) -> Any:
    return np.maximum(x @ y + c, 0.5)


def test_a_large_product_goes_to_the_library_and_what_follows_is_a_kernel_or_both_are_ours(on: Device, api: FakeDriver, library: FakeCublas) -> None:
    x, y, c = of("f4", 8, 130), of("f4", 130, 6), of("f4", 6)
    plan = CudaPlan(artifact_of(biased, (x, y, c)), on)
    assert not library.loaded  # before it is asked for
    np.testing.assert_allclose(run(plan, x, y, c), biased(x, y, c), rtol=1e-6)
    [call] = library.multiplied
    assert (call.rows, call.columns, call.depth, call.compute, call.beta) == (6, 8, 130, 68, 0)
    assert [launched.kernel for launched in api.launched] == [plan.artifact.host.kernels[0]]

    api.launched.clear()  # where it is not wanted, our kernel does both
    np.testing.assert_allclose(run(CudaPlan(plan.artifact, on, libraries=False), x, y, c), biased(x, y, c), rtol=1e-6)
    assert len(library.multiplied) == 1 and [k.kernel for k in api.launched] == [plan.artifact.host.kernels[1]]

    on._library, library.names = None, ()  # and where it is not installed
    np.testing.assert_allclose(run(CudaPlan(plan.artifact, on), x, y, c), biased(x, y, c), rtol=1e-6)
    assert len(library.multiplied) == 1 and not on.unsaid and len(api.launched) == 2


def test_an_op_behind_a_product_that_is_not_deep_stays_in_our_kernel(on: Device, api: FakeDriver, library: FakeCublas) -> None:
    x, y, c = of("f4", 16, 20), of("f4", 20, 16), of("f4", 16)
    np.testing.assert_allclose(run(CudaPlan(artifact_of(biased, (x, y, c)), on), x, y, c), biased(x, y, c), rtol=1e-6)
    assert not library.multiplied and len(api.launched) == 1


def test_a_version_for_any_sizes_decides_in_each_call(on: Device, api: FakeDriver, library: FakeCublas) -> None:
    calls = [(of("f4", m, k), of("f4", k, n)) for m, k, n in ((3, 5, 4), (4, 6, 5), (5, 7, 6), (9, 8, 10))]
    artifact = artifact_of(lambda x, y: x @ y, *calls)
    assert artifact.arguments[0].sizes == ("s0", "s1")
    plan = CudaPlan(artifact, on)
    for (m, k, n), by_library in (((2, 3, 4), 0), ((16, 9, 5), 1), ((2, 127, 2), 0), ((2, 128, 2), 1)):
        x, y = of("f4", m, k), of("f4", k, n)
        names = dict(zip(artifact.arguments[0].sizes + artifact.arguments[1].sizes, (m, k, k, n), strict=True))
        before = len(library.multiplied), len(api.launched)
        np.testing.assert_allclose(run(plan, x, y, **names), x @ y, rtol=1e-6)
        assert (len(library.multiplied) - before[0], len(api.launched) - before[1]) == (by_library, 1 - by_library)


_MM = """func.func @f(%x: !torch.vtensor<[8,24],f16>, %y: !torch.vtensor<[24,6],f16>) -> !torch.vtensor<[8,6],f16> {
  %0 = torch.aten.mm %x, %y : !torch.vtensor<[8,24],f16>, !torch.vtensor<[24,6],f16> -> !torch.vtensor<[8,6],f16>
  return %0 : !torch.vtensor<[8,6],f16>
}"""


def test_products_of_halves_are_rounded_once_by_the_library_itself(on: Device, api: FakeDriver, library: FakeCublas) -> None:
    x, y = of("f2", 8, 24), of("f2", 24, 6)
    specs = tuple(ArgumentSpec(ArgumentKind.ARRAY, "f16", array.shape) for array in (x, y))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ptx, "emit", _EMIT)  # the emulator has no tensor cores
        artifact = compile_cuda(Request(_MM, "f", specs))
    found = run(CudaPlan(artifact, on), x, y)
    np.testing.assert_array_equal(found, (x.astype("f4") @ y.astype("f4")).astype("f2"))
    [call] = library.multiplied
    assert call.types == (2, 2, 2) and call.compute == 68 and not api.launched


def test_transposed_operands_and_batches_are_given_as_they_lie(on: Device, api: FakeDriver, library: FakeCublas) -> None:
    def both(x, y, v, w):
        return x.T @ y.T, v @ w

    given = of("f4", 12, 9), of("f4", 7, 12), of("f8", 3, 8, 9), of("f8", 3, 9, 5)
    found = CudaPlan(artifact_of(both, given), on).run(given, {}).results
    for one, expected in zip(found, both(*given), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-6)
    plain, batched = sorted(library.multiplied, key=lambda call: call.batch)
    assert plain.transposed == (True, True) and batched.batch == 3 and not api.launched


def test_products_in_a_plan_are_recorded_into_its_graph(on: Device, api: FakeDriver, library: FakeCublas) -> None:
    def layers(x, v, w):
        return (np.maximum(x @ v, 0.0) @ w) * 2.0

    x, v, w = of("f4", 4, 140), of("f4", 140, 150), of("f4", 150, 5)
    plan = CudaPlan(artifact_of(layers, (x, v, w)), on)
    for _ in range(5):
        np.testing.assert_allclose(run(plan, x, v, w), layers(x, v, w), rtol=1e-5)
        x = x + 1
    assert plan.graph_launches in (3, 4)
    assert [call.recorded for call in library.multiplied] == [False] * 2 * (5 - plan.graph_launches) + [True] * 2
    api.check_zones()


def test_a_library_that_fails_is_an_error_with_its_status_and_the_users_line(on: Device, library: FakeCublas) -> None:
    x, y = of("f4", 8, 24), of("f4", 24, 6)
    plan = CudaPlan(artifact_of(lambda x, y: x @ y, (x, y)), on)
    library.status["cublasGemmStridedBatchedEx"] = 13
    said = r"CUBLAS_STATUS_EXECUTION_FAILED in the product product_0 \(aten.*test_library.py:\d+.*cuBLAS 13.0.2"
    with pytest.raises(DriverError, match=said) as raised:
        run(plan, x, y)
    assert raised.value.name == "CUBLAS_STATUS_EXECUTION_FAILED"


# --- which library ----------------------------------------------------------------------------------------------------


def test_the_newest_library_that_the_driver_can_load_is_taken_and_one_that_is_broken_is_told(on: Device, library: FakeCublas) -> None:
    library.names = ("libcublas.so.12", "libcublas.so.14")
    opened = open_cublas(on.driver, on.allocator.allocate)
    assert opened.path == "libcublas.so.12" and repr(opened) == "cuBLAS 13.0.2"
    library.status["cublasCreate_v2"] = 1
    with pytest.raises(NoLibrary, match=r"libcublas.so.12: cublasCreate_v2: CUBLAS_STATUS_NOT_INITIALIZED") as raised:
        open_cublas(on.driver, on.allocator.allocate)
    assert raised.value.installed
    library.names = ()
    with pytest.raises(NoLibrary) as raised:
        open_cublas(on.driver, on.allocator.allocate)
    assert not raised.value.installed


def test_wheels_and_cudas_folder_are_looked_in(tmp_path: Any, on: Device, library: FakeCublas, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("libcublas.so.13", "libcublasLt.so.13"):
        path = tmp_path / "cublas" / "lib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.setattr(toolkit, "_folders", lambda: iter([tmp_path / "cublas"]))
    library.names = (str(tmp_path / "cublas" / "lib" / "libcublas.so.13"),)
    assert open_cublas(on.driver, on.allocator.allocate).path == library.names[0]


def test_a_function_says_which_products_go_to_the_library_and_the_option_keeps_them(on: Device, api: FakeDriver, library: FakeCublas) -> None:
    def f(x, y):
        return x @ y

    x, y = of("f4", 8, 24), of("f4", 24, 6)
    by_default, ours = tierup.jit(f, backend="cuda"), tierup.jit(f, backend="cuda", libraries=False)
    for _ in range(3):
        for each in (by_default, ours):
            np.testing.assert_allclose(each(put(on, x), y).numpy(), x @ y, rtol=1e-6)
    assert len(library.multiplied) == 2 and len(api.launched) == 2
    assert "by cuBLAS 13.0.2 where it takes them: np.matmul" in by_default.explain()
    assert "cuBLAS" not in ours.explain()
    assert '"tierup.library_product"' in by_default.plan("kernels")


def test_a_call_that_is_captured_has_called_the_library_before(on: Device, api: FakeDriver, library: FakeCublas) -> None:
    x, y = put(on, of("f4", 8, 24)), put(on, of("f4", 24, 6))
    step = tierup.capture(tierup.jit(lambda x, y: x @ y, backend="cuda", num_profiled_runs=0), x, y)
    [*before, last] = [call.recorded for call in library.multiplied]
    assert last and before and not any(before)
    on.driver.fill(x.address, bytes(4), 8 * 24)
    step()
    assert not step.results.numpy().any() and y.numpy().any()


def test_a_broken_library_is_an_event_once_and_our_kernel_answers(on: Device, api: FakeDriver, library: FakeCublas) -> None:
    library.status["cublasCreate_v2"] = 1
    f, x, y = tierup.jit(lambda x, y: x @ y, backend="cuda"), of("f4", 8, 24), of("f4", 24, 6)
    events: list[Any] = []
    with tierup.events.subscribe(events.append):
        for _ in range(4):
            np.testing.assert_allclose(f(x, y), x @ y, rtol=1e-6)
    [told] = [e for e in events if e.reason is Reason.BROKEN_LIBRARY]
    assert "CUBLAS_STATUS_NOT_INITIALIZED" in told.action and len(api.launched) == 3
    assert "our kernels, since cuBLAS cannot be used" in f.explain()
