"""The example in docs/explain.md prints what the page says, but for times."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "explain.md").read_text()


def told(text: str, folder: Path) -> str:
    text = re.sub(r"\n {6,}", " ", text)  # lines that go on
    text = re.sub(r"  time: .*\n  Slow in its first calls alone.*?meanwhile\.", "times", text, flags=re.DOTALL)
    text = re.sub(r"after \d+ ms for imports and its graph ", "", text)
    text = re.sub(r"(compiled|loaded from disk) in [\d.]+ ms", "compiled in N ms", text.replace(f"{folder}{os.sep}", ""))
    return re.sub(r" in [\d.]+ ms", " in N ms", text.replace("-> loaded from disk", "-> compiled"))


def test_the_example_prints_what_the_page_says_and_the_log_says_it_as_it_happens(tmp_path: Path) -> None:
    code, output = re.search(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", PAGE, re.DOTALL).groups()
    (tmp_path / "example.py").write_text(code)
    # a cache of its own: explain() tells of entries that others have kept of the same function, too
    env = {**os.environ, "TIERUP_LOG": "all", "TIERUP_CACHE_DIR": str(tmp_path / "cache")}
    run = subprocess.run([sys.executable, str(tmp_path / "example.py")], env=env, capture_output=True, text=True, check=True)
    assert told(run.stdout, tmp_path) == told(output, tmp_path)
    events = [line.strip() for line in told(output, tmp_path).splitlines() if line.startswith("    call ")]
    assert told(run.stderr, tmp_path).splitlines() == [f"tierup: {e}" for e in events]


def test_every_kind_of_event_is_on_the_page() -> None:
    from tierup.runtime.base.events import EventKind

    assert [kind.value for kind in EventKind if kind.value not in PAGE] == []
