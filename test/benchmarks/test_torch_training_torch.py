"""The measured step under PyTorch's autograd: eager's losses, by native programs. No times."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

import torch  # noqa: E402 - it may be missing

from benchmarks import torch_training  # noqa: E402


@pytest.fixture(autouse=True)
def _threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_every_measured_call_is_native():
    row = torch_training.measure(4, 8, repeats=2)
    assert row.native
    assert row.ratio > 0


def test_a_wrong_step_has_no_speed(monkeypatch):
    right = torch_training.step
    monkeypatch.setattr(torch_training, "step", lambda call, *rest: right((lambda x: call(x) * 2) if call is rest[0] else call, *rest))
    with pytest.raises(AssertionError, match="in eager mode"):
        torch_training.measure(4, 8, repeats=2)
