"""Code is compiled, not found on disk, while a block runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_disk() -> Iterator[None]:
    before = os.environ.get("TIERUP_CACHE")
    os.environ["TIERUP_CACHE"] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TIERUP_CACHE"]
        else:
            os.environ["TIERUP_CACHE"] = before
