"""In which order blocks take the tiles of a result: in groups of rows of tiles, down each column of a group first.

    group of 2:   0 2 4      blocks that run at one time share rows and columns of the operands, so that most of what they fetch lies in the
                  1 3 5      second-level cache already. In order of rows they would share one row, and fetch all columns.
                  6 7 8

The order is that of Triton's tutorial "Matrix Multiplication" (L2 cache optimizations), CUTLASS' "threadblock swizzle".
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.lowering.building.arith import minimum

_GROUP = 16  # rows of tiles: 128 blocks at work are 16 x 8 tiles of 128 x 256, as many rows as columns


def tile_of(block: ir.Value, down: ir.Value, across: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Row and column of the tile that a block's number stands for, of down x across tiles (all index)."""
    area = across * _GROUP
    first = block // area * _GROUP
    height = minimum(down - first, _GROUP)
    inside = block % area
    return first + inside % height, inside // height
