"""Where a compile happens: in a worker, or in this process.

A compiler that crashes takes its process along, and keeps memory of each compile (some 90 kB). So compiles are a worker's, which is
started when the program asks for `tierup.jit` (`early.py`). In this process are compiled: calls under `worker=False`, or with
TIERUP_WORKER=0 in the environment; what passes that the user registered are to see, since a worker does not know them; and anything where
no worker can be started. Of ops that are left to PyTorch a worker is told with each request, and tells of those that it makes. So it is
with the steps before (`runtime/compiling/steps.py`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tierup.dialect import optable
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import ArgumentSpec
from tierup.lowering.base.errors import CompilerCrashed, WorkerUnavailable
from tierup.lowering.objects import store
from tierup.runtime.account import times
from tierup.runtime.account.times import COMPILING, START_UP, WAITING
from tierup.runtime.base.options import Options
from tierup.runtime.code import dump, plans
from tierup.runtime.code.plans import CompilerOutput, NotCompiled
from tierup.runtime.compiling.processes import in_process, workers
from tierup.runtime.faults import faults

if TYPE_CHECKING:
    from tierup.lowering.service.service import Service

COMPILER = ("tierup.runtime.compiling.version", "produce")  # by name: a worker imports it, this process perhaps never


def here(graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options) -> CompilerOutput:
    """Compile in this process. Raises NotCompiled."""
    made: CompilerOutput = in_process.run(*COMPILER, (graph, entry, arguments, options), {}, limit=options.compile_limit)
    _note_times(made)
    return made


def in_call(graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options) -> CompilerOutput:
    """Compile for a call that waits. Raises NotCompiled."""
    if (why_here() or not workers.wanted(options)) and not (faults.active and faults.wants_worker()):
        return here(graph, entry, arguments, options)
    try:
        return elsewhere(workers.waited_for(), graph, entry, arguments, options)
    except WorkerUnavailable:
        return here(graph, entry, arguments, options)


def for_steps(options: Options) -> Service | None:
    """The worker that does steps before a compile; None where they are done in this process."""
    return None if faults.active or not workers.wanted(options) or why_here() else workers.waited_for()


def done_by(service: Service, module: str, name: str, arguments: Sequence[object], keywords: Mapping[str, object], limit: float) -> Any:
    """What a worker makes of a step, or raises. Both processes know the same ops of other libraries by then.

    Raises CompilerCrashed and WorkerUnavailable.
    """
    workers.asked = True
    made, rows = service.call(in_process.__name__, "knowing", optable.foreign(), module, name, arguments, keywords, limit=limit)
    for row in rows:
        optable.add_foreign(row)
    return made


def why_here() -> str:
    """Why no worker can compile what this process would, "" when one can."""
    return "in this process, which has passes of its own" if plans.has_custom_passes() else ""


def elsewhere(service: Service, graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options) -> CompilerOutput:
    """Compile in a worker. Raises NotCompiled, also when the worker died of it, and WorkerUnavailable."""
    kept = dump.current()
    wanted = (graph, entry, arguments, options, None if kept is None else kept.where)
    module, function, *given = faults.compiler_of(COMPILER, wanted) if faults.active else (*COMPILER, *wanted)
    start, rest = time.perf_counter(), WAITING if service.has_answered else START_UP
    try:
        produced: CompilerOutput = done_by(service, module, function, given, {}, options.compile_limit)
    except CompilerCrashed as e:
        path = "" if kept is None else kept.found_reproducer()
        raise NotCompiled(Reason.COMPILE_FAILED, f"{e}; reproducer: {path}" if path else str(e)) from e
    if kept is not None:
        kept.note(**produced.facts)
    for text in produced.reports:
        store.report(text)
    _note_times(produced)
    times.move(COMPILING, rest, time.perf_counter() - start - produced.milliseconds / 1e3)
    return produced


def _note_times(produced: CompilerOutput) -> None:
    """Tell the call's account how long each stage took."""
    of_stages = {stage: spent / 1e3 for stage, spent in produced.artifact.timings_ms.items()} if produced.is_new else {}
    times.note_stages({"specialise": max(0.0, produced.milliseconds / 1e3 - sum(of_stages.values())), **of_stages})
