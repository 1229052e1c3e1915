"""A function's graphs: how a new one is made, and which are let go.

    f(x, n)  ->  the structure of the call  ->  its graphs, one for each state of what they rely on outside of the function
                                            ->  that whose constants hold now; else a new one

Graphs whose numbers from outside change are let go for one that reads these at every call (`changing.py`), and those that were used least
where there are more than `max_graphs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from tierup.dialect.base import forking
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account.times import GRAPHS, During, Times
from tierup.runtime.arguments.lists.changed import Lists
from tierup.runtime.arguments.lists.structures import Structures
from tierup.runtime.arguments.trees import CallShape
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.once import Owner
from tierup.runtime.base.options import Options
from tierup.runtime.executors.executor import Executor
from tierup.runtime.functions.graphs.changing import ChangingNumbers
from tierup.runtime.functions.graphs.variant import Build, Built, Numbers, Variant, lists_of
from tierup.runtime.programs.program import Program

GraphsByShape = dict[CallShape, tuple[Variant, ...]]  # never changed: another takes its place


class GraphsOwner(Protocol):
    """The function whose graphs they are, which is told of each call: it may go while there are graphs."""

    __name__: str
    times: Times
    build: Build
    once: Owner

    @property
    def options(self) -> Options:
        """Those in force now."""

    def executor_for(self, shape: CallShape, built: Built, arguments: Mapping[str, object], lists: Lists) -> Executor:
        """Who runs a new graph. `lists`: those of a call that it changes or gives back."""

    def let_go(self, executors: Sequence[Executor]) -> None:
        """Their graphs are dropped."""


class Graphs:
    """Of one function. `by_shape`: those in use; `structures`: how the structure of a call is told; `numbers`: those from outside that
    change. What changes `by_shape` holds the lock."""

    def __init__(self) -> None:
        self.by_shape: GraphsByShape = {}
        self.structures = Structures()
        self.numbers = ChangingNumbers()
        self.lock = forking.lock()
        self._calls_before: dict[Variant, int] = {}  # when graphs were dropped last
        self._use: dict[Variant, float] = {}

    def clear(self) -> None:
        """Forget all. The lock is held."""
        self.by_shape, self._calls_before, self._use = {}, {}, {}
        self.structures, self.numbers = self.structures.renewed(), ChangingNumbers()

    @property
    def variants(self) -> list[Variant]:
        """All in use."""
        return [variant for found in self.by_shape.values() for variant in found]

    def new(
        self, function: GraphsOwner, shape: CallShape, known: tuple[Variant, ...], leaves: list[object], arguments: Mapping[str, object]
    ) -> tuple[Variant, tuple[Any, ...]]:
        """One for a call of this structure that none of the `known` ones is right for, and the flat leaves that it takes, hidden ones last.
        Raises what the function's `build` does."""
        function.times.graphs += 1
        with During(GRAPHS):
            variant = self._made(function, shape, known, arguments)
        self.structures.take(shape)
        hidden = variant.hidden_values(arguments)
        if hidden is None:
            raise RuntimeError(f"{function.__name__}(): a value from the enclosing scope changed its kind while the call was read")
        return variant, (*leaves, *hidden)

    def _made(self, function: GraphsOwner, shape: CallShape, known: tuple[Variant, ...], arguments: Mapping[str, object]) -> Variant:
        """One for a call that none of the `known` ones is right for."""
        make: Callable[[Numbers], Built] = lambda numbers: function.build(shape, arguments, numbers)
        read = self.numbers.read
        built = self.numbers.build(make, known, arguments)
        while True:
            if self.numbers.made_outdated(built, read):
                read = self.numbers.read
                built = self.numbers.build(make, known, arguments)
            there = self.by_shape.get(shape, ())
            for variant in there:  # another thread may have been quicker
                if variant in known or self.numbers.will_drop(variant.built):
                    continue
                if variant.holds(arguments) and variant.hidden_values(arguments) is not None:
                    return variant
            with self.lock:
                if self.by_shape.get(shape, ()) is not there or self.numbers.made_outdated(built, read):
                    continue
                newly_read = self.numbers.take_new()
                outdated = self._drop_outdated(function, newly_read)
                there = self.by_shape.get(shape, ())
                lists = lists_of(shape, built)
                variant = Variant(replace(built, keep=None), function.executor_for(shape, built, arguments, lists), lists)
                # a new dict each time: other threads may be reading the old one
                self.by_shape = {**self.by_shape, shape: (*there, variant)}
                gone = self._make_room(function, variant)
                break
        for executor in gone:
            executor.history.emit(EventKind.EVICTED, Reason.GRAPH_EVICTED)
        if outdated:
            names = ", ".join(sorted(set(map(str, newly_read))))
            action = f"{names} read at every call from now on, in place of {outdated} graphs with constants"
            variant.executor.history.emit(EventKind.GENERALISED, Reason.NUMBER_CHANGED, guard=names, action=action)
        self.numbers.warn_of_graphs(function.__name__, function.once, there, arguments)
        return variant

    def enlarge(self, function: GraphsOwner, program: Program, error: MemoryError) -> None:
        """Have the next graph made with more room than this, and let go of it, unless another thread has."""
        with self.lock:
            gone = {v for v in self.variants if v.built.program is program and v.built.enlarge is not None}
            for variant in gone:
                assert variant.built.enlarge is not None
                variant.built.enlarge()
                variant.executor.history.emit(EventKind.EVICTED, Reason.LIST_IS_FULL, action=str(error))
            self._drop(function, gone)

    def _drop_outdated(self, function: GraphsOwner, newly_read: Numbers) -> int:
        """Drop the graphs that have a constant which a new one reads at every call; how many."""
        gone = {v for v in self.variants for c in v.built.constants if c.kind == "value" and c.access in newly_read}
        self._drop(function, gone)
        return len(gone)

    def _drop(self, function: GraphsOwner, gone: set[Variant]) -> list[Executor]:
        """Let go of graphs; their executors."""
        if not gone:
            return []
        kept = {shape: tuple(v for v in found if v not in gone) for shape, found in self.by_shape.items()}
        self.by_shape = {shape: found for shape, found in kept.items() if found}
        executors = [variant.executor for variant in gone]
        function.let_go(executors)
        return executors

    def _make_room(self, function: GraphsOwner, new: Variant) -> list[Executor]:
        """Drop the graphs beyond `max_graphs` that were used least, calls before the last time counting half; their executors."""
        excess = len(self.variants) - function.options.max_graphs
        if excess <= 0:
            return []
        calls = {v: v.executor.stats().calls for v in self.variants if v is not new}
        self._use = {v: self._use.get(v, 0.0) / 2 + n - self._calls_before.get(v, 0) for v, n in calls.items()}
        dropped = set(sorted(self._use, key=self._use.__getitem__)[:excess])
        gone = self._drop(function, dropped)
        self._calls_before = {v: n for v, n in calls.items() if v not in dropped}
        return gone
