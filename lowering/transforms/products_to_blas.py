"""tierup-products-to-blas: matrix products on buffers become calls, of BLAS or of kernels of our own; small ones loops.

    linalg.matmul {tierup.overwrites} ins(%a, %b : memref<?x256xf32>, memref<256x512xf32>) outs(%c)
becomes
    call @scipy_cblas_sgemm(row major, no transpose, ..., beta = 0, %c, ld)

`tierup.overwrites` says that the result is the product alone, whatever its buffer held: beta is 0, nothing is filled before. A
matrix that does not lie in rows or columns without gaps is copied first. Products of at most `loops-up-to` multiplications,
known when compiling, are loops: a call costs more than they take. A product with one row or one column is a vector's (gemv), which
takes a quarter of the time, unless nobody knows that there is something to sum: gemv leaves what it has nothing to add to as it is.

Where the processor has vectors of 64 bytes (`tierup.wide_vectors`), products of few rows are calls of kernels of our own, which are quicker
there (ops/products/kernels.py); tierup-write-products writes them. One whose rows only the run knows asks for them:

    %few = arith.andi %at_least_8, %at_most_256
    scf.if %few { call @product_f32_transposed_8x3(...) } else { call @scipy_cblas_sgemm(...) }

Where threads may share loops (`tierup.threads`), a product with much to do is a loop over parts of its rows or columns, or of its batches,
each of them calls; BLAS has one thread. tierup-share-loops takes it from there:

    scf.for %part = %c0 to %parts step %c1 {
      %columns = memref.subview %b[0, %low] [256, %width] [1, 1]
      call @scipy_cblas_sgemm(...)
    } {tierup.parts}
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import AtLeast, Pass, PassFailure, register
from tierup.lowering.analysis.stated import WIDE_VECTORS, threads
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn
from tierup.lowering.building.arith import (
    SIGNED_INDEX,
    Scalar,
    bytes_of,
    constant,
    dtype_of,
    element_type,
    known,
    maximum,
    minimum,
    of,
    select,
)
from tierup.lowering.building.generics import OVERWRITES, maps_of
from tierup.lowering.building.loops import carried, either, nest
from tierup.lowering.building.shares import LEAST, MOST_PARTS, PARTS, parts_of
from tierup.lowering.externals.blas import CBLAS
from tierup.lowering.ops.products.contractions import BLAS_LETTERS, is_blas_product
from tierup.lowering.ops.products.kernels import LEAST_ROWS, MOST_ROWS, Kernel, Kind, call, quickest
from tierup.lowering.ops.tensors import assert_

_ROW_MAJOR, _PLAIN, _TRANSPOSED = 101, 111, 112  # cblas.h
_INT_MAX = (1 << 31) - 1
_MULTIPLIED, _MOVED = 12, 150  # picoseconds of a multiplication of f32, in a product of matrices and in one of a vector, on one core
_LINES = 16  # where parts begin: BLAS works on so many at once
_SHORT = 32  # sums of fewer products: memory is what takes time, and results that two cores write are slow to read
_WIDTH = 192  # of a part, about: each reads the other matrix again, which costs a twentieth of the time here
_NARROW = 128  # columns


@register
class ProductsToBlas(Pass):
    loops_up_to: Annotated[int, AtLeast(0)] = 4096

    def run(self, module: ir.Module) -> None:
        for function in b.ops_of(module.body):
            for op in b.unerased(b.walk(function)):
                if OVERWRITES in op.attributes:
                    _check(op)
                    with op.location, ir.InsertionPoint(op):
                        _convert(op, module, self.loops_up_to)
                    op.erase()


def _check(op: ir.Operation) -> None:
    if not all(isinstance(v.type, ir.MemRefType) for v in op.operands):
        raise PassFailure(op, "stands on tensors: products become calls on buffers, after bufferization")
    if not is_blas_product(op):
        raise PassFailure(op, f"is marked {OVERWRITES}, but BLAS has only products of matrices of f32 or f64, as they are or transposed")


@dataclass(frozen=True)
class _Matrix:
    """A matrix in memory: `pointer` to its first element, the distance of its lines, and whether those are its columns."""

    pointer: ir.Value
    distance: ir.Value
    transposed: bool


def _convert(op: ir.Operation, module: ir.Module, loops_up_to: int) -> None:
    operands = list(op.operands)
    maps = maps_of(op)
    flips = [_flipped(m, i, len(maps[2].results)) for i, m in enumerate(maps[:2])]
    x, y, out = operands
    sizes = [_length(out, -2), _length(out, -1), _length(x, -2 if flips[0] else -1)]
    static = [s for s in sizes if s is not None]
    if len(static) == len(sizes) and math.prod(static) <= loops_up_to:
        _loops(op, operands, maps)
        return
    is_matrix = op.name == "linalg.matmul"
    work = _work(operands, flips) if threads(module) > 1 and _is_plain(operands) else None
    if work is None:
        (_product if is_matrix else _batches)(module, operands, flips)
        return
    _check_ints(operands)
    (_in_parts if is_matrix else _batches)(module, operands, flips, parts_of(work, MOST_PARTS))


def _batches(module: ir.Module, operands: list[ir.Value], flips: list[bool], parts: Scalar | None = None) -> None:
    """A product of each pair of matrices; `parts`: in so many parts of them."""
    count = b.dim(operands[2], 0)

    def one(positions: list[Scalar], values: list[ir.Value]) -> list[ir.Value]:
        _product(module, [b.row(v, positions[0]) for v in operands], flips, checks=parts is None)
        return values

    if parts is None:
        nest([count], [], one)
        return
    with _each_part(minimum(parts, maximum(count, 1))) as (part, all_):
        carried((part * count // all_, (part + 1) * count // all_, b.index(1)), [], lambda i, values: one([i], values))


def _in_parts(module: ir.Module, operands: list[ir.Value], flips: list[bool], parts: Scalar) -> None:
    """A product in parts of its columns, or of its rows where these are more."""
    x, y, out = operands
    rows, columns = _length(out, -2), _length(out, -1)
    by_rows = columns == 1 or (columns is not None and rows != 1 and (columns < _NARROW if rows is None else rows > columns))
    axis, length = (0, _size(out, 0)) if by_rows else (1, _size(out, 1))
    wanted = parts if 1 in (rows, columns) else minimum(parts, maximum((length + (_WIDTH - 1)) // _WIDTH, 4))
    width = maximum((length + (wanted * _LINES - 1)) // (wanted * _LINES) * _LINES, 1)

    def one(number: Scalar, values: list[ir.Value]) -> list[ir.Value]:
        low = number * width
        size = minimum(width, length - low)
        left, right = (_lines(x, int(flips[0]), low, size), y) if by_rows else (x, _lines(y, int(not flips[1]), low, size))
        _product(module, [left, right, _lines(out, axis, low, size)], flips, checks=False)
        return values

    count = maximum((length + (width - 1)) // width, 1)
    with _each_part(minimum(parts, count)) as (part, all_):
        carried((part * count // all_, (part + 1) * count // all_, b.index(1)), [], one)


@contextmanager
def _each_part(count: Scalar) -> Iterator[tuple[Scalar, Scalar]]:
    """A loop over parts that threads may share: the number of the part, and of all."""
    loop = b.op("scf.for", [b.index(0), count, b.index(1)], regions=1, **{PARTS: ir.UnitAttr.get()})
    body = loop.regions[0].blocks.append(b.index_type(), arg_locs=[ir.Location.current])
    with ir.InsertionPoint(body):
        yield of(body.arguments[0]), count
        b.op("scf.yield")


def _work(operands: list[ir.Value], flips: list[bool]) -> Scalar | None:
    """What a product takes, in picoseconds; None where that is surely too little to share."""
    x, _, out = operands
    where = [(out, -2), (out, -1), (x, -2 if flips[0] else -1), *([(out, 0)] if ir.ShapedType(out.type).rank == 3 else [])]
    lengths = [_length(*at) for at in where]
    known = math.prod(size for size in lengths if size is not None)
    known *= (_MOVED if 1 in lengths[:2] else _MULTIPLIED) * bytes_of(ir.ShapedType(x.type).element_type) // 4
    if None not in lengths and known < LEAST:
        return None
    if lengths[0] == 1 and not flips[1]:
        return None  # parts of rows are read a quarter slower than whole ones
    if lengths[2] is not None and lengths[2] < _SHORT:
        return None
    total = b.index(known)
    for (memref, axis), size in zip(where, lengths, strict=True):
        if size is None:
            total = total * b.dim(memref, axis % ir.ShapedType(memref.type).rank)
    if lengths[2] is None:
        total = select(b.dim(*where[2][:1], where[2][1] % ir.ShapedType(x.type).rank) >= _SHORT, total, 0)
    return total


def _is_plain(operands: list[ir.Value]) -> bool:
    """Whether BLAS takes the matrices as they lie."""
    strides = [ir.MemRefType(v.type).get_strides_and_offset()[0] for v in operands]
    return all(1 in s[-2:] for s in strides) and strides[2][-1] == 1


def _check_ints(operands: list[ir.Value]) -> None:
    """Check once that BLAS can count what it is given: in a loop that threads share nothing can fail."""
    for v in operands:
        numbers = b.metadata(v)[2:]
        rank = ir.ShapedType(v.type).rank
        for axis in (rank - 2, rank - 1):
            _int(_size(v, axis))
            if ir.MemRefType(v.type).get_strides_and_offset()[0][axis] == ir.ShapedType.get_dynamic_stride_or_offset():
                _int(numbers[rank + axis])


def _lines(memref: ir.Value, axis: int, low: Scalar, size: Scalar) -> ir.Value:
    """Rows or columns of a matrix."""
    type_, unknown = ir.MemRefType(memref.type), ir.ShapedType.get_dynamic_size()
    strides, _ = type_.get_strides_and_offset()
    shape = b.shape_of(type_)
    offsets = [unknown if i == axis else 0 for i in range(2)]
    shape[axis] = unknown
    dynamic = [size if i == axis else b.dim(memref, i) for i in range(2) if shape[i] == unknown]
    layout = ir.StridedLayoutAttr.get(ir.ShapedType.get_dynamic_stride_or_offset(), strides)
    return b.value(
        "memref.subview", [memref, low, *dynamic], ir.MemRefType.get(shape, type_.element_type, layout=layout),
        static_offsets=ir.DenseI64ArrayAttr.get(offsets), static_sizes=ir.DenseI64ArrayAttr.get(shape),
        static_strides=ir.DenseI64ArrayAttr.get([1, 1]), operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, len(dynamic), 0]),
    )  # fmt: skip


def _flipped(map_: ir.AffineMap, operand: int, out_rank: int) -> bool:
    """Whether an operand's last two axes are swapped: the left one is (k, m), the right one (n, k)."""
    m = out_rank - 2
    k = out_rank
    first = ir.AffineDimExpr(list(map_.results)[-2]).position
    return bool(first == (k if operand == 0 else m + 1))


def _length(memref: ir.Value, axis: int) -> int | None:
    shaped = ir.ShapedType(memref.type)
    axis += shaped.rank
    return None if shaped.is_dynamic_dim(axis) else shaped.get_dim_size(axis)


def _loops(op: ir.Operation, operands: list[ir.Value], maps: list[ir.AffineMap]) -> None:
    """Zeros, then a loop nest in the order (batch,) m, k, n: along n all three lie in lines. Multiplications may fuse with
    additions: it is one op of the program."""
    zero = constant(0.0, dtype_of(operands[0].type))
    rank = ir.ShapedType(operands[2].type).rank
    b.loops([], [ir.AffineMap.get_identity(rank)], [operands[2]], ["parallel"] * rank, lambda _, __: [zero])
    free = ir.Attribute.parse("#arith.fastmath<reassoc,contract>")

    def body(elements: list[ir.Value], total: list[ir.Value]) -> list[ir.Value]:
        x, y = map(of, elements)
        if x.is_complex:
            return [of(total[0]) + x * y]
        return [of(total[0]).call("arith.addf", x.call("arith.mulf", y, fastmath=free), fastmath=free)]

    order = [*range(rank - 2), rank - 2, rank, rank - 1]  # where loop i of the product goes
    place = [order.index(i) for i in range(rank + 1)]
    moved = [ir.AffineMap.get(rank + 1, 0, [ir.AffineDimExpr.get(place[ir.AffineDimExpr(e).position]) for e in m.results]) for m in maps]
    iterators = ["reduction" if i == rank else "parallel" for i in order]
    b.loops(operands[:2], moved, operands[2:], iterators, body)


def _product(module: ir.Module, operands: list[ir.Value], flips: list[bool], checks: bool = True) -> None:
    """A product of matrices, by whom it takes least time. `checks`: as of `_gemm`."""
    kernel = _kernel(module, operands, flips)
    if kernel is None:
        _gemm(module, operands, flips, checks)
        return
    rows = _size(operands[2], 0)
    if known(rows) is not None:
        _own(module, kernel, operands, flips)
        return

    def own() -> list[ir.Value]:
        _own(module, kernel, operands, flips)
        return []

    def blas() -> list[ir.Value]:
        _gemm(module, operands, flips, checks)
        return []

    either((rows >= LEAST_ROWS) & (rows <= MOST_ROWS), [], own, blas)


def _kernel(module: ir.Module, operands: list[ir.Value], flips: list[bool]) -> Kernel | None:
    """The kernel of our own that is quickest; None where BLAS is, or the processor has no such vectors."""
    x, y, out = operands
    dtype = dtype_of(x.type)
    if WIDE_VECTORS not in module.operation.attributes or dtype.is_complex:
        return None
    sizes = _length(out, -2), _length(out, -1), _length(x, -2 if flips[0] else -1)
    left, right = _strides(x), _strides(y)
    in_columns = flips[1] if right[1] == 1 or 1 not in right else not flips[1]  # what lies in neither is copied
    return quickest(*sizes, dtype, in_columns=in_columns, in_lines=left[0 if flips[0] else 1] == 1)


def _own(module: ir.Module, kernel: Kernel, operands: list[ir.Value], flips: list[bool]) -> None:
    """A call of a kernel of our own."""
    x, y, target = operands
    out = target if _strides(target)[1] == 1 else b.alloc_like(target)
    y = y if 1 in _strides(y) else b.copied(y)
    starts, distances = zip(*map(_start, (x, y, out)), strict=True)
    left = distances[0][::-1] if flips[0] else distances[0]
    in_columns = kernel.kind in (Kind.TRANSPOSED, Kind.DOTS)
    line = distances[1][0 if flips[1] == in_columns else 1]
    sizes = [_size(out, 0), _size(out, 1), _size(x, 0 if flips[0] else 1)]
    call(module, kernel, [*sizes, *left, line, distances[2][0]], list(starts))
    if out != target:
        b.op("memref.copy", [out, target])


def _strides(memref: ir.Value) -> list[int]:
    """With MLIR's own marker for those that only the run knows."""
    return list(ir.MemRefType(memref.type).get_strides_and_offset()[0])


def _start(memref: ir.Value) -> tuple[ir.Value, list[Scalar]]:
    """Where a matrix begins, and how far its rows and its columns lie apart."""
    made, unknown = b.metadata(memref), ir.ShapedType.get_dynamic_stride_or_offset()
    pointer = b.value("llvm.inttoptr", [_address(memref, made).cast(dtypes.i64)], ir.Type.parse("!llvm.ptr"))
    return pointer, [made[4 + i] if s == unknown else b.index(s) for i, s in enumerate(_strides(memref))]


def _address(memref: ir.Value, metadata: list[Any]) -> Scalar:
    return b.address(memref) + of(metadata[1]) * bytes_of(ir.ShapedType(memref.type).element_type)


def _gemm(module: ir.Module, operands: list[ir.Value], flips: list[bool], checks: bool = True) -> None:
    """A call of BLAS. `checks`: that its numbers have 32 bits; False where somebody did."""

    def number(size: Scalar) -> Scalar:
        return _int(size) if checks else size.cast(dtypes.i32)

    x, y, target = operands
    rows = ir.MemRefType(target.type).get_strides_and_offset()[0][1] == 1
    out = target if rows else b.alloc_like(target)  # BLAS writes rows without gaps; freed where this block ends
    left, right = (_matrix(v, flip) for v, flip in zip((x, y), flips, strict=True))
    result = _matrix(out, False)
    m, n, k = _size(out, 0), _size(out, 1), _size(x, 0 if flips[0] else 1)
    name = f"{CBLAS}{BLAS_LETTERS[str(ir.ShapedType(x.type).element_type)]}"
    one, zero = (_factor(module, value, dtype_of(x.type)) for value in (1.0, 0.0))
    order = b.integer(_ROW_MAJOR, 32)
    if 1 in (_length(out, -2), _length(out, -1)) and _length(x, -2 if flips[0] else -1):
        is_row = _length(out, -2) == 1
        matrix, vector = (right, left) if is_row else (left, right)
        length, applied = n if is_row else m, is_row != matrix.transposed  # whether the matrix as it is stored is applied transposed
        lines = [number(v) for v in ((k, length) if applied else (length, k))]
        steps = [number(v.distance) if t else b.integer(1, 32) for v, t in ((vector, vector.transposed == is_row), (result, not is_row))]
        numbers = [order, b.integer(_TRANSPOSED if applied else _PLAIN, 32), *lines]
        operands = [matrix.pointer, number(matrix.distance), vector.pointer, steps[0], zero, result.pointer, steps[1]]
        fn.call(f"{name}gemv", [*numbers, one, *operands], [], ir.InsertionPoint.at_block_begin(module.body))
    else:
        transposed = [b.integer(_TRANSPOSED if p.transposed else _PLAIN, 32) for p in (left, right)]
        numbers = [order, *transposed, *(number(v) for v in (m, n, k))]
        steps = [number(matrix.distance) for matrix in (left, right, result)]
        matrices = [left.pointer, steps[0], right.pointer, steps[1], zero, result.pointer, steps[2]]
        fn.call(f"{name}gemm", [*numbers, one, *matrices], [], ir.InsertionPoint.at_block_begin(module.body))
    if not rows:
        b.op("memref.copy", [out, target])


def _factor(module: ir.Module, number: float, dtype: DType) -> ir.Value:
    """A number for BLAS, which takes complex ones by their addresses."""
    if not dtype.is_complex:
        return constant(number, dtype)
    name, part = f"{dtype.name}_{number:.0f}", element_type(dtype.part)
    type_ = ir.MemRefType.get([2], part)
    if not any(str(op.attributes["sym_name"]) == f'"{name}"' for op in module.body.operations if op.operation.name == "memref.global"):
        value = ir.DenseElementsAttr.get(np.array([number, 0.0], dtype.part.numpy))
        attributes = {"sym_name": ir.StringAttr.get(name), "type": ir.TypeAttr.get(type_), "initial_value": value,
                      "constant": ir.UnitAttr.get(), "sym_visibility": ir.StringAttr.get("private")}  # fmt: skip
        ir.Operation.create("memref.global", attributes=attributes, ip=ir.InsertionPoint.at_block_begin(module.body))
    held = ir.Operation.create("memref.get_global", results=[type_], attributes={"name": ir.FlatSymbolRefAttr.get(name)})
    return b.value("llvm.inttoptr", [of(b.address(held.results[0])).cast(dtypes.i64)], ir.Type.parse("!llvm.ptr"))


def _int(size: Scalar) -> Scalar:
    """A number for BLAS, whose ints have 32 bits. One that does not fit is an error site, and a smaller size is passed."""
    number = known(size)
    if number is None or number > _INT_MAX:
        size = of(size, SIGNED_INDEX)
        assert_(size <= _INT_MAX, "a size beyond 32 bits in a matrix product")
        size = minimum(size, _INT_MAX)
    return size.cast(dtypes.i32)


def _matrix(memref: ir.Value, flipped: bool) -> _Matrix:
    """Where a matrix lies. `flipped`: its axes stand the other way round than the product wants them."""
    strides, _ = ir.MemRefType(memref.type).get_strides_and_offset()
    if strides[1] != 1 and strides[0] != 1:
        memref = b.copied(memref)
        strides, _ = ir.MemRefType(memref.type).get_strides_and_offset()
    lines_are_rows = strides[1] == 1
    shaped = ir.ShapedType(memref.type)
    made, distance = b.metadata(memref), strides[0 if lines_are_rows else 1]
    pointer = b.value("llvm.inttoptr", [_address(memref, made).cast(dtypes.i64)], ir.Type.parse("!llvm.ptr"))
    # a matrix of one line, or of none, may have any distance; BLAS wants one that its lines fit in
    line = 1 if lines_are_rows else 0
    if distance != ir.ShapedType.get_dynamic_stride_or_offset() and not shaped.is_dynamic_dim(line):
        return _Matrix(pointer, b.index(max(distance, shaped.get_dim_size(line), 1)), lines_are_rows == flipped)
    longest = maximum(of(made[4 if lines_are_rows else 5], SIGNED_INDEX), _size(memref, line))
    return _Matrix(pointer, maximum(longest, 1), lines_are_rows == flipped)


def _size(memref: ir.Value, axis: int) -> Scalar:
    """A size, as a constant when it is static."""
    static = _length(memref, axis - ir.ShapedType(memref.type).rank)
    return b.dim(memref, axis) if static is None else b.index(static)
