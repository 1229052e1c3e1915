"""What a pullback holds, beside what PyTorch saves for the same step."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import gradients

pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_a_pullback_holds_no_more_than_pytorch_saves():
    held = gradients.measure_held()
    assert held.torch is not None and held.ours <= gradients.MOST_HELD * held.torch
    params, x, y = gradients.problem(batch=4, width=8)
    value, new = gradients.torch_step(params, x, y)()
    want = gradients.by_hand(params, x, y)
    np.testing.assert_allclose(value.item(), float(want[0]), rtol=1e-5)
    np.testing.assert_allclose(new[0], want[1][0][0], rtol=1e-4, atol=1e-6)
