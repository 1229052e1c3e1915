"""What a reduction combines with: the op that takes the accumulator, and what leaves any value as it is under it.

    linalg.generic {reduction} { %s = arith.addf %out, %in;  linalg.yield %s }         addf, neutral -0.0

A tree of threads needs both: every thread begins with the neutral element, and partial results are combined in any order, which the
documented bound on reductions covers (tierup-relax-reductions).
"""

from __future__ import annotations

import math

import numpy as np

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import handed_over, users
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, constant, dtype_of, of

_NEUTRAL: dict[str, float | str] = {
    "arith.addf": -0.0, "arith.mulf": 1.0, "arith.maximumf": -math.inf, "arith.minimumf": math.inf,
    "arith.maxnumf": math.nan, "arith.minnumf": math.nan,
    "arith.addi": 0, "arith.muli": 1, "arith.andi": -1, "arith.ori": 0, "arith.xori": 0, "arith.maxui": 0, "arith.minui": -1,
    "arith.maxsi": "lowest", "arith.minsi": "highest",
}  # fmt: skip


@dataclass(frozen=True)
class Combiner:
    """`op`: the body's combining op, to be cloned."""

    op: ir.Operation
    type: ir.Type

    def neutral(self) -> Scalar:
        """A constant, at the insertion point."""
        dtype, number = dtype_of(self.type), _NEUTRAL[self.op.name]
        if isinstance(number, str):
            limits = np.iinfo(dtype.numpy)
            number = int(limits.min if number == "lowest" else limits.max)
        return constant(number, dtype)

    def combine(self, left: ir.Value, right: ir.Value) -> Scalar:
        """Two partial results as one, at the insertion point."""
        made = self.op.clone()
        made.operands[0], made.operands[1] = left, right
        return of(made.results[0])


def is_combining(op: ir.Operation) -> bool:
    """Whether an op is one that a `Combiner` may be of."""
    return op.name in _NEUTRAL


def combiners(op: Structured) -> list[Combiner] | None:
    """One for each buffer that a reduction writes; None where one is not a known op of its accumulator and a term without it."""
    if not len(op.op.regions):
        return None
    block = op.op.regions[0].blocks[0]
    accumulators = list(block.arguments)[op.reads :]
    yielded = handed_over(block)
    found = []
    for accumulator, value in zip(accumulators, yielded, strict=True):
        made = b.defining_op(value)
        uses = users(accumulator)
        if made is None or made.name not in _NEUTRAL or uses != [made] or made.block != block:
            return None
        found.append(Combiner(made, accumulator.type))
    return found
