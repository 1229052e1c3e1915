"""tierup-merge-kernels: the kernels of a program stand in one gpu.module, under names that say whose they are.

    gpu.launch_func @f_kernel_0::@f_kernel ...          gpu.module @f_kernel { gpu.func @f_kernel ... }
                                                        gpu.module @f_kernel_0 { gpu.func @f_kernel ... }
becomes
    gpu.launch_func @kernels::@f_1 ...                  gpu.module @kernels { gpu.func @f_0 ...  gpu.func @f_1 ... }

gpu-kernel-outlining makes a module for each. One module is one file of PTX: loaded at once, its kernels named apart in a profiler.
Functions that kernels call, and what else their modules hold, come along; kernels that are equal to the letter are one.
Where two modules hold different functions of one name, each stays as it is.
"""

from __future__ import annotations

import itertools

from tierup.dialect.ir.walking import symbol_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.functions import plain

MODULE = "kernels"
LAUNCH = "gpu.launch_func"


@register
class MergeKernels(Pass):
    def run(self, module: ir.Module) -> None:
        modules = [view.operation for view in module.body.operations if view.operation.name == "gpu.module"]
        launches = [op for op in b.walk(module.operation) if op.name == LAUNCH]
        merged = _free_name(module)
        if not modules or (len(modules) == 1 and symbol_of(modules[0]) == merged):
            return
        helpers: dict[str, str] = {}  # what is no kernel: functions that kernels call, constants
        for each in modules:
            for op in _helpers(each):
                if helpers.setdefault(symbol_of(op), str(op)) != str(op):
                    return  # two of one name
        with ir.Location.unknown(module.context):
            into = modules[0]
            renamed: dict[str, ir.Attribute] = {}
            known: dict[str, ir.Attribute] = {}  # a kernel's text, but for its name
            numbers = itertools.count()
            for each in modules:
                kept = [view.operation for view in each.regions[0].blocks[0].operations]
                for op in kept:
                    if op.name != "gpu.func":
                        continue
                    number, own = next(numbers), symbol_of(op)
                    old = str(ir.SymbolRefAttr.get([symbol_of(each), own]))
                    op.attributes["sym_name"] = ir.StringAttr.get("kernel")
                    text = op.get_asm(use_local_scope=True, assume_verified=True)  # numbered from 0 in each
                    if text in known and each is not into:
                        renamed[old] = known[text]
                        op.erase()
                        continue
                    new = f"{plain(_owner(launches, old) or own)}_{number}"
                    op.attributes["sym_name"] = ir.StringAttr.get(new)
                    known[text] = renamed[old] = ir.SymbolRefAttr.get([merged, new])
                    if each is not into:
                        op.move_before(list(into.regions[0].blocks[0].operations)[0])
            for each in modules[1:]:
                there = {symbol_of(op) for op in _helpers(into)}
                for op in _helpers(each):
                    if symbol_of(op) not in there:
                        op.move_before(list(into.regions[0].blocks[0].operations)[0])
                each.erase()
            into.attributes["sym_name"] = ir.StringAttr.get(merged)
            for launch in launches:
                launch.attributes["kernel"] = renamed[str(launch.attributes["kernel"])]


def _free_name(module: ir.Module) -> str:
    """MODULE, unless a function of the user's has that name."""
    taken = {symbol_of(view.operation) for view in module.body.operations if view.operation.name == "func.func"}
    return next(name for name in (MODULE, *(f"{MODULE}_{n}" for n in range(len(taken)))) if name not in taken)


def _helpers(module: ir.Operation) -> list[ir.Operation]:
    return [view.operation for view in module.regions[0].blocks[0].operations if view.operation.name != "gpu.func"]


def _owner(launches: list[ir.Operation], kernel: str) -> str:
    """The function that launches a kernel; "" where none does."""
    op = next((launch for launch in launches if str(launch.attributes["kernel"]) == kernel), None)
    if op is None:
        return ""
    while op.name != "func.func":
        op = op.parent.operation
    return symbol_of(op)
