"""The demo's program: its data, its gradient, its start."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def digits():
    sys.path.insert(0, str(EXAMPLES))
    try:
        import digits

        yield digits
    finally:
        sys.path.remove(str(EXAMPLES))


@pytest.fixture(scope="module")
def data(digits):
    return digits.load()


def test_the_data_is_the_file_whose_origin_is_named():
    digest = hashlib.sha256((EXAMPLES / "data" / "digits.csv.gz").read_bytes()).hexdigest()
    assert digest in (EXAMPLES / "data" / "README.md").read_text()


def test_every_image_is_used_once(data):
    images, labels, held_out, truth = data
    assert images.shape == (1437, 64) and held_out.shape == (360, 64)
    assert (min(images.min(), held_out.min()), max(images.max(), held_out.max())) == (0, 1)
    counts = np.bincount(np.concatenate([labels, truth]))
    assert counts.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]  # optdigits.names, class distribution of the test part


def test_the_gradient_written_by_hand_is_that_of_the_loss(digits, data):
    """Central differences in float64 along random directions, all four parameters."""
    parameters = [p.astype(np.float64) for p in digits.start()]
    x, labels = data[0][:29].astype(np.float64), data[1][:29]

    def loss(*p):
        return digits.train_step(*p, x, labels, 0.0)[-1]

    stepped = digits.train_step(*parameters, x, labels, 1.0)
    rng = np.random.default_rng(0)
    for i, p in enumerate(parameters):
        direction, step = rng.normal(size=p.shape), 1e-5
        ahead, behind = ([*parameters[:i], p + s * direction, *parameters[i + 1 :]] for s in (step, -step))
        difference = (loss(*ahead) - loss(*behind)) / (2 * step)
        np.testing.assert_allclose(np.sum((p - stepped[i]) * direction), difference, rtol=1e-6)


def test_the_short_batch_gets_a_version_of_its_own(digits, data, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["digits.py", "--epochs", "3"])
    monkeypatch.setattr(digits, "REPEATS", 2)
    digits.main()
    out = capsys.readouterr().out
    assert re.search(r"; 2 versions, 2 compiles", out)
    assert re.search(r"^ *23 +interpreter .*expected 64, got 29", out, re.MULTILINE)
    assert float(re.search(r"held-out accuracy ([\d.]+)%; plain", out)[1]) > 90
