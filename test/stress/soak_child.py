"""Runs some programs of one kind, one after the other, and tells each on a line of JSON: `soak_child.py KIND FIRST COUNT [SECONDS]`.

None is begun after so many seconds; the first is always run."""

from __future__ import annotations

import faulthandler
import math
import os
import resource
import sys
import time
from pathlib import Path

TEST = Path(__file__).parent.parent
MOST_BYTES = 6 << 30


def main() -> None:
    name, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    until = time.monotonic() + float(sys.argv[4]) if len(sys.argv) > 4 else math.inf
    os.environ.setdefault("TIERUP_CACHE", "0")
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))  # what asks for all memory fails alone
    sys.path[:0] = sorted({str(path.parent) for path in TEST.rglob("*.py")})  # as conftest.py does
    from soak_kinds import KINDS, Report

    _, run = KINDS[name]
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # programs print, too
    for seed in range(first, first + count):
        report = Report(told=told)
        report.emit(start=seed)
        run(seed, report)
        report.emit(done=seed, calls=report.calls)
        if time.monotonic() > until:
            return


if __name__ == "__main__":
    main()
