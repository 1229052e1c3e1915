"""Matrix products as kernels, on the emulated device, against NumPy in double precision. No kernel here has run on a GPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from emulated_programs import STAGES, agrees, compiled, results
from host_runner import run
from kernel_harness import spec_of

from tierup.lowering.abi import Request
from tierup.lowering.cuda.compile import compile

RNG = np.random.default_rng(5)
bf16 = ml_dtypes.bfloat16
Array = np.ndarray[Any, Any]


def of(dtype: Any, *sizes: int) -> Array:
    return (RNG.integers(-8, 9, sizes) / 4).astype(dtype)


def on_tensor_cores(function: Any, *calls: tuple[Array, ...], dynamic: bool = False) -> None:
    """Each call gives what NumPy gives in double precision, by one kernel, of mma."""
    artifact = compiled(function, calls[0], dynamic=dynamic)
    assert artifact.stages["kernels"].count("gpu.func") == 1
    assert "nvgpu.mma.sync" in artifact.stages["kernels"]
    for values in calls:
        (found,) = results(run(artifact, values))
        np.testing.assert_allclose(found, function(*[v.astype(np.float64) for v in values]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sizes", [(64, 64, 64), (16, 32, 8), (70, 40, 72), (5, 7, 3), (65, 97, 66)])
def test_bfloat16_products_of_any_size_run_on_tensor_cores(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    on_tensor_cores(lambda x, y: x @ y, (of(bf16, m, k), of(bf16, k, n)))


def test_one_kernel_on_tensor_cores_serves_all_sizes() -> None:
    calls = [(of(bf16, m, k), of(bf16, k, n)) for m, k, n in ((5, 7, 3), (40, 72, 48), (66, 33, 70), (5, 0, 3), (0, 5, 3))]
    on_tensor_cores(lambda x, y: x @ y, *calls, dynamic=True)


def test_operands_are_read_as_they_lie() -> None:
    on_tensor_cores(lambda x, y: x @ y.T, (of(bf16, 24, 40), of(bf16, 16, 40)))
    on_tensor_cores(lambda x, y: x.T @ y, (of(bf16, 40, 24), of(bf16, 40, 16)))
    on_tensor_cores(lambda x, y: x @ y, (of(bf16, 3, 20, 40), of(bf16, 3, 40, 24)))


def test_what_follows_a_product_runs_on_its_sums() -> None:
    on_tensor_cores(lambda x, y, c: np.maximum(x @ y + c, 0.5), (of(bf16, 40, 40), of(bf16, 40, 24), of(np.float32, 24)))


def test_a_large_product_has_the_larger_tiles() -> None:
    artifact = compiled(lambda x, y: x @ y, (of(bf16, 2048, 32), of(bf16, 32, 1024)))
    assert "2x128x40xbf16" in artifact.stages["kernels"]


@pytest.mark.parametrize("sizes", [(5, 9, 3), (70, 33, 66)])
def test_products_of_singles_run_in_tiles(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    agrees(lambda x, y: x @ y + 1, (of(np.float32, m, k), of(np.float32, k, n)), dynamic=True)


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
