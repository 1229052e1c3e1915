"""tierup-order-loops: loops walk memory in its order.

    %s = linalg.generic {indexing_maps = [(i, j) -> (j, i), (i, j) -> (j)], iterator_types = [reduction, parallel]} ins(%x) outs(%zeros)

becomes

    %s = linalg.generic {indexing_maps = [(j, i) -> (j, i), (j, i) -> (j)], iterator_types = [parallel, reduction]} ins(%x) outs(%zeros)

The order is that of the first input that is read whole, where no operand's is that of the loops already: an argument in Fortran order is
the transpose of rows, which is what sums of it add up. Reductions over several dims stay where they hang on the order of these: products
are taken in order, a position is the first one.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import handed_over
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.generics import inputs_of, is_identity, iterators_of, maps_of, set_maps

_IN_ANY_ORDER = frozenset(
    f"arith.{name}" for name in ("addi", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui", "maximumf", "minimumf")
)
_REASSOCIATES = "reassoc"


@register
class OrderLoops(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.walk(function):
            if op.name == "linalg.generic":
                _order(op)


def _order(op: ir.Operation) -> None:
    maps = maps_of(op)
    wholes = [m for m in maps[: inputs_of(op)] if m.is_permutation]
    if not wholes or any(map(is_identity, maps)):
        return
    order = [ir.AffineDimExpr(e).position for e in wholes[0].results]  # the loops from the outermost to the innermost
    iterators = iterators_of(op)
    reduced = [loop for loop in order if iterators[loop] == "reduction"]
    if reduced != sorted(reduced) and not _is_free(op):
        return
    context = op.context
    moved = ir.AffineMap.get(len(order), 0, [ir.AffineDimExpr.get(order.index(d), context) for d in range(len(order))], context)
    set_maps(op, [ir.AffineMap.get(len(order), 0, [e.compose(moved) for e in m.results], context) for m in maps])
    kinds = list(ir.ArrayAttr(op.attributes["iterator_types"]))
    op.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[loop] for loop in order], context)
    for inner in b.walk(op):
        if inner.name == "linalg.index":
            dim = ir.IntegerAttr(inner.attributes["dim"])
            inner.attributes["dim"] = ir.IntegerAttr.get(dim.type, order.index(dim.value))


def _is_free(op: ir.Operation) -> bool:
    """Whether what it reduces may be taken in any order."""
    block = op.regions[0].blocks[0]
    for value in handed_over(block):
        made = b.defining_op(value)
        if made is None or made.name not in _IN_ANY_ORDER and not _is_reassociated(made):
            return False
    return True


def _is_reassociated(op: ir.Operation) -> bool:
    return op.name == "arith.addf" and _REASSOCIATES in str(op.attributes["fastmath"] if "fastmath" in op.attributes else "")
