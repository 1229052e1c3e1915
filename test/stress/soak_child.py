"""Runs some programs of one kind, one after the other, and tells each on a line of JSON: `soak_child.py KIND FIRST COUNT`."""

from __future__ import annotations

import faulthandler
import os
import resource
import sys
from pathlib import Path

TEST = Path(__file__).parent.parent
MOST_BYTES = 6 << 30


def main() -> None:
    name, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.environ.setdefault("TIERUP_CACHE", "0")
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))  # what asks for all memory fails alone
    sys.path[:0] = sorted({str(path.parent) for path in TEST.rglob("*.py")})  # as conftest.py does
    from soak_kinds import KINDS, Report

    _, run = KINDS[name]
    for seed in range(first, first + count):
        report = Report()
        report.emit(start=seed)
        run(seed, report)
        report.emit(done=seed, calls=report.calls)


if __name__ == "__main__":
    main()
