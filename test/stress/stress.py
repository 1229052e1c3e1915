"""Many threads call a few functions while they are profiled, compiled, evicted, reset, released and deleted, under options and faults of their
own. Every result is compared with the undecorated function's; counts, where nothing is reset, with the calls that were made.

    run(seconds=20, seed=0)             # raises AssertionError, with the seed, for the first thing that is wrong
"""

from __future__ import annotations

import faulthandler
import random
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tierup
from tierup.lowering.base import faults as stages
from tierup.runtime.functions.function import Function

SECONDS_PER_PHASE = 4.0
SECONDS_WITHOUT_PROGRESS = 120.0  # a compile waits for others, and the machine may be busy


def chain(x):
    return np.tanh(x) * 2 + x


def product(x, w):
    return np.maximum(x @ w, 0) + 1


def branch(x):
    if x.sum() > 0:
        return np.exp(-x) * 2
    return x - 1


def accumulate(x):
    x += np.tanh(x)
    return x * 2


def ranked(x, n):
    total = x * 0
    for i in range(n):
        y = np.argpartition(x + i, -1)
        total = total + np.tanh(y) * 2 - i
    return total


def halves(x):
    return x[1:], x * 2


def picked(x, i):
    return x[i] * 2 + 1


def f32(chance: random.Random, *shape: int) -> np.ndarray:
    return np.array([chance.uniform(-1, 1) for _ in range(int(np.prod(shape)))], np.float32).reshape(shape)


INPUTS: dict[Callable[..., Any], Callable[[random.Random, int], tuple[Any, ...]]] = {
    chain: lambda c, n: (f32(c, n, 3),),
    product: lambda c, n: (f32(c, n, 3), f32(c, 3, 4)),
    branch: lambda c, n: (f32(c, n),),
    accumulate: lambda c, n: (f32(c, n),),
    ranked: lambda c, n: (f32(c, n), c.randrange(3)),
    halves: lambda c, n: (f32(c, n + 1),),
    picked: lambda c, n: (f32(c, n), c.randrange(n + 1)),  # one beyond the end: raises in every tier
}
MADE_WITH = (
    {},
    {"max_versions": 2},
    {"compile": "background", "max_versions": 2},
    {"speculate": "bailout", "max_versions": 2},
    {"executor": "specializing", "max_versions": 2},
    {"release_graphs": True, "release_delay": 0.05},
)
CALLED_WITH = (
    *[{}] * 6, {"entry": "python"}, {"optimize": False}, {"profile": False}, {"level": 0}, {"speculate": "bailout"}, {"compile": "background"},
    {"max_versions": 1}, {"num_profiled_runs": 0}, {"executor": "specializing"}, {"bailout_depth": 0}, {"bailout_depth": 3}, {"testing": True},
)  # fmt: skip


def random_fault(chance: random.Random) -> dict[str, Any]:
    kind = chance.randrange(12)
    if kind == 0:
        return {"compiler": chance.choice((*stages.STAGES, *stages.OTHERS))}
    if kind == 1:
        return {"delay": chance.uniform(0, 0.05)}
    if kind == 2:
        return {"allocation": chance.randrange(6)}
    site = chance.choice(("*:argument*", "*:argument0", "*, region *:argument*", "*:bailout0", "*:bailout*"))
    return {"guard": site, "evaluation": chance.choice((None, 0, 1)), "always": chance.random() < 0.3, "everywhere": chance.random() < 0.1}


@dataclass
class Slot:
    """A function that threads share: all its calls are of one generation, until a new function takes its place."""

    plain: Callable[..., Any]
    options: dict[str, Any]
    function: Function = field(init=False)
    calls: int = 0
    raised: int = 0

    def __post_init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.function = tierup.jit(self.plain, **self.options)
        self.calls = self.raised = 0


class Stress:
    """One run. `counted`: nothing is reset in this phase, so that the counts must be right at its end."""

    def __init__(self, seed: int, threads: int) -> None:
        self.seed, self.threads = seed, threads
        self.slots: list[Slot] = []
        self.counted = False
        self.errors: list[str] = []
        self.calls = 0
        self._lock = threading.Lock()
        self._progress = time.monotonic()

    def phase(self, number: int, seconds: float) -> None:
        """Threads at work for some seconds; then everything is quiet and is looked at."""
        chance = random.Random(f"{self.seed} {number}")
        self.counted = number % 2 == 0
        plain = chance.sample(list(INPUTS), 4)
        self.slots = [Slot(p, chance.choice(MADE_WITH)) for p in plain]
        until = time.monotonic() + seconds
        self._progress = time.monotonic()
        workers = [
            threading.Thread(target=self._work, args=(random.Random(f"{self.seed} {number} {i}"), until), daemon=True)
            for i in range(self.threads)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():
                worker.join(1.0)
                if time.monotonic() - self._progress > SECONDS_WITHOUT_PROGRESS:
                    faulthandler.dump_traceback(all_threads=True)
                    raise AssertionError(f"seed {self.seed}, phase {number}: no call has ended for {SECONDS_WITHOUT_PROGRESS:g} s")
        if not self.errors:
            self._look(number)
        if self.errors:
            raise AssertionError(f"seed {self.seed}, phase {number}: {self.errors[0]}")

    def _look(self, number: int) -> None:
        assert tierup.wait_for_compiles(SECONDS_WITHOUT_PROGRESS), "compiles in the background do not end"
        for slot in self.slots:
            s = slot.function.stats()
            if min(vars(s)[name] if hasattr(s, "__dict__") else getattr(s, name) for name in s.__dataclass_fields__) < 0:
                self.errors.append(f"{slot.plain.__name__}: a count below 0: {s}")
            if self.counted and not slot.calls <= s.calls <= slot.calls + slot.raised:
                made = f"{slot.calls} calls and {slot.raised} that raised"
                self.errors.append(f"{slot.plain.__name__} {slot.options}: {made}, counted {s}\n{slot.function.explain()}")
            if any(executor.compiling for executor in slot.function._executors):
                self.errors.append(f"{slot.plain.__name__} {slot.options}: something is being compiled for ever\n{slot.function.explain()}")
            for n in (1, 2, 5):
                self._call(slot, slot.function, INPUTS[slot.plain](random.Random(number), n), may_starve=False)

    # --- one thread -----------------------------------------------------------------------------------------------------------

    def _work(self, chance: random.Random, until: float) -> None:
        try:
            while time.monotonic() < until and not self.errors:
                slot = chance.choice(self.slots)
                if chance.random() < 0.03:
                    self._disturb(slot, chance)
                else:
                    self._calls(slot, chance)
                self._progress = time.monotonic()
        except BaseException:  # noqa: BLE001 - of whatever kind: it is told by the thread that waits
            self.errors.append(traceback.format_exc())

    def _disturb(self, slot: Slot, chance: random.Random) -> None:
        what = chance.randrange(8)
        if what == 0:
            slot.function.explain()
        elif what == 1:
            slot.function.debug_state()
        elif what == 2:
            assert slot.function.stats().calls >= 0
        elif what == 3:
            tierup.last_executed_plan()
        elif self.counted:
            slot.function.release()
        elif what in (4, 5):
            slot.function.reset()
        elif what == 6:
            slot.renew()
        else:
            slot.function.release()

    def _calls(self, slot: Slot, chance: random.Random) -> None:
        """A few calls under options and faults of this thread alone."""
        function = slot.function
        with ExitStack() as stack:
            options = chance.choice(CALLED_WITH)
            if options:
                stack.enter_context(tierup.options(**options))
            fault = random_fault(chance) if chance.random() < 0.3 else {}
            if fault:
                stack.enter_context(tierup.testing.faults(**fault))
            for _ in range(chance.randrange(1, 40)):
                arguments = INPUTS[slot.plain](chance, chance.randrange(1, 6))
                self._call(slot, function, arguments, "allocation" in fault)

    def _call(self, slot: Slot, function: Function, arguments: tuple[Any, ...], may_starve: bool) -> None:
        copies = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)
        want, want_error = attempt(slot.plain, copies)
        got, error = attempt(function, arguments)
        with self._lock:
            self.calls += 1
            slot.calls += error is None
            slot.raised += error is not None
        what = f"{slot.plain.__name__} {slot.options}"
        if isinstance(error, MemoryError) and may_starve:
            return
        if type(error) is not type(want_error):
            raise AssertionError(f"{what}: raised {error!r}, not {want_error!r}\n{function.explain()}") from error
        if error is None:
            for g, w in zip(as_arrays((got, arguments)), as_arrays((want, copies)), strict=True):
                assert g.dtype == w.dtype, f"{what}: {g.dtype} is not {w.dtype}"
                np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5, err_msg=what)


def attempt(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, Exception | None]:
    try:
        return function(*arguments), None
    except Exception as error:  # noqa: BLE001 - it is compared with what the undecorated function raises
        return None, error


def as_arrays(tree: Any) -> list[np.ndarray]:
    return [a for item in tree for a in as_arrays(item)] if isinstance(tree, tuple) else [np.asarray(tree)]


def run(seconds: float, seed: int, threads: int = 6, tell: Callable[[str], object] = lambda line: None) -> int:
    """Phase after phase until the seconds are over; how many calls were made. Raises AssertionError."""
    stress, end, number = Stress(seed, threads), time.monotonic() + seconds, 0
    while (left := end - time.monotonic()) > 0:
        stress.phase(number, min(left, SECONDS_PER_PHASE))
        number += 1
        tell(f"seed {seed}: phase {number}, {stress.calls} calls, {max(0.0, end - time.monotonic()):.0f} s left")
    return stress.calls
