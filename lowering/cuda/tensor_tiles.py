"""The kernel of a product on the tensor cores: tiles of the operands on their way to shared memory while warps multiply those before.

    launch blocks(%column, %row, %batch) threads (32 * warps) {
      copies of the first tiles begin                                                         cp.async, 16 bytes each
      for each 32 of k: the tile's copies have ended, for all threads; copies of a later tile begin;
                        each warp takes its part of the tile into registers and multiplies     ldmatrix, mma.sync
      the elementwise op on the sums, stores
    }

Tiles lie in shared memory as the operands lie in memory, lines along the axis in which neighbours are neighbours; ldmatrix transposes where
mma wants it otherwise. Lines are 8 elements longer than the tile: their eight 16-byte parts then lie in different banks. Where an operand's
lines do not begin at multiples of 16 bytes (asked at run time if sizes are symbolic), elements are moved one by one.

The scheme is that of NVIDIA's CUTLASS ("Efficient GEMM in CUDA": tiles of blocks, warps and instructions, multistage copies).
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.lowering import builders as b
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda import tensor_cores as cores
from tierup.lowering.cuda.product_results import Number, Place, finish, place_of, zero
from tierup.lowering.cuda.products import Product
from tierup.lowering.cuda.structured import Structured
from tierup.lowering.cuda.tensor_cores import CHUNK, DEPTH, Scheme

_BLOCKS_Z = 65535
_TOKEN = "!nvgpu.device.async.token"


@dataclass(frozen=True)
class _Tile:
    """An operand's tiles in shared memory, [stages, lines, length + 8]. `line`: the operand's loops of m or n; `along_k`: whether lines
    are along k."""

    buffer: ir.Value
    operand: int
    line: tuple[int, ...]
    along_k: bool
    side: int  # elements along m or n


def launch(product: Product, after: Structured | None, scheme: Scheme) -> None:
    """Launch the kernel, built at the insertion point."""
    for dialect in ("nvgpu", "vector"):
        ir.Context.current.get_dialect_descriptor(dialect)  # loads it
    op = product.op
    sizes = op.sizes()
    m, n, k, batch = (gpu.product([sizes[i] for i in loops]) for loops in (product.m, product.n, product.k, product.batch))
    along_k = [product.contiguous(i) in product.k for i in (0, 1)]
    types = []
    for i, side in enumerate((scheme.rows, scheme.columns)):
        lines, length = (side, DEPTH) if along_k[i] else (DEPTH, side)
        types.append(gpu.shared_type([scheme.stages, lines, length + CHUNK], ir.ShapedType(op.buffers[i].type).element_type))
    grid = [
        gpu.ceil_div(n, b.index(scheme.columns)), gpu.ceil_div(m, b.index(scheme.rows)), gpu.smaller(batch, b.index(_BLOCKS_Z))
    ]  # fmt: skip
    with gpu.launch(grid, [b.index(scheme.threads)], types) as here:
        tiles = [
            _Tile(here.shared[0], 0, product.m, along_k[0], scheme.rows), _Tile(here.shared[1], 1, product.n, along_k[1], scheme.columns)
        ]  # fmt: skip
        corner = [_times(here.block[1], scheme.rows), _times(here.block[0], scheme.columns)]
        with gpu.strided(here.block[2], batch, here.blocks[2]) as number:
            at = place_of(product.batch, number, sizes)
            _Kernel(product, scheme, tiles, here.thread[0], corner, [m, n], k, sizes, at).run(after)


@dataclass(frozen=True)
class _Kernel:
    """`corner`: the first row and column of the block's tile; `ends`: how many rows and columns there are."""

    product: Product
    scheme: Scheme
    tiles: list[_Tile]
    thread: ir.Value
    corner: list[ir.Value]
    ends: list[ir.Value]
    k: ir.Value
    sizes: Sequence[ir.Value]
    batch: Place

    def run(self, after: Structured | None) -> None:
        scheme = self.scheme
        ahead = scheme.stages - 1
        with gpu.strided(b.index(0), b.index(ahead), b.index(1)) as stage:
            self._fetch(stage, _times(stage, DEPTH))
            _close_group(running=ahead - 1)
        lane, warp = _rest(self.thread, gpu.WARP), _divided(self.thread, gpu.WARP)
        starts = [
            _times(_divided(warp, scheme.across), scheme.rows // scheme.down),
            _times(_rest(warp, scheme.across), scheme.columns // scheme.across),
        ]

        def tile_by_tile(number: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
            gpu.barrier()  # all copies of this tile are seen, and nobody reads the one that is overwritten next
            later = _plus(number, ahead)
            self._fetch(_rest(later, scheme.stages), _times(later, DEPTH))
            sums = self._multiply(_rest(number, scheme.stages), lane, starts, sums)
            _close_group(running=ahead - 1)
            return sums

        count = scheme.blocks_down * scheme.blocks_across
        tiles = gpu.ceil_div(self.k, b.index(DEPTH))
        sums = gpu.carried((b.index(0), tiles, b.index(1)), [cores.no_sums() for _ in range(count)], tile_by_tile)
        _close_group(running=0)
        gpu.barrier()  # the next of the batch begins anew
        finish(self.product, after, self.sizes, self.ends, self.batch, self._numbers(lane, starts, sums))

    def _fetch(self, stage: ir.Value, depth: ir.Value) -> None:
        """Begin the copies of both operands' tiles at a position along k into a stage, if there is anything."""
        with gpu.when(gpu.below(depth, self.k)):
            self._fetch_tiles(stage, depth)

    def _fetch_tiles(self, stage: ir.Value, depth: ir.Value) -> None:
        for i, tile in enumerate(self.tiles):
            where = (tile, stage, depth, self.corner[i], self.ends[i])
            straight = self._is_straight(tile)
            if straight is True:
                self._copy(*where)
            elif straight is False:
                self._move(*where)
            else:
                branch = b.op("scf.if", [straight], regions=2)
                for region, how in zip(branch.regions, (self._copy, self._move), strict=True):
                    with ir.InsertionPoint(region.blocks.append()):
                        how(*where)
                        b.op("scf.yield")

    def _copy(self, tile: _Tile, stage: ir.Value, depth: ir.Value, first: ir.Value, end: ir.Value) -> None:
        """The threads copy eight elements each, or as many zeros, until the tile is whole."""
        chunks, per_line = tile.side * DEPTH // CHUNK, (DEPTH if tile.along_k else tile.side) // CHUNK
        source = self.product.op.buffers[tile.operand]
        for start in range(0, chunks, self.scheme.threads):
            number = _plus(self.thread, start)
            line, inside = _divided(number, per_line), _times(_rest(number, per_line), CHUNK)
            places, there = self._source(tile, depth, first, end, line, inside)
            taken = b.value("arith.select", [there, b.index(CHUNK), b.index(0)], b.index_type())
            segments = ir.DenseI32ArrayAttr.get([1, 3, 1, len(places), 1])
            b.op(
                "nvgpu.device_async_copy", [tile.buffer, stage, line, inside, source, *places, taken], [ir.Type.parse(_TOKEN)],
                dstElements=ir.IntegerAttr.get(b.index_type(), CHUNK), bypassL1=ir.UnitAttr.get(), operandSegmentSizes=segments,
            )  # fmt: skip

    def _move(self, tile: _Tile, stage: ir.Value, depth: ir.Value, first: ir.Value, end: ir.Value) -> None:
        """The threads move one element each, or a zero, until the tile is whole."""
        element = ir.ShapedType(tile.buffer.type).element_type
        length = DEPTH if tile.along_k else tile.side
        with gpu.strided(self.thread, b.index(tile.side * DEPTH), b.index(self.scheme.threads)) as number:
            line, inside = _divided(number, length), _rest(number, length)
            places, there = self._source(tile, depth, first, end, line, inside)
            read = b.value("memref.load", [self.product.op.buffers[tile.operand], *places], element)
            b.op("memref.store", [b.value("arith.select", [there, read, zero(element)], element), tile.buffer, stage, line, inside])

    def _source(
        self, tile: _Tile, depth: ir.Value, first: ir.Value, end: ir.Value, line: ir.Value, inside: ir.Value
    ) -> tuple[list[ir.Value], ir.Value]:
        """Where an element of a tile lies in memory, and whether it is there; where it is not, some place that is."""
        side, deep = (line, inside) if tile.along_k else (inside, line)
        along, below = (b.value("arith.addi", pair, b.index_type()) for pair in ([first, side], [depth, deep]))
        there = b.value("arith.andi", [gpu.below(along, end), gpu.below(below, self.k)], b.integer_type(1))
        op = self.product.op
        along, below = (b.value("arith.select", [there, v, b.index(0)], b.index_type()) for v in (along, below))
        place = self.batch | place_of(tile.line, along, self.sizes) | place_of(self.product.k, below, self.sizes)
        loops = [ir.AffineDimExpr(e).position for e in op.maps[tile.operand].results]
        return [place[i] for i in loops], there

    def _is_straight(self, tile: _Tile) -> ir.Value | bool:
        """Whether an operand's lines, cut in eights, begin at multiples of 16 bytes and end with a whole eight."""
        buffer = self.product.op.buffers[tile.operand]
        type_ = ir.MemRefType(buffer.type)
        loop = self.product.contiguous(tile.operand)
        group = self.product.k if tile.along_k else tile.line
        strides, offset = type_.get_strides_and_offset()
        identity = ir.AffineMap.get_identity(type_.rank, type_.context)
        if loop != group[-1] or strides[-1] != 1:
            return False
        unknown = ir.ShapedType.get_dynamic_stride_or_offset()
        if type_.layout.value != identity if isinstance(type_.layout, ir.AffineMapAttr) else True:
            if any(s == unknown or s % CHUNK for s in (*strides[:-1], offset)):
                return False
        last = type_.rank - 1
        if not type_.is_dynamic_dim(last):
            return type_.get_dim_size(last) % CHUNK == 0
        return gpu.same(_rest(b.dim(buffer, last), CHUNK), b.index(0))

    def _multiply(self, stage: ir.Value, lane: ir.Value, starts: list[ir.Value], sums: list[ir.Value]) -> list[ir.Value]:
        """A warp's products of one tile."""
        scheme, found = self.scheme, list(sums)
        for deep in range(0, DEPTH, cores.INNER):
            left = [self._matrices(0, stage, lane, starts[0], i * cores.ROWS, deep) for i in range(scheme.blocks_down)]
            right: list[ir.Value] = []
            for j in range(0, scheme.blocks_across, 2):
                pair = self._matrices(1, stage, lane, starts[1], j * cores.COLUMNS, deep)
                right += [cores.half_of(pair, 0), cores.half_of(pair, 1)]
            for i, x in enumerate(left):
                for j, y in enumerate(right):
                    which = i * scheme.blocks_across + j
                    found[which] = cores.multiply_add(x, y, found[which])
        return found

    def _matrices(self, operand: int, stage: ir.Value, lane: ir.Value, start: ir.Value, first: int, deep: int) -> ir.Value:
        """16 x 16 elements of an operand: of x the halves along m vary first, of y those along k."""
        tile = self.tiles[operand]
        row, matrix = _rest(lane, CHUNK), _divided(lane, CHUNK)
        fast, slow = (_times(half, CHUNK) for half in (_rest(matrix, 2), _divided(matrix, 2)))
        side, along = (fast, slow) if operand == 0 else (slow, fast)
        if tile.along_k:
            side = b.value("arith.addi", [side, row], b.index_type())
        else:
            along = b.value("arith.addi", [along, row], b.index_type())
        side, along = _plus(b.value("arith.addi", [start, side], b.index_type()), first), _plus(along, deep)
        return cores.four_matrices(tile.buffer, [stage, *((side, along) if tile.along_k else (along, side))], transpose=not tile.along_k)

    def _numbers(self, lane: ir.Value, starts: list[ir.Value], sums: list[ir.Value]) -> list[Number]:
        corner = [b.value("arith.addi", pair, b.index_type()) for pair in zip(self.corner, starts, strict=True)]
        row = b.value("arith.addi", [corner[0], _divided(lane, 4)], b.index_type())
        column = b.value("arith.addi", [corner[1], _times(_rest(lane, 4), 2)], b.index_type())
        rows = [[_plus(row, i * cores.ROWS + half * 8) for half in (0, 1)] for i in range(self.scheme.blocks_down)]
        columns = [[_plus(column, j * cores.COLUMNS + odd) for odd in (0, 1)] for j in range(self.scheme.blocks_across)]
        numbers = []
        for i, halves in enumerate(rows):
            for half, here in enumerate(halves):
                for j, pair in enumerate(columns):
                    for odd, there in enumerate(pair):
                        numbers.append((here, there, cores.number_of(sums[i * len(columns) + j], half, odd)))
        return numbers


def _close_group(*, running: int) -> None:
    """The thread's copies since its last group are one. Wait for all its groups but the newest `running`."""
    token = b.value("nvgpu.device_async_create_group", [], ir.Type.parse(_TOKEN))  # printed, it parses again only if no result follows
    b.op("nvgpu.device_async_wait", [token], numGroups=ir.IntegerAttr.get(b.integer_type(32), running))


def _plus(number: ir.Value, more: int) -> ir.Value:
    return b.value("arith.addi", [number, b.index(more)], b.index_type()) if more else number


def _times(number: ir.Value, factor: int) -> ir.Value:
    return b.value("arith.muli", [number, b.index(factor)], b.index_type())


def _divided(number: ir.Value, by: int) -> ir.Value:
    return b.value("arith.divui", [number, b.index(by)], b.index_type())


def _rest(number: ir.Value, by: int) -> ir.Value:
    return b.value("arith.remui", [number, b.index(by)], b.index_type())
