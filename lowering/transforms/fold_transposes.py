"""tierup-fold-transposes: a matrix product reads its operand transposed instead of after a transposition.

    %t = linalg.generic { copy with axes swapped } ins(%w)
    %p = linalg.matmul ins(%x, %t)
becomes
    %p = linalg.matmul indexing_maps = [.., affine_map<(m, n, k) -> (n, k)>, ..] ins(%x, %w)

which BLAS does with a flag, and loops with other strides.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import handed_over
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.generics import NAMED_PRODUCTS, order_of, read_in_order


@register
class FoldTransposes(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(b.walk(function)):
            if op.name in NAMED_PRODUCTS:
                for i in (0, 1):
                    _fold(op, i)


def _fold(op: ir.Operation, i: int) -> None:
    made = b.defining_op(op.operands[i])
    order = None if made is None or not _copies(made) else order_of(made)
    if made is not None and order is not None and (op.name != "linalg.batch_matmul" or order[0] == 0):
        read_in_order(op, i, made.operands[0], order)


def _copies(op: ir.Operation) -> bool:
    """Whether `op` only copies elements of its first input."""
    if op.name != "linalg.generic":
        return False
    block = op.regions[0].blocks[0]
    return len(block.operations) == 1 and bool(handed_over(block)[0] == block.arguments[0])
