"""From a specialised program to machine code: `compile(request) -> artifact`, a pure function of what pickles."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import field, replace

from tierup.dialect import optable, registry
from tierup.dialect.context import thread_context
from tierup.dialect.inference import symbols
from tierup.dialect.inference.dims import Dim
from tierup.dialect.ir.rewriting import is_used
from tierup.dialect.mlir import ir, translate_module_to_llvmir
from tierup.dialect.pipelines import diagnostics
from tierup.dialect.pipelines.reproducer import Reproducer
from tierup.dialect.records import dataclass
from tierup.dialect.registry import PassFailure
from tierup.dialect.transforms.expand_to_torch import expand
from tierup.lowering import builders as b
from tierup.lowering import faults, literals, llvm, origins, signature
from tierup.lowering.abi import Artifact, ErrorSite, ExitSite, Request, ResultSpec
from tierup.lowering.adapter import FORCED, adapter
from tierup.lowering.blas import PREFIX
from tierup.lowering.errors import BadRequest, CompileError, Unsupported
from tierup.lowering.exits import bailouts, live_values
from tierup.lowering.pipelines import BUFFERS, LLVM, LOOPS, TENSORS, TORCH
from tierup.lowering.service import request_json
from tierup.lowering.transforms.asserts_to_status import ERROR_SITES
from tierup.lowering.transforms.insert_bounds_checks import is_checked
from tierup.lowering.transforms.verify_lowered import NotLowered

SYMBOL = "kernel"
Ties = tuple[tuple[Dim, Dim], ...]
Keep = Callable[[str, str], None]
STRICT = "torch.assume_strict_symbolic_shapes"  # symbols are at least 2 and ties are guarded: no code for run-time broadcasting

_STAGES = {"tensors": "linalg", "buffers": "bufferise", "optimise+emit": "emit"}  # those of lowering/faults.py, where they have other names
_TEXTS = {"linalg": TENSORS, "buffers": BUFFERS, "loops": LOOPS}  # the stage whose outcome is shown under a name


@dataclass
class _Log:
    """What is kept beside the code: texts of stages asked for, and milliseconds per stage.

    `keep` is given every stage's text as soon as it stands; `running` is then the step that runs, for a reproducer.
    """

    wanted: Collection[str]
    keep: Keep | None = None
    texts: dict[str, str] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)
    running: Reproducer | None = None

    def wants(self, stage: str) -> bool:
        return self.keep is not None or stage in self.wanted

    def add(self, stage: str, text: str) -> None:
        if stage in self.wanted:
            self.texts[stage] = text
        if self.keep is not None:
            self.keep(stage, text)

    @contextmanager
    def step(self, module: ir.Module, pipeline: str) -> Iterator[None]:
        """Around a pipeline. When it fails, a reproducer is what it was given; printing that costs only those who keep texts."""
        if self.keep is not None:
            self.running = Reproducer(module.operation.get_asm(enable_debug_info=True), pipeline)
        yield
        self.running = None

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        faults.begins(_STAGES.get(stage, stage))
        yield
        self.milliseconds[stage] = (time.perf_counter() - start) * 1e3


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
    log = _Log(stages, keep)
    try:
        return _compile(request, log)
    except Exception as e:
        if keep is not None:
            whole = Reproducer(request.ir, request=json.dumps(request_json.to_dict(request)))
            keep("reproducer", str(replace(log.running or whole, error=f"{type(e).__name__}: {e}")))
        raise


def _compile(request: Request, log: _Log) -> Artifact:
    lowered = _lower(request, log)
    with log.timed("optimise+emit"):
        try:
            wanted = {"want_ir": log.wants("optimized"), "want_asm": log.wants("asm")}
            emitted = llvm.emit(lowered.text, target=request.target, level=request.level, **wanted)
        except RuntimeError as e:
            raise CompileError(str(e), "LLVM", lowered.text) from e
    for stage, text in (("optimized", emitted.ir), ("asm", emitted.asm)):
        if log.wants(stage):
            log.add(stage, text)
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
    return _lower(request, _Log(()))


def _lower(request: Request, log: _Log) -> Lowered:
    context = thread_context()
    with context, ir.Location.unknown(), _crashes_are_compile_errors(request):
        with log.timed("parse"):
            module = _parse(request)
            function = _entry(module, request)
        with log.timed("torch"):
            results, ties, exits = _prepare(module, function, request)
            if log.wants("torch"):
                log.add("torch", str(module))
            with log.step(module, TORCH.text):
                _lower_torch(module, request, log)
        for named in (TENSORS, BUFFERS, LOOPS, LLVM):
            with log.timed(named.name.removeprefix("lower-")):
                _run(named, module, request, log)
            for name, stage in _TEXTS.items():
                if stage is named and log.wants(name):
                    log.add(name, str(module))
        with log.timed("translate"):
            sites = _sites(module)
            text, externals = _translate(module, request, results, ties, len(sites), exits)
            sites += tuple(ErrorSite("sizes", f"{left} = {right}") for left, right in ties)
    if log.wants("llvm"):
        log.add("llvm", text)
    return Lowered(text, results, sites, exits, externals)


@contextmanager
def _crashes_are_compile_errors(request: Request) -> Iterator[None]:
    """Whatever a compile trips over leaves as CompileError with a reproducer; the function stays in tier 0."""
    try:
        yield
    except (Unsupported, CompileError, BadRequest, MemoryError):
        raise
    except Exception as e:
        raise CompileError(f"{type(e).__name__}: {e}", "lowering", f"// {type(e).__name__}: {e}\n// {request!r}\n{request.ir}") from e


def _parse(request: Request) -> ir.Module:
    try:
        return ir.Module.parse(request.ir)
    except ir.MLIRError as e:
        raise CompileError(str(e), "parse", request.ir) from e


def _entry(module: ir.Module, request: Request) -> ir.Operation:
    """The entry, with all it calls inlined; every other function is dropped."""
    names = [ir.StringAttr(f.attributes["sym_name"]).value for f in registry.functions(module.operation)]
    if request.entry not in names:
        raise BadRequest(f"the module has no function '{request.entry}'; it has {', '.join(names)}")
    private = ir.StringAttr.get("private")
    bailouts.detach(module)
    for function in registry.functions(module.operation):
        if ir.StringAttr(function.attributes["sym_name"]).value != request.entry:
            function.attributes["sym_visibility"] = private
        elif "sym_visibility" in function.attributes:
            del function.attributes["sym_visibility"]
    if len(names) > 1:
        _guard(registry.parse("inline,symbol-dce"), "inline", module, request)
    functions = list(registry.functions(module.operation))
    if len(functions) != 1:
        raise Unsupported("func.call", "", "the program is recursive")
    _check_arguments(functions[0], request)
    return functions[0]


def _check_arguments(function: ir.Operation, request: Request) -> None:
    types = [str(t) for t in ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs]
    wanted = [signature.argument_type(spec) for spec in request.arguments]
    if types != wanted:
        raise BadRequest(f"the function takes ({', '.join(types)}) but the request's arguments are ({', '.join(wanted)})")


def _prepare(module: ir.Module, function: ir.Operation, request: Request) -> tuple[tuple[ResultSpec, ...], Ties, tuple[ExitSite, ...]]:
    """What is decided on the torch dialect: sizes, kinds of results, exits, checks."""
    expanded = expand(function)  # what a user's own pass made
    origins.tag(b.walk(function))
    signature.refuse(function)
    baked = any(spec.value is not None for spec in request.arguments)
    if baked:
        signature.bake(function, request.arguments)
    if baked or expanded:
        _guard(registry.parse("func.func(tierup-infer-types)"), "types", module, request)  # sizes may hang on the values
    bailouts.lower(function, force=request.force)
    inference = signature.infer(function, request.arguments)
    signature.fold(function, inference)
    ties = signature.ties(request.arguments, inference)
    results = signature.decide(function, request.arguments, inference)
    exits = live_values.sites(function, request.arguments, inference)
    bailouts.forget_guards(function)
    _refuse_lost_errors(function)
    _guard(registry.parse("func.func(tierup-unpack-lists,tierup-insert-bounds-checks)"), "bounds checks", module, request)
    signature.settle(function, request.arguments, results)
    symbols.erase(function.regions[0].blocks[0])  # what they say is in the request's arguments too
    function.attributes[STRICT] = ir.UnitAttr.get()
    return results, ties, exits


def _refuse_lost_errors(function: ir.Operation) -> None:
    """What nobody uses is dropped on the way; an error that no check notices would go with it."""
    for op in b.walk(function):
        row = optable.lookup(op.name)
        if row is not None and row.raises and row.results and not is_checked(op) and not any(map(is_used, op.results)):
            place = diagnostics.place_of(op.location)
            why = "nobody uses its result, and whether it raises is for tier 0 to say"
            raise Unsupported(row.name, str(place) if place.line else "", why)


def _lower_torch(module: ir.Module, request: Request, log: _Log) -> None:
    """Out of the torch dialect; what fails here is an op of the program that has no lowering."""
    try:
        registry.parse(TORCH.text).run(module, verify_each=False, verify_end=log.keep is not None)
    except NotLowered as e:
        raise Unsupported(e.origin.op, e.origin.place, str(e.diagnostics[0].message)) from e
    except PassFailure as e:
        place = next((str(d.place) for d in e.diagnostics if d.place.line), "")
        raise Unsupported(_op_at(place, request), place, f"has no lowering ({e})") from e


def _op_at(place: str, request: Request) -> str:
    """The first op of the program at a place. The module that failed may have lost it."""
    for op in b.walk(_parse(request).operation):
        if op.name.startswith("torch.") and str(diagnostics.place_of(op.location)) == place:
            return op.name.removeprefix("torch.")
    return "an op"


def _run(named: registry.NamedPipeline, module: ir.Module, request: Request, log: _Log) -> None:
    text = named.text
    if named is LOOPS and not llvm.has_fma(request.target):
        text = text.replace("tierup-expand-math", "tierup-expand-math{fma=false}")  # else each would be a call to libm
    with log.step(module, text):
        # between stages only where their texts are kept, to name the right one: who reads what a stage left verifies it all the same
        _guard(registry.parse(text), named.name, module, request, verify_end=named is LLVM or log.keep is not None)


def _guard(pipeline: registry.Pipeline, stage: str, module: ir.Module, request: Request, *, verify_end: bool = False) -> None:
    try:
        pipeline.run(module, verify_each=False, verify_end=verify_end)
    except PassFailure as e:
        raise CompileError(str(e), stage, f"// {stage}: {e}\n// {request!r}\n{request.ir}") from e


def _sites(module: ir.Module) -> tuple[ErrorSite, ...]:
    for view in module.body.operations:
        attributes = view.operation.attributes
        if ERROR_SITES in attributes:
            found = [ir.DictAttr(site) for site in ir.ArrayAttr(attributes[ERROR_SITES])]
            return tuple(ErrorSite(ir.StringAttr(s["op"]).value, ir.StringAttr(s["place"]).value) for s in found)
    return ()


def _translate(
    module: ir.Module, request: Request, results: tuple[ResultSpec, ...], ties: Ties, first_tie_site: int, exits: tuple[ExitSite, ...]
) -> tuple[str, tuple[str, ...]]:
    """LLVM IR text with the adapter, and the library functions that it calls."""
    inner = f"tierup_{request.entry}"
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
            elif name.startswith(PREFIX):
                externals.append(name)
    text = literals.mend(translate_module_to_llvmir(module.operation))
    forced = len(exits) if request.force else 0
    return text + adapter(SYMBOL, inner, request.arguments, results, ties, first_tie_site, exits, forced), tuple(externals)
