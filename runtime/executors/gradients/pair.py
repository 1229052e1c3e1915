"""Gradients in the executor: for a program and the leaves whose gradients are wanted, a forward and a backward program.

    results, pullback = forward(executor, leaves, wrt=(0, 2))
    gradients = pullback([cotangent of each result, or None])

A program and all it calls is one differentiable region: its gradient goes through branches and loops. The **pair** is made when it is first
wanted: a forward program, which gives the results and what the gradient needs, and a backward program, which takes that and the
cotangents. Both are programs with executors of their own: profiled, compiled, with bailouts, listed like any other. Where some cotangents
are None the backward program is one without them, in which what they lead to is not computed.

Which pair serves a call is a guard at the entry: which gradients are wanted, and of each leaf dtype, rank and which sizes are 0 or 1.
Nothing wanted: the plain program runs. Free of MLIR until a pair is made.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import forking
from tierup.dialect.base.exceptions import Acted
from tierup.dialect.base.records import dataclass
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account.stats import Stats
from tierup.runtime.arguments.gradient_kinds import Equal, Key, are_equal, difference, kind_of
from tierup.runtime.arguments.nesting import Nesting, takes_list
from tierup.runtime.base.errors import NotDifferentiable
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.protocols import ProgramExecutor
from tierup.runtime.base.recent import Recent
from tierup.runtime.code.plans import NotCompiled, is_passing
from tierup.runtime.compiling import steps
from tierup.runtime.executors.gradients.list_leaves import ListPullback
from tierup.runtime.executors.gradients.pullback import Array, Captured, Pullback, own, shape_of
from tierup.runtime.faults import faults
from tierup.runtime.programs.program import Program

if TYPE_CHECKING:
    from tierup.runtime.compiling.gradients import Halves, Source

__all__ = ["Captured", "GradientStats", "Gradients", "Pair", "Pullback", "forward"]
_SHAPES_KEPT = 256


class Postponed(NotDifferentiable):
    """There is no gradient for now: memory, files, threads or processes ran out while its programs were made. A later call tries again."""


_PATTERNS_KEPT = 8  # backward programs of a pair, by which cotangents are there


@dataclass(frozen=True)
class GradientStats:
    """Which side the check at the entry took: `plain` calls of which no gradient was wanted, `hits` that a pair was there for, `misses`
    that one was made for, `refused` calls that have no gradient. `pullbacks`: calls of backward programs. `pairs`: that there are."""

    plain: int = 0
    hits: int = 0
    misses: int = 0
    refused: int = 0
    pullbacks: int = 0
    pairs: int = 0


def forward(executor: ProgramExecutor, leaves: Sequence[Any], wrt: Sequence[int], *, order: int = 1) -> tuple[tuple[Any, ...], Pullback]:
    """The flat results of a program for flat leaves, and what gives the gradients of the leaves `wrt`, arrays of floating dtype.

    `order`: 2 for gradients that have gradients themselves (`Pullback.again`). With an empty `wrt` the plain program runs and no pair is
    made. Raises NotDifferentiable, naming op, line and remedy, where there is no gradient; RuntimeError where a pair is wanted of a graph
    that was released; else what the program raises.
    """
    arguments = tuple(leaves), tuple(wrt), order
    if faults.active:
        return faults.run(executor.gradients.forward, arguments, {})
    return executor.gradients.forward(*arguments)


@dataclass(frozen=True, eq=False)
class Backward:
    """A backward program. `order`: which captured values it takes. `positions`: of its results in `wrt`."""

    owner: Gradients
    executor: ProgramExecutor
    order: tuple[int, ...]
    positions: tuple[int, ...]

    def pull(self, values: tuple[Any, ...]) -> dict[int, Array]:
        """The gradients for captured values and cotangents, by their positions in `wrt`."""
        self.owner.count("pullbacks")
        if not self.positions:
            return {}
        return self.by_position(self.executor.call(values), values)

    def by_position(self, found: Sequence[Any], values: tuple[Any, ...]) -> dict[int, Array]:
        """Gradients by their positions in `wrt`, copied where they share memory with `values` or with one another."""
        return dict(zip(self.positions, own(found, values), strict=True))


class Pair:
    """The forward and backward programs for some wanted gradients and kinds of leaves. Thread-safe."""

    def __init__(self, owner: Gradients, halves: Halves, key: Key, equal: tuple[Equal, ...]) -> None:
        """`equal`: sizes that are equal in all calls that it serves."""
        self._owner, self._halves, self.key, self.equal, self.names, self.results = owner, halves, key, equal, halves.names, halves.results
        self.describe = describe = ", ".join(halves.names[i] for i in halves.wrt)
        self.captures, self.seeds, self.wrt = halves.split.captures, halves.split.seeds, halves.wrt
        self.watched = halves.split.watched
        self.written, self.apart, self.draws, self.flows = halves.written, halves.apart, halves.draws, halves.flows
        self._flags = 0 if halves.flows is None else len(halves.flows.flags)
        self.forward = owner.executor_of(f"{owner.name} (forward of {describe})", halves.forward)
        executor = owner.executor_of(f"{owner.name} (backward of {describe})", halves.backward)
        self.backward = Backward(owner, executor, tuple(range(len(self.captures))), halves.split.gradients)
        self._making = forking.lock()
        self._from_fewer: Recent[tuple[int, ...], Backward] = Recent()

    def run(self, flat: tuple[Any, ...], order: int) -> tuple[tuple[Any, ...], Pullback]:
        """The flat results of a call by the forward program, and what gives the gradients. `order`: as of the function `forward`."""
        through = None
        try:
            if order > 1 and any(capture.kind != "argument" for capture in self.captures):
                handed, through = self.forward.gradients.forward(flat, self.wrt, order - 1)
            else:
                handed = self.forward.call(flat)
        except Acted as e:
            raise NotDifferentiable(f"{self._owner.name} has no gradient on this path: {e}") from e
        count = len(handed) - sum([capture.kind == "saved" for capture in self.captures])
        places = {"argument": flat, "result": handed[:count], "saved": handed[count:]}
        results, flags = handed[: count - self._flags], handed[count - self._flags : count]
        captured = tuple([places[capture.kind][capture.index] for capture in self.captures])
        wanted = tuple([(flat[i].shape, flat[i].dtype) for i in self.wrt])
        if order > 1 and through is None:
            through = Pullback(None, (), tuple(map(shape_of, handed)), wanted)
        flows = None if self.flows is None else self.flows.of(flags)
        return results, Pullback(self, captured, tuple(map(shape_of, results)), wanted, order, through, flows)

    def backward_from(self, seeds: tuple[int, ...]) -> Backward:
        """The backward program for the cotangents of these results. That for all of them, where one for these needs what was not captured:
        zeros stand for the others then."""
        if len(seeds) == len(self.seeds):
            return self.backward
        found = self._from_fewer.use(seeds)
        if found is not None:
            return found
        start, which = time.perf_counter(), ", ".join(f"result {k}" for k in seeds)
        with self._making:
            found = self._from_fewer.use(seeds)
            if found is not None:
                return found
            found = self._make(seeds, which)
            self._from_fewer.keep(seeds, found, _PATTERNS_KEPT)
        action = "zeros stand for the others" if found is self.backward else "made a backward program for them"
        self._owner.differentiated(f"cotangents of {which} alone", action, start)
        return found

    def _make(self, seeds: tuple[int, ...], which: str) -> Backward:
        found = None
        try:
            with self._owner.failures_are_refusals():
                found = steps.gradients.restricted(self._owner.name, self._halves, seeds)
        except Postponed:
            raise
        except NotDifferentiable:  # the compiler failed: an event says so
            pass
        if found is None:
            return self.backward
        split, source = found
        executor = self._owner.executor_of(f"{self._owner.name} (backward of {self.describe} from {which})", source)
        order = tuple([self._halves.split.keys.index(key) for key in split.keys])
        return Backward(self._owner, executor, order, split.gradients)

    @property
    def executors(self) -> list[ProgramExecutor]:
        """Forward, backward, and backward from fewer cotangents."""
        return [self.forward, self.backward.executor, *(backward.executor for backward in self._from_fewer.all())]


class Gradients:
    """The pairs of one program. Thread-safe: a pair is made once, and no call that has its own waits for it.

    `joins`: set by who has an autograd of their own and asks for pairs (`pair`): a program may then write its arguments, whose new contents
    are the last results of its pairs (`Pair.written`), for the caller to write; and where there is no gradient the program is not run.
    """

    def __init__(self, executor: ProgramExecutor) -> None:
        self._executor = executor
        self.name = executor.program.name
        self.joins = False
        self.takes_lists = any(map(takes_list, executor.program.tier0.parameters))
        self.writes = any(parameter.written for parameter in executor.program.tier0.parameters)
        self._making, self._counting = forking.lock(), forking.lock()
        self._pairs: Recent[Key, Pair] = Recent()
        self._refused: Recent[Key, str] = Recent()
        self._counts = dict.fromkeys(("plain", "hits", "misses", "refused", "pullbacks"), 0)
        self._retired = Stats()  # what the programs of pairs that are gone have done
        self._forget()

    def _forget(self) -> None:
        """What makes it quicker to find a pair."""
        self._known: dict[object, tuple[Pair, Key]] = {}  # by exact sizes
        self._latest: Pair | None = None

    def forward(self, flat: tuple[Any, ...], wrt: tuple[int, ...], order: int = 1) -> tuple[tuple[Any, ...], Pullback]:
        """See the function of this name."""
        for i in wrt:
            if not 0 <= i < len(flat):
                raise ValueError(f"{self.name} has no leaf {i}: it has {len(flat)}")
        if not wrt:
            self.count("plain")
            results = self._executor.call(flat)
            return results, Pullback(None, (), tuple(map(shape_of, results)), ())
        if self.takes_lists:
            return self._forward_lists(flat, wrt, order)
        pair = self.pair(flat, wrt, (), flat)
        results, pullback = pair.run(flat, order)
        if not pair.results.lengths:
            return results, pullback
        return pair.results.nested(results), ListPullback(pullback, pair.results, Nesting((-1,) * len(wrt)))

    def _forward_lists(self, flat: tuple[Any, ...], wrt: tuple[int, ...], order: int) -> tuple[tuple[Any, ...], ListPullback]:
        """Where lists of arrays are among the leaves."""
        nesting = Nesting.of(flat, self._executor.program.tier0.parameters)
        items = tuple(nesting.flat(flat, "leaves"))
        chosen, wanted = nesting.positions(wrt)
        pair = self.pair(items, chosen, nesting.lengths, flat)
        results, pullback = pair.run(items, order)
        return pair.results.nested(results), ListPullback(pullback, pair.results, wanted)

    def pair(self, flat: tuple[Any, ...], wrt: tuple[int, ...], lengths: tuple[int, ...], given: tuple[Any, ...]) -> Pair:
        """The pair that serves a call. `lengths`: of lists of leaves, whose items are in `flat`; `given`: the leaves as they came. Raises
        as `forward` does."""
        exact = wrt, tuple([(leaf.dtype, leaf.shape) if type(leaf) is np.ndarray else type(leaf) for leaf in flat]), lengths
        known = self._known.get(exact)
        if known is not None and known[0] is self._latest:  # used last, so no other goes before it
            self.count("hits")
            return known[0]
        key = (wrt, tuple([kind_of(leaf) for leaf in flat]), lengths, False) if known is None else known[1]
        pair = self._pairs.use(key)
        if pair is not None and not are_equal(pair.equal, flat):
            key = (*key[:3], True)
            pair = self._pairs.use(key)
        if pair is None:
            pair = self._new_pair(key, flat, given)
        else:
            self.count("hits")
        self._latest = pair
        if len(self._known) >= _SHAPES_KEPT:
            self._known = {}
        self._known[exact] = pair, key
        return pair

    def _new_pair(self, key: Key, flat: tuple[Any, ...], given: tuple[Any, ...]) -> Pair:
        self._check(flat, key[0], given)
        gone: list[Pair] = []
        start, made = time.perf_counter(), None
        with self._making:
            known = self._pairs.all()
            pair, refused = self._pairs.use(key), self._refused.use(key)
            if pair is not None and not are_equal(pair.equal, flat):
                return self._new_pair((*key[:3], True), flat, given)
            if pair is not None:
                self.count("hits")  # another thread has made it meanwhile
            elif refused is None:
                try:
                    pair = made = self._make(key, flat)
                    gone = [old for _, old in self._pairs.keep(key, pair, self._executor.options.max_versions)]
                    self.count("misses")
                except NotDifferentiable as e:
                    refused = str(e)
                    if not isinstance(e, Postponed):
                        self._refused.keep(key, refused, self._executor.options.max_versions)
        if made is not None:
            reason, expected, actual = difference(made.names, known[-1].key, key) if known else (None, "", "")
            what, action = f"gradients of {made.describe}", "made a forward and a backward program"
            self.differentiated(what, action, start, reason=reason, expected=expected, actual=actual)
        if gone:
            self._forget()
        for old in gone:
            with self._counting:
                self._retired = sum((replace(e.stats_with_gradients(), versions=0) for e in old.executors), self._retired)
            self._executor.history.emit(EventKind.EVICTED, Reason.PAIR_EVICTED, guard=f"gradients of {old.describe}")
        if pair is None:
            assert refused is not None
            self.count("refused")
            if not self.joins and not any(parameter.written for parameter in self._executor.program.tier0.parameters):
                self._executor.call(given)  # what the program itself raises comes first
            raise NotDifferentiable(refused)
        return pair

    def _check(self, flat: tuple[Any, ...], wrt: tuple[int, ...], given: tuple[Any, ...]) -> None:
        names = self._executor.program.names if len(flat) == len(given) else [f"leaf {i}" for i in range(len(flat))]
        for i in wrt:
            if shape_of(flat[i]) is None:
                leaf = flat[i]
                what = f"an array of {leaf.dtype}" if isinstance(leaf, np.ndarray) else f"of type {type(leaf).__name__}"
                raise NotDifferentiable(f"{self.name} has no gradient of {names[i]}, which is {what}: pass an array of floating dtype")

    def _make(self, key: Key, flat: tuple[Any, ...]) -> Pair:
        program = self._executor.program
        try:
            graph = program.graph
        except NotCompiled as e:
            raise RuntimeError(f"no gradient that was not wanted before: {e}") from None
        wrt, kinds, lengths, differ = key
        sizes = None if differ else tuple([leaf.shape if kind is not None else None for leaf, kind in zip(flat, kinds, strict=True)])
        with self.failures_are_refusals():
            halves = steps.gradients.split(program.name, graph, program.entry, wrt, kinds, lengths, sizes, self.joins)
            equal = steps.gradients.assumed(halves)
        return Pair(self, halves, key, equal)

    @contextmanager
    def failures_are_refusals(self) -> Iterator[None]:
        """Whatever the compiler raises, or dies of, leaves as NotDifferentiable; as Postponed what a later call may have."""
        emit = self._executor.history.emit
        try:
            yield
        except NotDifferentiable:
            raise
        except Exception as e:
            what = f"{type(e).__name__}: {e}"
            if is_passing(e):
                emit(EventKind.POSTPONED, Reason.NO_RESOURCES, guard="gradients", action=f"tried again later: {e}")
                raise Postponed(f"{self.name} has no gradient now, since something ran out: {what}: call it again") from e
            emit(EventKind.GAVE_UP, Reason.COMPILE_FAILED, guard="gradients", action=what)
            raise NotDifferentiable(f"{self.name} has no gradient, since the compiler failed: {what}") from e

    def differentiated(self, guard: str, action: str, start: float, *, reason: Reason | None = None, **details: str) -> None:
        """Tell that a forward or backward program was made. `start`: when that began, by `time.perf_counter()`."""
        milliseconds = (time.perf_counter() - start) * 1e3
        self._executor.history.emit(EventKind.DIFFERENTIATED, reason, guard=guard, action=action, milliseconds=milliseconds, **details)

    def executor_of(self, name: str, source: Source) -> ProgramExecutor:
        """A new executor of a forward or backward program, under the options of the differentiated one."""
        program = Program(name, source.graph, source.entry, source.names, source.tier0, self._executor.program.place)
        return self._executor.another(program)

    def count(self, what: str) -> None:
        """Add one to a counter. `what`: a field of `GradientStats`."""
        with self._counting:
            self._counts[what] += 1

    def program_stats(self) -> Stats:
        """Counts of all forward and backward programs there are and were."""
        with self._counting:
            retired = self._retired
        return sum((executor.stats_with_gradients() for executor in self.executors), retired)

    def program_calls(self) -> int:
        """`program_stats().calls`, at less cost."""
        with self._counting:
            retired = self._retired.calls
        return retired + sum([executor.calls_with_gradients() for executor in self.executors])

    def stats(self) -> GradientStats:
        """What was counted so far, and how many pairs there are now."""
        with self._counting:
            return GradientStats(**self._counts, pairs=len(self._pairs.all()))

    @property
    def pairs(self) -> list[Pair]:
        """Those there are, least recently used first."""
        return self._pairs.all()

    @property
    def executors(self) -> list[ProgramExecutor]:
        """Of all forward and backward programs."""
        return [executor for pair in self.pairs for executor in pair.executors]

    def clear(self) -> None:
        """Drop all pairs; a pullback keeps its own."""
        self._forget()
        self._pairs.clear()
        self._refused.clear()
        with self._counting:
            self._counts, self._retired = dict.fromkeys(self._counts, 0), Stats()
