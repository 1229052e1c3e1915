"""The product's own files as syntax trees, for tests of what stands in none of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("dialect", "lowering", "runtime", "frontend", "tools")


@cache
def texts() -> dict[str, str]:
    """Of every file, by its path from the root."""
    found = {str(path.relative_to(ROOT)): path.read_text() for folder in PRODUCT for path in sorted((ROOT / folder).rglob("*.py"))}
    assert len(found) > 500
    return found


def trees(pattern: str) -> Iterator[tuple[str, ast.Module]]:
    """(path, tree) of each file in whose text the pattern is found: to parse all of them, and walk them, takes many seconds."""
    for name, text in texts().items():
        if re.search(pattern, text):
            yield name, ast.parse(text)
