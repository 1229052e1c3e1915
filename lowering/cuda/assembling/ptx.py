"""Kernels from LLVM IR to PTX: optimised by LLVM, emitted by its NVPTX back end (llvmlite has it; the MLIR bindings have not)."""

from __future__ import annotations

from pathlib import Path

from llvmlite import binding as llvm

from tierup.dialect.base import forking
from tierup.dialect.base.records import dataclass
from tierup.lowering.cuda.assembling import linking
from tierup.lowering.cuda.targets import Target

TRIPLE = "nvptx64-nvidia-cuda"
_lock = forking.lock()
_ready = False


@dataclass(frozen=True)
class Emitted:
    """`ir` is empty unless asked for. `linked`: functions of libdevice."""

    ptx: str
    ir: str
    linked: tuple[str, ...] = ()


def emit(text: str, target: Target, *, level: int = 3, want_ir: bool = False, library: Path | None = None) -> Emitted:
    """PTX of a module of kernels, given as LLVM IR, linked with libdevice where it calls that. Raises RuntimeError with LLVM's message."""
    machine = _machine(target, level)
    context = llvm.create_context()
    try:
        module = llvm.parse_assembly(text, context)
        try:
            module.triple = TRIPLE
            module.data_layout = str(machine.target_data)
            module.verify()
            linked = linking.link(module, library, machine)
            options = llvm.create_pipeline_tuning_options(speed_level=level)
            options.loop_vectorization = options.slp_vectorization = False  # a thread is a lane; wide loads are the back end's
            builder = llvm.create_pass_builder(machine, options)
            builder.getModulePassManager().run(module, builder)
            return Emitted(machine.emit_assembly(module), str(module) if want_ir else "", linked)
        finally:
            module.close()
    finally:
        context.close()


def _machine(target: Target, level: int) -> llvm.TargetMachine:
    global _ready
    with _lock:
        if not _ready:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
            _ready = True
        return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=target.name, features=target.features, opt=level)
