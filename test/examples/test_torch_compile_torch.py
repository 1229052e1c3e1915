"""The example of torch.compile: graphs and versions, a loss that falls, a fallback that says why."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "torch_compile.py"


@pytest.fixture
def example():
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield runpy.run_path(str(EXAMPLE))
    torch._dynamo.reset()


def test_batches_of_all_sizes_are_native_and_eagers(example, capsys):
    assert example["infer"](example["Classifier"]()) < 1e-5
    lines = [line for line in capsys.readouterr().out.splitlines() if "5 calls, 3 native; 2 versions, 2 compiles" in line]
    assert len(lines) == 2  # before and after the break of the graph


def test_training_is_forward_and_backward_graphs_that_learn(example, capsys):
    losses = example["train"](example["Classifier"](), 6)
    assert losses[-1] < losses[0] * 0.8
    out = capsys.readouterr().out
    assert "  forward_" in out and "  backward_" in out and "6 calls, 5 native" in out


def test_what_is_not_taken_is_named_with_its_line(example):
    assert "torch_compile.py:" in (said := example["fall_back"]()) and "tensors of torch.complex64 are not supported" in said
