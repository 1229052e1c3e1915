"""Functions of NVIDIA's libdevice, linked into kernels as LLVM IR.

    names = link(module, libdevice.find(), machine)    ("__nv_fmodf",): those that the module calls are part of it now, and nothing else

It is bitcode that a compiler links first and optimises afterwards (NVIDIA, libdevice User's Guide; LLVM, User Guide for NVPTX, "Linking
with Libdevice"): what denormals do in it, it asks by __nvvm_reflect("__CUDA_FTZ"), which is 0 where the module does not say: they are kept.

To read the whole takes a fifth of a second, so the functions that kernels call at all are kept apart, on disk too.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from llvmlite import binding as llvm

from tierup.lowering.cuda.assembling.libdevice import MISSING, digest
from tierup.lowering.cuda.transforms.math_to_libdevice import CALLED
from tierup.lowering.objects import store
from tierup.lowering.objects.keys import Key, Part

_PREFIX = "__nv_"
_usual: dict[str, bytes] = {}  # by the library's digest: bitcode of the functions that kernels call at all


class Unresolved(RuntimeError):
    """Kernels call functions that nobody has."""


def link(module: llvm.ModuleRef, path: Path | None, machine: llvm.TargetMachine) -> tuple[str, ...]:
    """Link the functions that a module calls; their names. Raises Unresolved where one is left that the library has not, or no library."""
    called = tuple(sorted(f.name for f in module.functions if f.is_declaration and f.name.startswith(_PREFIX)))
    if not called:
        return ()
    if path is None:
        raise Unresolved(f"{', '.join(called)} {MISSING}")
    part = _part(path, machine) if CALLED.issuperset(called) else path.read_bytes()
    library = llvm.parse_bitcode(part, module._context)
    library.triple, library.data_layout = module.triple, module.data_layout
    kernels = {f.name for f in module.functions if not f.is_declaration}
    module.link_in(library)  # ends it
    left = [f.name for f in module.functions if f.is_declaration and f.name in called]
    if left:
        raise Unresolved(f"{', '.join(left)}: {path} has no such function")
    _keep_only(module, kernels, machine)
    return called


def _part(path: Path, machine: llvm.TargetMachine) -> bytes:
    """Bitcode of the functions in CALLED, as far as the library has them, and of what they call."""
    of = digest(path)
    if of not in _usual:
        parts = (Part("LLVM", repr(llvm.llvm_version_info)), Part("libdevice", of), Part("functions", " ".join(sorted(CALLED))))
        key = Key("libdevice", str(path), parts)
        found = store.read(key.name)
        if found is None:
            whole = llvm.parse_bitcode(path.read_bytes(), llvm.create_context())
            _keep_only(whole, CALLED, machine)
            found = whole.as_bitcode()
            store.write(key.name, found, key.description())
        _usual[of] = found
    return _usual[of]


def _keep_only(module: llvm.ModuleRef, names: Collection[str], machine: llvm.TargetMachine) -> None:
    """Drop the functions that none of these needs."""
    for function in module.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
