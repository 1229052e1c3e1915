"""The example of tensors in NumPy functions: it compares with PyTorch itself."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "torch_tensors.py"


def test_tensors_run_natively_with_gradients_and_in_traces(capsys):
    found = runpy.run_path(str(EXAMPLE))["main"]()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tensors: 2 of 3 calls native, results are Tensors"
    assert lines[1] == "arrays: the same version, results are ndarrays"
    assert lines[-1].startswith("mixed: attention(): argument 1 is a numpy.ndarray beside tensors")
    assert found == {"hits": 4, "versions": 1, "branches": 1}
