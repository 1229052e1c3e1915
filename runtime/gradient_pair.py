"""Gradients in the executor: for a program and the leaves whose gradients are wanted, a forward and a backward program.

    results, pullback = forward(executor, leaves, wrt=(0, 2))
    gradients = pullback([cotangent of each result, or None])

A program and all it calls is one differentiable region: its gradient goes through branches and loops. The **pair** is made when it is first
wanted: a forward program, which gives the results and what the gradient needs, and a backward program, which takes that and the
cotangents. Both are programs with executors of their own: profiled, compiled, bailing out, listed like any other.

Which pair serves a call is a guard at the entry: which gradients are wanted, and of each leaf dtype, rank and which sizes are 0 or 1.
Nothing wanted: the plain program runs. Free of MLIR until a pair is made.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.reasons import Reason
from tierup.dialect.records import dataclass
from tierup.runtime.errors import NotDifferentiable
from tierup.runtime.events import EventKind
from tierup.runtime.program import Program

if TYPE_CHECKING:
    from tierup.runtime.compile_gradients import Halves, Kind, Source
    from tierup.runtime.executor import Executor

Array = np.ndarray
_PATTERNS_KEPT = 8  # backward programs of a pair, by which cotangents are there


@dataclass(frozen=True)
class Captured:
    """A value that a pullback holds. `source`: "argument", "result" or "saved". `bytes`: of an array; 0 for a number."""

    name: str
    source: str
    bytes: int


@dataclass(frozen=True)
class GradientStats:
    """Which side the checks took: `plain` calls of which no gradient was wanted, `hits` that a pair was there for, `misses` that were not.
    `pairs`: that there are; `refused`: calls that have no gradient. `pullbacks`: calls of backward programs."""

    plain: int = 0
    hits: int = 0
    misses: int = 0
    refused: int = 0
    pullbacks: int = 0
    pairs: int = 0


def forward(executor: Executor, leaves: Sequence[Any], wrt: Sequence[int]) -> tuple[tuple[Any, ...], Pullback]:
    """The flat results of a program for flat leaves, and what gives the gradients of the leaves `wrt`, arrays of floating dtype.

    Raises NotDifferentiable, naming op, line and remedy, where there is no gradient; else what the program raises. With an empty `wrt` the
    plain program runs and no pair is made.
    """
    return executor.gradients.forward(tuple(leaves), tuple(wrt))


class Pullback:
    """The gradients of one run, as a function of cotangents: it may be called again, and by several threads.

    It holds what was captured: arguments and results as they are, not copies. So it gives gradients for the values that they have when it
    is called: who writes to an array that a function took or gave should be done with its pullback, or pass a copy.
    """

    def __init__(
        self,
        pair: Pair | None,
        captured: tuple[Any, ...],
        results: tuple[tuple[tuple[int, ...], Any] | None, ...],
        wanted: tuple[tuple[tuple[int, ...], Any], ...],
    ) -> None:
        self._pair, self._captured, self._results, self._wanted = pair, captured, results, wanted

    def __call__(self, cotangents: Sequence[Any], *, zeros: bool = True) -> tuple[Array | None, ...]:
        """The gradients of the leaves `wrt`, in order. `cotangents`: one per result, of its sizes and dtype, None where nothing flows. A
        gradient to which nothing flows is zeros, or None without `zeros`.

        Raises ValueError for cotangents that are too many or too few or of other sizes, TypeError for one of a result that is no tensor of
        floating dtype.
        """
        given = self._check(cotangents)
        found: dict[int, Array] = {}
        if self._pair is not None:
            here = {k: array for k in self._pair.seeds if (array := given[k]) is not None}
            if here:
                found = self._pair.pull(self._captured, here)
        return tuple(
            found[i] if i in found else np.zeros(shape, dtype) if zeros else None for i, (shape, dtype) in enumerate(self._wanted)
        )

    def _check(self, cotangents: Sequence[Any]) -> list[Array | None]:
        if len(cotangents) != len(self._results):
            raise ValueError(f"{len(self._results)} results have as many cotangents, not {len(cotangents)}")
        given: list[Array | None] = []
        for k, (cotangent, result) in enumerate(zip(cotangents, self._results, strict=True)):
            if cotangent is None:
                given.append(None)
                continue
            if result is None:
                raise TypeError(f"result {k} is no array of floating dtype: it has no cotangent, so None stands for it")
            shape, dtype = result
            array = np.asarray(cotangent)
            if array.shape != shape:
                raise ValueError(f"the cotangent of result {k} has the shape {array.shape}, the result {shape}")
            if array.dtype != dtype and not np.can_cast(array.dtype, dtype, "same_kind"):
                raise TypeError(f"the cotangent of result {k} has the dtype {array.dtype}, the result {dtype}")
            given.append(array if array.dtype == dtype else array.astype(dtype))
        return given

    @property
    def captured(self) -> tuple[Captured, ...]:
        """What is held until the pullback goes."""
        if self._pair is None:
            return ()
        capture = zip(self._pair.backward.program.names, self._pair.captures, self._captured, strict=False)
        return tuple(Captured(name, source.kind, value.nbytes if isinstance(value, np.ndarray) else 0) for name, source, value in capture)


class Pair:
    """The forward and backward programs for some wanted gradients and kinds of leaves. Thread-safe."""

    def __init__(self, owner: Gradients, halves: Halves, describe: str) -> None:
        self.owner, self.halves, self.describe = owner, halves, describe
        self.captures, self.seeds, self.wrt = halves.split.captures, halves.split.seeds, halves.wrt
        self.forward = owner.executor_of(f"{owner.name} (forward of {describe})", halves.forward)
        self.backward = owner.executor_of(f"{owner.name} (backward of {describe})", halves.backward)
        self._lock = threading.RLock()
        self._patterns: OrderedDict[tuple[int, ...], _Restricted | None] = OrderedDict()

    def run(self, flat: tuple[Any, ...]) -> tuple[tuple[Any, ...], Pullback]:
        handed = self.forward.call(flat)
        count = len(handed) - sum(capture.kind == "saved" for capture in self.captures)
        results, saved = handed[:count], handed[count:]
        places = {"argument": flat, "result": results, "saved": saved}
        captured = tuple([places[capture.kind][capture.index] for capture in self.captures])
        shapes = tuple([(r.shape, r.dtype) if k in self.seeds else None for k, r in enumerate(results)])
        return results, Pullback(self, captured, shapes, tuple([(flat[i].shape, flat[i].dtype) for i in self.wrt]))

    def pull(self, captured: tuple[Any, ...], cotangents: dict[int, Array]) -> dict[int, Array]:
        """The gradients that follow from these cotangents, by their positions in `wrt`."""
        self.owner.count("pullbacks")
        restricted = self._restricted(tuple(cotangents))
        if restricted is not None:
            executor, order, positions = restricted.executor, restricted.order, restricted.gradients
            given = (*(captured[i] for i in order), *cotangents.values())
        else:
            executor, positions = self.backward, self.halves.split.gradients
            given = (*captured, *(cotangents[k] for k in self.seeds))
        return dict(zip(positions, _own(executor.call(given), given), strict=True))

    def _restricted(self, seeds: tuple[int, ...]) -> _Restricted | None:
        """The backward program for some cotangents; None for all."""
        if len(seeds) == len(self.seeds):
            return None
        with self._lock:
            if seeds in self._patterns:
                self._patterns.move_to_end(seeds)
            else:
                self._patterns[seeds] = self._restrict(seeds)
                while len(self._patterns) > _PATTERNS_KEPT:
                    self._patterns.popitem(last=False)
            return self._patterns[seeds]

    def _restrict(self, seeds: tuple[int, ...]) -> _Restricted:
        from tierup.runtime import compile_gradients as compiler  # here: loads MLIR

        found = compiler.restricted(self.owner.name, self.halves, seeds)
        assert found is not None
        split, source = found
        which = ", ".join(f"result {k}" for k in seeds)
        executor = self.owner.executor_of(f"{self.owner.name} (backward of {self.describe} from {which})", source)
        return _Restricted(executor, tuple(self.halves.split.keys.index(key) for key in split.keys), split.gradients)

    @property
    def executors(self) -> list[Executor]:
        """Forward, backward, and backward from fewer cotangents."""
        with self._lock:
            return [self.forward, self.backward, *(r.executor for r in self._patterns.values() if r is not None)]


@dataclass(frozen=True, eq=False)
class _Restricted:
    """A backward program for fewer cotangents. `order`: which of the captured values it takes."""

    executor: Executor
    order: tuple[int, ...]
    gradients: tuple[int, ...]


class Gradients:
    """The pairs of one program. Thread-safe."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.name = executor.program.name
        self._lock = threading.RLock()
        self._pairs: OrderedDict[object, Pair] = OrderedDict()
        self._refused: OrderedDict[object, str] = OrderedDict()
        self._counts = dict.fromkeys(("plain", "hits", "misses", "refused", "pullbacks"), 0)

    def forward(self, flat: tuple[Any, ...], wrt: tuple[int, ...]) -> tuple[tuple[Any, ...], Pullback]:
        if not wrt:
            self.count("plain")
            results = self._executor.call(flat)
            return results, Pullback(None, (), tuple([_shape(r) for r in results]), ())
        return self._pair(flat, wrt).run(flat)

    def _pair(self, flat: tuple[Any, ...], wrt: tuple[int, ...]) -> Pair:
        key = wrt, tuple([_kind(leaf) for leaf in flat])
        with self._lock:
            pair = self._pairs.get(key)
            if pair is not None:
                self._pairs.move_to_end(key)
                self.count("hits")
                return pair
            self._check(flat, wrt)
            if key in self._refused:
                self.count("refused")
                self._executor.call(flat)  # what the program itself raises comes first
                raise NotDifferentiable(self._refused[key])
            self.count("misses")
            try:
                pair = self._make(wrt, key[1])
            except NotDifferentiable as e:
                self.count("refused")
                self._refused[key] = str(e)
                self._bound(self._refused)
                self._executor.call(flat)
                raise
            self._pairs[key] = pair
            gone = self._bound(self._pairs)
        for old in gone:
            self._executor.history.emit(EventKind.EVICTED, Reason.PAIR_EVICTED, guard=old.describe)
        return pair

    def _bound(self, table: OrderedDict[object, Any]) -> list[Any]:
        excess = len(table) - self._executor.options.max_versions
        return [table.popitem(last=False)[1] for _ in range(excess)]

    def _check(self, flat: tuple[Any, ...], wrt: tuple[int, ...]) -> None:
        names = self._executor.program.names
        for i in wrt:
            if not 0 <= i < len(flat):
                raise ValueError(f"{self.name} has no leaf {i}: it has {len(flat)}")
            leaf = flat[i]
            if not isinstance(leaf, np.ndarray) or leaf.dtype.kind != "f" and str(leaf.dtype) != "bfloat16":
                what = f"an array of {leaf.dtype}" if isinstance(leaf, np.ndarray) else f"of type {type(leaf).__name__}"
                raise NotDifferentiable(f"{self.name} has no gradient of {names[i]}, which is {what}: pass an array of floating dtype")

    def _make(self, wrt: tuple[int, ...], kinds: tuple[Kind, ...]) -> Pair:
        from tierup.runtime import compile_gradients as compiler  # here: loads MLIR

        start, program = time.perf_counter(), self._executor.program
        halves = compiler.split(program.name, program.graph, program.entry, wrt, kinds)
        describe = ", ".join(program.names[i] for i in wrt)
        pair = Pair(self, halves, describe)
        self._executor.history.emit(
            EventKind.DIFFERENTIATED, None, guard=f"gradients of {describe}", action="made a forward and a backward program",
            milliseconds=(time.perf_counter() - start) * 1e3,
        )  # fmt: skip
        return pair

    def executor_of(self, name: str, source: Source) -> Executor:
        program = Program(name, source.graph, source.entry, source.names, source.tier0, self._executor.program.place)
        return self._executor.another(program)

    def count(self, what: str) -> None:
        with self._lock:
            self._counts[what] += 1

    def stats(self) -> GradientStats:
        with self._lock:
            return GradientStats(pairs=len(self._pairs), **self._counts)

    @property
    def pairs(self) -> list[Pair]:
        """Those there are, least recently used first."""
        with self._lock:
            return list(self._pairs.values())

    def clear(self) -> None:
        """Drop all pairs; a pullback keeps its own."""
        with self._lock:
            self._pairs.clear()
            self._refused.clear()
            self._counts = dict.fromkeys(self._counts, 0)


def _kind(leaf: object) -> Kind:
    if type(leaf) is np.ndarray:
        dtype = dtypes.from_numpy(leaf.dtype)
        if dtype is not None:
            return dtype.name, tuple([min(n, 2) for n in leaf.shape])
    return None


def _shape(result: object) -> tuple[tuple[int, ...], Any] | None:
    return (result.shape, result.dtype) if isinstance(result, np.ndarray) and result.dtype.kind == "f" else None


def _own(found: tuple[Any, ...], given: tuple[Any, ...]) -> list[Array]:
    """Gradients that share no memory with what they were made of, nor with one another."""
    made: list[Array] = []
    for array in found:
        others = (*given, *made)
        shared = any(array is other for other in others) or array.base is not None and any(
            isinstance(other, np.ndarray) and np.may_share_memory(array, other) for other in others
        )
        made.append(array.copy() if shared else array)
    return made
