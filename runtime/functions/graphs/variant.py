"""A function's graphs: what a front end builds for one structure of a call, and such a graph in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tierup.dialect.base.records import cached_property, dataclass
from tierup.runtime.arguments.hidden import GONE, Access, Constant, HiddenInput
from tierup.runtime.arguments.lists.changed import NO_LISTS, Lists
from tierup.runtime.arguments.trees import CallShape, OutputTree
from tierup.runtime.executors.executor import Executor
from tierup.runtime.functions.graphs.shortcuts import Finish, Match, finisher, matcher
from tierup.runtime.programs.program import Program

Numbers = frozenset[Access]  # from outside, which a graph reads at every call


@dataclass(frozen=True)
class Built:
    """A graph and how calls map to it: what a front end's `build` returns."""

    program: Program
    output: OutputTree
    hidden: tuple[HiddenInput, ...]
    constants: tuple[Constant, ...]
    written_out: tuple[tuple[str, int], ...] = ()  # loops of which the graph has every round: their lines and rounds
    enlarge: Callable[[], None] | None = None  # lets the next graph have more room where a call of this one runs out of it
    keep: Callable[[], None] | None = None  # keeps it for processes to come


def lists_of(shape: CallShape, built: Built) -> Lists:
    """The lists that calls of this shape bring, where the graph changes one or gives one back."""
    return Lists.of(shape, [i for i, p in enumerate(built.program.tier0.parameters) if p.written], built.output)


Build = Callable[[CallShape, Mapping[str, object], Numbers], Built]


@dataclass(frozen=True, eq=False)
class Variant:
    """A graph in use: the calls it is right for, and its executor."""

    built: Built
    executor: Executor
    lists: Lists = NO_LISTS

    def holds(self, arguments: Mapping[str, object]) -> bool:
        """Whether all values from outside that are part of the graph are what they were when it was built."""
        constants = self.built.constants
        return not constants or all(c.holds(arguments) for c in constants)

    @cached_property
    def finish(self) -> Finish:
        """Makes the user's result of the flat ones."""
        return finisher(self.built.output)

    def shortcut(self, shape: CallShape) -> Match | None:
        """Gives the leaves, hidden inputs last, of calls of this shape by position; None where there is no such function."""
        return matcher(shape, self.built.constants, self.built.hidden)

    def hidden_values(self, arguments: Mapping[str, object]) -> tuple[object, ...] | None:
        """The hidden inputs' values now; None when the graph does not take them."""
        values = []
        for item in self.built.hidden:
            try:
                value = item.read(arguments)
            except GONE:
                return None
            if not item.fits(value):
                return None
            values.append(item.flat(value))
        return tuple(values)
