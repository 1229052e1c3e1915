"""The example in docs/profiles.md does what the page says, and its JSON is a profile."""

import json
import re
from pathlib import Path

from tierup.runtime.arguments.call_profiles import calls_of


def test_the_example_holds_and_gives_the_profile_that_is_shown(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text()
    (block,), (shown,) = (re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL) for language in ("python", "json"))
    file = tmp_path / "example.py"
    file.write_text(block)
    names = {"__name__": "example"}
    exec(compile(file.read_text(), str(file), "exec"), names)
    assert json.loads(shown) == json.loads(names["profile"]) and calls_of(shown)[0] == "layer"
