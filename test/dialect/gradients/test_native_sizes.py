"""Gradients of reductions, norms and softmax in native code for symbolic sizes: what tier 0 gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gradient_harness import Case, array, case, differentiated, program, runner

import tierup

ROWS = (5, 5, 5, 7, 7, 7, 6, 9, 11)  # static versions first, then one with symbolic sizes
WEIGHT, BIAS = array(4, low=0.3, high=2, seed=7), array(4, seed=8)


def _reductions(n: int) -> list[Case]:
    x, low = array(n, 4, seed=1), array(n, 4, low=0.5, high=1.5, seed=2)
    return [
        case("aten.amax", x, [0], False), case("aten.max", x), case("aten.max.dim", x, 0, True), case("aten.aminmax", x, 1, False, of=1),
        case("aten.var.correction", x, [0], 1, False), case("aten.std.correction", x, [1], 0, True), case("aten.var_mean", x, True, of=1),
        case("aten.linalg_vector_norm", x, 3, [0], False, None), case("aten.norm.Scalar", x, 2), case("aten.logsumexp", x, [0], False),
        case("aten.prod", low, None), case("aten.prod.dim_int", low, 0, False, None), case("aten.cumsum", x, 0, None),
        case("aten.cumprod", low, 0, None), case("aten.outer", x[:, 0].copy(), low[0].copy()),
    ]  # fmt: skip


def _rows(n: int) -> list[Case]:
    x = array(n, 4, 3, seed=1)
    return [
        case("aten.softmax.int", x, 0, None), case("aten.log_softmax.int", x, 1, None), case("aten._safe_softmax", x, -1, None),
        case("aten.layer_norm", x[:, :, 0].copy(), [4], WEIGHT, BIAS, 1e-3, False), case("aten.rms_norm", x[:, :, 0].copy(), [4], WEIGHT, None),
        case("aten.group_norm", x, 2, WEIGHT, BIAS, 1e-3, False), case("aten.batch_norm", x, WEIGHT, BIAS, None, None, True, 0.1, 1e-3, False),
        case("aten.batch_norm", x, WEIGHT, BIAS, BIAS, WEIGHT, False, 0.1, 1e-3, False),
    ]  # fmt: skip


def _zeros(n: int) -> list[Case]:
    """A zero among the factors: the other arm."""
    x = array(n, 4, low=0.5, high=1.5, seed=2)
    x[n // 2, 1] = 0
    return [case("aten.prod.dim_int", x, 0, False, None), case("aten.cumprod", x, 0, None), case("aten.prod", x[:, 1].copy(), None)]


@pytest.mark.parametrize("cases", [_reductions, _rows, _zeros], ids=lambda f: f.__name__)
def test_native_gradients_are_tier_0s_for_all_sizes(cases: Callable[[int], list[Case]], tmp_path: Path) -> None:
    arrays = [a for given in cases(ROWS[0]) for a in given.arrays]
    text = program(*cases(ROWS[0]))
    count = len(runner(text)(*arrays))
    backward = differentiated(text, list(range(len(arrays))), range(count))
    (tmp_path / "f.mlir").write_text(backward)
    f, tier0, forward = tierup.load(tmp_path / "f.mlir", level=0), runner(backward), runner(text)
    for rows in ROWS:
        arrays = [a for given in cases(rows) for a in given.arrays]
        arguments = [*arrays, *(array(*v.shape, low=-1, high=1.5, seed=k) for k, v in enumerate(forward(*arrays)))]
        for got, want in zip(f(*arguments), tier0(*arguments), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert "in tier 0: aten" not in f.explain(), f.explain()
    assert f.stats().hits and any(v.speculation.kind != "static" for v in f.versions)
