"""tierup-mark-allocations: a kernel that may allocate much at once is marked.

    module {
      func.func @f(...) {
        %0 = memref.alloc(%n) : memref<?xf32>

becomes

    module attributes {tierup.allocates} {
      ...

So it is called with its large blocks noted down, and ends where it gets no memory (`lowering/externals/allocating.py`).
"""

from __future__ import annotations

import math

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.externals import allocating

ALLOCATES = "tierup.allocates"


@register
class MarkAllocations(Pass):
    def run(self, module: ir.Module) -> None:
        if b.first(module.operation, _may_be_large) is not None:
            module.operation.attributes[ALLOCATES] = ir.UnitAttr.get(module.context)


def _may_be_large(op: ir.Operation) -> bool:
    if op.name != "memref.alloc":
        return False
    type_ = ir.ShapedType(op.results[0].type)
    return not type_.has_static_shape or math.prod(b.shape_of(type_)) * 8 >= allocating.LARGE  # no element has more than 8 bytes
