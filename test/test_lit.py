"""All lit tests in one pytest test, so that `pytest test` runs everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lit")
pytest.importorskip("filecheck")

HERE = Path(__file__).parent


def test_every_lit_test_passes() -> None:
    command = [sys.executable, "-c", "from lit.main import main; main()", "--order=lexical", "-v", str(HERE)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Passed:" in run.stdout
