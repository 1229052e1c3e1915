"""Products with a sum, and products that are matrix products after a change of shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import Kind, ShapeError, normalise_dim
from tierup.dialect.optable.formulas.core import INT, Ops, T, formula


def _summed(o: Ops[T], op: str, x: T, product: T, beta: Any, alpha: Any) -> T:
    """beta x + alpha product; x is not looked at for a beta of 0: its NaNs do not count."""
    dtype = o.known(product).dtype
    if dtype is None:
        raise o.unknown()
    if not dtype.is_float:
        alpha, beta = int(alpha), int(beta)  # as PyTorch does
    if o.known(x).dtype is not dtype and None not in (o.known(x).dtype, dtype):
        raise ShapeError(f"{op}: expected operands of one dtype, but got {o.known(x).dtype} and {dtype}")
    product = product if alpha == 1 else o.mul(product, alpha)
    if beta == 0:
        return o.call("aten.add.Tensor", product, o.call("aten.zeros_like", x, None, None, None, None, None), 1)
    return o.add(product, x if beta == 1 else o.mul(x, beta))


def _rank(o: Ops[T], op: str, x: T, rank: int) -> None:
    if o.known(x).rank not in (None, rank):
        raise ShapeError(f"{op}: expected a tensor of rank {rank}, but got one of rank {o.known(x).rank}")


@formula("addmv(self, mat, vec; beta, alpha)", kind=Kind.PRODUCT)
def addmv(o: Ops[T], x: T, matrix: T, vector: T, beta: Any = 1, alpha: Any = 1) -> T:
    product = o.call("aten.mv", matrix, vector)
    found = _summed(o, "addmv", x, product, beta, alpha)
    o.same_sizes(found, product, "addmv: the sum is larger than the product")
    return found


@formula("addbmm(self, batch1, batch2; beta, alpha)", kind=Kind.PRODUCT)
def addbmm(o: Ops[T], x: T, a: T, b: T, beta: Any = 1, alpha: Any = 1) -> T:
    """The products of a batch are summed."""
    product = o.call("aten.sum.dim_IntList", o.call("aten.bmm", a, b), [0], False, _code(o, a))
    found = _summed(o, "addbmm", x, product, beta, alpha)
    o.same_sizes(found, product, "addbmm: the sum is larger than the product")
    return found


def _code(o: Ops[T], x: T) -> int:
    dtype = o.known(x).dtype
    if dtype is None:
        raise o.unknown()
    return dtype.code


@formula("inner(self, other; )", kind=Kind.PRODUCT)
def inner(o: Ops[T], x: T, y: T) -> T:
    """Products of the last dims, summed; of a number and a tensor, elementwise."""
    if o.rank(x) == 0 or o.rank(y) == 0:
        return o.mul(x, y)
    if o.known(x).dtype is not o.known(y).dtype and None not in (o.known(x).dtype, o.known(y).dtype):
        raise ShapeError("inner: expected both tensors to have the same dtype")
    o.equal(x, o.rank(x) - 1, y, o.rank(y) - 1, "inner() the last dimension must match on both input tensors")
    if o.rank(y) == 1:
        return o.call("aten.matmul", x, y)
    if o.rank(y) == 2:
        return o.call("aten.matmul", x, o.call("aten.transpose.int", y, 0, 1))
    rows = o.call("aten.flatten.using_ints", y, 0, -2)
    found = o.call("aten.matmul", x, o.call("aten.transpose.int", rows, 0, 1))
    return o.call("aten.unflatten.int", found, -1, [o.size(y, i) for i in range(o.rank(y) - 1)])


@formula("tensordot(self, other; dims_self, dims_other)", kind=Kind.PRODUCT)
def tensordot(o: Ops[T], x: T, y: T, dims_x: Sequence[int], dims_y: Sequence[int]) -> T:
    """Products summed over pairs of dims; the others follow one another. A dim of 1 goes with any, whose entries are summed."""
    if len(dims_x) != len(dims_y):
        raise ShapeError("both dimension lists should have same length")
    if o.known(x).dtype is not o.known(y).dtype and None not in (o.known(x).dtype, o.known(y).dtype):
        raise ShapeError("both inputs should have same dtype")
    over = [normalise_dim(d, o.rank(x)) for d in dims_x], [normalise_dim(d, o.rank(y)) for d in dims_y]
    for i, j in zip(*over, strict=True):
        sizes = [(o.known(v).shape or ())[k] for v, k in ((x, i), (y, j))]
        if 1 in sizes:
            x = x if sizes[0] == 1 else o.call("aten.sum.dim_IntList", x, [i], True, _code(o, x))
            y = y if sizes[1] == 1 else o.call("aten.sum.dim_IntList", y, [j], True, _code(o, y))
        else:
            o.equal(x, i, y, j, f"contracted dimensions need to match, but dim {i} has size {sizes[0]} and dim {j} {sizes[1]}")
    rest = [i for i in range(o.rank(x)) if i not in over[0]], [j for j in range(o.rank(y)) if j not in over[1]]
    sizes_y = [o.size(y, j) for j in rest[1]]
    x, y = o.call("aten.permute", x, [*rest[0], *over[0]]), o.call("aten.permute", y, [*over[1], *rest[1]])
    x = o.call("aten.flatten.using_ints", x, len(rest[0]), -1) if over[0] else o.call("aten.unsqueeze", x, -1)
    y = o.call("aten.flatten.using_ints", y, 0, len(over[1]) - 1) if over[1] else o.call("aten.unsqueeze", y, 0)
    if not sizes_y:
        return o.call("aten.matmul", x, y)
    found = o.call("aten.matmul", x, o.call("aten.flatten.using_ints", y, 1, -1))
    return found if len(sizes_y) == 1 else o.call("aten.unflatten.int", found, -1, sizes_y)


vdot = formula("vdot(self, other; )", kind=Kind.PRODUCT)(lambda o, x, y: o.call("aten.dot", x, y))


@formula("addr(self, vec1, vec2; beta, alpha)", kind=Kind.PRODUCT)
def addr(o: Ops[T], x: T, a: T, b: T, beta: Any = 1, alpha: Any = 1) -> T:
    """beta x + alpha a b^T, in the dtype that all three have in common."""
    _rank(o, "addr", a, 1)
    _rank(o, "addr", b, 1)
    product = o.mul(o.call("aten.unsqueeze", a, 1), b)
    known = [o.known(v).dtype for v in (x, a, b)]
    if None in known:
        raise o.unknown()
    if all(dtype is dtypes.bool_ for dtype in known):
        parts = [v for v, factor in ((product, alpha), (x, beta)) if factor] or [o.call("aten.logical_xor", product, product)]
        found = parts[0] if len(parts) == 1 else o.call("aten.logical_or", *parts)
    else:
        product = product if alpha == 1 else o.mul(product, alpha)
        nothing = o.call("aten.zeros_like", x, None, None, None, None, None) if beta == 0 else x
        found = o.add(product, nothing if beta in (0, 1) else o.mul(x, beta))
    o.same_sizes(found, product, "addr: the sum is larger than the product")
    return found


@formula("bilinear(input1, input2, weight, bias; )", kind=Kind.PRODUCT)
def bilinear(o: Ops[T], x: T, y: T, weight: T, bias: T | None = None) -> T:
    """x^T W_k y for every k, and the bias."""
    _rank(o, "bilinear", weight, 3)
    o.equal(x, o.rank(x) - 1, weight, 1, "bilinear(): input1 size does not match weight size")
    o.equal(y, o.rank(y) - 1, weight, 2, "bilinear(): input2 size does not match weight size")
    rows = o.call("aten.matmul", o.call("aten.unsqueeze", o.call("aten.unsqueeze", x, -2), -2), weight)  # ... x k x 1 x y
    found = o.call("aten.matmul", rows, o.call("aten.unsqueeze", o.call("aten.unsqueeze", y, -2), -1))
    found = o.call("aten.squeeze.dim", o.call("aten.squeeze.dim", found, -1), -1)
    return found if bias is None else o.add(found, bias)


@formula("linalg_cross(self, other; dim)", kind=Kind.PRODUCT)
def linalg_cross(o: Ops[T], x: T, y: T, dim: int = -1) -> T:
    if o.rank(x) != o.rank(y):
        raise ShapeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = normalise_dim(dim, o.rank(x))
    sizes = [(o.known(v).shape or ())[axis] for v in (x, y)]
    if not all(isinstance(n, int) for n in sizes):
        raise o.unknown()
    if sizes != [3, 3]:
        raise ShapeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}")
    (x1, x2), (y1, y2) = ([o.call("aten.roll", v, [-k], [axis]) for k in (1, 2)] for v in (x, y))
    return o.sub(o.mul(x1, y2), o.mul(x2, y1))


@formula("cross(self, other; dim)", kind=Kind.PRODUCT)
def cross(o: Ops[T], x: T, y: T, dim: int | None = None) -> T:
    """Along the first dim of 3, where none is given."""
    if dim is None:
        sizes = o.known(x).shape
        if sizes is None or not all(isinstance(n, int) for n in sizes):
            raise o.unknown()
        if 3 not in sizes:
            raise ShapeError("no dimension of size 3 in input")
        dim = sizes.index(3)
    return linalg_cross(o, x, y, dim)


@formula("kron(self, other; )", kind=Kind.PRODUCT)
def kron(o: Ops[T], x: T, y: T) -> T:
    """Each element of the first times all of the second."""
    rank = max(o.rank(x), o.rank(y))
    for _ in range(rank - o.rank(x)):
        x = o.call("aten.unsqueeze", x, 0)
    for _ in range(rank - o.rank(y)):
        y = o.call("aten.unsqueeze", y, 0)
    sizes = [o.call("aten.mul.int", o.size(x, i), o.size(y, i), type_=INT) for i in range(rank)]
    for i in range(rank):
        x, y = o.call("aten.unsqueeze", x, 2 * i + 1), o.call("aten.unsqueeze", y, 2 * i)
    return o.call("aten.reshape", o.mul(x, y), sizes)


@formula("linalg_multi_dot(*tensors; )", kind=Kind.PRODUCT)
def linalg_multi_dot(o: Ops[T], tensors: Sequence[T]) -> T:
    """From the left; the first and the last may be vectors."""
    if len(tensors) < 2:
        raise ShapeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for i, each in enumerate(tensors):
        if o.rank(each) not in ((1, 2) if i in (0, len(tensors) - 1) else (2,)):
            raise ShapeError(f"multi_dot(): tensor {i} must be 2D, the first and last 1D or 2D, but got {o.rank(each)}D")
    return reduce(lambda found, each: o.call("aten.matmul", found, each), tensors)


@formula("chain_matmul(*matrices; )", kind=Kind.PRODUCT)
def chain_matmul(o: Ops[T], matrices: Sequence[T]) -> T:
    """From the left, which rounds otherwise than another order."""
    for each in matrices:
        _rank(o, "chain_matmul", each, 2)
    return linalg_multi_dot(o, matrices) if len(matrices) > 1 else o.call("aten.clone", matrices[0], None)


@formula("linalg_vecdot(x, y; dim)", kind=Kind.PRODUCT)
def linalg_vecdot(o: Ops[T], x: T, y: T, dim: int = -1) -> T:
    if o.is_float(x) is False or o.is_float(y) is False:
        raise ShapeError("linalg.vecdot: Expected a floating point or complex tensor as input.")
    return o.call("aten.sum.dim_IntList", o.mul(x, y), [dim], False, None)


@formula("linalg_matrix_power(self; n)", "matrix_power(self; n)", kind=Kind.PRODUCT, raises=True)
def matrix_power(o: Ops[T], x: T, n: int) -> T:
    """By squares; of the inverse for a negative one."""
    if o.rank(x) < 2:
        raise ShapeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    o.equal(x, o.rank(x) - 1, x, o.rank(x) - 2, "linalg.matrix_power: A must be batches of square matrices")
    if n < 0:
        x, n = o.call("tierup.linalg_inv", x), -n
    if n == 0:
        return o.call("aten.expand_as", o.call("aten.eye", o.size(x, -1), _code(o, x), None, None, None), x)
    found = o.call("aten.clone", x, None)
    for bit in bin(n)[3:]:
        found = o.call("aten.matmul", found, found)
        found = o.call("aten.matmul", found, x) if bit == "1" else found
    return found


@formula("conv_tbc(self, weight, bias; pad)", kind=Kind.PRODUCT)
def conv_tbc(o: Ops[T], x: T, weight: T, bias: T, pad: int = 0) -> T:
    """A convolution over the first dim: time, batch, channels."""
    for given, rank in ((x, 3), (weight, 3), (bias, 1)):
        _rank(o, "conv_tbc", given, rank)
    rows = o.call("aten.permute", x, [1, 2, 0])
    found = o.call("aten.conv1d", rows, o.call("aten.permute", weight, [2, 1, 0]), bias, [1], [pad], [1], 1)
    return o.call("aten.contiguous", o.call("aten.permute", found, [2, 0, 1]), 0)
