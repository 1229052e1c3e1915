"""The examples in docs/testing.md do what the page says."""

import re
from pathlib import Path


def test_the_examples_hold(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text()
    file = tmp_path / "example.py"
    file.write_text("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)))
    exec(compile(file.read_text(), str(file), "exec"), {"__name__": "example"})
