"""Into how many parts a loop is cut that threads share, by an estimate of its work in picoseconds of one core.

The number of threads is not asked: parts are the same whoever runs them, and so is what they give.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, maximum, minimum, select

PARTS = "tierup.parts"  # on a loop: each iteration is a part, and touches nothing of another's

PART = 10_000_000  # the least work that a part is worth: some ten times a hand-over
LEAST = 4 * PART  # what a loop has to do to be cut at all: a thread that sleeps takes some 50 us to come
MOST_PARTS = 32  # several for each of a few threads: one that comes late, or is slow, holds nobody up

# An element read or written, and four bytes' worth of an operation in vectors (benchmarks/threads.py).
_ACCESS, _OPERATION = 40, 30


def parts_of(work: Scalar, most: int = MOST_PARTS) -> Scalar:
    """The number of parts, 1 where there is too little to do; `work` as index."""
    wanted = maximum(minimum(work // PART, most), 1)
    return select(work >= LEAST, wanted, 1)


def picoseconds(op: ir.Operation) -> int:
    """What one point of a linalg op takes."""
    total = _ACCESS * len(op.operands)
    for inner in b.ops_of(op.regions[0].blocks[0]) if len(op.regions) else ():
        widths = [bits for r in inner.results if (bits := _bits(r.type))]
        total += _OPERATION * max(widths, default=32) // 32
    return total


def _bits(type_: ir.Type) -> int:
    if isinstance(type_, ir.F64Type):
        return 64
    return int(ir.IntegerType(type_).width) if isinstance(type_, ir.IntegerType) else 32
