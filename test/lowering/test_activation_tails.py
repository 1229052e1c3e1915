"""Activations where exp(x) is denormal and x*exp(x) is not: both tiers stay near the exact value."""

from __future__ import annotations

import numpy as np
import pytest
from single_op import native, tier0

_OPS = [("aten.gelu", ("tanh",)), ("aten.silu", ()), ("aten.mish", ())]


def _distance(got: np.ndarray, want: np.ndarray) -> float:
    """In units in the last place of `got`'s dtype; `want` is of a wider one."""
    return float(np.max(np.abs(got.astype(want.dtype) - want) / np.spacing(np.abs(want).astype(got.dtype)).astype(want.dtype)))


@pytest.mark.parametrize(("op", "rest"), _OPS, ids=lambda v: str(v))
def test_the_tiers_agree_within_4_ulp_down_to_the_denormals(op: str, rest: tuple[str, ...]) -> None:
    for dtype, low in ((np.float32, -112.0), (np.float64, -760.0)):
        x = np.concatenate([np.linspace(low, 30, 40001), np.linspace(-12, -8, 8001)]).astype(dtype)
        assert _distance(native(op, (x, *rest))[0], tier0(op, (x, *rest)).astype(np.longdouble)) <= 4


@pytest.mark.parametrize("op", ["aten.silu", "aten.mish"])
@pytest.mark.parametrize(("dtype", "wide", "low", "high"), [(np.float32, np.float64, -103, -60), (np.float64, np.longdouble, -744, -500)])
def test_the_negative_tail_is_x_exp_x(op: str, dtype: type, wide: type, low: float, high: float) -> None:
    """There tanh(log1p(e)) and e/(1 + e) are e, but for e*e."""
    x = np.linspace(low, high, 20001).astype(dtype)
    exact = x.astype(wide) * np.exp(x.astype(wide))
    assert _distance(native(op, (x,))[0], exact) <= 4
    assert _distance(tier0(op, (x,)), exact) <= 4


def test_infinities_and_nan_are_as_they_were() -> None:
    x = np.array([np.inf, -np.inf, np.nan, -1e30, 1e30, -0.0], np.float32)
    for op, rest in _OPS:
        got, want = native(op, (x, *rest))[0], tier0(op, (x, *rest))
        np.testing.assert_array_equal(got, want)
        assert np.isposinf(want[0]) and np.isnan(want[2]) and want[3] == 0 and want[4] == np.float32(1e30) and np.signbit(want[5])
