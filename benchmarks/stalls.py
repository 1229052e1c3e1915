"""The longest stall of a caller while a graph of 1000 ops compiles.

One thread calls a small function in a loop, and the gaps between its calls are measured; meanwhile the big one is called, so that it
compiles: in the background (the same thread calls it now and then), or in a thread of its own, whose call waits for it. The gap
without any compile stands beside them. Fresh processes, nothing on disk. Run as `python -m benchmarks.stalls`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass

WAYS = ("nothing", "background", "blocking in a thread")
REPEATS = 3
BAR = 0.05  # seconds, in the background: some switches of the interpreter lock, and the machine's own noise
_OPS = 1000
_LEAST = 3.0  # seconds of looking on when nothing compiles


@dataclass(frozen=True)
class Row:
    way: str
    longest: float  # seconds between the ends of two calls of the small function
    high: float  # the 99.9th percentile
    compiled: float  # seconds until the version was there; 0 when nothing was compiled
    calls: int


def run(way: str) -> Row:
    """In this process."""
    import numpy as np

    import tierup
    from benchmarks.compile_time import pointwise

    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        text, sizes = pointwise(_OPS)
        file.write(text)
        file.flush()
        mode = "background" if way == "background" else "blocking"
        big = tierup.load(file.name, entry="main", compile=mode)
        small = tierup.jit(lambda a, b: a * b + 1)
        x, y = (np.full(sizes, 0.5, np.float32) for _ in range(2))
        u = np.ones(4, np.float32)
        for _ in range(10):
            small(u, u)
        big(x, y)  # profiled: its graph is built before the clock starts
        done = threading.Event()

        def call() -> None:
            big(x, y)
            done.set()

        gaps = []
        start = before = time.perf_counter()
        if way == "background":
            big(x, y)
            before = time.perf_counter()
        elif way != "nothing":
            threading.Thread(target=call).start()
        compiled = 0.0
        while not compiled:
            small(u, u)
            now = time.perf_counter()
            gaps.append(now - before)
            before = now
            if done.is_set() or (way == "background" and big.versions) or (way == "nothing" and now > start + _LEAST):
                compiled = now - start
    gaps.sort()
    return Row(way, gaps[-1], gaps[len(gaps) * 999 // 1000], compiled if way != "nothing" else 0.0, len(gaps))


def measure(way: str) -> Row:
    """In a fresh process, with nothing on disk; of some runs the one of median longest gap."""
    rows = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TIERUP_CACHE_DIR": folder, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.stalls", way], env=environment, capture_output=True, text=True, check=True
            )
            rows.append(Row(**json.loads(done.stdout)))
    return sorted(rows, key=lambda row: row.longest)[REPEATS // 2]


def main() -> None:
    if len(sys.argv) == 2:
        print(json.dumps(asdict(run(sys.argv[1]))))
        return
    report()


def report() -> None:
    """Measure, and print a table."""
    print(f"{'while 1000 ops compile':24} {'longest gap ms':>14} {'99.9 % ms':>10} {'compile s':>10} {'calls':>8}")
    for way in WAYS:
        row = measure(way)
        bar = f"  bar {1e3 * BAR:g} ms: {'pass' if row.longest < BAR else 'FAIL'}" if way == "background" else ""
        print(f"{way:24} {1e3 * row.longest:14.2f} {1e3 * row.high:10.3f} {row.compiled:10.2f} {row.calls:8}{bar}", flush=True)


if __name__ == "__main__":
    main()
