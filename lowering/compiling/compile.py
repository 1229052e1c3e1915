"""From a specialised program to machine code: `compile(request) -> artifact`, a pure function of what pickles."""

from __future__ import annotations

from collections.abc import Collection

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.walking import symbol_of
from tierup.dialect.language.context import thread_context
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.stated import state_cpu
from tierup.lowering.base import llvm
from tierup.lowering.base.abi import Artifact, Request
from tierup.lowering.building.functions import plain
from tierup.lowering.compiling.adapter import FORCED, adapter
from tierup.lowering.compiling.driver import Driver, Keep
from tierup.lowering.compiling.pipelines import LLVM, STAGES
from tierup.lowering.compiling.requests import Kernel, driver_of, emitted, failures_are_errors, kernel_of, parse, translated
from tierup.lowering.externals import allocating, blas, libm, numpy_sorts, polling, sharing
from tierup.lowering.transforms.mark_allocations import ALLOCATES

SYMBOL = "kernel"


@dataclass(frozen=True)
class Lowered:
    """A request as LLVM IR text, before LLVM has seen it."""

    text: str
    kernel: Kernel
    externals: tuple[str, ...]


def compile(request: Request, stages: Collection[str] = (), keep: Keep | None = None) -> Artifact:  # noqa: A001 - the field's word
    """Compile a request. `stages`: whose texts to keep in `Artifact.stages`, of torch, linalg, buffers, loops, llvm, optimized, asm.

    `keep` is given each of these texts as soon as it stands, and when the compile fails a reproducer (`pipelines/reproducer.py`).

    Raises Unsupported when the program, or an op of it, has no native code; CompileError when the compiler fails; BadRequest,
    a ValueError, for a request that contradicts itself.
    """
    with driver_of(request, stages, keep) as driver:
        return _compile(request, driver)


def _compile(request: Request, driver: Driver) -> Artifact:
    lowered = _lower(request, driver)
    wanted = {"want_ir": driver.wants("optimized"), "want_asm": driver.wants("asm")}
    wanted["unroll"] = polling.POLL in lowered.externals  # the program has loops of its own
    made = emitted(driver, lowered.text, lambda: llvm.emit(lowered.text, target=request.target, level=request.level, **wanted))
    for name, text in (("optimized", made.ir), ("asm", made.asm)):
        if driver.wants(name):
            driver.add(name, text)
    return Artifact(
        object=made.object,
        symbol=SYMBOL,
        arguments=request.arguments,
        results=lowered.kernel.results,
        error_sites=lowered.kernel.error_sites,
        exits=lowered.kernel.exits,
        forced=FORCED if request.force and lowered.kernel.exits else "",
        externals=lowered.externals,
        reads_across=lowered.kernel.reads_across,
        turns=lowered.kernel.turns,
        stages=driver.texts,
        timings_ms=driver.milliseconds,
    )


def lower(request: Request) -> Lowered:
    """The first part of `compile`, up to LLVM. Raises what `compile` does."""
    return _lower(request, Driver())


def lowered_module(request: Request, driver: Driver) -> ir.Module:
    """The module that is translated to LLVM IR, of the current context. Raises PassFailure, BadRequest, CompileError."""
    with driver.timed("parse", "parse"):
        module = parse(request)
        state_cpu(module, request.target, request.threads)
    for named in STAGES:
        driver.run(named, module, last=named is LLVM)
    return module


def _lower(request: Request, driver: Driver) -> Lowered:
    with thread_context(), ir.Location.unknown(), failures_are_errors(request, driver):
        module = lowered_module(request, driver)
        with driver.timed("translate", "translate"):
            lowered = _translate(module, request)
    if driver.wants("llvm"):
        driver.add("llvm", lowered.text)
    return lowered


def _translate(module: ir.Module, request: Request) -> Lowered:
    """LLVM IR text with the adapter, and the library functions that it calls."""
    kernel, inner = kernel_of(module), f"tierup_{plain(request.entry)}"
    externals = []
    for view in module.body.operations:
        op = view.operation
        if op.name == "llvm.func":
            name = symbol_of(op)
            if name == request.entry:
                op.attributes["sym_name"] = ir.StringAttr.get(inner)
            elif name.startswith((blas.PREFIX, numpy_sorts.PREFIX, libm.PREFIX)) or name in (polling.POLL, polling.END, sharing.SHARE):
                externals.append(name)
    if ALLOCATES in module.operation.attributes:
        externals += [allocating.MALLOC, allocating.FREE]
    text = translated(module, request, LLVM.name)
    forced = len(kernel.exits) if request.force else 0
    text += adapter(SYMBOL, inner, request.arguments, kernel.results, kernel.ties, len(kernel.checks), kernel.exits, forced)
    return Lowered(text, kernel, tuple(externals))
