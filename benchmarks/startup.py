"""Start-up: what a fresh process waits for. Each figure is the median over several processes.

Run as `python -m benchmarks.startup` it is one such process: it prints seconds of `import tierup`, of the first result of the
gelu chain, and of the second call, which compiles; then the CPU's seconds of the two calls, which a busy machine disturbs less.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

PROCESSES = 5


@dataclass(frozen=True)
class Startup:
    """Seconds. `first` and `second` are calls of the gelu chain on 1024x1024, `first` with `tierup.jit` and MLIR's import. `_cpu`: of
    the CPU, all threads together."""

    imported: float
    first: float
    second: float
    first_cpu: float
    second_cpu: float
    compiled: bool


def measure(processes: int = PROCESSES) -> Startup:
    """One process more than is counted: the first writes byte code and fills the disk cache."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    rows = []
    for _ in range(processes + 1):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.startup"],
            env=environment, cwd=Path(__file__).resolve().parent.parent, check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        rows.append([float(word) for word in done.stdout.split()])
    imported, first, second, first_cpu, second_cpu, compiled = zip(*rows[1:], strict=True)
    median = statistics.median
    return Startup(median(imported), median(first), median(second), median(first_cpu), median(second_cpu), all(compiled))


def main() -> None:
    begin = time.perf_counter()
    import tierup  # here: its import is what is measured

    imported = time.perf_counter()
    from benchmarks.programs import CASES

    case = next(c for c in CASES if c.name == "gelu")
    x = case.arguments()[0]
    ready, cpu = time.perf_counter(), time.process_time()
    f = tierup.jit(case.function)
    f(x)
    first, first_cpu = time.perf_counter(), time.process_time()
    f(x)
    second, second_cpu = time.perf_counter(), time.process_time()
    print(imported - begin, first - ready, second - first, first_cpu - cpu, second_cpu - first_cpu, int(f.stats().compiles == 1))


if __name__ == "__main__":
    main()
