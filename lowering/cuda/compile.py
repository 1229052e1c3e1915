"""From a specialised program to kernels: `compile(request, target) -> CudaArtifact`, the GPU's counterpart of `lowering.compile`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tierup.dialect.language.context import thread_context
from tierup.dialect.mlir import ir
from tierup.dialect.passes import registry
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.base.abi import Request
from tierup.lowering.building import builders as b
from tierup.lowering.compiling.driver import Keep
from tierup.lowering.compiling.requests import driver_of, emitted, failures_are_errors, kernel_of, parse, translated
from tierup.lowering.cuda import host_program, targets
from tierup.lowering.cuda.assembling import ptx
from tierup.lowering.cuda.module_target import TARGET, TF32
from tierup.lowering.cuda.pipelines import NVVM, STAGES
from tierup.lowering.cuda.transforms.math_to_libdevice import LIBDEVICE


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
    chosen = targets.target(target)
    with driver_of(request, stages, keep) as driver, thread_context(), ir.Location.unknown(), failures_are_errors(request, driver):
        with driver.timed("parse", "parse"):
            module = parse(request)
        module.operation.attributes[TARGET] = ir.StringAttr.get(chosen.name)
        if library is not None:
            module.operation.attributes[LIBDEVICE] = ir.UnitAttr.get()
        if request.tf32:
            module.operation.attributes[TF32] = ir.UnitAttr.get()
        for named in STAGES:
            driver.run(named, module, last=named is NVVM)
        with driver.timed("translate", "translate"):
            kernel = kernel_of(module)
            host = host_program.extract(module, next(iter(registry.functions(module.operation))))
            text = _llvm(module, request)
        level, wants_ir = max(request.level, 2), driver.wants("optimized")
        made = emitted(driver, text, lambda: ptx.emit(text, chosen, level=level, want_ir=wants_ir, library=library))
        for name, shown in (("optimized", made.ir), ("ptx", made.ptx)):
            if driver.wants(name):
                driver.add(name, shown)
    return CudaArtifact(
        made.ptx, chosen.name, host, request.arguments, kernel.results, kernel.error_sites, kernel.ties, kernel.exits,
        stages=driver.texts, timings_ms=driver.milliseconds, linked=made.linked,
    )  # fmt: skip


def _llvm(module: ir.Module, request: Request) -> str:
    """LLVM IR of the kernels: the body of their gpu.module, in a module of its own."""
    kernels = [view.operation for view in module.body.operations if view.operation.name == "gpu.module"]
    apart = ir.Module.create()
    for each in kernels:
        for inner in b.ops_of(each.regions[0].blocks[0]):
            apart.body.append(inner.detach_from_parent())
    return translated(apart, request, NVVM.name)
