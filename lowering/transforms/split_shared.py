"""tierup-split-shared: a function of which threads run parts does the iterations of its part.

    func.func private @f_shared0(%number: index, %count: index, ...) attributes {tierup.shared = 0} {
      scf.for %i = %c0 to %n step %c1 { ... }

becomes

      %low = %number * %n / %count
      %high = (%number + 1) * %n / %count
      scf.for %i = %low to %high step %c1 { ... }

`tierup.shared` says how many loops stand around the one that is cut. Parts are of as good as equal length, in the order of the iterations.
Comes after linalg became loops.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import of
from tierup.lowering.transforms.share_loops import SHARED


@register
class SplitShared(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        if SHARED not in function.attributes:
            return
        block = function.regions[0].blocks[0]
        number, count = map(of, list(block.arguments)[:2])
        loop = _loop(block)
        for _ in range(ir.IntegerAttr(function.attributes[SHARED]).value):
            loop = loop and _loop(loop.regions[0].blocks[0])
        if loop is None:
            raise PassFailure(function, f"is marked {SHARED} and has no such loop: this pass comes after linalg ops became loops")
        iterations = of(loop.operands[1])
        with loop.location, ir.InsertionPoint(loop):
            loop.operands[0], loop.operands[1] = number * iterations // count, (number + 1) * iterations // count


def _loop(block: ir.Block) -> ir.Operation | None:
    return next((op for op in b.ops_of(block) if op.name == "scf.for"), None)
