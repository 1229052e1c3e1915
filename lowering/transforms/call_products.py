"""tierup-call-products: matrix products become calls of BLAS.

    linalg.matmul {tierup.beta = 0.0} ins(%a, %b : memref<32x64xf32>, memref<64x128xf32>) outs(%c : memref<32x128xf32>)
becomes
    func.call @scipy_cblas_sgemm(row major, no trans, no trans, 32, 128, 64, 1.0, %a's address, 64, %b's address, 128, 0.0, %c's address, 128)

A batch_matmul becomes a loop of such calls. A product whose rows are not dense (BLAS wants unit stride along one of the two
dims) reads a dense copy. Left to loops: integers, half precision, sizes that may be 0, and products of so few operations that
the call would cost more than the loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tierup.dialect.mlir import ir
from tierup.dialect.registry import Pass, register
from tierup.lowering import builders as b

BETA = "tierup.beta"  # 0.0 on a product that overwrites its output; absent: it adds to it
_ROUTINES = {"f32": "scipy_cblas_sgemm", "f64": "scipy_cblas_dgemm"}
_ROW_MAJOR, _NO_TRANS, _TRANS = 101, 111, 112
_LEAST_WORK = 4096  # multiply-adds below which vectorised loops beat the call's 100 to 200 ns


def products(function: ir.Operation) -> list[ir.Operation]:
    """The products of a function that BLAS computes: the same on tensors and on memrefs."""
    return [op for op in b.walk(function) if op.name in ("linalg.matmul", "linalg.batch_matmul") and _worth_a_call(op)]


def _worth_a_call(product: ir.Operation) -> bool:
    types = [ir.ShapedType(v.type) for v in product.operands]
    if {str(t.element_type) for t in types} not in ({"f32"}, {"f64"}):
        return False
    work = 1
    for type_, axes in ((types[0], range(types[0].rank)), (types[1], (types[1].rank - 1,))):
        for axis in axes:
            if type_.is_dynamic_dim(axis):
                return True  # symbols are at least 2; BLAS takes any size from 1
            work *= type_.get_dim_size(axis)
    return work >= _LEAST_WORK


@register
@dataclass(frozen=True)
class CallProducts(Pass):
    """Matrix products become calls of BLAS."""

    name = "tierup-call-products"

    def run(self, module: ir.Module) -> None:
        used: dict[str, ir.Type] = {}
        for function in list(module.body.operations):
            for product in products(function.operation):
                with ir.InsertionPoint(product), product.location:
                    _Product(product).emit(used)
                product.erase()
        declared = {str(f.operation.attributes["sym_name"]) for f in module.body.operations if "sym_name" in f.operation.attributes}
        with ir.InsertionPoint.at_block_begin(module.body), ir.Location.unknown():
            for name, type_ in used.items():
                if f'"{name}"' not in declared:
                    b.op("func.func", regions=1, sym_name=ir.StringAttr.get(name), function_type=ir.TypeAttr.get(type_),
                         sym_visibility=ir.StringAttr.get("private"))  # fmt: skip


@dataclass
class _Matrix:
    """A matrix as BLAS sees it: the buffer, its leading dim, whether it is read transposed; `copy` to be freed after the call."""

    buffer: ir.Value
    leading: ir.Value
    transposed: bool
    copy: ir.Value | None = None


class _Product:
    """One product being turned into calls."""

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self.batched = op.name == "linalg.batch_matmul"
        self.element = ir.ShapedType(op.operands[0].type).element_type
        maps = [ir.AffineMapAttr(a).value for a in ir.ArrayAttr(op.attributes["indexing_maps"])] if "indexing_maps" in op.attributes else None
        k = 3 if self.batched else 2
        self.a_transposed = maps is not None and ir.AffineDimExpr(maps[0].results[-1]).position != k
        self.b_transposed = maps is not None and ir.AffineDimExpr(maps[1].results[-1]).position == k

    def emit(self, used: dict[str, ir.Type]) -> None:
        a, c = self.op.operands[0], self.op.operands[2]
        rank = ir.ShapedType(c.type).rank
        left, right, out = (self.matrix(v) for v in self.op.operands)
        m, n = b.dim(c, rank - 2), b.dim(c, rank - 1)
        k = b.dim(a, rank - 2 if self.a_transposed else rank - 1)
        matrices = (left, right, out)
        if self.batched:
            loop = b.op("scf.for", [b.index(0), b.dim(c, 0), b.index(1)], regions=1)
            block = loop.regions[0].blocks.append(b.index_type(), arg_locs=[ir.Location.unknown()])
            with ir.InsertionPoint(block):
                self.call(matrices, (m, n, k), block.arguments[0], used)
                b.op("scf.yield")
        else:
            self.call(matrices, (m, n, k), None, used)
        for matrix in matrices:
            if matrix.copy is not None:
                b.op("memref.dealloc", [matrix.copy])

    def matrix(self, buffer: ir.Value) -> _Matrix:
        """How BLAS reads a buffer: as it is when one of the last two dims is dense, else as a dense copy."""
        type_ = ir.MemRefType(buffer.type)
        transposed = buffer == self.op.operands[0] and self.a_transposed or buffer == self.op.operands[1] and self.b_transposed
        strides, _ = type_.get_strides_and_offset()
        if strides[-1] == 1:
            return _Matrix(buffer, self.leading(buffer, type_.rank - 2, type_.rank - 1), transposed)
        if strides[-2] == 1 and buffer != self.op.operands[2]:
            return _Matrix(buffer, self.leading(buffer, type_.rank - 1, type_.rank - 2), not transposed)
        dense = ir.MemRefType.get(b.shape_of(type_), self.element)
        sizes = b.dynamic_sizes(buffer)
        copy = b.op("memref.alloc", sizes, [dense], operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(sizes), 0])).results[0]
        identity = ir.AffineMap.get_identity(type_.rank)
        move = b.op(
            "linalg.generic",
            [buffer, copy],
            regions=1,
            indexing_maps=ir.ArrayAttr.get([ir.AffineMapAttr.get(identity)] * 2),
            iterator_types=ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * type_.rank),
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1]),
        )
        block = move.regions[0].blocks.append(self.element, self.element, arg_locs=[ir.Location.unknown()] * 2)
        with ir.InsertionPoint(block):
            b.op("linalg.yield", [block.arguments[0]])
        return _Matrix(copy, self.leading(copy, type_.rank - 2, type_.rank - 1), transposed, copy)

    def leading(self, buffer: ir.Value, axis: int, dense_axis: int) -> ir.Value:
        """The distance of two rows in elements. Of a single row it may be anything, but BLAS wants it no shorter than the row."""
        stride = _metadata(buffer).strides[axis]
        return b.value("arith.maxsi", [stride, b.dim(buffer, dense_axis)], b.index_type())

    def call(self, matrices: Sequence[_Matrix], sizes: Sequence[ir.Value], batch: ir.Value | None, used: dict[str, ir.Type]) -> None:
        left, right, out = matrices
        alpha = b.value("arith.constant", [], self.element, value=ir.FloatAttr.get(self.element, 1.0))
        starts_at = 0.0 if BETA in self.op.attributes else 1.0
        beta = b.value("arith.constant", [], self.element, value=ir.FloatAttr.get(self.element, starts_at))
        operands = [
            b.integer(_ROW_MAJOR, 32),
            *(b.integer(_TRANS if x.transposed else _NO_TRANS, 32) for x in (left, right)),
            *(_to_i32(s) for s in sizes),
            alpha,
            self.address(left, batch),
            _to_i32(left.leading),
            self.address(right, batch),
            _to_i32(right.leading),
            beta,
            self.address(out, batch),
            _to_i32(out.leading),
        ]
        name = _ROUTINES[str(self.element)]
        used[name] = ir.FunctionType.get([o.type for o in operands], [])
        b.op("func.call", operands, callee=ir.FlatSymbolRefAttr.get(name))

    def address(self, matrix: _Matrix, batch: ir.Value | None) -> ir.Value:
        """A pointer to the matrix's (this batch's) element 0."""
        meta = _metadata(matrix.buffer)
        elements = meta.offset
        if batch is not None:
            elements = b.value("arith.addi", [elements, b.value("arith.muli", [batch, meta.strides[0]], b.index_type())], b.index_type())
        size = b.index(4 if str(self.element) == "f32" else 8)
        base = b.value("memref.extract_aligned_pointer_as_index", [matrix.buffer], b.index_type())
        at = b.value("arith.addi", [base, b.value("arith.muli", [elements, size], b.index_type())], b.index_type())
        return b.value("llvm.inttoptr", [b.index_to_i64(at)], ir.Type.parse("!llvm.ptr"))


@dataclass(frozen=True)
class _Metadata:
    offset: ir.Value
    strides: list[ir.Value]


def _metadata(buffer: ir.Value) -> _Metadata:
    type_ = ir.MemRefType(buffer.type)
    base = ir.MemRefType.get([], type_.element_type)
    results = [base, b.index_type(), *([b.index_type()] * type_.rank * 2)]
    found = list(b.op("memref.extract_strided_metadata", [buffer], results).results)
    return _Metadata(found[1], found[2 + type_.rank :])


def _to_i32(number: ir.Value) -> ir.Value:
    return b.value("arith.index_cast", [number], b.integer_type(32))
