"""What a reduction starts from: the number that an op before sets its output to, so that neither that op nor a load of it is needed.

    linalg.fill ins(%zero) outs(%s)
    linalg.generic {reduction} ins(%x) outs(%s)             // starts from %zero
"""

from __future__ import annotations

from tierup.dialect.ir.structure import handed_over
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.aliasing import ALLOCATIONS, VIEWS, base, may_alias
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b


def take_starts(op: Structured) -> list[ir.Value | None]:
    """For each output the number that it was set to, and by an op that is now gone; None for one that holds who knows what."""
    before, _ = b.around(op.op)
    return [_take(op, i, before) for i in range(op.reads, len(op.buffers))]


def _take(op: Structured, i: int, before: list[ir.Operation]) -> ir.Value | None:
    whole = _whole(op.buffers[i])
    if whole is None or not _covers(op, i):
        return None
    for k in reversed(range(len(before))):
        other = before[k]
        if other.name in (*VIEWS, *ALLOCATIONS) or other.name.startswith("arith."):
            continue
        if not any(may_alias(base(v), whole) for v in _buffers(other)):
            continue
        fill = Structured.of(other)
        shown = _whole(fill.buffers[0]) if fill is not None and len(fill.buffers) == 1 else None
        if fill is None or shown is None or shown != whole or not _covers(fill, 0):
            return None
        number = _number(fill)
        if number is not None:
            other.erase()
            del before[k]
        return number
    return None


def _number(fill: Structured) -> ir.Value | None:
    """What an op without inputs sets its output to, where that stands before it."""
    if fill.op.name == "linalg.fill":
        return fill.op.operands[0]
    value = handed_over(fill.op.regions[0].blocks[0])[0]
    made = b.defining_op(value)
    inside = value.owner == fill.op.regions[0].blocks[0] if made is None else made.block == fill.op.regions[0].blocks[0]
    return None if inside else value


def _whole(buffer: ir.Value) -> ir.Value | None:
    """The base of a buffer that shows all of it; None for a part."""
    while (made := b.defining_op(buffer)) is not None and made.name == "memref.collapse_shape":
        buffer = made.operands[0]
    return None if made is not None and made.name in VIEWS else buffer


def _covers(op: Structured, i: int) -> bool:
    """Whether an op writes all elements of a buffer: each axis has a parallel loop of its own, and each of these an axis."""
    loops = [e.position if isinstance(e, ir.AffineDimExpr) else -1 for e in op.maps[i].results]
    return sorted(loops) == [loop for loop, kind in enumerate(op.iterators) if kind == "parallel"]


def _buffers(op: ir.Operation) -> list[ir.Value]:
    return [v for inner in (op, *b.walk(op)) for v in inner.operands if isinstance(v.type, ir.MemRefType)]
