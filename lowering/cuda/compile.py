"""From a specialised program to kernels: `compile(request, target) -> CudaArtifact`, the GPU's counterpart of `lowering.compile`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tierup.dialect import registry
from tierup.dialect.context import thread_context
from tierup.dialect.mlir import ir, translate_module_to_llvmir
from tierup.lowering import builders as b
from tierup.lowering import literals
from tierup.lowering.abi import ErrorSite, Request
from tierup.lowering.cuda import host_program, targets
from tierup.lowering.cuda.artifact import CudaArtifact
from tierup.lowering.cuda.assembling import ptx
from tierup.lowering.cuda.module_target import TARGET, TF32
from tierup.lowering.cuda.pipelines import BUFFERS, KERNELS, NVVM
from tierup.lowering.cuda.transforms.math_to_libdevice import LIBDEVICE
from tierup.lowering.errors import CompileError
from tierup.lowering.preparing import Keep, Log, crashes_are_compile_errors, error_sites, parse, prepare, stage

_SHOWN = {BUFFERS: "buffers", KERNELS: "kernels", NVVM: "nvvm"}  # the stages, and under which name each leaves a text


def compile(  # noqa: A001 - the field's word
    request: Request,
    target: str = targets.DEFAULT,
    stages: Collection[str] = (),
    keep: Keep | None = None,
    library: Path | None = None,
) -> CudaArtifact:
    """Compile a request for a GPU. `stages`: whose texts to keep, of torch, linalg, buffers, kernels, nvvm, optimized, ptx; `library`:
    NVIDIA's libdevice, used where it is better than our own math.

    Raises what `lowering.compile.compile` does, ValueError for a target that is none.
    """
    log = Log(stages, keep)
    chosen = targets.target(target)
    with thread_context(), ir.Location.unknown(), crashes_are_compile_errors(request):
        with log.timed("parse"):
            module = parse(request)
        prepared = prepare(request, log, module)
        module.operation.attributes[TARGET] = ir.StringAttr.get(chosen.name)
        if library is not None:
            module.operation.attributes[LIBDEVICE] = ir.UnitAttr.get()
        if request.tf32:
            module.operation.attributes[TF32] = ir.UnitAttr.get()
        for named, shows in _SHOWN.items():
            stage(named, module, request, log, shows=shows, last=named is NVVM)
        with log.timed("translate"):
            sites = error_sites(module)
            function = next(iter(registry.functions(module.operation)))
            host = host_program.extract(module, function)
            text = _llvm(module, request)
        sites += tuple(ErrorSite("sizes", f"{left} = {right}") for left, right in prepared.ties)
        with log.timed("optimise+emit"):
            try:
                emitted = ptx.emit(text, chosen, level=max(request.level, 2), want_ir=log.wants("optimized"), library=library)
            except RuntimeError as e:
                raise CompileError(str(e), "LLVM", text) from e
    for name, shown in (("optimized", emitted.ir), ("ptx", emitted.ptx)):
        if log.wants(name):
            log.add(name, shown)
    return CudaArtifact(
        emitted.ptx, chosen.name, host, request.arguments, prepared.results, sites, prepared.ties, prepared.exits,
        stages=log.texts, timings_ms=log.milliseconds, linked=emitted.linked,
    )  # fmt: skip


def _llvm(module: ir.Module, request: Request) -> str:
    """LLVM IR of the kernels: the body of their gpu.module, in a module of its own."""
    kernels = [view.operation for view in module.body.operations if view.operation.name == "gpu.module"]
    apart = ir.Module.create()
    for each in kernels:
        for inner in b.ops_of(each.regions[0].blocks[0]):
            apart.body.append(inner.detach_from_parent())
    left_over = b.first(apart.operation, lambda op: not op.name.startswith(("llvm.", "nvvm.")))
    if left_over is not None:  # the translation crashes on what is not LLVM's
        raise CompileError(f"'{left_over.name}' was left over", NVVM.name, f"{request.ir}\n// -----\n{apart}")
    return literals.mend(translate_module_to_llvmir(apart.operation))
