"""Products on the tensor cores as PTX, assembled (where CUDA's ptxas is installed), not run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from emulated_programs import request
from sampling import IS_EXHAUSTIVE, drawn

from tierup.lowering.cuda.assembling import ptxas
from tierup.lowering.cuda.compile import compile
from tierup.lowering.cuda.products.schemes import SMALL

TARGETS = ("sm_80", "sm_90") if IS_EXHAUSTIVE else ("sm_90",)
SIZES = {"small": (128, 72, 88), "large": (2048, 64, 2048), "odd": (33, 41, 35)}


def _product(m: int, k: int, n: int, *, dynamic: bool = False) -> Any:
    def biased(x: Any, y: Any, c: Any) -> Any:
        return np.maximum(x @ y + c, 0)

    values = [np.ones(sizes, ml_dtypes.bfloat16) for sizes in ((m, k), (k, n), (n,))]
    return request(biased, values, dynamic=dynamic)


@pytest.mark.parametrize("sizes", drawn("products that assemble", [*SIZES, "any"], 2))
def test_products_on_tensor_cores_assemble_without_spills(sizes: str) -> None:
    if ptxas.find() is None:
        pytest.skip("CUDA's ptxas is not installed")
    asked = _product(*SIZES.get(sizes, (33, 40, 35)), dynamic=sizes == "any")
    for target in TARGETS:
        ptx = compile(asked, target).ptx
        assert "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" in ptx
        assert ("cp.async.cg.shared.global" in ptx) == (sizes != "odd")
        for kernel in ptxas.assemble(ptx, target).report:
            assert kernel.spill_stores == kernel.spill_loads == kernel.stack == 0
            assert kernel.registers <= (128 if kernel.shared == SMALL.shared else 255)  # 65536 for the threads of a multiprocessor


def test_products_rounded_to_tf32_assemble_without_spills() -> None:
    if ptxas.find() is None:
        pytest.skip("CUDA's ptxas is not installed")

    def transposed(x: Any, y: Any, c: Any) -> Any:
        return np.maximum(x.T @ y + c, 0)

    values = [np.ones(sizes, np.float32) for sizes in ((64, 2048), (64, 2048), (2048,))]
    for target in TARGETS:
        ptx = compile(replace(request(transposed, values), tf32=True), target).ptx
        assert "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" in ptx and "cvt.rna.tf32.f32" in ptx
        assert all(k.spill_stores == k.spill_loads == k.stack == 0 for k in ptxas.assemble(ptx, target).report)


def test_older_targets_multiply_without_tensor_cores() -> None:
    ptx = compile(_product(33, 41, 35), "sm_70").ptx
    assert "mma.sync" not in ptx
    assert "fma.rn.f32" in ptx


@pytest.mark.parametrize(("dtype", "registers"), [(np.float32, 128), (np.float64, 255)])
def test_large_products_without_tensor_cores_assemble_without_spills(dtype: Any, registers: int) -> None:
    if ptxas.find() is None:
        pytest.skip("CUDA's ptxas is not installed")

    def product(x: Any, y: Any) -> Any:
        return x @ y

    ptx = compile(request(product, [np.ones((2048, 32), dtype), np.ones((32, 2048), dtype)]), "sm_80").ptx
    assert ptx.count(f"fma.rn.f{8 * np.dtype(dtype).itemsize}") == 64 * 8  # 8 x 8 numbers of a thread, 8 of k
    for target in TARGETS:
        for kernel in ptxas.assemble(ptx, target).report:
            assert kernel.spill_stores == kernel.spill_loads == kernel.stack == 0
            assert kernel.registers <= registers


def test_the_products_of_a_tile_stand_in_a_row() -> None:
    def product(x: Any, y: Any) -> Any:
        return x @ y

    ptx = compile(request(product, [np.ones((70, 33), np.float32), np.ones((33, 66), np.float32)]), "sm_80").ptx
    assert ptx.count("fma.rn.f32") == 16 * 16  # 4 x 4 numbers of a thread, 16 of k
    assert ptx.count("ld.shared.v4") == 2 * 16
