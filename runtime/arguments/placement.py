"""Where a compile happens: in this process, or in a worker.

A compile in this process costs it some 90 kB for good, which LLVM keeps; a worker is recycled. A call that waits for its compile
compiles here at first: a worker would have to be started, and MLIR imported there, half a second. After `COMPILES_HERE` of them it
asks a worker. A compile that no call waits for asks one from the first.

A pass that the user registered is known in this process only, so while there are any, all compiling is done here.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tierup.dialect.forking import no_fork
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.abi import ArgumentSpec
from tierup.lowering.errors import CompilerCrashed, WorkerUnavailable
from tierup.lowering.objects import store
from tierup.runtime import faults
from tierup.runtime.compiling import steps
from tierup.runtime.explaining import dump, plans
from tierup.runtime.explaining.plans import NotCompiled, Produced
from tierup.runtime.options import Options

if TYPE_CHECKING:
    from tierup.lowering.service.service import Service

COMPILES_HERE = 100
COMPILER = ("tierup.runtime.compiling.version", "produce")  # by name: a worker imports it, this process perhaps never

_here = itertools.count(1)


_services: dict[int, Service] = {}
_closed = False


def waited_for() -> Service:
    """The workers of compiles that a call waits for: as important as the call."""
    return _service(0)


def in_background() -> Service:
    """The worker of compiles that nobody waits for: the callers keep the cores."""
    return _service(5)


def _service(niceness: int) -> Service:
    from tierup.lowering.service.service import Service  # here: what starts processes costs 10 ms to import, and few programs need it

    with no_fork:  # which is a lock: one thread at a time
        if niceness not in _services:
            _services[niceness] = Service(niceness=niceness)
            if _closed:  # after it can be seen: `close` missed it, or ends it too
                _services[niceness].close()
        return _services[niceness]


def close() -> None:
    """End all workers, for good. Takes no lock, and starts nothing."""
    global _closed
    _closed = True
    for service in tuple(_services.values()):
        service.close()


def here(graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options) -> Produced:
    """Compile in this process. Raises NotCompiled."""

    return steps.version.produce(graph, entry, arguments, options)


def in_call(graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options) -> Produced:
    """Compile for a call that waits. Raises NotCompiled."""
    if (why_here() or next(_here) <= COMPILES_HERE) and not (faults.active and faults.wants_worker()):
        return here(graph, entry, arguments, options)
    try:
        return elsewhere(waited_for(), graph, entry, arguments, options)
    except WorkerUnavailable:
        return here(graph, entry, arguments, options)  # it costs memory, nothing else


def why_here() -> str:
    """Why no worker can compile what this process would, "" when one can."""
    return "in this process, which has passes of its own" if plans.has_custom_passes() else ""


def elsewhere(service: Service, graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options) -> Produced:
    """Compile in a worker. Raises NotCompiled, also when the worker died of it, and WorkerUnavailable."""
    kept = dump.current()
    asked: tuple[object, ...] = (graph, entry, arguments, options, None if kept is None else kept.where)
    try:
        produced: Produced = service.call(*(faults.compiler_of(COMPILER, asked) if faults.active else (*COMPILER, *asked)))
    except CompilerCrashed as e:
        path = "" if kept is None else kept.found_reproducer()
        raise NotCompiled(Reason.COMPILE_FAILED, f"{e}; reproducer: {path}" if path else str(e)) from e
    if kept is not None:
        kept.note(**produced.facts)
    for text in produced.reports:
        store.report(text)
    return produced
