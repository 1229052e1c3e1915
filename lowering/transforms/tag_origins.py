"""tierup-tag-origins: locations name the op of the program that they are of.

    %0 = torch.aten.mm %x, %y : ... loc("x.py":3:4)

becomes

    %0 = torch.aten.mm %x, %y : ... loc("torch.aten.mm"("x.py":3:4))

Passes carry locations along, so what becomes of an op still says where it began: in errors, and in what `explain()` says of a failed check
(`lowering/building/origins.py`).
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.origins import tag


@register
class TagOrigins(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.walk(function):
            tag(op)
