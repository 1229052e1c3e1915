"""The kernel of a product without tensor cores: a thread keeps some numbers of the result in registers and adds to them, for each k, the
products of some elements of a column of x and of a row of y.

    launch blocks(%tile, 1, %batch) threads (256) {
      the threads put the first rows x depth of x and depth x columns of y into shared memory
      for each depth of k: they load the next tiles into registers; each adds depth outer products to its numbers;
                           they put what they loaded into the other half of shared memory, and wait for each other
      the elementwise op on the numbers, stores
    }

So loads are on their way while a tile is multiplied, and a tile costs one barrier. In shared memory lines are along m or n, so that a
thread fetches four neighbours at once; threads' fours stand side by side, for which reason a thread's second four are half a tile away.

The scheme is that of Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra" (2008): shared memory makes each element of an
operand cross the bus once per tile, registers make each element of shared memory serve several multiplications. Loads a tile ahead are
CUTLASS' ("Efficient GEMM in CUDA", software pipelining).
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import bytes_of, select, zero
from tierup.lowering.building.loops import carried, either
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.products.operand_lines import is_straight
from tierup.lowering.cuda.products.product import Operand, Product
from tierup.lowering.cuda.products.results import Line, finish
from tierup.lowering.cuda.products.schemes import RegisterScheme
from tierup.lowering.cuda.products.tile_order import Side, launched, summed

_PAD = 4  # elements between a tile's lines: columns then lie in different banks, and lines still begin at 16 bytes
_FOUR = 4  # neighbours that a thread has of a tile's side
_CHUNK_BYTES = 16


def launch(product: Product, after: Structured | None, scheme: RegisterScheme) -> None:
    """Launch the kernel, built at the insertion point."""
    ir.Context.current.get_dialect_descriptor("vector")  # loads it
    _contract(product.op.op)
    sides = (scheme.rows, scheme.columns)
    elements = [ir.ShapedType(buffer.type).element_type for buffer in product.op.buffers[:2]]
    shared = [gpu.shared_type([2, scheme.depth, side + _PAD], element) for side, element in zip(sides, elements, strict=True)]
    with launched(product, scheme, shared) as found:
        _Kernel(product, scheme, [_Tile(product, i, sides[i], scheme, at) for i, at in enumerate(found)]).run(after)


def _contract(op: ir.Operation) -> None:
    """Multiplications may fuse with additions: it is one op of the program."""
    for inner in b.walk(op):
        if inner.name in ("arith.mulf", "arith.addf"):
            inner.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<contract>")


@dataclass(frozen=True)
class _Tile(Operand):
    """An operand's tiles, [2, depth, side + pad] in shared memory."""

    side: int
    scheme: RegisterScheme
    at: Side

    @property
    def chunk(self) -> int:
        """Elements that a thread loads at once: of 16 bytes, or as many as it takes of a tile."""
        most = self.side * self.scheme.depth // self.scheme.threads
        return min(_FOUR, most, _CHUNK_BYTES // bytes_of(self.element))

    def _chunks(self) -> list[tuple[ir.Value, ir.Value]]:
        """Where the thread's chunks begin in a tile: line, as lines lie in memory, and position in it."""
        inner = self.scheme.depth if self.along_k else self.side
        count = self.side * self.scheme.depth // self.chunk
        found = []
        for start in range(0, count, self.scheme.threads):
            number = self.at.thread + start
            found.append((number // (inner // self.chunk), number % (inner // self.chunk) * self.chunk))
        return found

    def load(self, depth: ir.Value) -> list[ir.Value]:
        """The thread's elements of the tile at a position along k; zeros beyond the operand's edges."""
        straight = is_straight(self.product, self.operand, self.chunk) if self.chunk > 1 else False
        types = [self.element] * (self.chunk * len(self._chunks()))
        if isinstance(straight, bool):
            return self._load_chunks(depth) if straight else self._load_elements(depth)
        return either(straight, types, lambda: self._load_chunks(depth), lambda: self._load_elements(depth))

    def _load_chunks(self, depth: ir.Value) -> list[ir.Value]:
        type_ = ir.VectorType.get([self.chunk], self.element)
        nothing = zero(type_)
        bytes_ = ir.IntegerAttr.get(b.integer_type(64), self.chunk * bytes_of(self.element))
        found = []
        for line, inside in self._chunks():
            there, places = self._source(depth, line, inside)
            read = b.value("vector.load", [self.buffer, *places], type_, alignment=bytes_)
            read = select(there, read, nothing)
            for i in range(self.chunk):
                found.append(b.value("vector.extract", [read], self.element, static_position=ir.DenseI64ArrayAttr.get([i])))
        return found

    def _load_elements(self, depth: ir.Value) -> list[ir.Value]:
        found = []
        for line, inside in self._chunks():
            for i in range(self.chunk):
                there, places = self._source(depth, line, inside + i)
                found.append(select(there, b.load(self.buffer, *places), 0))
        return found

    def _source(self, depth: ir.Value, line: ir.Value, inside: ir.Value) -> tuple[ir.Value, list[ir.Value]]:
        """Whether an element of a tile is there, and where in memory; where it is not, some place that is."""
        side, deep = (line, inside) if self.along_k else (inside, line)
        along, below = self.at.corner + side, depth + deep
        there = (along < self.at.end) & (below < self.at.k)
        along, below = (select(there, position, 0) for position in (along, below))
        return there, self.at.places(self, along, below)

    def store(self, half: ir.Value, elements: Sequence[ir.Value]) -> None:
        given = iter(elements)
        for line, inside in self._chunks():
            for i in range(self.chunk):
                here = inside + i
                deep, side = (here, line) if self.along_k else (line, here)
                b.store(next(given), self.at.shared, half, deep, side)

    def fetched(self, half: ir.Value, deep: ir.Value, positions: Sequence[ir.Value]) -> list[ir.Value]:
        return [b.load(self.at.shared, half, deep, position) for position in positions]


@dataclass(frozen=True)
class _Kernel:
    """What a block does for one of the batch."""

    product: Product
    scheme: RegisterScheme
    tiles: list[_Tile]

    def run(self, after: Structured | None) -> None:
        scheme, at = self.scheme, self.tiles[0].at
        across = scheme.columns // scheme.each_columns
        mine = [
            _positions(at.thread // across, scheme.rows, scheme.each_rows),
            _positions(at.thread % across, scheme.columns, scheme.each_columns),
        ]
        type_ = ir.ShapedType(self.product.op.buffers[2].type).element_type
        nothing = [zero(type_)] * (scheme.each_rows * scheme.each_columns)
        sums = summed(self.product, at.k, [type_] * len(nothing), lambda: self._sums(mine, nothing), lambda: nothing)
        rows, columns = ([tile.at.corner + position for position in positions] for tile, positions in zip(self.tiles, mine, strict=True))
        lines: list[Line] = []
        for i, row in enumerate(rows):
            numbers = list(zip(columns, sums[i * len(columns) : (i + 1) * len(columns)], strict=True))
            lines.append((row, [numbers[j : j + _FOUR] for j in range(0, len(numbers), _FOUR)]))
        ends = [tile.at.end for tile in self.tiles]
        finish(self.product, after, at.sizes, ends, (scheme.rows, scheme.columns), at.batch, lines)

    def _sums(self, mine: list[list[ir.Value]], nothing: list[ir.Value]) -> list[ir.Value]:
        """The loop along k. `mine`: the thread's rows and columns in a tile."""
        depth = self.scheme.depth

        def tile_by_tile(start: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            half, so_far = carried[0], carried[1:]
            later = [tile.load(start + depth) for tile in self.tiles]

            def line_by_line(line: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
                left, right = (tile.fetched(half, line, at) for tile, at in zip(self.tiles, mine, strict=True))
                return [_add(self.product.op, left[i // len(right)], right[i % len(right)], total) for i, total in enumerate(sums)]

            sums = gpu.unrolled(depth, so_far, line_by_line)
            other = b.index(1) - half
            self._store(other, later)
            return [other, *sums]

        self._store(b.index(0), [tile.load(b.index(0)) for tile in self.tiles])
        found = carried((b.index(0), self.tiles[0].at.k, b.index(depth)), [b.index(0), *nothing], tile_by_tile)
        return found[1:]

    def _store(self, half: ir.Value, elements: list[list[ir.Value]]) -> None:
        for tile, each in zip(self.tiles, elements, strict=True):
            tile.store(half, each)
        gpu.barrier()  # all of the tile is there, and nobody reads the other half any more


def _positions(number: ir.Value, side: int, each: int) -> list[ir.Value]:
    """What a thread has of a tile's side: neighbours, up to four; the next four beyond those of all other threads."""
    together = min(each, _FOUR)
    first = number * together
    return [first + (group * (side // (each // together)) + i) for group in range(each // together) for i in range(together)]


def _add(op: Structured, left: ir.Value, right: ir.Value, total: ir.Value) -> ir.Value:
    """total + left * right by the op's own body, the addition of one product rounded once or twice as the device likes."""
    return op.compute([], [left, right, total])[0]
