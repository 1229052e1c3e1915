"""tierup-prepare-products: matrix products read transposes in place and start from nothing.

    %t = linalg.transpose ins(%w) outs(%e) permutation = [1, 0]
    %f = linalg.fill ins(%zero) outs(%d)
    %p = linalg.matmul ins(%x, %t) outs(%f)
becomes
    %p = linalg.matmul indexing_maps = [(m, n, k) -> (m, k), (n, k), (m, n)] ins(%x, %w) outs(%d) {tierup.beta = 0.0}

The fill is folded here, on tensors: once there are buffers, CSE shares fills, and a product that must start from zero
would start from what another one left. Only products that `tierup-call-products` hands to BLAS (f32 and f64, of a size that
pays) are touched: loops accumulate into what the fill made.
"""

from __future__ import annotations

from dataclasses import dataclass

from tierup.dialect.mlir import ir
from tierup.dialect.registry import Pass, register
from tierup.lowering import builders as b
from tierup.lowering.transforms.call_products import BETA, products


@register
@dataclass(frozen=True)
class PrepareProducts(Pass):
    """Fold transposes and zero fills into the matrix products that BLAS will compute."""

    name = "tierup-prepare-products"

    def run_on_function(self, function: ir.Operation) -> None:
        for product in products(function):
            _fold_fill(product)
            if product.name == "linalg.matmul":
                _fold_transposes(product)


def _fold_fill(product: ir.Operation) -> None:
    fill = product.operands[2].owner
    if isinstance(fill, ir.Block) or fill.name != "linalg.fill" or not _is_zero(fill.operands[0]):
        return
    product.operands[2] = fill.operands[1]
    product.attributes[BETA] = ir.FloatAttr.get(ir.F64Type.get(), 0.0)
    if not len(list(fill.results[0].uses)):
        fill.erase()


def _is_zero(value: ir.Value) -> bool:
    constant = value.owner
    if isinstance(constant, ir.Block) or constant.name != "arith.constant":
        return False
    number = constant.attributes["value"]
    return isinstance(number, ir.FloatAttr) and number.value == 0.0


def _fold_transposes(product: ir.Operation) -> None:
    m, n, k = (ir.AffineDimExpr.get(i) for i in range(3))
    reads = [(m, k), (k, n)]
    folded = False
    for i in range(2):
        transpose = product.operands[i].owner
        if isinstance(transpose, ir.Block) or transpose.name != "linalg.transpose":
            continue
        product.operands[i] = transpose.operands[0]
        reads[i] = (reads[i][1], reads[i][0])
        folded = True
        if not len(list(transpose.results[0].uses)):
            transpose.erase()
    if folded:
        maps = [ir.AffineMap.get(3, 0, list(read)) for read in (*reads, (m, n))]
        product.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(x) for x in maps])
