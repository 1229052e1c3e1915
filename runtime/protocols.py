"""What the parts of the runtime know of one another where they would otherwise go round in a circle.

A part that is made by another is given one of these, and not its maker: what it may ask for is what stands here. Types alone: nothing of
this file runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tierup.dialect.speculation.reasons import Reason
    from tierup.lowering.entry.records import VersionRecord
    from tierup.runtime.account.history import History
    from tierup.runtime.account.last_plan import ExecutedPlan
    from tierup.runtime.account.stats import Stats
    from tierup.runtime.arguments.argument_spec import CallSpec
    from tierup.runtime.arguments.signature import ArgumentClass
    from tierup.runtime.bailouts.continuations import Continuations
    from tierup.runtime.dispatching.dispatch import DispatchTable
    from tierup.runtime.dispatching.version import Version
    from tierup.runtime.gradients.pair import Gradients
    from tierup.runtime.options import Options
    from tierup.runtime.program import Program
    from tierup.runtime.publication import Publication
    from tierup.runtime.splits.split import Split

Flat = tuple[Any, ...]  # the leaves of a call's arguments, or of its results


class Executed(Protocol):
    """What a thread can have run last."""

    def executed(self) -> ExecutedPlan: ...


class AnyVersion(Protocol):
    """A version of the whole program, or one that is split into native regions."""

    @property
    def guards(self) -> str: ...
    @property
    def call(self) -> int: ...
    @property
    def milliseconds(self) -> float: ...


class HasRecord(Executed, Protocol):
    """A version with native code, and its program's name."""

    @property
    def record(self) -> VersionRecord: ...
    @property
    def function(self) -> str: ...


class ProgramExecutor(Protocol):
    """Who answers the calls of a program that is part of another: a region, what goes on after a bailout, half of a gradient."""

    program: Program
    history: History

    def call(self, flat: Flat) -> Flat: ...
    def another(self, program: Program) -> ProgramExecutor: ...
    def release(self) -> bool: ...
    def text(self, stage: str) -> str: ...
    def hits(self, version: Version) -> int: ...
    def stats(self) -> Stats: ...
    def stats_with_gradients(self) -> Stats: ...
    def continuations(self, version: Version | Split) -> Continuations | None: ...
    def locked(self, until: ExitStack) -> Sequence[tuple[tuple[object, ...], Any]]: ...
    def with_parts(self) -> Iterator[ProgramExecutor]: ...
    @property
    def options(self) -> Options: ...
    @property
    def gradients(self) -> Gradients: ...
    @property
    def gradient_executors(self) -> Sequence[ProgramExecutor]: ...
    @property
    def has_gradients(self) -> bool: ...
    @property
    def versions(self) -> tuple[Version, ...]: ...
    @property
    def splits(self) -> tuple[Split, ...]: ...
    @property
    def plans(self) -> tuple[tuple[str, str, int], ...]: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def is_optimized(self) -> bool: ...
    @property
    def refusals(self) -> dict[tuple[Reason, str, str], str]: ...
    @property
    def refused_ops(self) -> tuple[tuple[str, str], ...]: ...


class Place(Protocol):
    """Where the arrays of a program's calls may lie: on the host alone, or on a device as well. What an executor does besides it does
    with arrays of the host."""

    @property
    def make_table(self) -> Callable[..., DispatchTable]:
        """Makes the tables of versions, as `dispatch.make_table`."""

    def around(self, call: Call) -> Call:
        """A call as users make it, of one with arrays that versions know."""

    def slow(self, answer: Answer, find: FindSplit) -> Answer:
        """Answers a call that no version fits: by the split that `find` gives, where its arrays may stay where they are; else by `answer`,
        on the host."""

    def failed(self, answer: Callable[..., Flat], stays: Callable[[Any, int], bool]) -> Callable[..., Flat]:
        """`answer(record, status, flat, live)`, on the host but where arrays may stay where they are: `stays(record, status)`."""

    def run(self, program: Program, flat: Flat) -> Flat:
        """Tier 0, on the host."""

    def on_host(self, run: Answer, flat: Flat) -> Flat:
        """`run(*flat)`, on the host; what is written there is written where the argument lies."""

    def copies(self, flat: Flat) -> Flat:
        """Arguments to look at on the host."""

    def spec_of(self, flat: Flat) -> CallSpec:
        """The argument spec of a call."""

    def results(self, publication: Publication, flat: Flat, values: Flat) -> Flat:
        """The results of a call, from the values that a continuation gives; what the program writes is written."""


Answer = Callable[..., Flat]  # of the flat arguments, one by one
Call = Callable[[Flat, "Options"], Flat]
SplitInPlace = tuple["Split", Callable[["Split"], None]]  # and what is told of a run of it
FindSplit = Callable[["tuple[ArgumentClass, ...]"], "SplitInPlace | None"]


class BackwardProgram(Protocol):
    """The backward half of a gradient, as its runs call it. See `gradients/pair.py`."""

    @property
    def executor(self) -> ProgramExecutor: ...
    @property
    def order(self) -> tuple[int, ...]: ...
    @property
    def positions(self) -> tuple[int, ...]: ...
    def pull(self, values: Flat) -> dict[int, Any]: ...
    def by_position(self, found: Sequence[Any], values: Flat) -> dict[int, Any]: ...


class GradientPair(Protocol):
    """A forward and a backward program, as their runs know them. See `gradients/pair.py`."""

    captures: tuple[Any, ...]
    seeds: tuple[int, ...]
    wrt: tuple[int, ...]

    @property
    def backward(self) -> BackwardProgram: ...
    def backward_from(self, seeds: tuple[int, ...]) -> BackwardProgram: ...


MakeExecutor = Callable[["Program"], ProgramExecutor]
