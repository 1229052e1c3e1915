"""The kernel of a product on the tensor cores: tiles of the operands on their way to shared memory while warps multiply those before.

    launch blocks(%tile, 1, %batch) threads (32 * warps) {
      copies of the first tiles begin                                                             cp.async, 16 bytes each
      the operands of the first step go into registers                                            ldmatrix
      for each tile along k, for each of its steps:
          the operands of the next step go into registers, before the last one's of the next tile, whose copies have ended for all threads
          copies of a later tile begin, in the first step
          the step's operands are multiplied                                                      mma.sync
      the elementwise op on the sums, stores
    }

So neither the bus nor shared memory is waited for while there is something to multiply, and a tile costs one barrier: who passes the one
before a tile's last step has read the whole tile before, whose memory is copied to next.

The scheme is that of NVIDIA's CUTLASS ("Efficient GEMM in CUDA": tiles of blocks, warps and instructions, multistage copies, registers of
two steps).
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar
from tierup.lowering.building.loops import carried
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.products import tensor_cores as cores
from tierup.lowering.cuda.products.product import Product
from tierup.lowering.cuda.products.results import Line, finish
from tierup.lowering.cuda.products.schemes import Scheme
from tierup.lowering.cuda.products.staged_tiles import ROWS_OF_MATRIX, Layout, StagedTiles, close_group, following
from tierup.lowering.cuda.products.tile_order import launched, summed


def layouts(product: Product, scheme: Scheme) -> list[Layout]:
    """How the tiles of both operands lie in shared memory."""
    depth = scheme.steps * cores.operands_of(ir.ShapedType(product.op.buffers[0].type).element_type).inner
    return [Layout(product, i, scheme.stages, side, depth) for i, side in enumerate((scheme.rows, scheme.columns))]


def launch(product: Product, after: Structured | None, scheme: Scheme, straight: Sequence[ir.Value | bool]) -> None:
    """Launch the kernel, built at the insertion point. `straight`: of each operand, whether its lines begin at multiples of 16 bytes."""
    for dialect in ("nvgpu", "nvvm", "vector"):
        ir.Context.current.get_dialect_descriptor(dialect)  # loads it
    lying = layouts(product, scheme)
    with launched(product, scheme, [each.shared_type for each in lying]) as found:
        tiles = [StagedTiles(each, scheme.threads, at, lies) for each, at, lies in zip(lying, found, straight, strict=True)]
        _Kernel(product, scheme, tiles).run(after)


@dataclass(frozen=True)
class _Kernel:
    """What a block does for one of the batch. A step's operands are x for each 16 rows of the warp, then y for each 8 columns."""

    product: Product
    scheme: Scheme
    tiles: list[StagedTiles]

    def run(self, after: Structured | None) -> None:
        scheme, at = self.scheme, self.tiles[0].at
        lane, warp = at.thread % gpu.WARP, at.thread // gpu.WARP
        starts = [warp // scheme.across * (scheme.rows // scheme.down), warp % scheme.across * (scheme.columns // scheme.across)]
        count = scheme.blocks_down * scheme.blocks_across
        types = [cores.sums_type()] * count
        sums = summed(self.product, at.k, types, lambda: self._sums(lane, starts), lambda: [cores.no_sums()] * count)
        ends = [tile.at.end for tile in self.tiles]
        finish(self.product, after, at.sizes, ends, (scheme.rows, scheme.columns), at.batch, self._lines(lane, starts, sums))

    def _sums(self, lane: ir.Value, starts: list[ir.Value]) -> list[ir.Value]:
        scheme, depth = self.scheme, self.tiles[0].layout.depth
        ahead = scheme.stages - 1
        with gpu.strided(b.index(0), b.index(ahead), b.index(1)) as stage:
            self._fetch(stage, stage * depth)
            close_group(running=ahead - 1)
        gpu.barrier()
        first = self._operands(b.index(0), lane, starts, 0)
        count = scheme.blocks_down * scheme.blocks_across

        def tile_by_tile(number: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            (read, written), operands, sums = carried[:2], carried[2 : 2 + len(first)], carried[2 + len(first) :]
            self._fetch(written, (number + ahead) * depth)
            for after in (*range(1, scheme.steps), 0):
                if after == 0:
                    close_group(running=ahead - 1)
                    gpu.barrier()  # all copies of the next tile are seen, and nobody reads the one that is overwritten next
                    read = following(read, scheme.stages)
                later = self._operands(read, lane, starts, after)
                sums = self._multiply(operands, sums)
                operands = later
            return [read, following(written, scheme.stages), *operands, *sums]

        start = [b.index(0), b.index(ahead), *first, *[cores.no_sums()] * count]
        span = b.index(0), gpu.ceil_div(self.tiles[0].at.k, depth), b.index(1)
        found = carried(span, start, tile_by_tile)
        if self.product.batch:
            close_group(running=0)
            gpu.barrier()  # the next of the batch begins anew
        return found[2 + len(first) :]

    def _fetch(self, stage: ir.Value, depth: ir.Value) -> None:
        for tile in self.tiles:
            tile.fetch(stage, depth)

    def _operands(self, stage: ir.Value, lane: ir.Value, starts: list[ir.Value], step: int) -> list[ir.Value]:
        """What a warp multiplies in a step of the tile in a stage."""
        scheme = self.scheme
        found = [self._matrices(0, stage, lane, starts[0], i * cores.ROWS, step) for i in range(scheme.blocks_down)]
        for j in range(0, scheme.blocks_across, 2):
            pair = self._matrices(1, stage, lane, starts[1], j * cores.COLUMNS, step)
            found += [cores.half_of(pair, 0), cores.half_of(pair, 1)]
        return found

    def _multiply(self, operands: list[ir.Value], sums: list[ir.Value]) -> list[ir.Value]:
        """The step's products added to the warp's sums."""
        down, across = self.scheme.blocks_down, self.scheme.blocks_across
        operands = [cores.rounded(v) for v in operands]
        left, right = operands[:down], operands[down:]
        return [cores.multiply_add(left[i // across], right[i % across], total) for i, total in enumerate(sums)]

    def _matrices(self, operand: int, stage: ir.Value, lane: ir.Value, start: ir.Value, first: int, step: int) -> ir.Value:
        """16 x 32 bytes of an operand as four matrices: of x the halves along m vary first, of y those along k."""
        layout, shared = self.tiles[operand].layout, self.tiles[operand].at.shared
        if layout.kind.is_tf32 and not layout.along_k:
            return self._gathered(operand, stage, lane, start, first, step)
        row, matrix = lane % ROWS_OF_MATRIX, lane // ROWS_OF_MATRIX
        fast, slow = matrix % 2, matrix // 2
        side, along = (fast, slow) if operand == 0 else (slow, fast)
        start = start + first
        if layout.along_k:
            line, chunk = start + side * ROWS_OF_MATRIX + row, along + 2 * step
        else:
            line = along * ROWS_OF_MATRIX + row + layout.kind.inner * step
            chunk = start // layout.kind.chunk + side
        return cores.four_matrices(shared, [stage, line, layout.swizzled(row, chunk)], transpose=not layout.along_k)

    def _gathered(self, operand: int, stage: ir.Value, lane: ir.Value, start: ir.Value, first: int, step: int) -> ir.Value:
        """The same of floats whose lines are along m or n: ldmatrix transposes halves only."""
        layout, shared = self.tiles[operand].layout, self.tiles[operand].at.shared
        chunk = layout.kind.chunk
        deep, side = lane % 4, start + first + lane // 4
        found = []
        for matrix in range(4):
            fast, slow = matrix % 2, matrix // 2
            beside, below = (fast, slow) if operand == 0 else (slow, fast)
            here = side + ROWS_OF_MATRIX * beside
            at = layout.swizzled(deep, here // chunk) + here % chunk
            line = deep + (layout.kind.inner * step + chunk * below)
            found.append(b.load(shared, stage, line, at))
        return cores.gathered(found)

    def _lines(self, lane: ir.Value, starts: list[ir.Value], sums: Sequence[ir.Value]) -> list[Line]:
        corner = [tile.at.corner + start for tile, start in zip(self.tiles, starts, strict=True)]
        row, column = corner[0] + lane // 4, corner[1] + lane % 4 * 2
        across = self.scheme.blocks_across
        lines: list[Line] = []
        for i in range(self.scheme.blocks_down):
            for half in (0, 1):
                pairs: list[list[tuple[Scalar, Scalar]]] = []
                for j in range(across):
                    total = sums[i * across + j]
                    pairs.append([(column + (j * cores.COLUMNS + odd), cores.number_of(total, half, odd)) for odd in (0, 1)])
                lines.append((row + (i * cores.ROWS + half * 8), pairs))
        return lines
