"""tierup-products-to-tiles: a matrix product becomes a kernel whose blocks compute tiles of the result from tiles of the operands.

    linalg.matmul {tierup.overwrites} ins(%x : memref<?x?xf32>, %y : memref<?x?xf32>) outs(%z : memref<?x?xf32>)
    linalg.generic {parallel, parallel} ins(%z, %bias) outs(%r)                       // nobody else reads %z
becomes
    gpu.launch blocks(%column, %row, %batch) ... threads (16, 16) {
      for each 16 of k: the threads put 64 x 16 of %x and 16 x 64 of %y into shared memory, wait for each other,
                        and each adds 16 outer products of 4 by 4 to its 16 numbers
      the elementwise op on these numbers; %z is never written
    }

What reads the result right after, element by element, is the kernel's epilogue. Operands lie as they lie: plain, transposed, strided, in
batches; threads read along the axis in which neighbours are neighbours in memory. Tiles at the edges read nothing beyond: they take zeros.
Products of f16 and bf16 with f32 sums run on the tensor cores where the module's `tierup.target` has them (lowering/cuda/tensor_tiles.py),
those of f32 too where the module has the attribute `tierup.tf32`, which lets operands be rounded to 10 bits of mantissa;
for symbolic sizes there are two such kernels, for large results and for small ones, of which the host takes one.
A product with one row or one column is a reduction, and left to tierup-reductions-to-blocks.

The scheme is the classic one of Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra" (2008): shared memory makes each
element of an operand cross the bus once per tile, registers make each element of shared memory serve four multiplications.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering import builders as b
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda import tensor_tiles
from tierup.lowering.cuda.epilogues import epilogue_of
from tierup.lowering.cuda.module_target import of_function, takes_tf32
from tierup.lowering.cuda.product_results import finish, place_of, zero
from tierup.lowering.cuda.product_schemes import LARGE, SMALL, has_symbolic_tiles, large_is_worth, multiplies_on_tensor_cores, scheme_of
from tierup.lowering.cuda.products import Product, product_of
from tierup.lowering.cuda.structured import Structured

_SIDE = 16  # threads of a block along each of m and n
_EACH = 4  # numbers of the result that a thread has, along each of m and n
_TILE = _SIDE * _EACH
_DEPTH = 16  # of a tile along k
_PAD = 4  # elements between a tile's lines: columns then lie in different banks, and lines still begin at 16 bytes
_BLOCKS_Z = 65535
Numbers = list[list[ir.Value]]


@register
@dataclass(frozen=True)
class ProductsToTiles(Pass):
    """Launch a kernel of tiles for each matrix product on buffers."""

    name = "tierup-products-to-tiles"

    def run_on_function(self, function: ir.Operation) -> None:
        target = of_function(function)
        ops = [op for op in gpu.host_ops(function) if op.name.startswith("linalg.")]
        gone: set[int] = set()  # epilogues: their places in the list
        for i, op in enumerate(ops):
            product = product_of(op) if i not in gone else None
            if product is None:
                continue
            after = epilogue_of(product)
            if after is not None:
                gone.add(next(j for j in range(i + 1, len(ops)) if j not in gone and ops[j] == after.op))
            place = op if after is None else after.op
            with op.location, ir.InsertionPoint(place):
                if multiplies_on_tensor_cores(product, target, tf32=takes_tf32(function)):
                    _launch_on_tensor_cores(product, after)
                else:
                    _launch(product, after)
            op.erase()
            if after is not None:
                after.op.erase()


@dataclass(frozen=True)
class _Tile:
    """A tile of an operand in shared memory, _DEPTH x _TILE. `line`: the operand's loops of m or n; `along_k`: whether neighbours in memory
    are neighbours along k."""

    buffer: ir.Value
    operand: int
    line: tuple[int, ...]
    along_k: bool


def _launch_on_tensor_cores(product: Product, after: Structured | None) -> None:
    """One launch; where sizes are symbolic and may be large, two, of which the host takes one."""
    straight = [layout.is_straight() for layout in tensor_tiles.layouts(product, SMALL)]
    scheme = scheme_of(product, straight=straight == [True, True])
    if scheme is not SMALL or False in straight or not has_symbolic_tiles(product):
        tensor_tiles.launch(product, after, scheme, straight)
        return
    condition = large_is_worth(product)
    for lies in straight:
        if lies is not True:
            condition = b.value("arith.andi", [condition, lies], b.integer_type(1))
    for region, how, lie in zip(b.op("scf.if", [condition], regions=2).regions, (LARGE, SMALL), ([True, True], straight), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            tensor_tiles.launch(product, after, how, lie)
            b.op("scf.yield")


def _launch(product: Product, after: Structured | None) -> None:
    op = product.op
    _contract(op.op)
    sizes = op.sizes()
    m, n, k, batch = (gpu.product([sizes[i] for i in loops]) for loops in (product.m, product.n, product.k, product.batch))
    element = [ir.ShapedType(buffer.type).element_type for buffer in op.buffers]
    shared = [gpu.shared_type([_DEPTH, _TILE + _PAD], element[i]) for i in (0, 1)]
    grid = [gpu.ceil_div(n, b.index(_TILE)), gpu.ceil_div(m, b.index(_TILE)), gpu.smaller(batch, b.index(_BLOCKS_Z))]
    with gpu.launch(grid, [b.index(_SIDE), b.index(_SIDE)], shared) as here:
        tiles = [
            _Tile(here.shared[i], i, line, product.contiguous(i) in product.k) for i, line in ((0, product.m), (1, product.n))
        ]
        corner = [b.value("arith.muli", [here.block[axis], b.index(_TILE)], b.index_type()) for axis in (1, 0)]
        with gpu.strided(here.block[2], batch, here.blocks[2]) as number:
            at = place_of(product.batch, number, sizes)
            sums = _sums(product, here, tiles, corner, (m, n), k, sizes, at)
            rows, columns = ([_result(here.thread[axis], corner[c], i) for i in range(_EACH)] for axis, c in ((1, 0), (0, 1)))
            lines = [(rows[i], [[(columns[j], total) for j, total in enumerate(row)]]) for i, row in enumerate(sums)]
            finish(product, after, sizes, (m, n), (_TILE, _TILE), at, lines)


def _contract(op: ir.Operation) -> None:
    """Multiplications may fuse with additions: it is one op of the program."""
    for inner in b.walk(op):
        if inner.name in ("arith.mulf", "arith.addf"):
            inner.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<contract>")


def _sums(
    product: Product, here: gpu.Here, tiles: list[_Tile], corner: list[ir.Value], ends: tuple[ir.Value, ir.Value], k: ir.Value,
    sizes: Sequence[ir.Value], batch: dict[int, ir.Value],
) -> Numbers:  # fmt: skip
    """The thread's numbers of the tile: the loop along k."""
    op = product.op
    type_ = ir.ShapedType(op.buffers[2].type).element_type
    start = [zero(type_) for _ in range(_EACH * _EACH)]

    def tile_by_tile(depth: ir.Value, so_far: list[ir.Value]) -> list[ir.Value]:
        thread = b.value(
            "arith.addi", [b.value("arith.muli", [here.thread[1], b.index(_SIDE)], b.index_type()), here.thread[0]], b.index_type()
        )
        for tile, first, end in zip(tiles, corner, ends, strict=True):
            _fill(product, tile, thread, first, end, depth, k, sizes, batch)
        gpu.barrier()

        def line_by_line(line: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
            left, right = (
                [_shared(tile, line, here.thread[axis], i) for i in range(_EACH)] for tile, axis in zip(tiles, (1, 0), strict=True)
            )
            return [_add(op, left[i // _EACH], right[i % _EACH], total) for i, total in enumerate(sums)]

        sums = gpu.unrolled(_DEPTH, so_far, line_by_line)
        gpu.barrier()
        return sums

    found = gpu.carried((b.index(0), k, b.index(_DEPTH)), start, tile_by_tile)
    return [found[i * _EACH : (i + 1) * _EACH] for i in range(_EACH)]


def _fill(
    product: Product, tile: _Tile, thread: ir.Value, first: ir.Value, end: ir.Value, depth: ir.Value, k: ir.Value,
    sizes: Sequence[ir.Value], batch: dict[int, ir.Value],
) -> None:  # fmt: skip
    """The block's threads put a tile into shared memory, each as many elements; beyond the operand's edges zeros."""
    op = product.op
    inner, outer = (_DEPTH, _TILE) if tile.along_k else (_TILE, _DEPTH)
    element = ir.ShapedType(tile.buffer.type).element_type
    found = []
    for i in range(inner * outer // (_SIDE * _SIDE)):
        number = b.value("arith.addi", [thread, b.index(i * _SIDE * _SIDE)], b.index_type())
        inside = b.value("arith.remui", [number, b.index(inner)], b.index_type())
        line = b.value("arith.divui", [number, b.index(inner)], b.index_type())
        deep, side = (inside, line) if tile.along_k else (line, inside)
        along, below = (b.value("arith.addi", pair, b.index_type()) for pair in ([first, side], [depth, deep]))
        there = b.value("arith.andi", [gpu.below(along, end), gpu.below(below, k)], b.integer_type(1))
        along, below = _within(along, end), _within(below, k)
        place = batch | place_of(tile.line, along, sizes)
        place |= place_of(product.k, below, sizes)
        read = op.load(tile.operand, [place.get(i, below) for i in range(len(op.iterators))])  # the map looks at these loops alone
        found.append((b.value("arith.select", [there, read, zero(element)], element), deep, side))
    for value, deep, side in found:  # after all loads: they wait for memory together
        b.op("memref.store", [value, tile.buffer, deep, side])


def _within(position: ir.Value, end: ir.Value) -> ir.Value:
    """The position, or the last one: what is read there is not used."""
    return gpu.smaller(position, b.value("arith.subi", [end, b.index(1)], b.index_type()))


def _shared(tile: _Tile, line: ir.Value, thread: ir.Value, i: int) -> ir.Value:
    side = b.value("arith.addi", [b.value("arith.muli", [thread, b.index(_EACH)], b.index_type()), b.index(i)], b.index_type())
    return b.value("memref.load", [tile.buffer, line, side], ir.ShapedType(tile.buffer.type).element_type)


def _add(op: Structured, left: ir.Value, right: ir.Value, total: ir.Value) -> ir.Value:
    """total + left * right by the op's own body, the addition of one product rounded once or twice as the device likes."""
    return op.compute([], [left, right, total])[0]


def _result(thread: ir.Value, corner: ir.Value, i: int) -> ir.Value:
    inside = b.value("arith.addi", [b.value("arith.muli", [thread, b.index(_EACH)], b.index_type()), b.index(i)], b.index_type())
    return b.value("arith.addi", [corner, inside], b.index_type())
