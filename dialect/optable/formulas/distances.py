"""Similarities and distances of vectors, and the losses that are made of them."""

from __future__ import annotations

from tierup.dialect.optable.core import ShapeError
from tierup.dialect.optable.formulas.core import Ops, T, formula, reduced
from tierup.dialect.optable.formulas.rearranging import broadcast_tensors


def _norm(o: Ops[T], x: T, p: float, dims: list[int] | None, keep: bool = False) -> T:
    return o.call("aten.linalg_vector_norm", x, p, dims, keep, None)


@formula("dist(self, other; p)")
def dist(o: Ops[T], x: T, y: T, p: float = 2) -> T:
    """The norm of a difference."""
    return _norm(o, o.sub(x, y), p, None)


@formula("pairwise_distance(x1, x2; p, eps, keepdim)")
def pairwise_distance(o: Ops[T], x: T, y: T, p: float = 2, eps: float = 1e-6, keepdim: bool = False) -> T:
    """Norms of differences along the last dim."""
    return _norm(o, o.add(o.sub(x, y), eps), p, [-1], keepdim)


@formula("cdist(x1, x2; p, compute_mode)")
def cdist(o: Ops[T], x: T, y: T, p: float = 2, mode: int | None = None) -> T:
    """Norms of the differences of each row of the one and each of the other."""
    if o.rank(x) < 2 or o.rank(y) < 2:
        raise ShapeError("cdist only supports at least 2D tensors")
    if p < 0:
        raise ShapeError("cdist only supports non-negative p values")
    if o.is_float(x) is False or o.is_float(y) is False:
        raise ShapeError("cdist only supports floating-point dtypes")
    o.equal(x, o.rank(x) - 1, y, o.rank(y) - 1, "cdist: X1 and X2 must have the same number of columns")
    return _norm(o, o.sub(o.call("aten.unsqueeze", x, -2), o.call("aten.unsqueeze", y, -3)), p, [-1])


@formula("cosine_similarity(x1, x2; dim, eps)")
def cosine_similarity(o: Ops[T], x: T, y: T, dim: int = 1, eps: float = 1e-8) -> T:
    """Of vectors along a dim; norms are at least eps."""
    if o.is_float(x) is False or o.is_float(y) is False:
        raise TypeError("expected common dtype to be floating point")
    x, y = broadcast_tensors(o, [x, y])
    norms = [o.call("aten.clamp_min", _norm(o, v, 2, [dim], True), eps) for v in (x, y)]
    return o.call("aten.sum.dim_IntList", o.mul(o.div(x, norms[0]), o.div(y, norms[1])), [dim], False, None)


@formula("triplet_margin_loss(anchor, positive, negative; margin, p, eps, swap, reduction)")
def triplet_margin_loss(
    o: Ops[T], anchor: T, positive: T, negative: T,
    margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False, reduction: int = 1,
) -> T:  # fmt: skip
    if not o.rank(anchor) == o.rank(positive) == o.rank(negative):
        raise ShapeError("All inputs should have same dimension")
    near, far = pairwise_distance(o, anchor, positive, p, eps), pairwise_distance(o, anchor, negative, p, eps)
    if swap:
        far = o.call("aten.minimum", far, pairwise_distance(o, positive, negative, p, eps))
    return reduced(o, o.call("aten.clamp_min", o.add(o.sub(near, far), margin), 0), reduction)


@formula("cosine_embedding_loss(input1, input2, target; margin, reduction)", looked_at=(2,))
def cosine_embedding_loss(o: Ops[T], x: T, y: T, target: T, margin: float = 0.0, reduction: int = 1) -> T:
    """1 - cos for a target of 1, max(0, cos - margin) for one of -1, else 0."""
    rank = o.rank(target)
    if rank not in (0, 1) or o.rank(x) != rank + 1 or o.rank(y) != rank + 1:
        raise ShapeError("cosine_embedding_loss: a target of rank 1 goes with inputs of rank 2, one of rank 0 with inputs of rank 1")
    epsilon = 1e-12
    product = o.call("aten.sum.dim_IntList", o.mul(x, y), [rank], False, None)
    squares = [o.add(o.call("aten.sum.dim_IntList", o.mul(v, v), [rank], False, None), epsilon) for v in (x, y)]
    cosine = o.div(product, o.call("aten.sqrt", o.mul(squares[0], squares[1])))
    nothing = o.call("aten.zeros_like", cosine, None, None, None, None, None)
    near = o.where(o.call("aten.eq.Scalar", target, 1), o.rsub(1, cosine), nothing)
    far = o.where(o.call("aten.eq.Scalar", target, -1), o.call("aten.clamp_min", o.sub(cosine, margin), 0), nothing)
    return reduced(o, o.add(near, far), reduction)
