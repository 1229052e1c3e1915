"""tierup-merge-kernels: the kernels of a program stand in one gpu.module, under names that say whose they are.

    gpu.launch_func @f_kernel_0::@f_kernel ...          gpu.module @f_kernel { gpu.func @f_kernel ... }
                                                        gpu.module @f_kernel_0 { gpu.func @f_kernel ... }
becomes
    gpu.launch_func @kernels::@f_1 ...                  gpu.module @kernels { gpu.func @f_0 ...  gpu.func @f_1 ... }

gpu-kernel-outlining makes a module for each. One module is one file of PTX: loaded at once, its kernels named apart in a profiler.
Functions that kernels call, and what else their modules hold, come along; kernels that are equal to the letter are one.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering import builders as b

MODULE = "kernels"
LAUNCH = "gpu.launch_func"


@register
@dataclass(frozen=True)
class MergeKernels(Pass):
    """Put all kernels into one gpu.module, each under a name of its own."""

    name = "tierup-merge-kernels"

    def run(self, module: ir.Module) -> None:
        modules = [view.operation for view in module.body.operations if view.operation.name == "gpu.module"]
        launches = [op for op in b.walk(module.operation) if op.name == LAUNCH]
        if not modules or (len(modules) == 1 and _name(modules[0]) == MODULE):
            return
        with ir.Location.unknown(module.context):
            into = modules[0]
            renamed: dict[str, ir.Attribute] = {}
            known: dict[str, ir.Attribute] = {}  # a kernel's text, but for its name
            for number, each in enumerate(modules):
                kept = [view.operation for view in each.regions[0].blocks[0].operations]
                for op in kept:
                    if op.name != "gpu.func":
                        continue
                    old = str(ir.Attribute.parse(f"@{_name(each)}::@{_name(op)}"))
                    op.attributes["sym_name"] = ir.StringAttr.get("kernel")
                    text = op.get_asm(use_local_scope=True, assume_verified=True)  # numbered from 0 in each
                    if text in known and each is not into:
                        renamed[old] = known[text]
                        op.erase()
                        continue
                    new = f"{_owner(launches, old)}_{number}"
                    op.attributes["sym_name"] = ir.StringAttr.get(new)
                    known[text] = renamed[old] = ir.Attribute.parse(f"@{MODULE}::@{new}")
                    if each is not into:
                        op.move_before(list(into.regions[0].blocks[0].operations)[0])
            for each in modules[1:]:
                each.erase()
            into.attributes["sym_name"] = ir.StringAttr.get(MODULE)
            for launch in launches:
                launch.attributes["kernel"] = renamed[str(launch.attributes["kernel"])]


def _name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def _owner(launches: list[ir.Operation], kernel: str) -> str:
    """The function that launches a kernel."""
    op = next(launch for launch in launches if str(launch.attributes["kernel"]) == kernel)
    while op.name != "func.func":
        op = op.parent.operation
    return _name(op)
