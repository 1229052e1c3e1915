"""Specialise one small function for thousands of shapes of four ranks, with room for four versions of each: memory must stay flat.

    python test/stress/soak_memory.py                      10,000 specialisations (make soak-memory), some half an hour
    python test/stress/soak_memory.py --count 3000         fewer
    python test/stress/soak_memory.py --in-process         all compiles in this process: what each of them leaves behind
    python test/stress/soak_memory.py --loads 5000         no compiles: the same code loaded and freed over and over

Every shape is new, so each call compiles (LLVM level 1, nothing from disk) and evicts the least used version. What is printed: resident
memory, objects of machine code that are loaded, Python objects. It fails when more code is loaded than there are versions, or when the
memory at the end is more than `BOUND_KB` per specialisation above what it was after the first fifth.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import tierup
from tierup.lowering.artifacts import load

MAX_VERSIONS = 4  # of a graph; arrays of another rank have a graph of their own
RANKS = (1, 2, 3, 4)
BOUND_KB = 1.5  # per specialisation; 0.2 were measured: the log of speculations that were made grows by design (docs/versions.md)


@dataclass(frozen=True)
class Sample:
    """How things stood after `done` specialisations."""

    done: int
    seconds: float
    kilobytes: int
    loaded: int
    objects: int

    def __str__(self) -> str:
        return f"{self.done:8} {self.seconds:8.1f} s {self.kilobytes / 1024:9.1f} MB {self.loaded:6} loaded {self.objects:9} objects"


def shapes() -> Iterator[tuple[int, ...]]:
    """Shapes that are all different, of ranks that change from one to the next. Endless."""
    by_rank = [_of_rank(rank) for rank in RANKS]
    while True:
        for of_rank in by_rank:
            yield next(of_rank)


def _of_rank(rank: int) -> Iterator[tuple[int, ...]]:
    """Small first: all shapes of sizes below n, then those with a size n."""
    for largest in itertools.count(2):
        for sizes in itertools.product(range(2, largest + 1), repeat=rank):
            if max(sizes) == largest:
                yield sizes


def soak(count: int, every: int) -> Iterator[Sample]:
    """Specialise `count` times; a sample after every `every`. Raises AssertionError for a wrong result or more code than versions."""

    @tierup.jit(
        max_versions=MAX_VERSIONS, num_profiled_runs=0, fusion_strategy=[("static", count)], bailout_depth=count, level=1, weigh=False
    )  # fmt: skip
    def twice(x):
        return x + x

    gc.collect()
    before, most = load.count(), MAX_VERSIONS * len(RANKS)
    start = time.monotonic()
    for done, shape in enumerate(itertools.islice(shapes(), count), 1):
        x = np.ones(shape, np.float32)
        assert np.array_equal(twice(x), x + x)
        if done % every == 0 or done == count:
            gc.collect()
            loaded = load.count() - before
            assert loaded == len(twice.versions) <= most, f"{loaded} objects are loaded for {len(twice.versions)} versions"
            yield Sample(done, time.monotonic() - start, resident_kilobytes(), loaded, len(gc.get_objects()))
    stats = twice.stats()
    assert (stats.compiles, stats.versions) == (count, min(count, most)), stats


def reload(count: int, every: int) -> Iterator[Sample]:
    """Load and free the same code `count` times."""
    compiled = tierup.jit(lambda x: np.tanh(x), num_profiled_runs=0)
    compiled(np.ones(3))
    artifact = compiled.versions[0].compiled.artifact
    start = time.monotonic()
    for done in range(1, count + 1):
        load.load(artifact).close()
        if done % every == 0 or done == count:
            yield Sample(done, time.monotonic() - start, resident_kilobytes(), load.count(), len(gc.get_objects()))


def resident_kilobytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def growth(samples: list[Sample]) -> float:
    """Kilobytes per specialisation between the first fifth and the end."""
    first = next(s for s in samples if s.done >= samples[-1].done / 5)
    last = samples[-1]
    return (last.kilobytes - first.kilobytes) / max(1, last.done - first.done)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="specialisations (default: %(default)s)")
    parser.add_argument("--every", type=int, default=500, help="print after so many (default: %(default)s)")
    parser.add_argument("--in-process", action="store_true", help="never compile in a worker")
    parser.add_argument("--loads", type=int, default=0, help="load and free code so many times instead")
    settings = parser.parse_args()
    os.environ["TIERUP_CACHE"] = "0"
    if settings.in_process:
        os.environ["TIERUP_WORKER"] = "0"
    samples = []
    for sample in reload(settings.loads, settings.every) if settings.loads else soak(settings.count, settings.every):
        samples.append(sample)
        print(sample, flush=True)
    found = growth(samples)
    print(f"{found:.2f} kB more for each (bound: {BOUND_KB})")
    return int(found > BOUND_KB)


if __name__ == "__main__":
    sys.exit(main())
