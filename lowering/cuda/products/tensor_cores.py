"""The instructions of the tensor cores that products use.

    mma.sync.m16n8k16: a warp multiplies 16 x 16 by 16 x 8 halves and adds to 16 x 8 floats, which lie in its threads' registers
    mma.sync.m16n8k8: the same of 16 x 8 by 8 x 8 floats, of whose mantissas it takes 10 bits (tf32)
    ldmatrix: a warp fetches four 8 x 16-byte matrices from shared memory into the layout that mma wants; halves transposed or not

Who holds which element: NVIDIA, PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type", "... for mma.m16n8k8" (.tf32) and
"ldmatrix". They exist from sm_80 on; sums are kept in f32.

A float becomes a tf32 by cvt.rna.tf32.f32, rounded to nearest: mma leaves open what it makes of the other 13 bits (PTX ISA, "Alternate
floating-point data formats"), and where they are cut off, sums of many products drift towards zero.
"""

from __future__ import annotations

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import of, zero

ROWS, COLUMNS = 16, 8  # of one mma's sums


@dataclass(frozen=True)
class Operands:
    """How operands of a type are multiplied. An mma is two chunks of 16 bytes deep."""

    chunk: int  # elements in 16 bytes
    pair: int  # elements in the 32 bits of a register

    @property
    def inner(self) -> int:
        """How deep along k one mma is."""
        return 2 * self.chunk

    @property
    def is_tf32(self) -> bool:
        """Whether they are 32-bit floats, multiplied as tf32."""
        return self.pair == 1


def operands_of(element: ir.Type) -> Operands:
    """How the cores take operands of an element type."""
    return Operands(4, 1) if isinstance(element, ir.F32Type) else Operands(8, 2)


def sums_type() -> ir.Type:
    """A thread's share of one mma's sums: rows lane / 4 and lane / 4 + 8, columns 2 * (lane % 4) and the next."""
    return ir.VectorType.get([2, 2], ir.F32Type.get())


def no_sums() -> ir.Value:
    """A thread's part of a tile of zeros."""
    return zero(sums_type())


def four_matrices(buffer: ir.Value, at: list[ir.Value], *, transpose: bool) -> ir.Value:
    """ldmatrix x4: lanes 8 i .. 8 i + 7 say where the rows of matrix i begin."""
    element = ir.ShapedType(buffer.type).element_type
    type_ = ir.VectorType.get([4, operands_of(element).pair], element)
    tiles = ir.IntegerAttr.get(b.integer_type(32), 4)
    return b.value("nvgpu.ldmatrix", [buffer, *at], type_, transpose=ir.BoolAttr.get(transpose), numTiles=tiles)


def half_of(matrices: ir.Value, which: int) -> ir.Value:
    """Two of four matrices: an operand y of an mma."""
    shape = list(ir.VectorType(matrices.type).shape)
    element = ir.VectorType(matrices.type).element_type
    pair, row = ir.VectorType.get([2, shape[1]], element), ir.VectorType.get([shape[1]], element)
    made = zero(pair)
    for i in range(2):
        one = b.value("vector.extract", [matrices], row, static_position=ir.DenseI64ArrayAttr.get([2 * which + i]))
        made = b.value("vector.insert", [one, made], pair, static_position=ir.DenseI64ArrayAttr.get([i]))
    return made


def gathered(elements: list[ir.Value]) -> ir.Value:
    """Floats that a thread fetched one by one, as an operand of an mma."""
    return b.value("vector.from_elements", elements, ir.VectorType.get([len(elements), 1], elements[0].type))


def rounded(operand: ir.Value) -> ir.Value:
    """Floats as tf32; halves as they are."""
    type_ = ir.VectorType(operand.type)
    if not isinstance(type_.element_type, ir.F32Type):
        return operand
    rounding = ir.Attribute.parse("#nvvm.fp_rnd_mode<rna>")
    found = []
    for i in range(type_.shape[0]):
        element = b.value("vector.extract", [operand], type_.element_type, static_position=ir.DenseI64ArrayAttr.get([i, 0]))
        bits = b.value("nvvm.convert.float.to.tf32", [element], b.integer_type(32), rnd=rounding)
        found.append(of(bits).convert("arith.bitcast", dtypes.f32))
    return gathered(found)


def multiply_add(x: ir.Value, y: ir.Value, sums: ir.Value) -> ir.Value:
    """x @ y added to the sums, each a warp's matrix of which a thread has its part."""
    kind = operands_of(ir.VectorType(x.type).element_type)
    shape = ir.ArrayAttr.get([ir.IntegerAttr.get(b.integer_type(64), n) for n in (ROWS, COLUMNS, kind.inner)])
    how = {"tf32Enabled": ir.UnitAttr.get()} if kind.is_tf32 else {}
    return b.value("nvgpu.mma.sync", [x, y, sums], sums_type(), mmaShape=shape, **how)


def number_of(sums: ir.Value, i: int, j: int) -> ir.Value:
    """One of a thread's sums, as f32."""
    return b.value("vector.extract", [sums], ir.F32Type.get(), static_position=ir.DenseI64ArrayAttr.get([i, j]))
