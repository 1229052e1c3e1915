"""What ten thousand workers do to the cache that they share: a simulation of `lowering/objects/{claims,shared}.py`, whose waits it takes.

    python -m benchmarks.fleet [--workers 10000] [--seed 0]

Workers, 32 on a machine, begin within a second and call the same 20 programs, one after the other, each for the first time. A machine
has a folder; all have a store that takes 5500 requests a second, while the rest waits (as S3 does for one prefix), and answers each in
20 ms or so. A program is compiled in 0.4 s or so. Three entries are looked up (graph, start, specialised graph), then a fourth, code.

    empty        nothing is anywhere: the first day, or an update of tierup, whose entries have other names
    machine new  all is in the store, nothing in the folders
    warm         all is in the folders
    rolling      as empty, but machines are restarted one after the other, within ten minutes
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from tierup.lowering.objects import shared

PER_MACHINE, PROGRAMS, ENTRIES = 32, 20, 3
RATE, ANSWER, COMPILE, READ = 5500.0, 0.02, 0.4, 0.001  # requests a second; seconds
CODE = ENTRIES
Entry = tuple[int, int]  # of a program; which
ALL = frozenset(itertools.product(range(PROGRAMS), (*range(ENTRIES), CODE)))
ASLEEP = -1.0  # until somebody wakes it
START = {"empty": 1.0, "machine new": 1.0, "warm": 1.0, "rolling": 600.0}  # seconds within which all have begun
DESIGNS = ("none", "machine", "all")  # who waits for whom: nobody, processes of a machine, those of all machines too


@dataclass
class Fleet:
    """What happens, by simulated time."""

    workers: int
    design: str
    state: str
    draw: random.Random
    now: float = 0.0
    store_free: float = 0.0
    seconds: Counter[int] = field(default_factory=Counter)  # requests that came in each
    compiles: int = 0
    store: set[Entry] = field(default_factory=set)
    claimed: set[int] = field(default_factory=set)
    folders: defaultdict[int, set[Entry]] = field(default_factory=lambda: defaultdict(set))
    locks: dict[tuple[int, object], list[Iterator[float]]] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)  # of each first call
    current: Iterator[float] = iter(())  # who goes on now

    def __post_init__(self) -> None:
        self._queue: list[tuple[float, int, Iterator[float]]] = []
        self._order = itertools.count()
        if self.state in ("machine new", "warm"):
            self.store = set(ALL)

    def at(self, time: float, worker: Iterator[float]) -> None:
        """Let a worker go on at a time."""
        heapq.heappush(self._queue, (time, next(self._order), worker))

    def run(self) -> None:
        """Until all have called all programs."""
        machines = -(-self.workers // PER_MACHINE)
        for number in range(self.workers):
            machine = number // PER_MACHINE
            begin = START[self.state] * (machine / machines if self.state == "rolling" else self.draw.random())
            if self.state == "warm":
                self.folders[machine] |= ALL
            self.at(begin, self.worker(machine))
        while self._queue:
            self.now, _, worker = heapq.heappop(self._queue)
            self.current = worker
            wait = next(worker, None)
            if wait is not None and wait != ASLEEP:
                self.at(self.now + wait, worker)

    def asked(self, requests: int = 1) -> Iterator[float]:
        """So many requests to the store, one after the other."""
        for _ in range(requests):
            self.seconds[int(self.now)] += 1
            self.store_free = max(self.store_free, self.now) + 1 / RATE
            yield self.store_free - self.now + ANSWER * self.draw.lognormvariate(0, 0.4)

    def alone(self, machine: int, what: object) -> Generator[float, None, bool]:
        """Wait until no other process of the machine is at it, where processes wait for one another; whether one was."""
        waited = False
        while self.design != "none" and (machine, what) in self.locks:
            self.locks[machine, what].append(self.current)
            waited = True
            yield ASLEEP
        self.locks[machine, what] = []
        return waited

    def done(self, machine: int, what: object) -> None:
        """Wake who waits for it."""
        for worker in self.locks.pop((machine, what), []):
            self.at(self.now, worker)

    def worker(self, machine: int) -> Iterator[float]:
        """A process: gives the seconds until it goes on."""
        folder = self.folders[machine]
        for program in range(PROGRAMS):
            began = self.now
            for entry in (*range(ENTRIES), CODE):
                if (program, entry) not in folder:
                    yield from self.fetched(machine, folder, (program, entry))
                if (program, entry) not in folder and entry >= ENTRIES - 1:  # it is compiled
                    yield from self.made(machine, folder, program)
                    break
            yield READ * ENTRIES
            self.waits.append(self.now - began)

    def fetched(self, machine: int, folder: set[Entry], entry: Entry) -> Iterator[float]:
        """Ask the store for an entry."""
        waited = yield from self.alone(machine, entry)
        if entry not in folder and not waited:  # who waited takes the other's answer
            there = entry in self.store
            yield from self.asked()
            if there:
                folder.add(entry)
        self.done(machine, entry)

    def made(self, machine: int, folder: set[Entry], program: int) -> Iterator[float]:
        """Compile it, or wait for who does."""
        yield from self.alone(machine, program)
        if self.design == "none" or (program, CODE) not in folder:
            yield from self.compiled(folder, program)
        self.done(machine, program)

    def compiled(self, folder: set[Entry], program: int) -> Iterator[float]:
        """By a process that is alone on its machine."""
        everything = {(program, entry) for entry in (*range(ENTRIES), CODE)}
        until, look = self.now + shared._MOST_WAIT, shared._FIRST_LOOK
        yield from self.asked()
        while self.design == "all" and program in self.claimed and not everything <= self.store and self.now < until:
            yield look * self.draw.uniform(0.5, 1.0)
            look = min(2 * look, shared._LAST_LOOK)
            yield from self.asked(2)  # is it there, is it claimed
        if self.design != "none" and everything <= self.store:
            yield from self.asked(2)
        else:
            self.claimed.add(program)
            self.compiles += 1
            yield COMPILE * self.draw.lognormvariate(0, 0.3)
            yield from self.asked(len(everything))
            self.store |= everything
        folder |= everything


def simulated(workers: int, state: str, design: str, seed: int) -> Fleet:
    """A fleet that is through."""
    fleet = Fleet(workers, design, state, random.Random(seed))
    fleet.run()
    return fleet


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print("| state | who waits for whom | compiles | requests | most in a second | first call, median | slowest 1% | all native after |")
    print("|---|---|---|---|---|---|---|---|")
    for state in START:
        for design in DESIGNS:
            fleet = simulated(asked.workers, state, design, asked.seed)
            waits = sorted(fleet.waits)
            figures = (fleet.compiles, fleet.seconds.total(), max(fleet.seconds.values(), default=0))
            times = (waits[len(waits) // 2], waits[-len(waits) // 100], fleet.now)
            print(f"| {state} | {design} | {' | '.join(f'{n:,}' for n in figures)} | {' | '.join(f'{t:.2f} s' for t in times)} |")


if __name__ == "__main__":
    main()
