"""How long a new process takes to its first result on a GPU: `python tools/gpu/first.py gpu-check.tierup`.

With `--floor` the driver alone. The floor is what any program pays: the driver's start and a context on the device.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a file, on a machine where nothing is installed

import numpy as np


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0."""
    parser = argparse.ArgumentParser(prog="gpu_first", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?", help="what `make gpu-bundle` wrote")
    parser.add_argument("--floor", action="store_true", help="the driver alone")
    options = parser.parse_args(argv)
    if options.floor == bool(options.bundle):
        parser.error("give a bundle, or --floor")
    marks = [("", time.perf_counter())]
    if options.floor:
        from tierup.runtime.cuda.device.devices import device  # what starts the driver, without a kernel

        marks.append(("import", time.perf_counter()))
        device()
        marks.append(("driver and context", time.perf_counter()))
    else:
        from tierup.runtime.cuda.bundle import load_plans

        marks.append(("import", time.perf_counter()))
        plan = load_plans(options.bundle)["scale"]
        marks.append(("read the bundle", time.perf_counter()))
        for name in ("first result", "second"):
            plan(np.ones(1000, np.float32))
            marks.append((name, time.perf_counter()))
    spent = [f"{name} {(at - before) * 1e3:.1f} ms" for (_, before), (name, at) in zip(marks, marks[1:], strict=False)]
    print(("the driver alone: " if options.floor else "tierup: ") + ", ".join(spent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
