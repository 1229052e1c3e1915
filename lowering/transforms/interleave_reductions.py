"""tierup-interleave-reductions: loops that reduce keep four vectors of partial results.

    scf.for %i = ... {
      %a = memref.load %m[]
      %s = arith.maximumf %a, %v
      memref.store %s, %m[]
    }

becomes the same with `loop_annotation = #llvm.loop_annotation<interleave = <count = 4>>`, which LLVM's vectoriser follows. An addition
takes four cycles, a maximum with its look for NaN six, and with one vector each waits for the one before. Other loops gain little by it,
and pay in LLVM's time, so that it is off for them.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b

_MOST_OPS = 16  # of a body: with more there is enough to do while a result is waited for
_INTERLEAVED = "#llvm.loop_annotation<interleave = <count = 4 : i32>>"


@register
class InterleaveReductions(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        annotation = None
        for op in b.walk(function):
            if op.name == "scf.for" and _reduces(op):
                annotation = annotation or ir.Attribute.parse(_INTERLEAVED, function.context)
                op.attributes["loop_annotation"] = annotation


def _reduces(loop: ir.Operation) -> bool:
    """Whether a loop without others in it writes one place in all its rounds, as reductions of linalg ops do."""
    body = loop.regions[0].blocks[0]
    inside = [op.operation for op in body.operations]
    if len(inside) > _MOST_OPS or any(len(op.regions) for op in inside):
        return False
    stores = [op for op in inside if op.name == "memref.store"]
    return bool(stores) and not any(value.owner == body or value.owner in inside for op in stores for value in list(op.operands)[2:])
