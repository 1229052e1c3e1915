"""In which order blocks take the tiles of a result: in groups of rows of tiles, down each column of a group first.

    group of 2:   0 2 4      blocks that run at one time share rows and columns of the operands, so that most of what they fetch lies in the
                  1 3 5      second-level cache already. In order of rows they would share one row, and fetch all columns.
                  6 7 8

The order is that of Triton's tutorial "Matrix Multiplication" (L2 cache optimizations), CUTLASS' "threadblock swizzle".
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.lowering import builders as b
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.index_math import divided, minus, plus, rest, times

_GROUP = 16  # rows of tiles: 128 blocks at work are 16 x 8 tiles of 128 x 256, as many rows as columns


def tile_of(block: ir.Value, down: ir.Value, across: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Row and column of the tile that a block's number stands for, of down x across tiles (all index)."""
    area = times(across, _GROUP)
    first = times(divided(block, area), _GROUP)
    height = gpu.smaller(minus(down, first), b.index(_GROUP))
    inside = rest(block, area)
    return plus(first, rest(inside, height)), divided(inside, height)
