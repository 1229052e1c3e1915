"""Under which name other distributions bring what is theirs, and whether one does. Free of MLIR."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

ENTRY_POINTS = "tierup.passes"  # they name modules of passes here


def may_be_brought() -> bool:
    """Whether a distribution may bring some: a look at the search path, since to import what reads them takes 10 ms."""
    if any(finder is not PathFinder and hasattr(finder, "find_distributions") for finder in sys.meta_path):
        return True
    return any(os.path.isfile(folder) or told_in(folder, ENTRY_POINTS) for folder in sys.path)


def told_in(folder: str, group: str) -> str:
    """What the distributions that are installed in a folder say of their entry points of this group."""
    told = []
    try:
        names = sorted(os.listdir(folder or "."))
    except OSError:  # it need not be there
        return ""
    for name in names:
        if name.lower().endswith(("dist-info", "egg-info")):
            try:
                with open(os.path.join(folder, name, "entry_points.txt"), encoding="utf-8", errors="surrogateescape") as file:
                    text = file.read()
            except OSError:  # most have none
                continue
            if group in text:
                told.append(f"{name}\n{text}")
    return "\n".join(told)
