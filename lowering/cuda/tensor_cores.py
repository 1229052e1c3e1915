"""Which products the tensor cores compute, in tiles of which sizes, and the instructions for it.

    mma.sync.m16n8k16: a warp multiplies 16 x 16 by 16 x 8 halves and adds to 16 x 8 floats, which lie in its threads' registers
    ldmatrix: a warp fetches four 8 x 8 matrices of halves from shared memory into the layout that mma wants, transposed or not

Who holds which element: NVIDIA, PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type" and "ldmatrix". Both exist from
sm_80 on for f16 and bf16; sums are kept in f32.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.lowering import builders as b
from tierup.lowering.cuda.launching import WARP
from tierup.lowering.cuda.products import Product, length
from tierup.lowering.cuda.targets import Target

DEPTH = 32  # of a tile along k: two steps of an mma
ROWS, COLUMNS, INNER = 16, 8, 16  # of one mma
CHUNK = 8  # halves in the 16 bytes that one asynchronous copy moves, and in a row of ldmatrix
_CAPABILITY = 80


@dataclass(frozen=True)
class Scheme:
    """A block's tile of the result is rows x columns, its warps lie in down x across; `stages` tiles of the operands are on the way."""

    rows: int
    columns: int
    down: int
    across: int
    stages: int

    @property
    def threads(self) -> int:
        return WARP * self.down * self.across

    @property
    def blocks_down(self) -> int:
        """mma tiles of a warp along the rows."""
        return self.rows // self.down // ROWS

    @property
    def blocks_across(self) -> int:
        return self.columns // self.across // COLUMNS


# Shared memory of a block is at most 48 KB without asking the driver for more: 2 operands x stages x side x (32 + 8) x 2 bytes.
# SMALL: 30 KB, so that five blocks of four warps fit on a multiprocessor of sm_80 (164 KB); 32 sums per thread.
# LARGE: 40 KB, 64 sums per thread; each byte fetched serves twice as many multiplications. It takes a result with tiles for all
# multiprocessors (108 on an A100, 132 on an H100), else most of them stand idle.
SMALL = Scheme(64, 64, 2, 2, 3)
LARGE = Scheme(128, 128, 2, 4, 2)
_TILES_FOR_ALL = 128


def has_halves(target: Target) -> bool:
    """Whether a target's tensor cores take f16 and bf16 by these instructions."""
    return target.capability >= _CAPABILITY


def scheme_of(product: Product, target: Target | None) -> Scheme | None:
    """None where tensor cores do not compute a product: another type, or a target that has none."""
    if target is None or not has_halves(target):
        return None
    x, y, out = (ir.ShapedType(buffer.type).element_type for buffer in product.op.buffers)
    if x != y or not isinstance(x, (ir.F16Type, ir.BF16Type)) or not isinstance(out, ir.F32Type):
        return None
    m, n, batch = (length(product.op, loops) for loops in (product.m, product.n, product.batch))
    if m is None or n is None:
        return SMALL
    return LARGE if (m // LARGE.rows) * (n // LARGE.columns) * (batch or 1) >= _TILES_FOR_ALL else SMALL


def sums_type() -> ir.Type:
    """A thread's share of one mma's sums: rows lane / 4 and lane / 4 + 8, columns 2 * (lane % 4) and the next."""
    return ir.VectorType.get([2, 2], ir.F32Type.get())


def no_sums() -> ir.Value:
    zeros = ir.DenseElementsAttr.get_splat(sums_type(), ir.FloatAttr.get(ir.F32Type.get(), 0.0))
    return b.value("arith.constant", [], sums_type(), value=zeros)


def four_matrices(buffer: ir.Value, at: list[ir.Value], *, transpose: bool) -> ir.Value:
    """ldmatrix x4: lanes 8 i .. 8 i + 7 say where the rows of matrix i begin."""
    type_ = ir.VectorType.get([4, 2], ir.ShapedType(buffer.type).element_type)
    tiles = ir.IntegerAttr.get(b.integer_type(32), 4)
    return b.value("nvgpu.ldmatrix", [buffer, *at], type_, transpose=ir.BoolAttr.get(transpose), numTiles=tiles)


def half_of(matrices: ir.Value, which: int) -> ir.Value:
    """Two of four matrices: an operand y of an mma."""
    element = ir.VectorType(matrices.type).element_type
    pair, row = ir.VectorType.get([2, 2], element), ir.VectorType.get([2], element)
    zeros = ir.DenseElementsAttr.get_splat(pair, ir.FloatAttr.get(element, 0.0))
    made = b.value("arith.constant", [], pair, value=zeros)
    for i in range(2):
        one = b.value("vector.extract", [matrices], row, static_position=ir.DenseI64ArrayAttr.get([2 * which + i]))
        made = b.value("vector.insert", [one, made], pair, static_position=ir.DenseI64ArrayAttr.get([i]))
    return made


def multiply_add(x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
    shape = ir.ArrayAttr.get([ir.IntegerAttr.get(b.integer_type(64), n) for n in (ROWS, COLUMNS, INNER)])
    return b.value("nvgpu.mma.sync", [x, y, sums], sums_type(), mmaShape=shape)


def number_of(sums: ir.Value, i: int, j: int) -> ir.Value:
    return b.value("vector.extract", [sums], ir.F32Type.get(), static_position=ir.DenseI64ArrayAttr.get([i, j]))
