"""The examples in docs/pytorch.md do what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_the_examples_hold(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "pytorch.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    file = tmp_path / "example.py"
    file.write_text("\n".join(blocks))  # one module: later blocks use the names of earlier ones
    run = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)  # the page counts the process's compiled graphs
    assert run.returncode == 0, run.stderr
