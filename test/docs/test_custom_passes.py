"""The example in docs/custom-passes.md does what the page says."""

import re
from pathlib import Path


def test_the_example_prints_what_its_comment_says(tmp_path, capsys):
    page = (Path(__file__).parents[2] / "docs" / "custom-passes.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "example.py"
    file.write_text(code)
    exec(compile(code, str(file), "exec"), {"__name__": "example"})
    assert capsys.readouterr().out == "2 tanh\n"
