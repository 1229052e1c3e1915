"""What the parts of the runtime know of one another where they would otherwise go round in a circle.

Types alone: nothing of this file runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from tierup.runtime.arguments.argument_spec import CallSpec
    from tierup.runtime.arguments.signature import ArgumentClass
    from tierup.runtime.base.options import Options
    from tierup.runtime.dispatching.dispatch import DispatchTable
    from tierup.runtime.dispatching.version import Version
    from tierup.runtime.executors.executor import Executor
    from tierup.runtime.executors.gradients.pair import Backward, Pair
    from tierup.runtime.executors.making import VersionMaker
    from tierup.runtime.executors.splits.split import Split
    from tierup.runtime.programs.program import Program
    from tierup.runtime.programs.publication import Publication

Flat = tuple[Any, ...]  # the leaves of a call's arguments, or of its results

# classes that stand further up than parts that they hand themselves to
ProgramExecutor: TypeAlias = "Executor"
BackwardProgram: TypeAlias = "Backward"
GradientPair: TypeAlias = "Pair"
Maker: TypeAlias = "VersionMaker[Any]"
CompiledVersion: TypeAlias = "Version"
AnyVersion: TypeAlias = "Version | Split"
Executed: TypeAlias = "Program | Version | Split"  # what a thread can have run last


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


MakeExecutor = Callable[["Program"], "Executor"]
