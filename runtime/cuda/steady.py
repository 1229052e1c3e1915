"""Calls that look like an earlier one: an inline cache from how arguments lie to the version, its results and its launches.

    calls = InlineCache(valued)
    key = calls.key(flat)                    # None: there are arguments that a call has work with each time
    found = calls.get(key)                   # (whose it is, a SteadyCall), or None: the guards are asked
    results = found[1].run(flat)

What guards ask of an array on the device hangs on its layout, which arrays that lie alike share (layouts.py), on the last bits of its
address and on whether it may be written; what they ask of a number on its type and, where a guard or the host program looks at it, its
value. Where these are as they were, all guards hold again. Inline caches: Deutsch and Schiffman, "Efficient implementation of the
Smalltalk-80 system" (1984).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, ResultKind, ResultSpec
from tierup.runtime.cuda.arrays.arrays import DeviceArray, Memory
from tierup.runtime.cuda.arrays.layouts import Layout, layout
from tierup.runtime.cuda.device.devices import Device
from tierup.runtime.cuda.host.engine import Ready
from tierup.runtime.cuda.host.exits import ALIGNMENT, python_number, sizes_of
from tierup.runtime.cuda.plan import NO_STATUS, CudaPlan, Outcome

_MOST = 64  # calls that a cache knows; with more it starts anew
_INSIDE = ALIGNMENT - 1
_NUMBERS = (int, float, bool)
_FRESH = (ResultKind.BUFFER, ResultKind.ALIAS, ResultKind.SCALAR, ResultKind.ALLOCATED)
Key = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class SteadyCall:
    """A call whose arrays all lie on the device as kernels take them, and of which nothing is written, or checked there."""

    plan: CudaPlan
    ready: Ready
    results: tuple[Layout | ResultSpec, ...]  # of a fresh array; or what else it is
    are_arrays: bool  # all arguments
    are_fresh: bool  # all results

    @staticmethod
    def of(plan: CudaPlan, outcome: Outcome, symbols: Mapping[str, int]) -> SteadyCall | None:
        """What the plan just did, for arguments that have a key; None where a call has more to do."""
        artifact, ready = plan.artifact, outcome.ready
        if not any(a.kind is ArgumentKind.ARRAY for a in artifact.arguments):
            return None  # results go to the host
        if ready is None or plan.checks_on_device or any(r.kind not in _FRESH for r in artifact.results):
            return None
        results: list[Layout | ResultSpec] = [
            layout(dtypes.BY_NAME[r.dtype].numpy, sizes_of(r.sizes, symbols)) if r.kind is ResultKind.BUFFER else r
            for r in artifact.results
        ]
        are_fresh = not any(isinstance(r, ResultSpec) for r in results)
        return SteadyCall(plan, ready, tuple(results), all(a.kind is ArgumentKind.ARRAY for a in artifact.arguments), are_fresh)

    def run(self, flat: Sequence[Any]) -> tuple[Any, ...]:
        """The results. Raises DriverError, MemoryError."""
        on = self.plan.on
        with on.lock:
            on.clean()
            given = [v.address for v in flat] if self.are_arrays else [v.address if type(v) is DeviceArray else v for v in flat]
            results: list[Any] = []
            for lies in self.results:
                if type(lies) is not Layout:
                    results.append(lies)
                    continue
                memory = Memory(on, on.fresh(lies.nbytes))
                given.append(memory.address)
                results.append(DeviceArray.of(on, memory.address, lies, memory))
            given.append(NO_STATUS)
            captured: list[OwnGraph] | None = getattr(_capturing, "made", None)
            if captured is None or self.ready.flat.returns:
                returned = self.ready.run(given)
            else:
                captured.append(OwnGraph(on, *self.ready.capture(given), (flat, self)))
                captured[-1].launch()
                returned = ()
        if self.are_fresh:
            return tuple(results)
        late = iter(returned)
        return tuple([self._result(r, flat, late) if type(r) is ResultSpec else r for r in results])

    def _result(self, spec: ResultSpec, flat: Sequence[Any], returned: Iterator[Any]) -> Any:
        """One that is no fresh array: an argument, or what the host program gives."""
        if spec.kind is ResultKind.ALIAS:
            return flat[spec.argument]
        value = next(returned)
        return python_number(value, spec.dtype) if spec.kind is ResultKind.SCALAR else self.plan.owned(spec, value)


class OwnGraph:
    """A graph of one call, with memory for its temporaries. `keeps`: what it needs besides."""

    def __init__(self, on: Device, graph: Any, arena: int, keeps: object) -> None:
        self._on, self._graph, self._keeps = on, graph, keeps
        self._finalizer = weakref.finalize(self, on.later, partial(_let_go, on, graph, arena))
        self._finalizer.atexit = False  # the driver lets everything go itself

    def launch(self) -> None:
        """Raises DriverError."""
        self._on.driver.make_current()
        with self._on.lock:
            self._on.driver.launch_graph(self._graph)


def _let_go(on: Device, graph: Any, arena: int) -> None:
    on.driver.destroy_graph(graph)
    if arena:
        on.allocator.free(arena)


_capturing = threading.local()


@contextmanager
def capturing() -> Iterator[list[OwnGraph]]:
    """The steady calls of this thread become graphs, which the list receives."""
    made: list[OwnGraph] = []
    _capturing.made = made
    try:
        yield made
    finally:
        _capturing.made = None


class InlineCache:
    """`valued`: the positions of numbers whose values matter. Used without a lock: each operation on the dict is one step."""

    def __init__(self, valued: Iterable[int] = ()) -> None:
        self._valued = frozenset(valued)
        self._calls: dict[Key, tuple[Any, SteadyCall]] = {}

    def key(self, flat: Sequence[Any]) -> Key | None:
        """What arguments have in common with those of calls that are answered alike."""
        parts: list[Any] = []
        for i, value in enumerate(flat):
            kind = type(value)
            if kind is DeviceArray:
                if value.address & _INSIDE:
                    return None
                parts.append(value.layout if value.writeable else (value.layout,))
            elif kind in _NUMBERS:
                parts.append(kind)
                if i in self._valued:
                    parts.append(repr(value) if kind is float else value)
            else:
                return None
        return tuple(parts)

    def get(self, key: Key | None) -> tuple[Any, SteadyCall] | None:
        """Whose it is, and what to do."""
        found = self._calls.get(key) if key is not None else None
        return None if found is None or found[1].ready.is_closed else found

    def note(self, key: Key | None, whose: Any, plan: CudaPlan, outcome: Outcome, symbols: Mapping[str, int]) -> None:
        """After a run without a mistake: let calls with this key be answered in the same way."""
        steady = None if key is None else SteadyCall.of(plan, outcome, symbols)
        if key is not None and steady is not None:
            if len(self._calls) >= _MOST:
                self._calls.clear()
            self._calls[key] = whose, steady


def valued(arguments: Sequence[ArgumentSpec], plan_free: Collection[int]) -> set[int]:
    """The positions of numbers that a version guards, or that its host program looks at. `plan_free`: those that it does not."""
    numbers = [i for i, spec in enumerate(arguments) if spec.kind is not ArgumentKind.ARRAY]
    return {i for i in numbers if arguments[i].value is not None or i not in plan_free}
