"""What the oracle does not ask, and why: the one table of skips.

`ENTRIES`: whole OpInfo entries, by pattern. `CASES`: samples, by a pattern over entry/dtype/index. `OPEN`: entries of which sizes and dtypes are
compared and values are not.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from typing import Any

ENTRIES: dict[str, str] = {
    "jiterator_*": "for GPUs alone",
}

CASES: dict[str, str] = {}

OPEN: dict[str, str] = {
    "empty*": "memory as it is found",
    "new_empty*": "memory as it is found",
}


@cache
def _entry(entry: str) -> str | None:
    return next((why for pattern, why in ENTRIES.items() if fnmatchcase(entry, pattern)), None)


def reason(case: Any) -> str | None:
    """Why a case is left out; None for one that is asked."""
    return _entry(case.entry) or next((why for pattern, why in CASES.items() if fnmatchcase(case.name, pattern)), None)


@cache
def values_are_open(entry: str) -> bool:
    return any(fnmatchcase(entry, pattern) for pattern in OPEN)
