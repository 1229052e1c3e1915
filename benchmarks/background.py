"""Where to compile: the streams of `benchmarks.streams` in NumPy, with `compile="blocking"` and with `compile="background"`.

Each in a fresh process with nothing on disk, start-up included. `total` is the time of all calls, beside it NumPy's over that. `waited`:
calls that took more than 20 ms. The last columns are the median, the 99th percentile and the longest of the calls, and the second call,
which compiles when it blocks. Run as `python -m benchmarks.background`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass

WAYS = ("numpy", "blocking", "background")
REPEATS = 3
_WAITED = 0.020


@dataclass(frozen=True)
class Row:
    program: str
    way: str
    total: float  # seconds
    compiles: int
    waited: int
    median: float
    high: float
    longest: float
    second: float


def run(program: str, way: str) -> Row:
    """In this process."""
    import tierup
    from benchmarks import streams

    case = next(case for case in streams.CASES if case.name == program)
    inputs = [case.arguments(n) for n in streams.sizes()]
    called = case.function if way == "numpy" else tierup.jit(case.function, compile=way)
    spent = []
    for each in inputs:
        start = time.perf_counter()
        called(*each)
        spent.append(time.perf_counter() - start)
    compiles = called.stats().compiles if way != "numpy" else 0
    ordered = sorted(spent)
    return Row(
        program, way, sum(spent), compiles, sum(s > _WAITED for s in spent),
        ordered[len(spent) // 2], ordered[len(spent) * 99 // 100], ordered[-1], spent[1],
    )  # fmt: skip


def measure(program: str, way: str) -> Row:
    """In a fresh process, with nothing on disk. Of some runs the one of median total."""
    rows = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TIERUP_CACHE_DIR": folder, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            command = [sys.executable, "-m", "benchmarks.background", program, way]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            rows.append(Row(**json.loads(done.stdout)))
    return sorted(rows, key=lambda row: row.total)[REPEATS // 2]


def main() -> None:
    if len(sys.argv) == 3:
        print(json.dumps(asdict(run(*sys.argv[1:]))))
        return
    from benchmarks import streams  # here: in the processes that measure, after their clock has started

    heads = ("total s", "NumPy/it", "compiles", "waited", "median ms", "99 % ms", "longest", "2nd call")
    print(f"{'program':12} {'way':10} " + " ".join(f"{head:>9}" for head in heads))
    for program in [case.name for case in streams.CASES]:
        numpy = measure(program, WAYS[0])
        for way in WAYS:
            row = numpy if way == "numpy" else measure(program, way)
            milliseconds = " ".join(f"{1e3 * s:9.2f}" for s in (row.median, row.high, row.longest, row.second))
            print(
                f"{program:12} {way:10} {row.total:9.2f} {numpy.total / row.total:9.2f} {row.compiles:9} {row.waited:9} {milliseconds}",
                flush=True,
            )


if __name__ == "__main__":
    main()
