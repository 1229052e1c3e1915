"""Transposes as PTX, assembled (where CUDA's ptxas is installed), not run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated_programs import request

from tierup.lowering.cuda.assembling import ptxas
from tierup.lowering.cuda.compile import compile


@pytest.mark.parametrize(("dtype", "size"), [("?", 1), ("f2", 2), ("f4", 4), ("f8", 8)])
def test_a_transpose_has_one_padded_tile_and_no_spills(dtype: str, size: int) -> None:
    if ptxas.find() is None:
        pytest.skip("CUDA's ptxas is not installed")

    def transposed(x: Any) -> Any:
        return x.T.copy()

    asked = request(transposed, [np.ones((70, 90), dtype)], dynamic=dtype == "f4")
    for target in ("sm_80", "sm_90"):
        (kernel,) = ptxas.assemble(compile(asked, target).ptx, target).report
        assert kernel.shared == 32 * 33 * size
        assert kernel.spill_stores == kernel.spill_loads == kernel.stack == 0
        assert kernel.registers <= 40  # six blocks of 256 threads on a multiprocessor
