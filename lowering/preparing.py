"""From a request to linalg on tensors: the part of a compile that is the same for every kind of device.

`prepare` decides on the torch dialect what the ABI will be (sizes, kinds of results, checks) and lowers out of it; `compile.py` goes on
to machine code, `cuda/compile.py` to kernels. Both run named pipelines, stage by stage, through `run`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import field

from tierup.dialect import optable, registry
from tierup.dialect.analysis.raising import hangs_on_numbers, raises_for_values, refuses_none
from tierup.dialect.inference import symbols
from tierup.dialect.inference.dims import Dim, at_least
from tierup.dialect.inference.infer import Inference
from tierup.dialect.inference.refine import STALE
from tierup.dialect.ir.rewriting import is_used
from tierup.dialect.ir.values import Tensor, Value
from tierup.dialect.mlir import ir
from tierup.dialect.optable import operands
from tierup.dialect.pipelines import diagnostics
from tierup.dialect.pipelines.reproducer import Reproducer
from tierup.dialect.records import dataclass
from tierup.dialect.registry import PassFailure
from tierup.dialect.transforms.expand_to_torch import ExpandToTorch
from tierup.lowering import builders as b
from tierup.lowering import faults, llvm, messages, origins, signature
from tierup.lowering.abi import ErrorSite, ExitSite, Request, ResultSpec
from tierup.lowering.errors import BadRequest, CompileError, Unsupported
from tierup.lowering.exits import bailouts, live_values
from tierup.lowering.pipelines import LOOPS, TENSORS, TORCH
from tierup.lowering.transforms.asserts_to_status import ERROR_SITES
from tierup.lowering.transforms.insert_bounds_checks import MAY_BE_EMPTY, is_checked, reads_positions
from tierup.lowering.transforms.insert_size_checks import KNOWN, TIED, sizes_given
from tierup.lowering.transforms.lower_control_flow import STEADY
from tierup.lowering.transforms.verify_lowered import NotLowered

Ties = tuple[tuple[Dim, Dim], ...]
Keep = Callable[[str, str], None]
STRICT = "torch.assume_strict_symbolic_shapes"  # symbols are at least 2 and ties are guarded: no code for run-time broadcasting

_CHECKS = "func.func(tierup-unpack-lists,tierup-insert-bounds-checks,tierup-insert-size-checks)"
_STAGES = {"tensors": "linalg", "buffers": "bufferise", "optimise+emit": "emit"}  # those of lowering/faults.py, where they have other names


@dataclass(frozen=True)
class Prepared:
    """A request as linalg on tensors. `ties`: sizes that must be equal, checked at run time; `exits`: where assumptions may fail."""

    module: ir.Module
    results: tuple[ResultSpec, ...]
    ties: Ties
    exits: tuple[ExitSite, ...]


def prepare(request: Request, log: Log, module: ir.Module, *, ordered: bool = False) -> Prepared:
    """The first two stages, in place. Raises what `compile.compile` does. `module`: the request's text, parsed. `ordered`: whether results
    lie in memory as eager PyTorch's do, where the program is one of its."""
    with log.timed("torch"):
        function = _entry(module, request)
        results, ties, exits = _prepare(module, function, request, ordered)
        if log.wants("torch"):
            log.add("torch", str(module))
        with log.step(module, TORCH.text):
            _lower_torch(module, request, log)
    stage(TENSORS, module, request, log, shows="linalg")
    return Prepared(module, results, ties, exits)


def stage(named: registry.NamedPipeline, module: ir.Module, request: Request, log: Log, *, shows: str = "", last: bool = False) -> None:
    """Run a named pipeline, timed; what it leaves is the stage `shows`, where that is asked for. `last`: verify it."""
    with log.timed(named.name.removeprefix("lower-")):
        text = named.text
        if named is LOOPS and not llvm.has_fma(request.target):
            text = text.replace("tierup-expand-math", "tierup-expand-math{fma=false}")  # else each would be a call to libm
        with log.step(module, text):
            # between stages only where their texts are kept, to name the right one: who reads what a stage left verifies it all the same
            _guard(registry.parse(text), named.name, module, request, verify_end=last or log.keep is not None)
    if shows and log.wants(shows):
        log.add(shows, str(module))


@dataclass
class Log:
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


@contextmanager
def crashes_are_compile_errors(request: Request) -> Iterator[None]:
    """Whatever a compile trips over leaves as CompileError with a reproducer; the function stays in tier 0."""
    try:
        yield
    except (Unsupported, CompileError, BadRequest, MemoryError, OSError):
        raise
    except Exception as e:
        raise CompileError(f"{type(e).__name__}: {e}", "lowering", f"// {type(e).__name__}: {e}\n// {request!r}\n{request.ir}") from e


def parse(request: Request) -> ir.Module:
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


def _prepare(
    module: ir.Module, function: ir.Operation, request: Request, ordered: bool
) -> tuple[tuple[ResultSpec, ...], Ties, tuple[ExitSite, ...]]:
    """What is decided on the torch dialect: sizes, kinds of results, exits, checks."""
    ExpandToTorch().run_on_function(function)  # what a user's own pass made
    expanded = STALE in function.attributes
    origins.tag(b.walk(function))
    messages.forget(function)
    signature.refuse(function)
    baked = any(spec.value is not None for spec in request.arguments)
    if baked:
        signature.bake(function, request.arguments)
    if baked or expanded:
        _guard(registry.parse("func.func(tierup-infer-types)"), "types", module, request)  # sizes may hang on the values
    bailouts.lower(function, force=request.force)
    inference = signature.infer(function, request.arguments)
    _mark_tied(function, inference)
    _mark_empty(function, inference)
    _mark_steady(function, inference)
    signature.fold(function, inference)
    ties = signature.ties(request.arguments, inference)
    results = signature.decide(function, request.arguments, inference)
    if ordered:
        results = signature.lay_out(function, request.arguments, results, inference)
    exits = live_values.sites(function, request.arguments, inference)
    bailouts.forget_guards(function)
    _refuse_lost_errors(function, inference)
    _guard(registry.parse(_CHECKS), "bounds checks", module, request)
    signature.settle(function, request.arguments, results)
    symbols.erase(function.regions[0].blocks[0])  # what they say is in the request's arguments too
    function.attributes[STRICT] = ir.UnitAttr.get()
    return results, ties, exits


def _mark_tied(function: ir.Operation, inference: Inference) -> None:
    """What sizes the inference knows: that they fit, it has said in ties; that they are not negative, it has not."""
    for op in b.walk(function):
        listed = [inference.values.get(v) for v in sizes_given(op)]
        sizes = [s for v in listed for s in (operands.or_unknown(operands.sizes_or_none)(v) if v is not None else None) or (None,)]
        if listed and None not in sizes:
            mark = TIED if all(at_least(size, 0) for size in sizes if size is not None) else KNOWN
            op.attributes[mark] = ir.UnitAttr.get(op.context)


def _mark_empty(function: ir.Operation, inference: Inference) -> None:
    """What is read at positions and may have no elements: positions are then outside whatever they are."""
    for op in b.walk(function):
        x = inference.values.get(op.operands[0]) if reads_positions(op) else None
        if isinstance(x, Tensor) and not (x.shape is not None and all(at_least(size, 1) for size in x.shape)):
            op.attributes[MAY_BE_EMPTY] = ir.UnitAttr.get(op.context)


def _mark_steady(function: ir.Operation, inference: Inference) -> None:
    """Loops in which every tensor that is carried has the sizes that it came with, round after round."""
    tied = {frozenset((tie.left, tie.right)) for tie in inference.ties}

    def same(before: Value | None, after: Value | None) -> bool:
        if not isinstance(before, Tensor):
            return True
        if not isinstance(after, Tensor) or before.shape is None or after.shape is None or len(before.shape) != len(after.shape):
            return False
        return all(a == b or frozenset((a, b)) in tied for a, b in zip(before.shape, after.shape, strict=True))

    for op in b.walk(function):
        if op.name == "torch.prim.Loop":
            body = op.regions[0].blocks[0]
            given = list(list(body.operations)[-1].operation.operands)[1:]
            pairs = zip(list(body.arguments)[1:], given, strict=True)
            if all(same(inference.values.get(x), inference.values.get(y)) for x, y in pairs):
                op.attributes[STEADY] = ir.UnitAttr.get(op.context)


def _refuse_lost_errors(function: ir.Operation, inference: Inference) -> None:
    """What nobody uses is dropped on the way; an error that no check notices would go with it."""
    for op in b.walk(function):
        row = optable.lookup(op.name)
        if row is None or not row.results or is_checked(op) or any(map(is_used, op.results)):
            continue
        hangs = hangs_on_numbers(op, row, inference) and not sizes_given(op)
        if raises_for_values(op, row, inference) or hangs or refuses_none(op, row, inference):
            place = diagnostics.place_of(op.location)
            why = "nobody uses its result, and whether it raises is for tier 0 to say"
            raise Unsupported(row.name, str(place) if place.line else "", why)


def _lower_torch(module: ir.Module, request: Request, log: Log) -> None:
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
    for op in b.walk(parse(request).operation):
        if op.name.startswith("torch.") and str(diagnostics.place_of(op.location)) == place:
            return op.name.removeprefix("torch.")
    return "an op"


def _guard(pipeline: registry.Pipeline, stage: str, module: ir.Module, request: Request, *, verify_end: bool = False) -> None:
    try:
        pipeline.run(module, verify_each=False, verify_end=verify_end)
    except PassFailure as e:
        raise CompileError(str(e), stage, f"// {stage}: {e}\n// {request!r}\n{request.ir}") from e


def error_sites(module: ir.Module) -> tuple[ErrorSite, ...]:
    for view in module.body.operations:
        attributes = view.operation.attributes
        if ERROR_SITES in attributes:
            found = [ir.DictAttr(site) for site in ir.ArrayAttr(attributes[ERROR_SITES])]
            return tuple(ErrorSite(ir.StringAttr(s["op"]).value, ir.StringAttr(s["place"]).value) for s in found)
    return ()
