"""The corpus' programs on the emulated device give what their native code on the CPU gives. `make test` takes a sample, `make test-ptx` all.
No kernel here has run on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from corpus import Program
from corpus_requests import kernels, requests, sample
from emulated_programs import STAGES
from host_runner import run
from kernel_harness import Failed, call

from tierup.lowering.base.abi import ResultKind

SLOW = ("power_iteration",)  # half a minute each: hundreds of launches


@pytest.mark.parametrize("program", [p for p in sample("emulated") if p.name not in SLOW], ids=lambda p: p.name)
def test_kernels_give_what_native_code_gives(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    for asked in requests(program, monkeypatch):
        artifact = kernels(program, asked, STAGES)
        if artifact is None:
            continue
        outcome = run(artifact, asked.flat)
        try:
            expected = call(asked.artifact, asked.flat)
        except Failed as e:
            assert e.site is not None and outcome.status
            continue
        assert not outcome.status
        for spec, got, want in zip(artifact.results, outcome.results, expected, strict=True):
            if spec.kind in (ResultKind.BUFFER, ResultKind.ARGUMENT, ResultKind.SCALAR, ResultKind.ALLOCATED):
                _the_same(np.asarray(got), np.asarray(want), program.tolerance)


def _the_same(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], tolerance: float) -> None:
    assert got.shape == want.shape and got.dtype == want.dtype
    if want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    precision = float(np.finfo(want.dtype).eps) if want.dtype.kind == "f" else 2.0**-7  # bfloat16
    got, want = got.astype(np.float64), want.astype(np.float64)
    largest = max(1.0, np.abs(want[np.isfinite(want)]).max(initial=0))
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * precision * largest)
