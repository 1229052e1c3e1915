"""Matrix products as kernels, on the emulated device, against NumPy in double precision. No kernel here has run on a GPU."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import emulated_programs
import ml_dtypes
import numpy as np
import pytest
from emulated_programs import STAGES, agrees, compiled, request, results
from host_runner import run
from kernel_harness import spec_of

from tierup.lowering.base.abi import Request
from tierup.lowering.cuda.compile import compile
from tierup.lowering.cuda.products import schemes as product_schemes
from tierup.lowering.cuda.targets import MOST_SHARED
from tierup.lowering.cuda.transforms import products_to_library, products_to_tiles

RNG = np.random.default_rng(5)
bf16 = ml_dtypes.bfloat16
Array = np.ndarray[Any, Any]


def of(dtype: Any, *sizes: int) -> Array:
    return (RNG.integers(-8, 9, sizes) / 4).astype(dtype)


def on_tensor_cores(function: Any, *calls: tuple[Array, ...], dynamic: bool = False) -> None:
    """Each call gives what NumPy gives in double precision, by one kernel, of mma."""
    artifact = compiled(function, calls[0], dynamic=dynamic)
    assert artifact.stages["kernels"].count("gpu.func") == (2 if dynamic else 1)  # for sizes that may be large, another
    assert "nvgpu.mma.sync" in artifact.stages["kernels"]
    for values in calls:
        outcome = run(artifact, values)
        assert len(set(outcome.launches)) <= 1
        (found,) = results(outcome)
        np.testing.assert_allclose(found, function(*[v.astype(np.float64) for v in values]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sizes", [(70, 40, 72), (5, 7, 3), (33, 70, 66)])
def test_bfloat16_products_of_any_size_run_on_tensor_cores(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    on_tensor_cores(lambda x, y: x @ y, (of(bf16, m, k), of(bf16, k, n)))


def test_one_kernel_on_tensor_cores_serves_all_sizes() -> None:
    calls = [(of(bf16, m, k), of(bf16, k, n)) for m, k, n in ((5, 7, 3), (18, 40, 24), (5, 0, 3), (0, 5, 3))]
    on_tensor_cores(lambda x, y: x @ y, *calls, dynamic=True)


def test_operands_are_read_as_they_lie() -> None:
    on_tensor_cores(lambda x, y: x @ y.T, (of(bf16, 24, 40), of(bf16, 16, 40)))
    on_tensor_cores(lambda x, y: x.T @ y, (of(bf16, 40, 24), of(bf16, 40, 16)))
    on_tensor_cores(lambda x, y: x @ y, (of(bf16, 3, 36, 40), of(bf16, 3, 40, 24)))


def test_what_follows_a_product_runs_on_its_sums() -> None:
    on_tensor_cores(lambda x, y, c: np.maximum(x @ y + c, 0.5), (of(bf16, 40, 40), of(bf16, 40, 24), of(np.float32, 24)))


def test_few_rows_or_columns_take_narrow_and_deep_tiles() -> None:
    on_tensor_cores(lambda x, y: x @ y.T, (of(bf16, 3, 136), of(bf16, 24, 136)))
    on_tensor_cores(lambda x, y: x @ y, (of(bf16, 24, 130), of(bf16, 130, 3)))


def test_large_tiles_are_right_at_the_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_schemes, "_BY_TIME", (product_schemes.LARGE,))
    monkeypatch.setattr(product_schemes, "_FEW", 0)
    on_tensor_cores(lambda x, y: x @ y.T, (of(bf16, 8, 40), of(bf16, product_schemes.LARGE.columns + 8, 40)))


def test_sizes_choose_the_tiles() -> None:
    scheme = partial(product_schemes.scheme_for, batch=1, straight=True)
    assert scheme(4096, 4096) is scheme(2048, 2048) is product_schemes.LARGE
    assert scheme(65536, 128) is product_schemes.TALL  # its second half would be zeros
    assert scheme(2048, 1024) is product_schemes.MIDDLE
    assert scheme(32, 32, batch=1024) is scheme(256, 512) is product_schemes.TINY
    assert scheme(1024, 1024) is scheme(64, 8192) is scheme(None, 4096) is scheme(4096, 4096, straight=False) is product_schemes.SMALL
    assert scheme(8, 4096) is product_schemes.FEW_ROWS
    assert scheme(4096, 16) is product_schemes.FEW_COLUMNS
    assert product_schemes.register_scheme_for(4096, 4096, 1) is product_schemes.WIDE
    assert product_schemes.register_scheme_for(512, 1024, 1) is product_schemes.register_scheme_for(None, 4096, 1) is product_schemes.NARROW
    assert product_schemes.register_scheme_for(20, 32, 1024) is product_schemes.LITTLE
    assert product_schemes.register_scheme_for(8, 4096, 1) is product_schemes.THIN_ROWS
    assert product_schemes.register_scheme_for(4096, 2, 1) is product_schemes.THIN_COLUMNS
    assert all(s.shared <= MOST_SHARED for s in vars(product_schemes).values() if isinstance(s, product_schemes.Scheme))


def test_a_batch_of_symbolic_size_takes_tiles_for_few_rows_when_it_has_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulated_programs, "symbolic", lambda values: [("rows", 40), None])
    w = of(bf16, 40, 24)
    artifact = compiled(lambda x, w: x @ w, (of(bf16, 20, 40), w), dynamic=True)
    launches = []
    for rows in (16, 17, 1, 0):
        x = of(bf16, rows, 40)
        outcome = run(artifact, (x, w))
        np.testing.assert_allclose(results(outcome)[0], x.astype(float) @ w.astype(float), rtol=1e-5, atol=1e-5)
        launches.append(outcome.launches)
    assert launches[0] == launches[2] != launches[1] and not launches[3]


def test_symbolic_sizes_take_the_large_tiles_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_schemes, "LARGE", product_schemes.Scheme(32, 32, 1, 1, 2, 4, 1.0))
    monkeypatch.setattr(product_schemes, "_MULTIPROCESSORS", 2)
    monkeypatch.setattr(products_to_tiles, "LARGE", product_schemes.LARGE)
    calls = [(of(bf16, m, 40), of(bf16, n, 40)) for m, n in ((48, 24), (8, 24), (8, 40))]
    artifact = compiled(lambda x, y: x @ y.T, calls[0], dynamic=True)
    launches = []
    for values in (*calls, (of(bf16, 48, 41), of(bf16, 24, 41))):
        outcome = run(artifact, values)
        np.testing.assert_allclose(results(outcome)[0], values[0].astype(float) @ values[1].T.astype(float), rtol=1e-5, atol=1e-5)
        launches += [outcome.launches]
    assert launches[0] == launches[2] != launches[1] == launches[3]  # 2 tiles, 1 tile, 2 tiles, lines of 82 bytes


def tf32(x: Array) -> Array:
    """To 11 significant bits, the nearest, as numbers."""
    fraction, exponent = np.frexp(x.astype(np.float64))
    return np.ldexp(np.trunc(fraction * 2048 + np.copysign(0.5, fraction)), exponent - 11)


def test_singles_run_on_tensor_cores_rounded_to_tf32_where_that_is_asked_for() -> None:
    def plain(x: Any, y: Any, c: Any) -> Any:
        return np.maximum(x @ y + c, -1)

    def swapped(x: Any, y: Any, c: Any) -> Any:
        return np.maximum(x.T @ y.T + c, -1)

    for function, (m, k, n), dynamic in ((plain, (33, 12, 20), False), (swapped, (20, 17, 36), False), (plain, (5, 9, 3), True)):
        values = tuple(RNG.standard_normal(sizes).astype(np.float32) for sizes in ((m, k), (k, n), (n,)))
        if function is swapped:
            values = values[0].T.copy(), values[1].T.copy(), values[2]
        asked = request(function, values, dynamic=dynamic)
        artifact = compile(replace(asked, tf32=True), "sm_80", STAGES)
        assert "tf32Enabled" in artifact.stages["kernels"]
        (found,) = results(run(artifact, values))
        x, y = map(tf32, values[:2])
        np.testing.assert_allclose(found, function(x, y, values[2].astype(np.float64)), rtol=1e-5, atol=1e-5)
    assert "mma.sync" not in compile(asked, "sm_80", STAGES).stages["kernels"]  # not by themselves
    assert "mma.sync" not in compile(replace(asked, tf32=True), "sm_75", STAGES).stages["kernels"]


def test_with_nvidias_library_what_follows_its_product_is_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products_to_library, "LEAST_WORK", 24)
    monkeypatch.setitem(products_to_library._LEAST_DEPTH, "f32", 2)

    def biased(x: Any, y: Any, c: Any) -> Any:
        return np.maximum(x @ y + c, 0.5).sum(0)

    calls = [(of(np.float32, m, k), of(np.float32, k, n), of(np.float32, n)) for m, k, n in ((5, 7, 3), (2, 2, 3))]
    artifact = compiled(biased, calls[0], dynamic=True)
    for values, by_library in zip(calls, (True, False), strict=True):
        found, ours = run(artifact, values, library=True), run(artifact, values)
        assert bool(found.products) == by_library and not ours.products
        for outcome in (found, ours):
            np.testing.assert_allclose(results(outcome)[0], biased(*values), rtol=1e-5, atol=1e-5)


def test_products_of_singles_run_in_tiles() -> None:
    calls = [(of(np.float32, m, k), of(np.float32, k, n)) for m, k, n in ((5, 9, 3), (66, 20, 68), (3, 0, 2), (0, 3, 2))]
    agrees(lambda x, y: x @ y + 1, *calls, dynamic=True)


@pytest.mark.parametrize(
    ("scheme", "dtype", "sizes"),
    [("WIDE", np.float32, (130, 9, 131)), ("WIDE", np.float64, (20, 12, 132)), ("THIN_ROWS", np.float32, (3, 70, 36)), ("THIN_COLUMNS", np.int32, (36, 68, 3))],
)
def test_tiles_in_registers_are_right_at_the_edges(
    scheme: str, dtype: Any, sizes: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = getattr(product_schemes, scheme)
    monkeypatch.setattr(products_to_tiles, "register_scheme_of", lambda product: chosen)
    m, k, n = sizes
    agrees(lambda x, y: x.T @ y.T, (of(dtype, k, m), of(dtype, n, k)))  # of x neighbours are neighbours along m, of y along k


_LINEAR = """func.func @f(%x: !torch.vtensor<[40,32],f16>, %w: !torch.vtensor<[24,32],f16>, %b: !torch.vtensor<[24],f16>)
    -> !torch.vtensor<[40,24],f16> {
  %0 = torch.aten.linear %x, %w, %b : !torch.vtensor<[40,32],f16>, !torch.vtensor<[24,32],f16>, !torch.vtensor<[24],f16>
    -> !torch.vtensor<[40,24],f16>
  return %0 : !torch.vtensor<[40,24],f16>
}"""


def test_a_linear_layer_of_halves_is_one_kernel() -> None:
    values = (of(np.float16, 40, 32), of(np.float16, 24, 32), of(np.float16, 24))
    artifact = compile(Request(_LINEAR, "f", tuple(map(spec_of, values))), "sm_80", STAGES)
    assert artifact.stages["kernels"].count("gpu.func") == 1
    assert "nvgpu.mma.sync" in artifact.stages["kernels"]
    (found,) = results(run(artifact, values))
    x, w, c = (v.astype(np.float64) for v in values)
    np.testing.assert_array_equal(found, (x @ w.T + c).astype(np.float16))
