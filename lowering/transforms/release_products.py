"""tierup-release-products: matrix products that were held are products again.

    %p = "tierup.held_product"(%x, %w, %zeros) {kind = "linalg.matmul", indexing_maps = [...]}
becomes
    %p = linalg.matmul ins(%x, %w) outs(%zeros)

See hold_products.py.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.ops.products.contractions import named_product
from tierup.lowering.transforms.hold_products import HELD, KIND


@register
class ReleaseProducts(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(op for op in b.walk(function) if op.name == HELD):
            with op.location, ir.InsertionPoint(op):
                made = named_product(ir.StringAttr(op.attributes[KIND]).value, list(op.operands), op.attributes["indexing_maps"])
            take_place(op, [made])
