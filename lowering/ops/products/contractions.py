"""Matrix products: dialect/ops/products.py as linalg's contractions.

Products of f32 and f64, and of complex numbers of these, are linalg.matmul and batch_matmul, which products_to_blas turns into calls or
loops. The halves are summed in
f32 and rounded once; integers wrap: for both the loops are written out, in the order m, k, n, whose inner loop vectorises.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import Scalar, constant, lifted
from tierup.lowering.building.generics import NAMED_PRODUCTS, maps_of
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.movement import shape
from tierup.lowering.ops.pointwise.context import NotHandled, widened
from tierup.lowering.ops.reductions.sums import plus
from tierup.lowering.ops.tensors import Tensor, pointwise

_NAMED = (dtypes.f32, dtypes.f64, *dtypes.COMPLEX)
BLAS_LETTERS = {dtype.mlir: letter for dtype, letter in zip(_NAMED, "sdcz", strict=True)}  # of its functions, by the type of elements


def is_blas_product(op: ir.Operation) -> bool:
    """Whether a linalg product, on tensors or buffers, is one of matrices of floats or complex numbers of 32 or 64 bits a part, as they are
    or transposed: what BLAS has."""
    if op.name not in NAMED_PRODUCTS:
        return False
    elements = {str(ir.ShapedType(v.type).element_type) for v in op.operands}
    if len(elements) > 1 or elements.isdisjoint(BLAS_LETTERS):
        return False
    lead = [0] if op.name == "linalg.batch_matmul" else []
    m, n, k = (len(lead) + i for i in range(3))
    reads = [[ir.AffineDimExpr(e).position if isinstance(e, ir.AffineDimExpr) else None for e in map_.results] for map_ in maps_of(op)]
    left, right, result = reads
    return left in ([*lead, m, k], [*lead, k, m]) and right in ([*lead, k, n], [*lead, n, k]) and result == [*lead, m, n]


def multiply(x: Tensor, y: Tensor) -> Tensor:
    """(m, k) x (k, n) or (b, m, k) x (b, k, n), summed in the widened dtype, which the result has."""
    dtype = widened(x.dtype)
    lead, named = ([0] if x.rank == 3 else []), x.dtype in _NAMED
    out = tensors.zeros([*(_either(x, i, y, i) for i in lead), x.length(x.rank - 2), y.length(y.rank - 1)], dtype)
    m = len(lead)
    n, k = (m + 1, m + 2) if named else (m + 2, m + 1)
    maps = [tensors.dims_map(x.rank + 1, [*lead, *axes]) for axes in ((m, k), (k, n), (m, n))]
    if named:
        reads = ir.ArrayAttr.get([ir.AffineMapAttr.get(a) for a in maps])
        return out.holding(named_product(NAMED_PRODUCTS[len(lead)], [x.value, y.value, out.value], reads))
    return _summed(list(zip((x, y), maps, strict=False)), out, maps[2], [*["parallel"] * k, "reduction", "parallel"])


def _summed(operands: list[tuple[Tensor, ir.AffineMap]], out: Tensor, written: ir.AffineMap, iterators: list[str]) -> Tensor:
    """Products of two tensors' elements, added to a tensor in its dtype."""

    def body(elements: list[Scalar], total: list[Scalar]) -> list[Scalar]:
        left, right = (v.cast(out.dtype) for v in elements)
        return [plus(total[0], left * right)]

    return tensors.looped(operands, [out], written, iterators, body)[0]


def _either(x: Tensor, i: int, y: Tensor, j: int) -> Size:
    """A size that two tensors share, as an int if one of them knows it."""
    return x.length(i) if x.sizes[i] is not None else y.length(j)


def named_product(name: str, operands: Sequence[ir.Value], maps: ir.Attribute) -> ir.Value:
    """`name`, one of NAMED_PRODUCTS, of two float tensors, added to a third of their dtype."""
    segments = ir.DenseI32ArrayAttr.get([2, 1])
    made = b.op(name, operands, [operands[2].type], regions=1, indexing_maps=maps, operandSegmentSizes=segments)
    elements = [ir.ShapedType(v.type).element_type for v in operands]
    block = made.regions[0].blocks.append(*elements, arg_locs=[ir.Location.unknown()] * 3)
    with ir.InsertionPoint(block):
        x, y, total = lifted(block.arguments)
        if x.is_complex:  # MLIR asks for its own ops; whoever writes the loops has NumPy's
            b.op("linalg.yield", [total.call("complex.add", x.call("complex.mul", y))])
        else:
            b.op("linalg.yield", [total + x * y])
    return made.results[0]


def _mm(c: Call) -> Tensor:
    return multiply(c.tensor(0), c.tensor(1)).cast(c.dtype())


def _matmul(c: Call) -> Tensor:
    return matmul(c.tensor(0), c.tensor(1)).cast(c.dtype())


def matmul(x: Tensor, y: Tensor) -> Tensor:
    """Vectors, matrices and batches of them, which broadcast (torch.matmul)."""
    if x.rank == 1 and y.rank == 1:
        return _dot(x, y)
    if x.rank == 1:
        made = matmul(_row(x), y)
        return _without(made, made.rank - 2)
    if y.rank == 1:
        made = matmul(x, _column(y))
        return _without(made, made.rank - 1)
    if y.rank == 2 and x.rank > 2:
        # one matrix for all batches: the batches' rows in one tall matrix
        rows = shape.reshaped(x, [sizes.product(x.lengths[:-1]), x.length(x.rank - 1)])
        return shape.reshaped(multiply(rows, y), [*x.lengths[:-1], y.length(1)])
    if x.rank == 2 and y.rank == 2:
        return multiply(x, y)
    return _batched(x, y)


def _dot(x: Tensor, y: Tensor) -> Tensor:
    """Of vectors, as a sum: a call of BLAS takes as long as a hundred of its steps, and copies what does not lie side by side first."""
    along = tensors.dims_map(1, [0])
    return _summed([(x, along), (y, along)], tensors.zeros([], widened(x.dtype)), tensors.dims_map(1, []), ["reduction"])


def _batched(x: Tensor, y: Tensor) -> Tensor:
    batch, flat = stacked(x, y)
    return shape.reshaped(multiply(*flat), [*batch, x.length(x.rank - 2), y.length(y.rank - 1)])


def stacked(*operands: Tensor) -> tuple[list[Size], list[Tensor]]:
    """The sizes of the stack that stacks of matrices broadcast to, and each of them as (matrices, rows, columns)."""
    rank = max(x.rank for x in operands)
    batch: list[Size] = []
    for i in range(-rank, -2):
        sizes_here = [t.length(i + t.rank) for t in operands if t.rank >= -i]
        batch.append(
            next(
                (s for s in sizes_here if isinstance(s, int) and s != 1),
                next((s for s in sizes_here if not isinstance(s, int)), sizes_here[0]),
            )
        )
    flat = []
    for t in operands:
        matrix = [t.length(t.rank - 2), t.length(t.rank - 1)]
        lengths = [*batch, *matrix]
        full = t if t.sizes == sizes.known(lengths) and t.rank == rank else shape.broadcast(t, lengths)
        flat.append(shape.reshaped(full, [sizes.product(batch), *matrix]))
    return batch, flat


def _row(x: Tensor) -> Tensor:
    return tensors.expanded(x, [1, x.length(0)], [[0, 1]])


def _column(x: Tensor) -> Tensor:
    return tensors.expanded(x, [x.length(0), 1], [[0, 1]])


def _without(x: Tensor, axis: int) -> Tensor:
    return tensors.squeezed(x, [i for i in range(x.rank) if i != axis])


def _scaled(c: Call, product: Tensor, beta: int, alpha: int) -> Tensor:
    """beta * operand 0 + alpha * product, rounded once; what is multiplied by 0 is not read, so that its NaNs do not show."""
    x, dtype = c.tensor(0), product.dtype
    factors = [c.parameter(i) for i in (beta, alpha)]
    if any(isinstance(f, Scalar) for f in factors):
        raise NotHandled
    keep, scale = (float(f) if dtype.is_float else int(f) for f in factors)
    operands = [tensors.whole(product), tensors.broadcasting(x, range(product.rank - x.rank, product.rank))]

    def body(p: Scalar, s: Scalar) -> Scalar:
        total = constant(0, dtype) if scale == 0 else p if scale == 1 else p * scale
        added = s.cast(dtype)
        return total if keep == 0 else total + (added if keep == 1 else added * keep)

    return pointwise(product.lengths, operands, c.dtype(), body)


def _addmm(c: Call) -> Tensor:
    return _scaled(c, multiply(c.tensor(1), c.tensor(2)), 3, 4)


def _linear(c: Call) -> Tensor:
    x, weight = c.tensor(0), c.tensor(1)
    bias = c.optional_tensor(2)
    transposed = shape.permuted(weight, [1, 0]) if weight.rank == 2 else weight
    product = matmul(x, transposed)
    if bias is None:
        return product.cast(c.dtype())
    operands = [tensors.whole(product), (bias, [product.rank - 1] * bias.rank)]
    return pointwise(product.lengths, operands, c.dtype(), lambda p, v: p + v.cast(product.dtype))


def _outer(c: Call) -> Tensor:
    x, y, target = c.tensor(0), c.tensor(1), c.dtype()
    dtype, lengths = widened(target), [x.length(0), y.length(0)]
    return pointwise(lengths, [(x, [0]), (y, [1])], target, lambda u, v: u.cast(target).cast(dtype) * v.cast(target).cast(dtype))


LOWERINGS: dict[str, Lowering] = {
    "aten.mm": _mm,
    "aten.bmm": _mm,
    "aten.matmul": _matmul,
    "aten.mv": _matmul,
    "aten.dot": _matmul,
    "aten.outer": _outer,
    "aten.addmm": _addmm,
    "aten.baddbmm": _addmm,
    "aten.linear": _linear,
}
