"""tierup-write-products: the kernels for matrix products that tierup-products-to-blas calls get their code.

    func.func private @product_f32_direct_4x2(index, ..., !llvm.ptr, !llvm.ptr, !llvm.ptr) attributes {tierup.product_kernel = {...}}
becomes
    func.func private @product_f32_direct_4x2(%rows, %columns, %depth, %row, %column, %line, %out_line, %x, %y, %out) {
      for each 32 columns, and each 4 rows of these:
        %sums:8 = scf.for %k = 0 to %depth iter_args(8 vectors of 16 zeros) {
          2 vectors of row %k of %y, 4 elements of column %k of %x: 8 products are added
        }
        8 vectors of %out are stored, but for what lies behind its last column
    }

Rows beyond the last are the last once more, which costs less than to ask; of columns beyond it nothing is read or written. A function like
others, written after all passes over loops have run: these are not for them. What kernels there are, and when: ops/products/kernels.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn
from tierup.lowering.building.arith import SIGNED_INDEX, Scalar, constant, element_type, lifted, maximum, minimum, of
from tierup.lowering.building.loops import carried
from tierup.lowering.ops.products.kernels import BYTES, DEPTH, Kernel, Kind, declared


@register
class WriteProducts(Pass):
    def run(self, module: ir.Module) -> None:
        for function in b.ops_of(module.body):
            kernel = declared(function) if function.name == "func.func" and not len(function.regions[0].blocks) else None
            if kernel is not None:
                with function.location, ir.InsertionPoint(fn.body(function)):
                    _Writer(kernel, function).write()
                    b.op("func.return")


class _Writer:
    """Writes one kernel, at the insertion point. Positions and distances are in elements."""

    def __init__(self, kernel: Kernel, function: ir.Operation) -> None:
        self.kernel, self.lanes, self.element = kernel, kernel.lanes, element_type(kernel.dtype)
        *numbers, self.x, self.y, self.out = function.regions[0].blocks[0].arguments
        self.rows, self.columns, self.depth, self.row, self.column, self.line, self.out_line = lifted(numbers)
        self.vector, counts = (ir.VectorType.get([self.lanes], kind) for kind in (self.element, b.integer_type(32)))
        self.zeros = constant(0.0, kernel.dtype, self.vector)
        numbers = ir.DenseElementsAttr.get(np.arange(self.lanes, dtype=np.int32), type=counts)
        self.numbered = of(b.value("llvm.mlir.constant", [], counts, value=numbers))

    def write(self) -> None:
        """All tiles, column after column, so that the part of the right matrix that a tile needs stays near."""
        kernel = self.kernel

        def columns(j: Scalar) -> None:
            if kernel.kind is Kind.DOTS:
                self._down(lambda i: self._dots(i, j))
                return
            masks = [self._first(self.columns - j, g * self.lanes) for g in range(kernel.vectors)]
            if kernel.kind is Kind.DIRECT:
                lines = self._at(self.y, j)
                self._down(lambda i: self._tile(i, j, b.index(0), self.depth, masks, lines, self.line))
                return

            def part(k: Scalar) -> None:
                depth = minimum(self.depth - k, DEPTH)
                (self._turn if kernel.kind is Kind.TRANSPOSED else self._copy)(j, k, depth, masks, strip)
                self._down(lambda i: self._tile(i, j, k, depth, masks, strip, b.index(kernel.columns)))

            _each(maximum(self.depth, 1), DEPTH, part)  # once for sums of nothing, too, which are zeros

        if kernel.kind in (Kind.PACKED, Kind.TRANSPOSED):
            line = ir.IntegerAttr.get(b.integer_type(64), BYTES)
            count = b.integer(DEPTH * kernel.columns, 64)
            strip = b.value("llvm.alloca", [count], _pointer(), elem_type=ir.TypeAttr.get(self.element), alignment=line)
        _each(self.columns, kernel.columns, columns)

    def _down(self, tile: Callable[[Scalar], None]) -> None:
        """A tile for each of some rows."""
        _each(self.rows, self.kernel.rows, tile)

    def _copy(self, j: Scalar, k: Scalar, depth: Scalar, masks: list[Scalar], strip: ir.Value) -> None:
        """Copy what tiles from column j on need of the right matrix, stored in rows, from row k on."""
        start = self._at(self.y, k * self.line + j)

        def row(r: Scalar) -> None:
            for g, mask in enumerate(masks):
                read = self._load(self._at(start, r * self.line + g * self.lanes), mask)
                self._store(read, self._at(strip, r * self.kernel.columns + g * self.lanes))

        _each(depth, 1, row)

    def _turn(self, j: Scalar, k: Scalar, depth: Scalar, masks: list[Scalar], strip: ir.Value) -> None:
        """As `_copy`, of a matrix stored in columns: square blocks are transposed in registers."""
        def some(g: Scalar) -> None:
            lines = [self._at(self.y, self._within(j + g + n, self.columns) * self.line + k) for n in range(self.lanes)]

            def block(r: Scalar) -> None:
                mask = self._first(depth - r, 0)
                for i, row in enumerate(_transposed([self._load(self._at(line, r), mask) for line in lines])):
                    self._store(row, self._at(strip, (r + i) * self.kernel.columns + g))

            _each(depth, self.lanes, block)

        _each(b.index(self.lanes * len(masks)), self.lanes, some)

    def _tile(
        self, i: Scalar, j: Scalar, k: Scalar, depth: Scalar, masks: list[Scalar], lines: ir.Value, distance: Scalar
    ) -> None:
        """Results from row i and column j on get `depth` products more, from k on. `lines`, `distance`: of the right matrix."""
        numbers = [self._within(i + r, self.rows) for r in range(self.kernel.rows)]
        left = [self._at(self.x, number * self.row + k * self.column) for number in numbers]
        places = [self._at(self.out, number * self.out_line + (j + g * self.lanes)) for number in numbers for g in range(len(masks))]
        masked = masks * len(numbers)
        is_direct = self.kernel.kind is Kind.DIRECT
        more = None if is_direct else self._splat(k > 0)
        start = [self.zeros if more is None else self._load(p, more & m) for p, m in zip(places, masked, strict=True)]

        def step(at: Scalar, sums: list[Any]) -> list[ir.Value]:
            line = self._at(lines, at * distance)
            right = [self._load(self._at(line, b.index(g * self.lanes)), mask if is_direct else None) for g, mask in enumerate(masks)]
            made: list[ir.Value] = []
            for pointer in left:
                one = self._splat(b.value("llvm.load", [self._at(pointer, at * self.column)], self.element))
                made += [_fma(one, y, total) for y, total in zip(right, sums[len(made) :], strict=False)]
            return made

        sums = carried((b.index(0), depth, b.index(1)), start, step)
        for total, place, mask in zip(sums, places, masked, strict=True):
            self._store(total, place, mask)

    def _dots(self, i: Scalar, j: Scalar) -> None:
        """Results from row i and column j on, each summed along two lines."""
        numbers = [self._within(i + r, self.rows) for r in range(self.kernel.rows)]
        lines = [self._within(j + c, self.columns) for c in range(self.kernel.columns)]
        left, right = [self._at(self.x, n * self.row) for n in numbers], [self._at(self.y, n * self.line) for n in lines]

        def step(at: Scalar, sums: list[Any]) -> list[ir.Value]:
            mask = None if self.kernel.whole else self._first(self.depth - at, 0)
            xs, ys = ([self._load(self._at(p, at), mask) for p in pointers] for pointers in (left, right))
            return [_fma(x, y, total) for (x, y), total in zip([(x, y) for x in xs for y in ys], sums, strict=True)]

        sums = carried((b.index(0), self.depth, b.index(self.lanes)), [self.zeros] * (len(left) * len(right)), step)
        free = ir.Attribute.parse("#llvm.fastmath<reassoc>")
        nothing = constant(0.0, self.kernel.dtype)
        for total, (number, line) in zip(sums, [(n, c) for n in numbers for c in lines], strict=True):
            made = b.value("llvm.intr.vector.reduce.fadd", [nothing, total], self.element, fastmathFlags=free)
            b.op("llvm.store", [made, self._at(self.out, number * self.out_line + line)])

    def _at(self, pointer: ir.Value, number: Scalar) -> ir.Value:
        """Where the element lies that is so many behind one."""
        dynamic = ir.DenseI32ArrayAttr.get([-(1 << 31)])
        element = ir.TypeAttr.get(self.element)
        return b.value("llvm.getelementptr", [pointer, number.cast(dtypes.i64)], _pointer(), rawConstantIndices=dynamic, elem_type=element)

    def _within(self, number: Scalar, size: Scalar) -> Scalar:
        """A position, or the last where it lies behind that."""
        return minimum(number, size - 1)

    def _first(self, count: Scalar, offset: int) -> Scalar:
        """A mask of the lanes before `count`, where the first of them has the number `offset`."""
        left = self._splat(minimum(of(count, SIGNED_INDEX) - offset, self.lanes).cast(dtypes.i32))
        return self.numbered < left

    def _splat(self, number: ir.Value) -> Scalar:
        """A vector of one number."""
        type_ = ir.VectorType.get([self.lanes], number.type)
        first = b.value("llvm.insertelement", [b.value("llvm.mlir.poison", [], type_), number, b.integer(0, 64)], type_)
        return of(_shuffled(first, first, [0] * self.lanes))

    def _load(self, pointer: ir.Value, mask: ir.Value | None) -> ir.Value:
        """A vector; zeros where the mask says no."""
        if mask is None:
            return b.value("llvm.load", [pointer], self.vector, alignment=self._aligned(64))
        return b.value("llvm.intr.masked.load", [pointer, mask, self.zeros], self.vector, alignment=self._aligned(32))

    def _store(self, vector: ir.Value, pointer: ir.Value, mask: ir.Value | None = None) -> None:
        if mask is None:
            b.op("llvm.store", [vector, pointer], alignment=self._aligned(64))
        else:
            b.op("llvm.intr.masked.store", [vector, pointer, mask], alignment=self._aligned(32))

    def _aligned(self, bits: int) -> ir.Attribute:
        return ir.IntegerAttr.get(b.integer_type(bits), self.kernel.dtype.itemsize)


def _each(size: Scalar, step: int, body: Callable[[Scalar], None]) -> None:
    """A loop over [0, size)."""

    def one(position: Scalar, _: list[Any]) -> list[ir.Value]:
        body(position)
        return []

    carried((b.index(0), size, b.index(step)), [], one)


def _transposed(rows: list[ir.Value]) -> list[ir.Value]:
    """A square block: the elements of each two rows that are half the block apart take turns, as often as the size has bits (the perfect
    shuffle: H. S. Stone, Parallel Processing with the Perfect Shuffle, 1971)."""
    size, half = len(rows), len(rows) // 2
    turns = [n for i in range(size) for n in (i, i + size)]
    for _ in range(size.bit_length() - 1):
        rows = [_shuffled(rows[i], rows[i + half], turns[at : at + size]) for i in range(half) for at in (0, size)]
    return rows


def _shuffled(x: ir.Value, y: ir.Value, lanes: list[int]) -> ir.Value:
    return b.value("llvm.shufflevector", [x, y], x.type, mask=ir.DenseI32ArrayAttr.get(lanes))


def _fma(x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    return b.value("llvm.intr.fma", [x, y, z], z.type)


def _pointer() -> ir.Type:
    return ir.Type.parse("!llvm.ptr")
