"""How the operands of a product lie in memory."""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.cuda.products.product import Product


def is_straight(product: Product, operand: int, chunk: int) -> ir.Value | bool:
    """Whether an operand's lines, cut in chunks of so many elements, begin at multiples of a chunk and end with a whole one. Where that
    hangs on sizes known at run time only: an i1, built at the insertion point."""
    buffer = product.op.buffers[operand]
    type_ = ir.MemRefType(buffer.type)
    loop = product.contiguous(operand)
    group = product.k if loop in product.k else (product.m, product.n)[operand]
    strides, offset = type_.get_strides_and_offset()
    identity = ir.AffineMap.get_identity(type_.rank, type_.context)
    if not group or loop != group[-1] or strides[-1] != 1:
        return False
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    if type_.layout.value != identity if isinstance(type_.layout, ir.AffineMapAttr) else True:
        if any(s == unknown or s % chunk for s in (*strides[:-1], offset)):
            return False
    last = type_.rank - 1
    if not type_.is_dynamic_dim(last):
        return type_.get_dim_size(last) % chunk == 0
    return (b.dim(buffer, last) % chunk).equals(0)
