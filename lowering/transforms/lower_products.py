"""tierup-lower-products: matrix products of the torch dialect become linalg contractions.

    %1 = torch.aten.addmm %bias, %a, %b, %one, %one
becomes
    linalg.matmul of %a and %b into zeros, then a loop that adds %bias
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering.ops import by_table


@register
@dataclass(frozen=True)
class LowerProducts(Pass):
    """Lower matrix products to linalg contractions."""

    name = "tierup-lower-products"

    def run_on_function(self, function: ir.Operation) -> None:
        by_table.lower(function, "products")
