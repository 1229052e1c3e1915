"""Names of functions as LLVM IR takes them without quotes, and PTX at all: Python's may have letters of any alphabet, MLIR's anything."""

from __future__ import annotations

import re


def plain(name: str) -> str:
    """`größe` -> `gr__e`: what is no letter, digit, underscore or dollar of ASCII becomes an underscore."""
    return re.sub(r"[^A-Za-z0-9_$]", "_", name)
