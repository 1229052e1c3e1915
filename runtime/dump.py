"""What is kept of compiles for the people who work on them: files under the folder that `TIERUP_DUMP_DIR` names."""

from __future__ import annotations

import os
import re
from pathlib import Path

VARIABLE = "TIERUP_DUMP_DIR"


def write(name: str, text: str) -> str:
    """Write a file whose name begins with `name`, beside others of that name; its path, or "" when nothing is to be kept.

    A folder that cannot be written to is no reason to fail a call: the answer then says so in place of the path.
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        return ""
    stem = re.sub(r"[^\w.-]+", "-", name)
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for number in range(10_000):
            path = Path(folder) / f"{stem}-{number}.mlir"
            try:
                with path.open("x") as file:
                    file.write(text)
                return str(path)
            except FileExistsError:
                continue
        return f"nowhere: {folder} is full of files of this name"
    except OSError as e:
        return f"nowhere: {e}"
