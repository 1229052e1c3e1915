"""The benchmark of calls with tensors runs, compares results, and measures native calls alone."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from benchmarks import tensors  # noqa: E402 - PyTorch may be missing

pytestmark = pytest.mark.torch


def test_every_call_that_is_measured_is_native(capsys):
    rows = list(tensors.measure(2, calls=3))
    assert len(rows) == 3 and all(row.native and row.ours > 0 for row in rows)
    tensors.report(2, lambda seconds: f"{seconds:.1e}")
    assert capsys.readouterr().out.count("<= 1x") == 3
