"""A block for each tile of a result, and in which order blocks take them: in groups of rows of tiles, down each column of a group first.

    group of 2:   0 2 4      blocks that run at one time share rows and columns of the operands, so that most of what they fetch lies in the
                  1 3 5      second-level cache already. In order of rows they would share one row, and fetch all columns.
                  6 7 8

The order is that of Triton's tutorial "Matrix Multiplication" (L2 cache optimizations), CUTLASS' "threadblock swizzle".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, minimum
from tierup.lowering.building.loops import either
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.products.product import Operand, Product, length
from tierup.lowering.cuda.products.results import Place, place_of
from tierup.lowering.cuda.products.schemes import RegisterScheme, Scheme

_GROUP = 16  # rows of tiles: 128 blocks at work are 16 x 8 tiles of 128 x 256, as many rows as columns


def tile_of(block: Scalar, down: Scalar, across: Scalar) -> tuple[Scalar, Scalar]:
    """Row and column of the tile that a block's number stands for, of down x across tiles (all index)."""
    area = across * _GROUP
    first = block // area * _GROUP
    height = minimum(down - first, _GROUP)
    inside = block % area
    return first + inside % height, inside // height


@dataclass(frozen=True)
class Side:
    """What a block has of an operand, for one place of the batch. `corner`, `end`: the first row (or column) of the block's tile, and how
    many there are. `shared`: the operand's tiles in shared memory."""

    shared: ir.Value
    thread: Scalar
    corner: Scalar
    end: Scalar
    k: Scalar
    sizes: list[Scalar]
    batch: Place

    def places(self, operand: Operand, along: ir.Value, below: ir.Value) -> list[ir.Value]:
        """Where the element at a position along m or n and one along k lies in memory."""
        sizes = self.sizes
        return operand.places(self.batch | place_of(operand.line, along, sizes) | place_of(operand.product.k, below, sizes))


@contextmanager
def launched(product: Product, scheme: Scheme | RegisterScheme, shared: Sequence[ir.Type]) -> Iterator[list[Side]]:
    """A launch with a block for each tile; blocks go on to further places of the batch. `shared`: a buffer for each operand."""
    sizes = product.op.sizes()
    m, n, k, batch = (gpu.product([sizes[i] for i in loops]) for loops in (product.m, product.n, product.k, product.batch))
    sides = (scheme.rows, scheme.columns)
    down, across = (gpu.ceil_div(size, side) for size, side in zip((m, n), sides, strict=True))
    grid = [down * across, b.index(1), minimum(batch, gpu.MOST_BLOCKS_Y)]
    with gpu.launch(grid, [b.index(scheme.threads)], shared) as here:
        tile = tile_of(here.block[0], down, across)
        corner = [number * side for number, side in zip(tile, sides, strict=True)]
        with gpu.strided(here.block[2], batch, here.blocks[2]) as number:
            at = place_of(product.batch, number, sizes)
            yield [Side(here.shared[i], here.thread[0], corner[i], (m, n)[i], k, sizes, at) for i in (0, 1)]


def summed(
    product: Product, k: Scalar, types: Sequence[ir.Type], sums: Callable[[], Sequence[Any]], nothing: Callable[[], Sequence[Any]]
) -> Sequence[Any]:
    """What a thread sums along k: `nothing` where there is nothing to load."""
    return sums() if length(product.op, product.k) else either(b.index(0) < k, types, sums, nothing)
