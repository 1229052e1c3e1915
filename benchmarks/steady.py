"""Steady state: seconds per call of a function and of its jitted self, in turns in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from timeit import Timer
from typing import Any

import numpy as np

import tierup
from benchmarks.programs import Case

WARM_UP = 4  # calls: the profiled one, the compiling one, and some for caches
REPEATS = 15
BLOCK = 0.01  # seconds of one measurement at least, far above the clock's resolution


@dataclass(frozen=True)
class Steady:
    """Seconds per call, medians; `speedup` is the median of the ratios of neighbours. `native`: every measured call was a hit."""

    numpy: float
    ours: float
    speedup: float
    low: float
    high: float
    native: bool


def measure(case: Case, repeats: int = REPEATS) -> Steady:
    """Raises AssertionError where the results differ: a wrong result has no speed."""
    arguments = case.arguments()
    ours = tierup.jit(case.function)
    for _ in range(WARM_UP):
        agree(ours(*arguments), case.function(*arguments))
    timers = [timer(case.function, arguments), timer(ours, arguments)]
    counts = [calls_per_block(t) for t in timers]
    before = ours.stats()
    seconds = [[t.timeit(n) / n for t, n in zip(timers, counts, strict=True)] for _ in range(repeats)]
    after = ours.stats()
    ratios = [numpy / native for numpy, native in seconds]
    low, _, high = statistics.quantiles(ratios, n=4)
    numpy_seconds, our_seconds = (statistics.median(column) for column in zip(*seconds, strict=True))
    native = after.hits - before.hits == after.calls - before.calls == repeats * counts[1]
    return Steady(numpy_seconds, our_seconds, statistics.median(ratios), low, high, native)


def timer(function: Any, arguments: tuple[np.ndarray, ...], clock: Callable[[], float] = time.perf_counter) -> Timer:
    """The call is spelled with one name per argument, as a user's is."""
    names = [f"a{i}" for i in range(len(arguments))]
    return Timer(f"f({', '.join(names)})", timer=clock, globals={"f": function, **dict(zip(names, arguments, strict=True))})


def calls_per_block(t: Timer) -> int:
    n = 1
    while (seconds := t.timeit(n)) < BLOCK:
        n = max(2 * n, min(100 * n, round(n * BLOCK / max(seconds, 1e-9))))
    return n


def agree(got: Any, want: Any) -> None:
    for g, w in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, want)), strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)
