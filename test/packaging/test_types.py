"""`make lint` asks mypy about types; here stands what mypy does not ask: that who leaves an error standing says which, and why."""

import re
from pathlib import Path

import tierup

ROOT = Path(tierup.__path__[0])
SAID = re.compile(r"# type: ignore\[[a-z, -]+\]  # \S")


def test_each_type_error_that_is_left_standing_is_named_and_explained() -> None:
    files = [path for folder in ("dialect", "lowering", "runtime", "frontend", "tools") for path in (ROOT / folder).rglob("*.py")]
    left = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "type: ignore" in line and not SAID.search(line)
    ]
    assert len(files) > 500
    assert not left, "write `# type: ignore[code]  # why`"
