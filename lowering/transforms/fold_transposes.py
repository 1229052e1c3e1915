"""tierup-fold-transposes: a matrix product reads its operand transposed instead of after a transposition.

    %t = linalg.generic { copy with axes swapped } ins(%w)
    %p = linalg.matmul ins(%x, %t)
becomes
    %p = linalg.matmul indexing_maps = [.., affine_map<(m, n, k) -> (n, k)>, ..] ins(%x, %w)

which BLAS does with a flag, and loops with other strides.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering.building import builders as b

_PRODUCTS = ("linalg.matmul", "linalg.batch_matmul")


@register
@dataclass(frozen=True)
class FoldTransposes(Pass):
    """Let matrix products read transposed operands in place."""

    name = "tierup-fold-transposes"

    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(b.walk(function)):
            if op.name in _PRODUCTS:
                for i in (0, 1):
                    _fold(op, i)


def _fold(op: ir.Operation, i: int) -> None:
    made = b.defining_op(op.operands[i])
    order = None if made is None else _permutation(made)
    if made is None or order is None or (op.name == "linalg.batch_matmul" and order[0] != 0):
        return
    maps = [ir.AffineMapAttr(a).value for a in ir.ArrayAttr(op.attributes["indexing_maps"])]
    # axis k of the transposed operand is axis order[k] of its source
    reads = list(maps[i].results)
    source: list[ir.AffineExpr] = [reads[0]] * len(reads)
    for k, axis in enumerate(order):
        source[axis] = reads[k]
    maps[i] = ir.AffineMap.get(maps[i].n_dims, 0, source)
    op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps], op.context)
    op.operands[i] = made.operands[0]


def _permutation(op: ir.Operation) -> list[int] | None:
    """order, when `op` only copies its one input with axis k of the result being axis order[k] of the input."""
    if op.name != "linalg.generic" or len(op.operands) != 2:
        return None
    block = op.regions[0].blocks[0]
    yielded = list(block.operations)[-1].operation
    if len(list(block.operations)) != 1 or yielded.operands[0] != block.arguments[0]:
        return None
    read, written = (ir.AffineMapAttr(a).value for a in ir.ArrayAttr(op.attributes["indexing_maps"]))
    if written != ir.AffineMap.get_identity(written.n_dims, op.context) or not read.is_permutation:
        return None
    # the input's axis k is read at loop read[k]; the result's axis is the loop
    loops = [ir.AffineDimExpr(e).position for e in read.results]
    return [loops.index(loop) for loop in range(len(loops))]
