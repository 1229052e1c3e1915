"""The example of training under PyTorch's autograd: it learns what eager learns, by tierup's programs, compiled once for each size of batch."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_it_learns_what_eager_learns(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["torch_training.py", "--epochs", "2"])
    monkeypatch.syspath_prepend(str(EXAMPLES))
    ours = runpy.run_path(str(EXAMPLES / "torch_training.py"))["main"]()
    out = capsys.readouterr().out
    losses = [float(v) for v in re.search(r"last loss ([\d.]+), in eager mode ([\d.]+)", out).groups()]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)
    accuracies = [float(v) for v in re.search(r"accuracy ([\d.]+)%, in eager mode ([\d.]+)%", out).groups()]
    assert min(accuracies) >= 90
    assert "46 calls by tierup's forward and backward programs, 0 by the original program" in out
    (variant,) = ours.variants
    (pair,) = variant.executor.gradients.pairs
    assert pair.backward.executor.stats().hits >= 43
    assert pair.forward.stats().hits >= 41
