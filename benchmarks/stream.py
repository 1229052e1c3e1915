"""A stream of calls whose batch size changes: 1000 calls, sizes drawn from 1 to 512, compiles included.

Three ways in one run: NumPy, `compile="blocking"` and `compile="background"`, each in a fresh process with nothing on disk. `total` is
the time of all calls; `share` of it is NumPy's over ours. `waited`: calls that took more than 20 ms. The last columns are the median,
the 99th percentile and the longest of the calls, and the second call, which compiles when it blocks.
Run as `python -m benchmarks.stream`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

CALLS, LARGEST = 1000, 512
WAYS = ("numpy", "blocking", "background")
REPEATS = 3
BARS = {"chain": 1.5, "mlp": 1.0}  # NumPy's time over that of the default way; and no more than 4 compiles
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


def programs() -> dict[str, tuple[Callable[..., object], Callable[[int], tuple[object, ...]]]]:
    """The functions, and the arguments for a batch size."""
    import numpy as np

    from benchmarks.programs import gelu_chain, mlp

    rng = np.random.default_rng(0)
    array = lambda *sizes: rng.normal(size=sizes).astype(np.float32) * np.float32(0.1)
    weights = tuple(array(256, 256) if i % 2 == 0 else array(256) for i in range(6))
    return {"chain": (gelu_chain, lambda n: (array(n, 1024),)), "mlp": (mlp, lambda n: (array(n, 256), *weights))}


def run(program: str, way: str) -> Row:
    """In this process."""
    import numpy as np

    import tierup

    function, arguments = programs()[program]
    sizes = np.random.default_rng(1).integers(1, LARGEST + 1, CALLS)
    inputs = [arguments(int(n)) for n in sizes]
    called = function if way == "numpy" else tierup.jit(function, compile=way)
    spent = []
    for each in inputs:
        start = time.perf_counter()
        called(*each)
        spent.append(time.perf_counter() - start)
    compiles = called.stats().compiles if way != "numpy" else 0
    ordered = sorted(spent)
    return Row(
        program, way, sum(spent), compiles, sum(s > _WAITED for s in spent),
        ordered[CALLS // 2], ordered[CALLS * 99 // 100], ordered[-1], spent[1],
    )  # fmt: skip


def measure(program: str, way: str) -> Row:
    """In a fresh process, with nothing on disk. Of some runs the one of median total."""
    rows = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TIERUP_CACHE_DIR": folder, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            command = [sys.executable, "-m", "benchmarks.stream", program, way]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            rows.append(Row(**json.loads(done.stdout)))
    return sorted(rows, key=lambda row: row.total)[REPEATS // 2]


def main() -> None:
    if len(sys.argv) == 3:
        print(json.dumps(asdict(run(*sys.argv[1:]))))
        return
    heads = ("total s", "NumPy/it", "compiles", "waited", "median ms", "99 % ms", "longest", "2nd call")
    print(f"{'program':8} {'way':10} " + " ".join(f"{head:>9}" for head in heads))
    for program in BARS:
        numpy = measure(program, WAYS[0])
        for way in WAYS:
            row = numpy if way == "numpy" else measure(program, way)
            milliseconds = " ".join(f"{1e3 * s:9.2f}" for s in (row.median, row.high, row.longest, row.second))
            print(
                f"{program:8} {way:10} {row.total:9.2f} {numpy.total / row.total:9.2f} {row.compiles:9} {row.waited:9} {milliseconds}",
                flush=True,
            )


if __name__ == "__main__":
    main()
