"""The example in docs/versions.md does what the page says."""

import re
from pathlib import Path


def test_the_example_sequence_holds(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "versions.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "example.py"
    file.write_text(code)
    exec(compile(code, str(file), "exec"), {"__name__": "example"})
