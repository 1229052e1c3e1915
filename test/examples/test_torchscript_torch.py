"""The example of a scripted module: eager's results, native code, the program's own exception."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "torchscript.py"


def test_the_detector_agrees_with_eager_and_gets_native(capsys):
    ours = runpy.run_path(str(EXAMPLE))["main"]()
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition(", by ")[2].split()[0] for line in lines[:6]] == ["tier", *["native"] * 5]
    assert lines[6].startswith("a batch: ValueError: one image of three dimensions, not 4")
    assert ours.stats().hits == 5
