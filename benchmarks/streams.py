"""A stream of calls whose batch sizes never settle: what speculation costs and brings in all, compiles included.

NumPy's call and ours are made in turns, so that a disturbance of the machine meets both. The process has compiled before (imports are
start-up's to measure), and finds no code of these programs on disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import tierup
from benchmarks.programs import Arguments, gelu_chain, mlp, multiply_add
from benchmarks.steady import agree
from benchmarks.without_disk import without_disk

CALLS = 1000
LARGEST = 512
MOST_COMPILES = 4


@dataclass(frozen=True)
class Stream:
    """Seconds of all calls. `waited`: calls that compiled before they answered."""

    numpy: float
    ours: float
    compiles: int
    waited: int

    @property
    def speedup(self) -> float:
        return self.numpy / self.ours


@dataclass(frozen=True)
class Case:
    """A row: a program, its arguments for a batch size, and how often as fast as NumPy it is to be at least."""

    name: str
    title: str
    function: Callable[..., object]
    arguments: Callable[[int], Arguments]
    least: float

    def passes(self, row: Stream) -> bool:
        return row.speedup >= self.least and row.compiles <= MOST_COMPILES


def _normal(*sizes: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=sizes).astype(np.float32) * np.float32(0.1)


_BATCH = {1024: _normal(LARGEST, 1024), 256: _normal(LARGEST, 256)}
_LAYERS = tuple(_normal(*s) for s in ((256, 256), (256,)) * 3)

CASES = (
    Case("stream_chain", "gelu chain, 1000 batches of 1..512 x 1024", gelu_chain, lambda n: (_BATCH[1024][:n],), 1.5),
    Case("stream_mlp", "3-layer MLP, 1000 batches of 1..512 x 256", mlp, lambda n: (_BATCH[256][:n], *_LAYERS), 1.0),
)  # fmt: skip


def sizes(calls: int = CALLS) -> list[int]:
    """The batch sizes, the same in every run."""
    return [int(n) for n in np.random.default_rng(1).integers(1, LARGEST + 1, calls)]


def measure(case: Case, calls: int = CALLS) -> Stream:
    """Raises AssertionError where the results differ: a wrong result has no speed."""
    warm, x = tierup.jit(multiply_add, num_profiled_runs=0), np.ones(3, np.float32)
    with without_disk():
        warm(x, x, x)
        case.function(*case.arguments(LARGEST))
        ours = tierup.jit(case.function)
        spent = [0.0, 0.0]
        waited = compiles = 0
        for n in sizes(calls):
            arguments = case.arguments(n)
            results = []
            for side, function in enumerate((case.function, ours)):
                start = time.perf_counter()
                results.append(function(*arguments))
                spent[side] += time.perf_counter() - start
            agree(results[1], results[0])
            now = ours.stats().compiles
            waited, compiles = waited + (now > compiles), now
    return Stream(spent[0], spent[1], compiles, waited)
