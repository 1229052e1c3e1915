"""Counters of the whole process, named as the ancestor's: they outlive the functions that were counted.

`graph_executors_constructed`: programs that were called (a function has one for each structure of arguments; the native regions of a
split program are parts of its plan and are not counted). `graph_executor_invocations`: calls answered. `execution_plan_cache_hit`,
`execution_plan_cache_miss`: calls for which a compiled plan was there, and calls for which none was; a call under
`optimize=False` is neither.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from tierup.dialect.base import forking
from tierup.dialect.base.records import dataclass
from tierup.runtime.base.protocols import ProgramExecutor


@dataclass(frozen=True)
class Counters:
    """The four counts."""

    graph_executors_constructed: int = 0
    graph_executor_invocations: int = 0
    execution_plan_cache_hit: int = 0
    execution_plan_cache_miss: int = 0

    def __add__(self, other: Counters) -> Counters:
        return Counters(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    def by_name(self) -> dict[str, int]:
        """The counts as a dict, under their names."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


_lock = forking.lock()  # the garbage collector may end an executor while its own thread reads the counters
_live: dict[int, weakref.ref[ProgramExecutor]] = {}
_ended = Counters()


def begin(executor: ProgramExecutor) -> None:
    """Count with an executor from now on."""
    with _lock:
        _live[id(executor)] = weakref.ref(executor)


def end(executor: ProgramExecutor) -> None:
    """An executor is about to go: keep its counts. One that an exception stopped in the making has none, nor have parts of others."""
    global _ended
    if id(executor) not in _live:
        return
    counts = executor.counters()  # takes locks of its own, of which a thread that waits for ours may hold one
    with _lock:
        if _live.pop(id(executor), None) is not None:
            _ended += counts


def counters() -> dict[str, int]:
    """The counts of the process, all functions together, deleted ones included: see the names in `docs/versions.md`."""
    with _lock:
        alive = [executor for executor in (ref() for ref in list(_live.values())) if executor is not None]
        ended = _ended
    return (total_of(executor.counters() for executor in alive) + ended).by_name()  # holding them keeps them from ending


def total_of(counts: Iterable[Counters]) -> Counters:
    """The sums, field by field."""
    return sum(counts, Counters())
