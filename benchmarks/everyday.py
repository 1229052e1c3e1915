"""Ordinary programs (test/everyday) decorated and undecorated: `python -m benchmarks.everyday [NAME ...]`.

Each is called until nothing changes any more, then blocks of calls of the two alternate; printed is the median of the ratios of
neighbours, with quartiles, the programs that gain least last. Arguments are made anew for every call, outside of what is timed.
"""

from __future__ import annotations

import copy
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tierup

_SETTLED = 1.0  # seconds, and at least so many calls:
_CALLS = 250
_BLOCK, _BLOCKS = 0.02, 15  # seconds of calls, and how many of each side


def _seconds(function: Callable[..., Any], given: list[tuple[Any, ...]]) -> float:
    start = time.process_time()  # which other jobs of the machine take nothing from
    for arguments in given:
        try:
            function(*arguments)
        except Exception:  # noqa: BLE001, S110 - some programs are about exceptions
            pass
    return time.process_time() - start


def ratio(function: Callable[..., Any], arguments_of: Callable[[np.random.Generator], tuple[Any, ...]]) -> tuple[list[float], float, str]:
    """Undecorated over decorated time, by pairs of blocks; undecorated CPU seconds of a call; who answers."""
    jitted = tierup.jit(function)
    arguments = arguments_of(np.random.default_rng(1))

    def given(count: int) -> list[tuple[Any, ...]]:
        return [copy.deepcopy(arguments) for _ in range(count)]

    until, calls = time.perf_counter() + _SETTLED, 0
    while time.perf_counter() < until or calls < _CALLS:
        _seconds(jitted, given(10))
        calls += 10
    one = min(_seconds(function, given(1)) for _ in range(5))
    count = max(1, int(_BLOCK / one))
    found = []
    for i in range(_BLOCKS):
        sides = (function, jitted) if i % 2 else (jitted, function)
        took = {side: _seconds(side, given(count)) for side in sides}
        found.append(took[function] / took[jitted])
    text = jitted.explain()
    who = "plain Python" if "runs as plain Python" in text else "in part" if "Python at" in text else "native"
    return found, one, who


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent / "test" / "everyday"))
    import everyday_programs
    import list_programs

    programs = {**everyday_programs.PROGRAMS, **list_programs.PROGRAMS}
    warnings.simplefilter("ignore")
    rows = []
    for name in sys.argv[1:] or programs:
        found, one, who = ratio(*programs[name])
        low, middle, high = statistics.quantiles(found, n=4)
        rows.append((middle, f"| `{name}` | {one * 1e6:.0f} us | {middle:.2f} ({low:.2f} - {high:.2f}) | {who} |"))
        print(rows[-1][1], flush=True)
    print("\n| program | a call in Python | faster by | who runs it |\n|---|---|---|---|")
    print("\n".join(row for _, row in sorted(rows, reverse=True)))


if __name__ == "__main__":
    main()
