"""From a pristine graph and a speculation to native code.

Loads MLIR and LLVM: the runtime imports this module when the first version is wanted, not before.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from tierup.dialect import optable
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.walking import function_names, ops_of
from tierup.dialect.language.context import thread_context
from tierup.dialect.language.text import parse_module, text_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes import diagnostics, registry
from tierup.dialect.passes.core import functions
from tierup.dialect.passes.functional.walk import Acts
from tierup.dialect.passes.pipelines import custom
from tierup.dialect.passes.pipelines.default import TO_VALUES
from tierup.dialect.passes.registry import PassFailure
from tierup.dialect.speculation.reasons import Reason
from tierup.dialect.transforms.lower_bailouts import FORCED
from tierup.lowering.analysis.stated import state, state_cpu
from tierup.lowering.artifacts import cache
from tierup.lowering.artifacts.places import placed
from tierup.lowering.base.abi import ArgumentSpec, Request
from tierup.lowering.base.errors import CompileError, Unsupported
from tierup.lowering.building import builders as b
from tierup.lowering.building.refused import Refused
from tierup.lowering.compiling.driver import Driver
from tierup.lowering.compiling.pipelines import SPECIALISE, STAGES
from tierup.lowering.objects import claims, store
from tierup.runtime.base.options import Options
from tierup.runtime.code import dump, plans
from tierup.runtime.code.plans import CompilerOutput, NotCompiled, is_passing, note, note_code, request_for

if TYPE_CHECKING:
    from tierup.lowering.artifacts.gpu import CudaArtifact
    from tierup.lowering.base.abi import Artifact


def recorded(graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], threads: int) -> str:
    """The graph with what the guards promise, and what passes ask of the CPU: what the pipeline `compile-cpu` begins with."""
    module = parse_module(graph)
    state(module, entry, arguments)
    state_cpu(module, threads=threads)
    return text_of(module)


def to_values(graph: str) -> str:
    """The graph with mutation turned into values (`tierup-functionalize`). Raises NotCompiled."""
    module = parse_module(graph)
    run(TO_VALUES, module, Reason.MUTATION)
    return text_of(module)


def specialise(values: str, entry: str, arguments: tuple[ArgumentSpec, ...]) -> str:
    """The text of the graph with every type inferred from the guards. Raises NotCompiled."""
    module = ir.Module.parse(values, thread_context())  # `to_values` has verified it
    state(module, entry, arguments)
    run(SPECIALISE, module, Reason.PROGRAM_RAISES)
    return text_of(module)


def run(named: registry.NamedPipeline, module: ir.Module, reason: Reason) -> None:
    """Run a named pipeline. Raises NotCompiled, for `reason` where a pass gives none that says more."""
    try:
        with Driver(keep=dump.current()) as driver:
            driver.run(named, module, shows=False)
    except PassFailure as e:
        if isinstance(e.__cause__, custom.CustomPassError):
            reason = Reason.NO_RESOURCES if is_passing(e.__cause__) else Reason.CUSTOM_PASS_FAILED
            raise NotCompiled(reason, "".join(traceback.format_exception(e.__cause__)).strip()) from e
        if isinstance(e, Refused):
            raise NotCompiled(e.reason, f"{e.origin.op} {e.why}", e.origin.place, e.origin.op) from e
        raise NotCompiled(Reason.ACTS if isinstance(e, Acts) else reason, str(e), _place(e)) from e


_LISTS = "it carries a list of tensors, and not just one more in each iteration, of sizes that stand still"


def _place_of_lists(text: str) -> str | None:
    """Where the first loop is that carries a list of tensors, which `tierup-stack-lists` left one; None when there is none."""
    module = parse_module(text)
    for func in functions(module.operation):
        for op in b.walk(func):
            if op.name == "torch.prim.Loop" and any(str(r.type).startswith("!torch.list<vtensor") for r in op.results):
                return diagnostics.where(op.location)
    return None


def _refuse_what_is_left(values: str, entry: str) -> None:
    """Raises NotCompiled for a graph in which an op that tier 0 has another library compute makes a tensor, in no arm: no pass takes such
    an op away, and to find that out with all types inferred takes seconds of a large graph."""
    if not optable.has_foreign(values):
        return
    module = ir.Module.parse(values, thread_context())
    for op in ops_of(function_names(module)[entry].regions[0].blocks[0]):
        row = row_of(op)
        if row is not None and optable.is_foreign(row) and any(torch_types.is_tensor(r.type) for r in op.results):
            raise NotCompiled(Reason.NO_LOWERING, f"{row.name}: has no native code", diagnostics.where(op.location), row.name)


_values = lru_cache(maxsize=64)(to_values)  # a graph is specialised more than once
plans.on_release.append(_values.cache_clear)


def produce(
    graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options, dumped: tuple[str, int] | None = None
) -> CompilerOutput:
    """Native code for a pristine graph under guards, or for one with bailouts, not loaded. It is kept on disk. Raises NotCompiled.

    A worker is asked for it by this name; `dumped` then says where its parent keeps what is kept of the compile (`dump.Dump.where`).
    """
    before = len(store.reports())
    if dumped is None:
        produced, facts = _produce(graph, entry, arguments, options), {}
    else:
        with dump.continued(*dumped) as elsewhere:
            produced, facts = _produce(graph, entry, arguments, options), elsewhere.facts
    return replace(produced, facts=facts, reports=store.reports()[before:])


def _produce(graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options) -> CompilerOutput:
    start = time.perf_counter()
    if not plans.uses_disk(options):
        return _made(start, graph, entry, arguments, options, _specialised(graph, entry, arguments))
    where = placed(graph)
    key = plans.key_of(where, entry, arguments)
    kept: Callable[[], str | None] = lambda: cache.kept(key, where, str)
    with claims.claimed(key.name, lambda: kept() is not None):  # what another compiles at this moment is not compiled twice
        there = kept()
        made = _made(start, graph, entry, arguments, options, there or _specialised(graph, entry, arguments))
        return replace(made, was_made=made.is_new or there is None)


def _specialised(graph: str, entry: str, arguments: tuple[ArgumentSpec, ...]) -> str:
    values = _values(graph)
    dump.stage("values", values)
    _refuse_what_is_left(values, entry)
    return specialise(values, entry, arguments)


def _made(start: float, graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options, specialised: str) -> CompilerOutput:
    request = replace(request_for(specialised, entry, arguments, options), force=FORCED in graph)
    kept = dump.current()
    if kept is not None:
        note(kept, request)
        kept.note(pipelines={p.name: p.text for p in (TO_VALUES, SPECIALISE, *STAGES)})
    artifact: Artifact | CudaArtifact
    try:
        if options.backend == "cpu":
            artifact, from_disk = cache.obtain(request, kept, cached=options.cache)
        else:
            from tierup.lowering.cuda import cached  # here: most programs run on the CPU

            artifact, from_disk = cached.obtain(request, options.target, kept, libraries=options.libraries, cached=options.cache)
    except Unsupported as e:
        if (e.op == "prim.Loop" or "not known" in e.reason) and (place := _place_of_lists(specialised)) is not None:
            raise NotCompiled(Reason.NO_LOWERING, f"prim.Loop: {_LISTS}", place, "prim.Loop") from e
        if not e.op:  # no op is to blame
            raise NotCompiled(Reason.TYPE_UNKNOWN, e.reason, e.location) from e
        raise NotCompiled(Reason.NO_LOWERING, f"{e.op}: {e.reason}", e.location, e.op) from e
    except CompileError as e:
        path = kept.reproducer if kept is not None else dump.write(f"{entry}-{e.stage}", e.reproducer)
        raise NotCompiled(Reason.COMPILE_FAILED, f"{e}; reproducer: {path}" if path else str(e)) from e
    if kept is not None:
        note_code(kept, artifact, from_disk)
    plans.keep(graph, entry, arguments, specialised, options)
    return CompilerOutput(request, artifact, (time.perf_counter() - start) * 1e3, is_new=not from_disk)


def stages(request: Request, wanted: Collection[str]) -> dict[str, str]:
    """The texts of a version's stages, compiled again for the purpose."""
    from tierup.lowering.compiling import compile as lowering  # here: a version whose code is on disk needs none of it

    return lowering.compile(request, stages=wanted).stages


def _place(failure: PassFailure) -> str:
    """The user's line that a pass failed at, "" when it is not known."""
    return next((str(d.place) for d in failure.diagnostics if d.place.line), "")
