"""Loops that threads share: one thread against several, at sizes around those from which on a loop is shared, beside NumPy.

Each program is compiled for one thread and for `--threads`; calls of both take turns, NumPy's follow, since its BLAS's threads look for
work for a while. A row says the microseconds of a call (medians) and how often as fast several are; rows below 0.95 are listed at the end:
there sharing should not have begun. What the estimate of work in `lowering/building/shares.py` is made from. Run as
`python -m benchmarks.threads`; a busy machine has no second core to give.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tierup

REPEATS = 60
SIZES = 30_000, 100_000, 300_000, 1_000_000, 4_000_000  # elements


def add(x, y):
    return x + y


def polynomial(x, y):
    return x * x * 0.5 + y * 3 - x * y


def exponential(x, y):
    return np.exp(x) * y


def total(x, _):
    return x.sum()


def of_rows(x, _):
    return x.max(axis=1)


def of_columns(x, _):
    return x.sum(axis=0)


def softmax(x, _):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x, _):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)


def product(x, y):
    return x @ y.T


def times_vector(x, y):
    return x @ y[0]


PROGRAMS: tuple[Callable[..., Any], ...] = (
    add, polynomial, exponential, total, of_rows, of_columns, softmax, layer_norm, product, times_vector,
)  # fmt: skip


def row(program: Callable[..., Any], elements: int, threads: int) -> tuple[float, float, float]:
    """Microseconds of a call on one thread, on several, and of NumPy's, of float32 arrays with rows of 500."""
    random = np.random.default_rng(0)
    shape = (elements // 500, 500)
    x, y = (random.standard_normal(shape).astype(np.float32) for _ in range(2))
    if program is product:
        y = y[:500]
    sides = [tierup.jit(program, threads=count, weigh=False) for count in (1, threads)]
    for f in sides:
        for _ in range(3):
            f(x, y)
    time.sleep(0.2)  # the threads of NumPy's BLAS, which answered the first calls, sleep then
    times: list[list[float]] = [[], [], []]
    for turns in ([0, 1], [2]):
        for _ in range(REPEATS):
            for n in turns:
                f = (*sides, program)[n]
                f(x, y)  # the threads are awake
                start = time.perf_counter()
                f(x, y)
                times[n].append((time.perf_counter() - start) * 1e6)
    alone, shared, numpys = map(statistics.median, times)
    return alone, shared, numpys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="how many threads to compare with one")
    parser.add_argument("programs", nargs="*", help=f"of {', '.join(p.__name__ for p in PROGRAMS)}; all where none is named")
    asked = parser.parse_args()
    slower = []
    print(f"{'program':14}{'elements':>10}{'one':>10}{asked.threads:>10}{'numpy':>10}{'faster':>8}   microseconds of a call")
    for program in PROGRAMS:
        if asked.programs and program.__name__ not in asked.programs:
            continue
        for elements in SIZES:
            alone, shared, numpys = row(program, elements, asked.threads)
            print(f"{program.__name__:14}{elements:>10}{alone:>10.1f}{shared:>10.1f}{numpys:>10.1f}{alone / shared:>8.2f}", flush=True)
            if alone / shared < 0.95:
                slower.append(f"{program.__name__} of {elements}: {alone / shared:.2f}")
    print("slower with threads:", "; ".join(slower) or "none")


if __name__ == "__main__":
    main()
