"""tierup-mark-reads-across: a kernel says which of its arguments loops read across, each element far from the one before.

    func.func @f(%x: memref<?x?xf64>, ...) attributes {tierup.entry} {
      scf.for %i ... {
        scf.for %j ... {
          memref.load %x[%j, %i]

becomes

    func.func @f(%x: memref<?x?xf64>, ...) attributes {tierup.entry, tierup.reads_across = array<i64: 0>} {
      ...

For who asks why a function is slow: nothing is changed. `tierup.turns` names those that tierup-strip-mine goes through in strips, which
costs less: of arguments in Fortran order, which are the rows of their transposes here, all the same more than rows do. Named are arrays
of more than a second cache holds, or of sizes that are not known.
"""

from __future__ import annotations

import math

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.aliasing import base
from tierup.lowering.analysis.stated import ENTRY, READS_ACROSS, TURNS
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import bytes_of
from tierup.lowering.transforms.strip_mine import strip_of

_LEAST = 1 << 19  # bytes
_LOOPS = ("scf.for", "scf.while", "linalg.")


@register
class MarkReadsAcross(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        if ENTRY not in function.attributes:
            return
        arguments = {a: k for k, a in enumerate(function.regions[0].blocks[0].arguments) if _is_large(a.type)}
        found: dict[str, set[int]] = {READS_ACROSS: set(), TURNS: set()}
        for op in b.walk_unfused(function) if arguments else ():
            structured = Structured.of(op)
            name = READS_ACROSS if structured is None or strip_of(structured) is None else TURNS
            found[name].update(arguments[root] for v in _read_across(op, structured) if (root := base(v)) in arguments)
        for name, numbers in found.items():
            if numbers:
                function.attributes[name] = ir.DenseI64ArrayAttr.get(sorted(numbers), function.context)


def _is_large(type_: ir.Type) -> bool:
    if not isinstance(type_, ir.MemRefType) or type_.rank < 2:
        return False
    return not type_.has_static_shape or math.prod(b.shape_of(type_)) * bytes_of(type_.element_type) >= _LEAST


def _read_across(op: ir.Operation, structured: Structured | None) -> list[ir.Value]:
    """The buffers of which an op, in one round of its innermost loop after the other, reads elements that are no neighbours."""
    if op.name == "memref.load":
        loop = _loop_around(op)
        return list(op.operands)[:1] if loop is not None and _moves_far(op, loop.regions[0].blocks[0].arguments[0]) else []
    if structured is None or not structured.iterators:
        return []
    last = len(structured.iterators) - 1
    reads = zip(structured.buffers[: structured.reads], structured.maps, strict=False)
    return [buffer for buffer, map_ in reads if _steps(buffer, [_loop(e) == last for e in map_.results])]


def _loop(e: ir.AffineExpr) -> int | None:
    return ir.AffineDimExpr(e).position if isinstance(e, ir.AffineDimExpr) else None


def _steps(buffer: ir.Value, moving: list[bool]) -> bool:
    """Whether an element is far from the next where these of its positions move."""
    strides, _ = ir.MemRefType(buffer.type).get_strides_and_offset()
    return any(moving) and not any(stride == 1 for stride, moves in zip(strides, moving, strict=True) if moves)


def _loop_around(op: ir.Operation) -> ir.Operation | None:
    """The loop over positions that an op is in, where no other loop is in that one, or in between."""
    around = op.parent.operation
    while around.name == "scf.if":
        around = around.parent.operation
    if around.name != "scf.for" or any(inner.name.startswith(_LOOPS) for inner in b.walk_unfused(around)):
        return None
    return around


def _moves_far(op: ir.Operation, position: ir.Value) -> bool:
    """Whether a load, or the views that it reads through, go on to elements that are no neighbours as a loop goes on."""
    buffer, *places = op.operands
    if _steps(buffer, [_hangs_on(place, position) for place in places]):
        return True
    made = b.defining_op(buffer)
    while made is not None and made.name == "memref.subview":
        offsets = iter(list(made.operands)[1:])
        static = ir.DenseI64ArrayAttr(made.attributes["static_offsets"])
        if _steps(made.operands[0], [o == ir.ShapedType.get_dynamic_size() and _hangs_on(next(offsets), position) for o in static]):
            return True
        made = b.defining_op(made.operands[0])
    return False


def _hangs_on(value: ir.Value, position: ir.Value, depth: int = 6) -> bool:
    if value == position:
        return True
    made = b.defining_op(value)
    if made is None or not depth or not made.name.startswith("arith."):
        return False
    return any(_hangs_on(v, position, depth - 1) for v in made.operands)
