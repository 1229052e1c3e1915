"""Products with a sum, and products that are matrix products after a change of shape."""

from __future__ import annotations

from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import Kind, ShapeError
from tierup.dialect.optable.formulas.core import Ops, T, formula


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
