"""From a specialised program to machine code: `compile(request) -> artifact`, a pure function of what pickles."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from dataclasses import replace

from tierup.dialect.context import thread_context
from tierup.dialect.mlir import ir, translate_module_to_llvmir
from tierup.dialect.pipelines.reproducer import Reproducer
from tierup.dialect.records import dataclass
from tierup.lowering import allocating, literals, llvm, polling
from tierup.lowering import builders as b
from tierup.lowering.abi import Artifact, ErrorSite, ExitSite, Request, ResultSpec
from tierup.lowering.adapter import FORCED, adapter
from tierup.lowering.blas import PREFIX
from tierup.lowering.errors import CompileError
from tierup.lowering.pipelines import BUFFERS, LLVM, LOOPS
from tierup.lowering.preparing import Keep, Log, Ties, crashes_are_compile_errors, error_sites, parse, prepare, stage
from tierup.lowering.service import request_json
from tierup.lowering.symbol_names import plain

SYMBOL = "kernel"
_SHOWN = {BUFFERS: "buffers", LOOPS: "loops", LLVM: ""}  # the stages of machine code, and under which name each leaves a text


@dataclass(frozen=True)
class Lowered:
    """A request as LLVM IR text, before LLVM has seen it."""

    text: str
    results: tuple[ResultSpec, ...]
    error_sites: tuple[ErrorSite, ...]
    exits: tuple[ExitSite, ...]
    externals: tuple[str, ...]


def compile(request: Request, stages: Collection[str] = (), keep: Keep | None = None) -> Artifact:  # noqa: A001 - the field's word
    """Compile a request. `stages`: whose texts to keep in `Artifact.stages`, of torch, linalg, buffers, loops, llvm, optimized, asm.

    `keep(stage, text)` is called with each of these texts as soon as it stands, and when the compile fails with a reproducer
    (`dialect/pipelines/reproducer.py`) under the name "reproducer".

    Raises Unsupported when the program, or an op of it, has no native code; CompileError when the compiler fails; BadRequest,
    a ValueError, for a request that contradicts itself.
    """
    log = Log(stages, keep)
    try:
        return _compile(request, log)
    except Exception as e:
        if keep is not None:
            whole = Reproducer(request.ir, request=json.dumps(request_json.to_dict(request)))
            keep("reproducer", str(replace(log.running or whole, error=f"{type(e).__name__}: {e}")))
        raise


def _compile(request: Request, log: Log) -> Artifact:
    lowered = _lower(request, log)
    with log.timed("optimise+emit"):
        try:
            wanted = {"want_ir": log.wants("optimized"), "want_asm": log.wants("asm")}
            emitted = llvm.emit(lowered.text, target=request.target, level=request.level, **wanted)
        except RuntimeError as e:
            raise CompileError(str(e), "LLVM", lowered.text) from e
    for name, text in (("optimized", emitted.ir), ("asm", emitted.asm)):
        if log.wants(name):
            log.add(name, text)
    return Artifact(
        object=emitted.object,
        symbol=SYMBOL,
        arguments=request.arguments,
        results=lowered.results,
        error_sites=lowered.error_sites,
        exits=lowered.exits,
        forced=FORCED if request.force and lowered.exits else "",
        externals=lowered.externals,
        stages=log.texts,
        timings_ms=log.milliseconds,
    )


def lower(request: Request) -> Lowered:
    """The first part of `compile`, up to LLVM. Raises what `compile` does."""
    return _lower(request, Log(()))


def _lower(request: Request, log: Log) -> Lowered:
    context = thread_context()
    with context, ir.Location.unknown(), crashes_are_compile_errors(request):
        with log.timed("parse"):
            module = parse(request)
        prepared, allocates = prepare(request, log, module, ordered=True), False
        for named, shows in _SHOWN.items():
            stage(named, module, request, log, shows=shows, last=named is LLVM)
            if named is LOOPS:
                allocates = b.first(module.operation, _may_be_large) is not None
        with log.timed("translate"):
            sites = error_sites(module)
            text, externals = _translate(module, request, prepared.results, prepared.ties, len(sites), prepared.exits)
            if allocates:
                externals += (allocating.MALLOC, allocating.FREE)
            sites += tuple(ErrorSite("sizes", f"{left} = {right}") for left, right in prepared.ties)
    if log.wants("llvm"):
        log.add("llvm", text)
    return Lowered(text, prepared.results, sites, prepared.exits, externals)


def _may_be_large(op: ir.Operation) -> bool:
    """Whether an op allocates much, or as much as the run says."""
    if op.name != "memref.alloc":
        return False
    type_ = ir.ShapedType(op.results[0].type)
    return not type_.has_static_shape or math.prod(b.shape_of(type_)) * 8 >= allocating.LARGE  # no element has more than 8 bytes


def _translate(
    module: ir.Module, request: Request, results: tuple[ResultSpec, ...], ties: Ties, first_tie_site: int, exits: tuple[ExitSite, ...]
) -> tuple[str, tuple[str, ...]]:
    """LLVM IR text with the adapter, and the library functions that it calls."""
    inner = f"tierup_{plain(request.entry)}"
    externals = []
    left_over = b.first(module.operation, lambda op: not op.name.startswith("llvm."))
    if left_over is not None:  # the translation crashes on what is not LLVM's
        raise CompileError(f"'{left_over.name}' was left over", LLVM.name, f"{request.ir}\n// -----\n{module}")
    for view in module.body.operations:
        op = view.operation
        if op.name == "llvm.func":
            name = ir.StringAttr(op.attributes["sym_name"]).value
            if name == request.entry:
                op.attributes["sym_name"] = ir.StringAttr.get(inner)
            elif name.startswith(PREFIX) or name in (polling.POLL, polling.END):
                externals.append(name)
    text = literals.mend(translate_module_to_llvmir(module.operation))
    forced = len(exits) if request.force else 0
    return text + adapter(SYMBOL, inner, request.arguments, results, ties, first_tie_site, exits, forced), tuple(externals)
