"""What a kernel does with the numbers of a product's result that its threads have: the epilogue on them, and the stores."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.mlir import ir
from tierup.lowering import builders as b
from tierup.lowering.aliasing import ALLOCATIONS
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.blocks import positions
from tierup.lowering.cuda.products import Product
from tierup.lowering.cuda.structured import Structured

Place = dict[int, ir.Value]  # loop -> position
Number = tuple[ir.Value, ir.Value, ir.Value]  # row and column of the result, and what stands there


def place_of(loops: tuple[int, ...], number: ir.Value, sizes: Sequence[ir.Value]) -> Place:
    """The positions in some loops of a product that a number of all their points stands for."""
    return dict(zip(loops, positions(number, [sizes[i] for i in loops]), strict=True))


def finish(
    product: Product, after: Structured | None, sizes: Sequence[ir.Value], ends: Sequence[ir.Value], batch: Place, numbers: Sequence[Number]
) -> None:
    """Write a thread's numbers, or what the epilogue makes of them, where they are inside the result of `ends` rows and columns."""
    op = product.op
    store = after is None or not _is_private(op.buffers[2])
    for row, column, total in numbers:
        inside = b.value("arith.andi", [gpu.below(row, ends[0]), gpu.below(column, ends[1])], b.integer_type(1))
        with gpu.when(inside):
            place = batch | place_of(product.m, row, sizes) | place_of(product.n, column, sizes)
            loops = [place.get(x, b.index(0)) for x in range(len(op.iterators))]
            value = total if op.overwrites else _plus(op.load(2, loops), total)
            if store:
                op.write(loops, [value])
            if after is not None:
                outer = [loops[x] for x in _axes(op)]
                elements = [
                    value if buffer == op.buffers[2] else read for buffer, read in zip(after.buffers, after.read(outer), strict=True)
                ]
                after.write(outer, after.compute(outer, elements))


def zero(type_: ir.Type) -> ir.Value:
    """A constant."""
    attribute = ir.IntegerAttr.get(type_, 0) if isinstance(type_, ir.IntegerType) else ir.FloatAttr.get(type_, 0.0)
    return b.value("arith.constant", [], type_, value=attribute)


def _axes(op: Structured) -> list[int]:
    """The loops of the product that index its result's axes."""
    return [ir.AffineDimExpr(e).position for e in op.maps[2].results]


def _plus(held: ir.Value, total: ir.Value) -> ir.Value:
    return b.value("arith.addi" if isinstance(held.type, ir.IntegerType) else "arith.addf", [held, total], held.type)


def _is_private(buffer: ir.Value) -> bool:
    """Whether nobody but the product and its epilogue looks at a buffer."""
    made = b.defining_op(buffer)
    return made is not None and made.name in ALLOCATIONS and sum(use.owner.name != "memref.dealloc" for use in buffer.uses) == 2
