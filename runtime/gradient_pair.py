"""Gradients in the executor: for a program and the leaves whose gradients are wanted, a forward and a backward program.

    results, pullback = forward(executor, leaves, wrt=(0, 2))
    gradients = pullback([cotangent of each result, or None])

A program and all it calls is one differentiable region: its gradient goes through branches and loops. The **pair** is made when it is first
wanted: a forward program, which gives the results and what the gradient needs, and a backward program, which takes that and the
cotangents. Both are programs with executors of their own: profiled, compiled, bailing out, listed like any other. Where some cotangents are
None the backward program is one without them, in which what they lead to is not computed.

Which pair serves a call is a guard at the entry: which gradients are wanted, and of each leaf dtype, rank and which sizes are 0 or 1.
Nothing wanted: the plain program runs. Free of MLIR until a pair is made.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.reasons import Reason
from tierup.dialect.records import dataclass
from tierup.runtime import faults
from tierup.runtime.errors import NotDifferentiable
from tierup.runtime.events import EventKind
from tierup.runtime.program import Program
from tierup.runtime.pullback import Array, Pullback, own, shape_of

if TYPE_CHECKING:
    from tierup.runtime.compile_gradients import Halves, Kind, Source
    from tierup.runtime.executor import Executor

T = TypeVar("T")
Key = tuple[tuple[int, ...], "tuple[Kind, ...]"]  # what a pair is for: wanted leaves, and the kinds of all
_SHAPES_KEPT = 256
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


def forward(
    executor: Executor, leaves: Sequence[Any], wrt: Sequence[int], *, order: int = 1
) -> tuple[tuple[Any, ...], Pullback]:
    """The flat results of a program for flat leaves, and what gives the gradients of the leaves `wrt`, arrays of floating dtype.

    `order`: 2 for gradients that have gradients themselves (`Pullback.again`). Raises NotDifferentiable, naming op, line and remedy, where
    there is no gradient; else what the program raises. With an empty `wrt` the plain program runs and no pair is made.
    """
    arguments = tuple(leaves), tuple(wrt), order
    if faults.active:
        return faults.run(executor.gradients.forward, arguments, {})
    return executor.gradients.forward(*arguments)


class _Recent(Generic[T]):
    """A table with a bound, the least recently used out. Its lock is held for no more than a look."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: OrderedDict[object, T] = OrderedDict()

    def get(self, key: object) -> T | None:
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def put(self, key: object, value: T, bound: int) -> list[T]:
        """What is dropped for it."""
        with self._lock:
            self._items[key] = value
            return [self._items.popitem(last=False)[1] for _ in range(len(self._items) - bound)]

    def all(self) -> list[T]:
        """Least recently used first."""
        with self._lock:
            return list(self._items.values())

    def clear(self) -> None:
        with self._lock:
            self._items.clear()


@dataclass(frozen=True, eq=False)
class Backward:
    """A backward program. `order`: which captured values it takes. `positions`: of its results in `wrt`."""

    owner: Gradients
    executor: Executor
    order: tuple[int, ...]
    positions: tuple[int, ...]

    def pull(self, values: tuple[Any, ...]) -> dict[int, Array]:
        """The gradients for captured values and cotangents, by their positions in `wrt`."""
        self.owner.count("pullbacks")
        if not self.positions:
            return {}
        return self.by_position(self.executor.call(values), values)

    def by_position(self, found: Sequence[Any], values: tuple[Any, ...]) -> dict[int, Array]:
        return dict(zip(self.positions, own(found, values), strict=True))


class Pair:
    """The forward and backward programs for some wanted gradients and kinds of leaves. Thread-safe."""

    def __init__(self, owner: Gradients, halves: Halves, kinds: tuple[Kind, ...], describe: str) -> None:
        self._owner, self._halves, self.kinds, self.describe = owner, halves, kinds, describe
        self.captures, self.seeds, self.wrt = halves.split.captures, halves.split.seeds, halves.wrt
        self.forward = owner.executor_of(f"{owner.name} (forward of {describe})", halves.forward)
        executor = owner.executor_of(f"{owner.name} (backward of {describe})", halves.backward)
        self.backward = Backward(owner, executor, tuple(range(len(self.captures))), halves.split.gradients)
        self._making = threading.RLock()
        self._from_fewer: _Recent[Backward] = _Recent()

    def run(self, flat: tuple[Any, ...], order: int) -> tuple[tuple[Any, ...], Pullback]:
        through = None
        if order > 1 and any(capture.kind != "argument" for capture in self.captures):
            handed, through = self.forward.gradients.forward(flat, self.wrt, order - 1)
        else:
            handed = self.forward.call(flat)
        count = len(handed) - sum([capture.kind == "saved" for capture in self.captures])
        results, saved = handed[:count], handed[count:]
        places = {"argument": flat, "result": results, "saved": saved}
        captured = tuple([places[capture.kind][capture.index] for capture in self.captures])
        wanted = tuple([(flat[i].shape, flat[i].dtype) for i in self.wrt])
        if order > 1 and through is None:
            through = Pullback(None, (), tuple(map(shape_of, handed)), wanted)
        return results, Pullback(self, captured, tuple(map(shape_of, results)), wanted, order, through)

    def backward_from(self, seeds: tuple[int, ...]) -> Backward:
        """The backward program for the cotangents of these results. That for all of them, where one for these needs what was not captured:
        zeros stand for the others then."""
        if len(seeds) == len(self.seeds):
            return self.backward
        found = self._from_fewer.get(seeds)
        if found is None:
            with self._making:
                found = self._from_fewer.get(seeds)
                if found is None:
                    found = self._make(seeds)
                    self._from_fewer.put(seeds, found, _PATTERNS_KEPT)
        return found

    def _make(self, seeds: tuple[int, ...]) -> Backward:
        from tierup.runtime import compile_gradients as compiler  # here: loads MLIR

        start = time.perf_counter()
        found = compiler.restricted(self._owner.name, self._halves, seeds)
        if found is None:
            return self.backward
        split, source = found
        which = ", ".join(f"result {k}" for k in seeds)
        executor = self._owner.executor_of(f"{self._owner.name} (backward of {self.describe} from {which})", source)
        self._owner.differentiated(f"cotangents of {which} alone", "made a backward program for them", start)
        order = tuple([self._halves.split.keys.index(key) for key in split.keys])
        return Backward(self._owner, executor, order, split.gradients)

    @property
    def executors(self) -> list[Executor]:
        """Forward, backward, and backward from fewer cotangents."""
        return [self.forward, self.backward.executor, *(backward.executor for backward in self._from_fewer.all())]


class Gradients:
    """The pairs of one program. Thread-safe: a pair is made once, and no call that has its own waits for it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.name = executor.program.name
        self._making, self._counting = threading.RLock(), threading.Lock()
        self._pairs: _Recent[Pair] = _Recent()
        self._refused: _Recent[str] = _Recent()
        self._counts = dict.fromkeys(("plain", "hits", "misses", "refused", "pullbacks"), 0)
        self._forget()

    def _forget(self) -> None:
        """What makes it quicker to find a pair."""
        self._known: dict[object, tuple[Pair, Key]] = {}  # by exact sizes
        self._latest: Pair | None = None

    def forward(self, flat: tuple[Any, ...], wrt: tuple[int, ...], order: int = 1) -> tuple[tuple[Any, ...], Pullback]:
        """See the function of this name."""
        if not wrt:
            self.count("plain")
            results = self._executor.call(flat)
            return results, Pullback(None, (), tuple(map(shape_of, results)), ())
        exact = wrt, tuple([(leaf.dtype, leaf.shape) if type(leaf) is np.ndarray else type(leaf) for leaf in flat])
        known = self._known.get(exact)
        if known is not None and known[0] is self._latest:  # used last, so no other goes before it
            self.count("hits")
            return known[0].run(flat, order)
        key = (wrt, tuple([_kind(leaf) for leaf in flat])) if known is None else known[1]
        pair = self._pairs.get(key)
        if pair is None:
            pair = self._new_pair(key, flat, wrt)
        else:
            self.count("hits")
        self._latest = pair
        if len(self._known) >= _SHAPES_KEPT:
            self._known = {}
        self._known[exact] = pair, key
        return pair.run(flat, order)

    def _new_pair(self, key: Key, flat: tuple[Any, ...], wrt: tuple[int, ...]) -> Pair:
        self._check(flat, wrt)
        gone: list[Pair] = []
        with self._making:
            pair, refused = self._pairs.get(key), self._refused.get(key)
            if pair is not None:
                self.count("hits")  # another thread has made it meanwhile
            elif refused is None:
                try:
                    pair = self._make(wrt, key[1])
                    gone = self._pairs.put(key, pair, self._executor.options.max_versions)
                    self.count("misses")
                except NotDifferentiable as e:
                    refused = str(e)
                    self._refused.put(key, refused, self._executor.options.max_versions)
        if gone:
            self._forget()
        for old in gone:
            self._executor.history.emit(EventKind.EVICTED, Reason.PAIR_EVICTED, guard=f"gradients of {old.describe}")
        if pair is None:
            assert refused is not None
            self.count("refused")
            self._executor.call(flat)  # what the program itself raises comes first
            raise NotDifferentiable(refused)
        return pair

    def _check(self, flat: tuple[Any, ...], wrt: tuple[int, ...]) -> None:
        names = self._executor.program.names
        for i in wrt:
            if not 0 <= i < len(flat):
                raise ValueError(f"{self.name} has no leaf {i}: it has {len(flat)}")
            if shape_of(flat[i]) is None:
                leaf = flat[i]
                what = f"an array of {leaf.dtype}" if isinstance(leaf, np.ndarray) else f"of type {type(leaf).__name__}"
                raise NotDifferentiable(f"{self.name} has no gradient of {names[i]}, which is {what}: pass an array of floating dtype")

    def _make(self, wrt: tuple[int, ...], kinds: tuple[Kind, ...]) -> Pair:
        from tierup.runtime import compile_gradients as compiler  # here: loads MLIR

        start, program, known = time.perf_counter(), self._executor.program, self._pairs.all()
        halves = compiler.split(program.name, program.graph, program.entry, wrt, kinds)
        describe = ", ".join(program.names[i] for i in wrt)
        pair = Pair(self, halves, kinds, describe)
        reason, expected, actual = _difference(program.names, known[-1], wrt, kinds) if known else (None, "", "")
        action = "made a forward and a backward program"
        self.differentiated(f"gradients of {describe}", action, start, reason=reason, expected=expected, actual=actual)
        return pair

    def differentiated(self, guard: str, action: str, start: float, *, reason: Reason | None = None, **details: str) -> None:
        milliseconds = (time.perf_counter() - start) * 1e3
        self._executor.history.emit(EventKind.DIFFERENTIATED, reason, guard=guard, action=action, milliseconds=milliseconds, **details)

    def executor_of(self, name: str, source: Source) -> Executor:
        program = Program(name, source.graph, source.entry, source.names, source.tier0, self._executor.program.place)
        return self._executor.another(program)

    def count(self, what: str) -> None:
        with self._counting:
            self._counts[what] += 1

    def stats(self) -> GradientStats:
        with self._counting:
            return GradientStats(**self._counts, pairs=len(self._pairs.all()))

    @property
    def pairs(self) -> list[Pair]:
        """Those there are, least recently used first."""
        return self._pairs.all()

    @property
    def executors(self) -> list[Executor]:
        """Of all forward and backward programs."""
        return [executor for pair in self.pairs for executor in pair.executors]

    def clear(self) -> None:
        """Drop all pairs; a pullback keeps its own."""
        self._forget()
        self._pairs.clear()
        self._refused.clear()
        with self._counting:
            self._counts = dict.fromkeys(self._counts, 0)


def _kind(leaf: object) -> Kind:
    if type(leaf) is np.ndarray:
        dtype = dtypes.from_numpy(leaf.dtype)
        if dtype is not None:
            return dtype.name, tuple([n if n < 2 else 2 for n in leaf.shape])
    return None


def _difference(names: tuple[str, ...], pair: Pair, wrt: tuple[int, ...], kinds: tuple[Kind, ...]) -> tuple[Reason, str, str]:
    """Why the pair that was used last does not serve a call: the check that failed, what it expected, and what came."""
    if pair.wrt != wrt:
        return Reason.REQUIRES_GRAD, pair.describe, ", ".join(names[i] for i in wrt)
    for name, old, new in zip(names, pair.kinds, kinds, strict=True):
        if old != new:
            if old is None or new is None:
                return Reason.WRONG_TYPE, f"{name}: {_spell(old)}", _spell(new)
            same_dtype, same_rank = old[0] == new[0], len(old[1]) == len(new[1])
            reason = Reason.SMALL_SIZE if same_dtype and same_rank else Reason.WRONG_RANK if same_dtype else Reason.WRONG_DTYPE
            return reason, f"{name}: {_spell(old)}", _spell(new)
    raise AssertionError("a pair that differs in nothing serves the call")


def _spell(kind: Kind) -> str:
    return "no array" if kind is None else f"{kind[0]}[{', '.join('?' if n == 2 else str(n) for n in kind[1])}]"
