"""What speculation costs: a hit among many versions, a miss, a bailout, a new version. The figures beside them are TorchScript's.

Compiles are made in the calling thread, so its CPU time is what a caller waits for on a machine that does nothing else. TorchScript's
were measured with PyTorch 2.0.1 (its profiling executor with the LLVM fuser) on a machine of the same kind.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tierup
from benchmarks.steady import calls_per_block, timer
from benchmarks.without_disk import without_disk


@dataclass(frozen=True)
class Cost:
    """Seconds of the calling thread's CPU of one operation, the median of some.

    `bar`: TorchScript's seconds, 0 where there is nothing to compare with.
    """

    title: str
    seconds: float
    bar: float = 0.0


def multiply_add(a, b, c):
    return a * b + c


def vectors(n: int) -> tuple[np.ndarray, ...]:
    return (np.ones(n, np.float32),) * 3


def measure(names: tuple[str, ...], repeats: int) -> Iterator[Cost]:
    """The rows of these names, of ROWS."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tierup.RecompileLimitWarning)
        for name in names:
            yield from ROWS[name](repeats)


def per_call(function: Any, arguments: tuple[np.ndarray, ...], repeats: int) -> float:
    t = timer(function, arguments, time.thread_time)
    n = calls_per_block(t)
    return statistics.median(t.timeit(n) / n for _ in range(repeats))


def with_static_versions(count: int) -> Any:
    """A function with a version for each of 3, 4, ... elements, the last one in front."""
    f = tierup.jit(
        multiply_add, num_profiled_runs=0, fusion_strategy=[("static", count)], bailout_depth=count, max_versions=count, level=0,
        weigh=False,
    )  # fmt: skip
    for n in range(3, 3 + count):
        f(*vectors(n))
    assert len(f.versions) == count
    return f


def hits(repeats: int) -> Iterator[Cost]:
    for count in (1, 8, 64):
        f = with_static_versions(count)
        for which, n in (("first", 2 + count), ("last", 3))[: 1 + (count > 1)]:
            before = f.stats()
            missed = (count - 1) * (which == "last")
            bar = 2.15e-6 + 0.46e-6 * missed  # TorchScript's guards fail one after another
            yield Cost(f"hit, {count} version{'s' * (count > 1)}, the {which} fits", per_call(f, vectors(n), repeats), bar)
            after = f.stats()
            assert after.hits - before.hits == after.calls - before.calls
    f = tierup.jit(multiply_add, num_profiled_runs=0, fusion_strategy=[("dynamic", 2)], weigh=False)
    for n in (3, 4, 5):
        f(*vectors(n))
    assert [v.speculation.kind for v in f.versions][-1] == "dynamic", f.explain()
    yield Cost("hit, a dynamic version", per_call(f, vectors(6), repeats), 2.5e-6)


def misses(repeats: int) -> Iterator[Cost]:
    f = with_static_versions(1)
    f(*vectors(9))
    before = f.stats()
    yield Cost("miss that falls to tier 0, versions used up", per_call(f, vectors(9), repeats), 12.2e-6)
    after = f.stats()
    assert after.misses - before.misses == after.calls - before.calls
    off = tierup.jit(multiply_add, optimize=False)
    yield Cost("  tier 0 alone (optimize=False), for comparison", per_call(off, vectors(9), repeats))
    yield Cost("  NumPy, for comparison", per_call(multiply_add, vectors(9), repeats))


def two_branches(x, scale):
    y = np.tanh(x)
    if np.sum(y) > 0:
        y = y * scale
    else:
        y = y - scale
    if np.max(x) > 5:
        return y + scale
    return y * y


def bailouts(repeats: int) -> Iterator[Cost]:
    """An assumption on a branch, lost: native code leaves, and what goes on is native too.

    The third loss of a first assumption has the function made again without it, with twice the patience for the second one: of its losses
    the first runs in tier 0, the second compiles what goes on, those from the third on are measured.
    """
    usual, other, large, scale = (np.array(x, np.float32) for x in ([1, 2], [-3, -2], [1, 9], [1, 1]))
    taken = []
    for _ in range(repeats):
        f = tierup.jit(two_branches, speculate="bailout", weigh=False)
        for x in (*[usual] * 3, *[other] * 3, usual, *[large] * 2):
            f(x, scale)
        for _ in range(2):
            before = f.stats()
            taken.append(seconds(f, (large, scale)))
            after = f.stats()
            assert (after.bailouts - before.bailouts, after.compiles - before.compiles) == (1, 0), f.explain()
    yield Cost("bailout in mid-program to native code", statistics.median(taken))


def new_versions(repeats: int) -> Iterator[Cost]:
    """Without code on disk: from the miss to the answer."""
    with without_disk():
        f = tierup.jit(multiply_add, num_profiled_runs=0, fusion_strategy=[("static", repeats + 1)], bailout_depth=repeats + 1)
        f(*vectors(3))
        yield Cost("a new static version", statistics.median(seconds(f, vectors(4 + i)) for i in range(repeats)), 17e-3)
        assert f.stats().compiles == repeats + 1
        taken = []
        for i in range(repeats):
            g = tierup.jit(multiply_add, num_profiled_runs=0, fusion_strategy=[("static", 1), ("dynamic", 1)])
            g(*vectors(3 + i))
            taken.append(seconds(g, vectors(40 + i)))
            assert [v.speculation.kind for v in g.versions] == ["static", "dynamic"]
        yield Cost("a new dynamic version", statistics.median(taken), 35e-3)


def seconds(f: Any, arguments: tuple[np.ndarray, ...]) -> float:
    start = time.thread_time()
    f(*arguments)
    return time.thread_time() - start


# new versions first: after some compiles in a process a worker makes them, and the CPU time would not be the caller's
ROWS: dict[str, Callable[[int], Iterator[Cost]]] = {"respecialise": new_versions, "hit": hits, "miss": misses, "bailout": bailouts}
