"""Functions of NVIDIA's libdevice, linked into kernels as LLVM IR.

    names = link(module, libdevice.find(), machine)    ("__nv_fmodf",): those that the module calls are part of it now, and nothing else

It is bitcode that a compiler links first and optimises afterwards (NVIDIA, libdevice User's Guide; LLVM, User Guide for NVPTX, "Linking
with Libdevice"): what denormals do in it, it asks by __nvvm_reflect("__CUDA_FTZ"), which is 0 where the module does not say: they are kept.
"""

from __future__ import annotations

from pathlib import Path

from llvmlite import binding as llvm

from tierup.lowering.cuda.libdevice import MISSING

_PREFIX = "__nv_"


class Unresolved(RuntimeError):
    """Kernels call functions that nobody has."""


def link(module: llvm.ModuleRef, path: Path | None, machine: llvm.TargetMachine) -> tuple[str, ...]:
    """Link the functions that a module calls; their names. Raises Unresolved where one is left that the library has not, or no library."""
    called = tuple(sorted(f.name for f in module.functions if f.is_declaration and f.name.startswith(_PREFIX)))
    if not called:
        return ()
    if path is None:
        raise Unresolved(f"{', '.join(called)} {MISSING}")
    library = llvm.parse_bitcode(path.read_bytes(), module._context)
    library.triple, library.data_layout = module.triple, module.data_layout
    kernels = {f.name for f in module.functions if not f.is_declaration}
    module.link_in(library)  # ends it
    for function in module.functions:
        if not function.is_declaration and function.name not in kernels:
            function.linkage = "internal"
    left = [f.name for f in module.functions if f.is_declaration and f.name.startswith(_PREFIX)]
    if left:
        raise Unresolved(f"{', '.join(left)}: {path} has no such function")
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()  # the rest, before anybody optimises it
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return called
