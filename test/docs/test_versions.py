"""The examples in docs/versions.md do what the page says."""

import re
from pathlib import Path


def test_the_example_sequences_hold(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "versions.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 6
    file = tmp_path / "example.py"
    file.write_text("\n".join(blocks))  # one module: later blocks use the names of earlier ones
    exec(compile(file.read_text(), str(file), "exec"), {"__name__": "example"})
