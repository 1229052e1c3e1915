"""Kernels of our own for matrix products of few rows: which one takes least time for a product, and how it is called.

    direct       reads the right matrix, which is stored in rows, as it lies
    packed       copies a strip of it at a time, as wide as a tile, to where it lies dense
    transposed   the same of a matrix that is stored in columns
    dots         of a matrix stored in columns: sums along its lines and the left matrix's, vector by vector

Each computes a tile of results at a time, whose sums stay in registers: `rows` rows of `vectors` vectors, of `dots` of so many columns.
They are for CPUs with 32 registers of 64 bytes (AVX-512). BLAS copies both matrices in each call, which with few rows is most of what it
does; docs/performance.md has the times.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import cache

from tierup.dialect.base.dtypes import DType
from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn
from tierup.lowering.building.arith import Scalar, dtype_of, element_type

KERNEL = "tierup.product_kernel"  # of a declared function: that it is one, and which
REGISTERS, BYTES = 32, 64
DEPTH = 128  # of what is packed at once, in steps of the sum: 32 KB, on the stack
LEAST_ROWS, MOST_ROWS = 8, 256  # of a product whose rows the run counts, and of any: what BLAS copies pays with more
_USUAL = (32, 1024, 512)  # rows, columns and depth, where only the run knows them
_NEAR, _FIRST_CACHE = 1 << 18, 1 << 15  # bytes of a matrix that is read again and again without a copy, and of the first cache about
_MOST_SUMS, _WIDE = 24, 8  # in registers; vectors of a line
_WORTH = 1 << 13  # elements of a matrix in rows: BLAS has loops of its own for less, that copy nothing
_LITTLE = 1 << 16  # multiplications: with fewer a call gains a microsecond or two, and each function that calls one compiles it


class Kind(Enum):
    """How a kernel reads the right matrix."""

    DIRECT, PACKED, TRANSPOSED, DOTS = "direct", "packed", "transposed", "dots"


@dataclass(frozen=True)
class Kernel:
    """`dtype`: of the elements. `whole`: the length of the sums is a multiple of a vector's."""

    kind: Kind
    dtype: DType
    rows: int
    vectors: int
    whole: bool = False

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return BYTES // self.dtype.itemsize

    @property
    def columns(self) -> int:
        """Of a tile."""
        return self.vectors if self.kind is Kind.DOTS else self.vectors * self.lanes

    @property
    def name(self) -> str:
        """Of the function."""
        return f"product_{self.dtype.name}_{self.kind.value}_{self.rows}x{self.vectors}{'_whole' * self.whole}"


@cache
def quickest(
    rows: int | None, columns: int | None, depth: int | None, dtype: DType, *, in_columns: bool, in_lines: bool
) -> Kernel | None:
    """The kernel for a product of (rows, depth) and (depth, columns), sizes None where only the run knows them; None where BLAS is as
    quick. `in_columns`: the right matrix is stored by columns. `in_lines`: the left one by rows, without gaps."""
    if 1 in (rows, columns) or (rows or 0) > MOST_ROWS:
        return None
    m, n, k = (known or usual for known, usual in zip((rows, columns, depth), _USUAL, strict=True))
    near = n * k * dtype.itemsize <= _NEAR
    found = [Kernel(kind, dtype, *tile) for kind in (_COLUMNS if in_columns else _ROWS) for tile in _tiles(kind)]
    fit = [one for one in found if (one.kind is not Kind.DOTS or in_lines) and (one.kind is not Kind.DIRECT or one.rows >= m or near)]
    best = min(fit, key=lambda kernel: _cycles(kernel, m, n, k))
    if m * n * k < _LITTLE or (best.kind is Kind.PACKED and n * k < _WORTH):
        return None
    whole = best.kind is Kind.DOTS and depth is not None and depth % best.lanes == 0
    return Kernel(best.kind, dtype, best.rows, best.vectors, whole)


_COLUMNS, _ROWS = (Kind.TRANSPOSED, Kind.DOTS), (Kind.DIRECT, Kind.PACKED)


def _tiles(kind: Kind) -> Iterator[tuple[int, int]]:
    """All that fit into the registers, with a vector of either matrix, or of both."""
    for rows in range(1, 15):
        for vectors in range(1, 15):
            held = rows * vectors + (min(rows, vectors) if kind is Kind.DOTS else vectors) + 1
            if held < REGISTERS and (kind is Kind.DOTS or vectors <= _WIDE) and rows * vectors <= _MOST_SUMS:
                yield rows, vectors


def _cycles(kernel: Kernel, rows: int, columns: int, depth: int) -> float:
    """What a product takes, about: two multiplications of vectors each cycle, sums that wait four for one another, and what is read: a
    vector that is not in the first cache takes most of a cycle."""
    tiles = -(-rows // kernel.rows) * -(-columns // kernel.columns)
    sums = kernel.rows * kernel.vectors
    step = max(sums / 2, 4) + (kernel.rows + kernel.vectors) / 10 + _far(kernel, rows, depth * kernel.dtype.itemsize) * 3 / 4
    if kernel.kind is Kind.DOTS:
        return tiles * (-(-depth // kernel.lanes) * step + 5 * sums)
    copied = -(-columns // kernel.columns) * kernel.columns * depth * _COPIED[kernel.kind] * kernel.dtype.itemsize / 4
    return tiles * (depth * step + 2 * sums) + copied


def _far(kernel: Kernel, rows: int, length: int) -> int:
    """How many vectors of a step come from beyond the first cache, where lines have so many bytes."""
    if kernel.kind is not Kind.DOTS:
        return kernel.vectors if kernel.kind is Kind.DIRECT else 0
    again = rows > kernel.rows and kernel.vectors * length > _FIRST_CACHE
    return kernel.rows * (rows * length > _FIRST_CACHE) + kernel.vectors * again


_COPIED = {Kind.DIRECT: 0.0, Kind.PACKED: 0.2, Kind.TRANSPOSED: 0.3}  # cycles for an element of four bytes


def call(module: ir.Module, kernel: Kernel, numbers: list[Scalar], matrices: list[ir.Value]) -> None:
    """`numbers`: rows, columns and depth; how far apart the left matrix's rows and columns lie, and the lines of the right one and of the
    result. `matrices`: where these begin."""
    said = ir.DictAttr.get({
        "kind": ir.StringAttr.get(kernel.kind.value), "element": ir.TypeAttr.get(element_type(kernel.dtype)),
        "rows": ir.IntegerAttr.get(b.integer_type(64), kernel.rows), "vectors": ir.IntegerAttr.get(b.integer_type(64), kernel.vectors),
        "whole": ir.BoolAttr.get(kernel.whole),
    })  # fmt: skip
    fn.call(kernel.name, [*numbers, *matrices], [], ir.InsertionPoint.at_block_begin(module.body), **{KERNEL: said})


def declared(function: ir.Operation) -> Kernel | None:
    """The kernel that a function is to be; None of any other."""
    if KERNEL not in function.attributes:
        return None
    said = ir.DictAttr(function.attributes[KERNEL])
    return Kernel(
        Kind(said["kind"].value), dtype_of(said["element"].value), said["rows"].value, said["vectors"].value, said["whole"].value
    )
