"""tierup-hold-products: matrix products are kept out of what fusion does to loops.

    %p = linalg.matmul ins(%x, %w) outs(%zeros)
becomes
    %p = "tierup.held_product"(%x, %w, %zeros) {kind = "linalg.matmul", indexing_maps = [...]}

To `linalg-fuse-elementwise-ops` a product is a loop like any other: a reshape of its operand is folded into it, which makes a
linalg.generic of it, and then what computes the operand is computed again for each column; of a product with one row folding unit dims
makes a loop that goes down the columns. What BLAS will take is held while these run, and is a product again after
`tierup-release-products`.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.ops.products.contractions import is_blas_product

HELD = "tierup.held_product"
KIND = "kind"


@register
class HoldProducts(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(op for op in b.walk(function) if is_blas_product(op)):
            if not op.results:
                continue
            with op.location, ir.InsertionPoint(op):
                attributes = {KIND: ir.StringAttr.get(op.name), "indexing_maps": op.attributes["indexing_maps"]}
                held = b.op(HELD, list(op.operands), [op.results[0].type], **attributes)
            take_place(op, [held.results[0]])
