"""tierup-verify-entry: the module has an entry, with the guards that a version's code is made for.

What is compiled is such a module: `f.plan("recorded")` and `tierup-run --repeat 2 --emit=recorded` print it. A program without the
guards has no lowering, since types of its tensors are not known, so this pass says so before others fail.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, functions, register
from tierup.lowering.analysis.stated import entry_of

_REMEDY = '`tierup-run --repeat 2 --emit=recorded` and f.plan("recorded") print such a one'


@register
class VerifyEntry(Pass):
    def run(self, module: ir.Module) -> None:
        if entry_of(module) is None:
            function = next(iter(functions(module.operation)), module.operation)
            raise PassFailure(function, f"has no guards of a version (tierup.entry, tierup.guard) to compile it for; {_REMEDY}")
