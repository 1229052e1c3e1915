"""tierup-split-reductions: a long reduction to one value becomes reductions of parts, and one of what these give.

    linalg.generic {reduction} ins(%x : memref<1000000xf32>) outs(%sum : memref<f32>) { addf }

becomes

    %partial = memref.alloca() : memref<32xf32>
    scf.for %part = %c0 to %c25 step %c1 {
      memref.store %zero, %partial[%part]
      linalg.generic {reduction} ins(%x[%low : %high]) outs(%partial[%part]) { addf }
    } {tierup.parts}
    linalg.generic {reduction} ins(%partial[0 : 25]) outs(%sum) { addf }

Parts hang on the size alone, so that a sum has the same bits whether threads share them (tierup-share-loops) or not. Taken are ops of one
loop that yield the result combined with something, where combining is known and has a value that changes nothing. After loops were
collapsed, before they are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.aliasing import base
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, constant, dtype_of, of
from tierup.lowering.building.generics import set_maps
from tierup.lowering.building.shares import LEAST, MOST_PARTS, PARTS, parts_of, picoseconds
from tierup.lowering.transforms.fuse_rows import ROWS

# What changes nothing, by the op that combines; of comparisons, which differ by type, none.
_NEUTRAL: dict[str, Callable[[ir.Type], float | int]] = {
    "arith.addf": lambda _: -0.0, "arith.addi": lambda _: 0, "arith.mulf": lambda _: 1.0, "arith.muli": lambda _: 1,
    "arith.maximumf": lambda _: float("-inf"), "arith.minimumf": lambda _: float("inf"), "arith.ori": lambda _: 0,
    "arith.maxsi": lambda t: -(1 << (ir.IntegerType(t).width - 1)), "arith.minsi": lambda t: (1 << (ir.IntegerType(t).width - 1)) - 1,
    "arith.andi": lambda _: -1,
}  # fmt: skip


@register
class SplitReductions(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(b.walk_unfused(function)):
            if op.name == "linalg.generic" and (combining := _combining(op)) is not None:
                with op.location, ir.InsertionPoint(op):
                    _split(op, combining, function)


def _combining(op: ir.Operation) -> ir.Operation | None:
    """The op that combines a point with the result, of a reduction to one value with enough to do; None for any other."""
    structured = Structured.of(op)
    if structured is None or structured.iterators != ("reduction",) or len(structured.buffers) - structured.reads != 1:
        return None
    if ir.ShapedType(structured.buffers[-1].type).rank or not any(_is_along(m) for m in structured.maps):
        return None
    if not all(_is_along(m) or not m.results for m in structured.maps):
        return None
    body = op.regions[0].blocks[0]
    *inner, last = b.ops_of(body)
    so_far, made = body.arguments[len(body.arguments) - 1], b.defining_op(last.operands[0])
    if made is None or made not in inner or made.name not in _NEUTRAL or list(made.operands).count(so_far) != 1:
        return None
    if sum(1 for _ in so_far.uses) != 1 or any(len(o.regions) or o.name in ("linalg.index", "memref.load", "memref.store") for o in inner):
        return None
    if not isinstance(made.results[0].type, (ir.F32Type, ir.F64Type, ir.IntegerType)):
        return None
    along = _size(structured)
    for shaped in (ir.ShapedType(along.type), ir.ShapedType(base(along).type)):  # no part of an array is longer than it
        if shaped.has_static_shape and math.prod(b.shape_of(shaped)) * picoseconds(op) < LEAST:
            return None
    around = op.parent.operation  # what goes on row by row is cut between rows
    return None if ROWS in around.attributes or PARTS in around.attributes else made


def _is_along(map_: ir.AffineMap) -> bool:
    return len(map_.results) == 1 and isinstance(list(map_.results)[0], ir.AffineDimExpr)


def _size(op: Structured) -> ir.Value:
    """A buffer as long as the loop."""
    return next(v for v, m in zip(op.buffers, op.maps, strict=True) if _is_along(m))


def _split(op: ir.Operation, combining: ir.Operation, function: ir.Operation) -> None:
    structured = Structured.of(op)
    assert structured is not None
    out, element = structured.buffers[-1], combining.results[0].type
    length = b.dim(_size(structured), 0)
    with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
        partial = b.alloca(ir.MemRefType.get([MOST_PARTS], element))
    count = parts_of(length * picoseconds(op))
    loop = b.op("scf.for", [b.index(0), count, b.index(1)], regions=1, **{PARTS: ir.UnitAttr.get()})
    body = loop.regions[0].blocks.append(b.index_type(), arg_locs=[op.location])
    with ir.InsertionPoint(body):
        part = of(body.arguments[0])
        b.store(constant(_NEUTRAL[combining.name](element), dtype_of(element)), partial, part)
        low = part * length // count
        size = (part + 1) * length // count - low
        inputs = zip(structured.buffers[:-1], structured.maps, strict=False)
        operands = [*(_piece(buffer, low, size) if _is_along(map_) else buffer for buffer, map_ in inputs), b.row(partial, part)]
        mine = op.clone()
        for i, operand in enumerate(operands):
            mine.operands[i] = operand
        b.op("scf.yield")
    total, block = b.empty_generic([_piece(partial, b.index(0), count), out], 1, [], op.attributes["iterator_types"], [])
    set_maps(total, [ir.AffineMap.get_identity(1), structured.maps[-1]])
    with ir.InsertionPoint(block):
        last = combining.clone()
        if "fastmath" in last.attributes:  # in their order: whether the parts' loop stands here or with threads, the bits are the same
            last.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<none>", function.context)
        at = list(combining.operands).index(op.regions[0].blocks[0].arguments[len(structured.buffers) - 1])
        last.operands[at], last.operands[1 - at] = block.arguments[1], block.arguments[0]
        b.op("linalg.yield", list(last.results))
    op.erase()


def _piece(buffer: ir.Value, low: Scalar, size: Scalar) -> ir.Value:
    """Neighbouring elements of a vector."""
    type_, unknown = ir.MemRefType(buffer.type), ir.ShapedType.get_dynamic_size()
    strides, _ = type_.get_strides_and_offset()
    layout = ir.StridedLayoutAttr.get(ir.ShapedType.get_dynamic_stride_or_offset(), strides)
    one, piece = ir.DenseI64ArrayAttr.get([1]), ir.DenseI64ArrayAttr.get([unknown])
    return b.value(
        "memref.subview", [buffer, low, size], ir.MemRefType.get([unknown], type_.element_type, layout=layout),
        static_offsets=piece, static_sizes=piece, static_strides=one, operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, 1, 0]),
    )  # fmt: skip
