"""Programs whose text a test makes; all graphs are verified."""

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from verified_graphs import verify_graphs

verify_graphs()


@pytest.fixture
def define(tmp_path: Path) -> Callable[[str], Any]:
    """The function f of a file with this text."""

    def made(text: str) -> Any:
        path = tmp_path / f"program_{len(list(tmp_path.iterdir()))}.py"
        path.write_text(text)
        space: dict[str, Any] = {"__name__": path.stem, "np": np}
        exec(compile(text, str(path), "exec", dont_inherit=True), space)
        linecache.checkcache(str(path))
        return space["f"]

    return made
