"""Start-up: what a fresh process waits for. Each figure is the median over several processes.

Run as `python -m benchmarks.startup` it is one such process: it prints seconds of `import tierup`, of the first result of the
gelu chain, and of the second call, which compiles; then the CPU's seconds of the two calls, which a busy machine disturbs less.
`python -m benchmarks.startup workers` compares compiles by a worker with those in the process itself, in turns, nothing on disk.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
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
    """One process more than is counted: the first writes byte code and fills the disk cache. All profile their first call; what they gain
    where they need not is `benchmarks.warm`."""
    return _medians([_process(TIERUP_START="0") for _ in range(processes + 1)][1:])


def _process(**environment: str) -> list[float]:
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.startup"],
        env=kept | environment, cwd=Path(__file__).resolve().parent.parent, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return [float(word) for word in done.stdout.split()]


def _medians(rows: list[list[float]]) -> Startup:
    *seconds, compiled = zip(*rows, strict=True)
    return Startup(*map(statistics.median, seconds), all(compiled))


def workers(processes: int = 10) -> dict[str, Startup]:
    """By where is compiled: "in this process" and "by a worker", in turns, nothing on disk."""
    rows: dict[str, list[list[float]]] = {"in this process": [], "by a worker": []}
    for number in range(processes + 1):
        for asked, place in enumerate(rows):
            with tempfile.TemporaryDirectory() as folder:
                row = _process(TIERUP_WORKER=str(asked), TIERUP_CACHE_DIR=folder)
            if number:
                rows[place].append(row)
    return {place: _medians(them) for place, them in rows.items()}


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
    if sys.argv[1:] == ["workers"]:
        for place, row in workers().items():
            whole = row.imported + row.first + row.second
            print(f"{place}: second call {row.second * 1e3:.0f} ms, CPU here {row.second_cpu * 1e3:.0f} ms; whole {whole * 1e3:.0f} ms")
    else:
        main()
