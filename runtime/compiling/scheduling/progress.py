"""Long compiles say so when they begin: with how many ops, and a guess of how long it takes.

As an event, `compiling`; on a terminal as a line of stderr, too, which the compile's end completes (`TIERUP_PROGRESS=0`: no line):

    tierup: compiling step (612 ops) at model.py:12, some 8 s ... 7.4 s
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tierup.dialect.base import forking

if TYPE_CHECKING:
    from tierup.runtime.dispatching.version import Version
    from tierup.runtime.programs.program import Program

PROGRESS = "TIERUP_PROGRESS"
LONG = 0.5  # seconds of a compile that is told beforehand
_OP = re.compile(r"(?m)^\s*(?:%[^=\n]+= )?\"?(?:torch|tierup)\.(?!constant\.)")


class Guess:
    """How long compiles take, by the number of ops that are no constants: in proportion to it. `first`, `of_op`: seconds, before any
    compile was seen; after that what the last ones took, the later the more. Thread-safe."""

    def __init__(self, first: float = 0.05, of_op: float = 0.012) -> None:
        self._first, self._of_op = first, of_op
        self._ratio = 1.0
        self._lock = forking.lock()

    def seconds(self, ops: int) -> float:
        """What a compile of so many ops will take."""
        return self._ratio * (self._first + self._of_op * ops)

    def learn(self, ops: int, seconds: float) -> None:
        """A compile of so many ops took so long."""
        with self._lock:
            ratio = seconds / (self._first + self._of_op * ops)
            self._ratio = (self._ratio + min(max(ratio, 0.1), 10.0)) / 2


guess = Guess()


def ops_in(graph: str) -> int:
    """How many ops a program has, in MLIR's text, without constants."""
    return len(_OP.findall(graph))


@contextmanager
def told(program: Program, tell: Callable[[str], object]) -> Iterator[Callable[[Version], Version]]:
    """Around a compile of a program; `tell` makes the event of one that will be long. What it gives is to be told the version that was
    made: how long that took without waiting for a worker is what the next guess is made of."""
    ops = ops_in(program.graph)
    expected, start = guess.seconds(ops), time.perf_counter()
    line = _Line()
    if expected >= LONG:
        tell(f"begins to compile {ops} ops, which takes some {expected:.2g} s")
        line.begin(f"tierup: compiling {program.name} ({ops} ops) at {program.place}, some {expected:.2g} s ...")

    def learn(version: Version) -> Version:
        guess.learn(ops, version.milliseconds / 1e3)
        return version

    try:
        yield learn
    finally:
        line.end(f" {time.perf_counter() - start:.2g} s")


class _Line:
    """A line of stderr, where that is a terminal."""

    _is_begun = False

    def begin(self, text: str) -> None:
        if sys.stderr is not None and sys.stderr.isatty() and os.environ.get(PROGRESS) != "0":
            self._is_begun = True
            print(text, end="", file=sys.stderr, flush=True)

    def end(self, text: str) -> None:
        if self._is_begun:
            print(text, file=sys.stderr, flush=True)
