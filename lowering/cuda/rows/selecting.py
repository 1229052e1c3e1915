"""Reductions that keep one element and where it was: the position of a maximum.

    linalg.generic {reduction} ins(%x) outs(%best, %where) {
      %better = ...                                         // of %in and %best, strictly
      %v = arith.select %better, %in, %best
      %p = arith.select %better, %position, %where          // %position = linalg.index
      linalg.yield %v, %p
    }

Two candidates compare as an element and the best so far do. Where neither is better, the one that comes first counts, as it does one after
the other. To compare a candidate with itself changes nothing, so threads without elements may begin with what the outputs hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import handed_over
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, of, select


@dataclass(frozen=True)
class Selector:
    """`better`: the body's condition; `element`, `best`: what it compares."""

    better: ir.Value
    element: ir.Value
    best: ir.Value

    def combine(self, left: Sequence[ir.Value], right: Sequence[ir.Value]) -> list[ir.Value]:
        """The better of two candidates (element, position)."""
        takes_right = self._is_better(right[0], left[0])
        takes_left = self._is_better(left[0], right[0])
        first = of(right[1]) < left[1]
        chosen = takes_right | (~takes_left & first)
        return [select(chosen, r, l) for l, r in zip(left, right, strict=True)]

    def _is_better(self, element: ir.Value, best: ir.Value) -> Scalar:
        known = {self.element: element, self.best: best}
        return of(b.once_more(self.better, known, lambda made: made.block == self.best.owner))


def selector(op: Structured) -> Selector | None:
    """None for a reduction of another kind."""
    if op.op.name != "linalg.generic" or len(op.buffers) != op.reads + 2:
        return None
    block = op.op.regions[0].blocks[0]
    best, where = list(block.arguments)[op.reads :]
    chosen = [b.defining_op(v) for v in handed_over(block)]
    if any(c is None or c.name != "arith.select" or c.block != block for c in chosen):
        return None
    (better, element, kept), (also, position, stays) = (list(c.operands) for c in chosen if c is not None)
    if better != also or kept != best or stays != where or not _is_position(op, position):
        return None
    return Selector(better, element, best) if _compares(better, (element, best), block) else None


def _is_position(op: Structured, value: ir.Value) -> bool:
    """Whether it is the number of the iteration in the one loop that is reduced."""
    made = b.defining_op(value)
    if made is not None and made.name == "arith.index_cast":
        made = b.defining_op(made.operands[0])
    if made is None or made.name != "linalg.index" or not isinstance(value.type, ir.IntegerType):
        return False
    reduced = [i for i, kind in enumerate(op.iterators) if kind == "reduction"]
    return reduced == [ir.IntegerAttr(made.attributes["dim"]).value]


def _compares(value: ir.Value, given: tuple[ir.Value, ir.Value], block: ir.Block) -> bool:
    """Whether it follows from `given` and from outside of the block, by arithmetic."""
    if value in given:
        return True
    made = b.defining_op(value)
    if made is None:
        return bool(value.owner != block)
    if made.block != block:
        return True
    return made.name.startswith("arith.") and all(_compares(v, given, block) for v in made.operands)
