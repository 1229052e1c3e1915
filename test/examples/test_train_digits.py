"""The second demo: it learns, its gradients are right, and the training step is native code."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tierup

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def example():
    sys.path.insert(0, str(EXAMPLES))
    try:
        import train_digits

        yield train_digits
    finally:
        sys.path.remove(str(EXAMPLES))


def test_it_trains_a_network_natively(example, capsys, monkeypatch):
    example.train_step.reset()
    monkeypatch.setattr(sys, "argv", ["train_digits.py", "--epochs", "12"])
    example.main()
    out = capsys.readouterr().out
    assert float(re.search(r"held-out accuracy ([\d.]+)%", out)[1]) >= 95
    # the short batch has a version of its own; Python may take a turn or two
    assert re.search(r"276 training steps: 27[0-4] in native code; 2 versions, 2 compiles", out)
    assert "in tier 0: aten" not in example.train_step.explain()
    assert out.count("*") == 2 * 12  # two curves


def test_its_gradient_is_the_one_written_by_hand(example):
    """That of the first demo, which is checked against central differences."""
    import digits

    images, labels = digits.load()[:2]
    p = [a.astype(np.float64) for a in digits.start()]
    *moved, loss = digits.train_step(*p, images[:29].astype(np.float64), labels[:29], 1.0)
    value, (first, second) = tierup.value_and_grad(example.loss)([(p[0], p[1]), (p[2], p[3])], images[:29].astype(np.float64), labels[:29])
    np.testing.assert_allclose(value, loss, rtol=1e-12)
    for before, after, gradient in zip(p, moved, (*first, *second), strict=True):
        np.testing.assert_allclose(before - after, gradient, rtol=1e-9, atol=1e-12)


def test_a_curve_has_its_extremes_and_a_point_per_value(example):
    text = example.curve("title", [1.0, 3.0, 2.0], height=3)
    lines = text.splitlines()
    assert lines[0] == "title" and lines[1].startswith("    3.000 |") and lines[3].startswith("    1.000 |")
    assert [line.partition("|")[2].strip() for line in lines[1:4]] == ["*", "*", "*"]
    assert example.curve("t", [1.0, 10.0, 100.0], height=3, logarithmic=True).splitlines()[2].partition("|")[2].strip() == "*"
