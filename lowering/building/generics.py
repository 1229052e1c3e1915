"""linalg ops taken apart and put together: where each operand is accessed, and in which loops."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b

NAMED_PRODUCTS = ("linalg.matmul", "linalg.batch_matmul")
# put by tierup-overwrite-products on a linalg product: the result is the product alone; what its buffer held is not read
OVERWRITES = "tierup.overwrites"


def maps_of(op: ir.Operation) -> list[ir.AffineMap]:
    """Where a linalg op accesses each operand, by the positions of its loops."""
    return [ir.AffineMapAttr(a).value for a in ir.ArrayAttr(op.attributes["indexing_maps"])]


def set_maps(op: ir.Operation, maps: Sequence[ir.AffineMap]) -> None:
    """Let a linalg op access its operands elsewhere."""
    op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps], op.context)


def iterators_of(op: ir.Operation) -> list[str]:
    """The loops of a linalg.generic: each `parallel` or `reduction`."""
    return ["parallel" if "parallel" in str(kind) else "reduction" for kind in ir.ArrayAttr(op.attributes["iterator_types"])]


def is_parallel(op: ir.Operation) -> bool:
    """Whether a linalg.generic reduces nothing."""
    return "reduction" not in iterators_of(op)


def inputs_of(op: ir.Operation) -> int:
    """How many of a linalg op's operands are inputs: the others hold its results."""
    return int(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0])


def is_identity(map_: ir.AffineMap) -> bool:
    """Whether a map gives the positions as they are."""
    return bool(map_ == ir.AffineMap.get_identity(map_.n_dims, map_.context))


def again(op: ir.Operation, operands: Sequence[ir.Value], maps: Sequence[ir.AffineMap]) -> tuple[ir.Operation, ir.Block]:
    """A linalg.generic before one that has the same loops and results, and its body, which is empty yet."""
    types = [r.type for r in op.results]
    with op.location, ir.InsertionPoint(op):
        return b.empty_generic(operands, len(operands) - len(types), maps, op.attributes["iterator_types"], types)


def order_of(op: ir.Operation) -> list[int] | None:
    """Where a linalg.generic makes each element of one element of another tensor: its result's axis k is the other's axis order[k]."""
    if op.name != "linalg.generic" or len(op.operands) != 2:
        return None
    read, written = maps_of(op)
    if not is_identity(written) or not read.is_permutation:
        return None
    loops = [ir.AffineDimExpr(e).position for e in read.results]  # the other's axis is read at that loop, which is the result's axis
    return [loops.index(loop) for loop in range(len(loops))]


def read_in_order(op: ir.Operation, operand: int, source: ir.Value, order: Sequence[int]) -> None:
    """Let a linalg op read `source` for an operand whose axis k is axis order[k] of it."""
    maps = maps_of(op)
    reads = list(maps[operand].results)
    maps[operand] = ir.AffineMap.get(maps[operand].n_dims, 0, [reads[order.index(axis)] for axis in range(len(reads))], op.context)
    set_maps(op, maps)
    op.operands[operand] = source
