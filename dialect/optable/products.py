"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.dialect.ir.values import Shape, Tensor, Value
from tierup.dialect.kernels.promotion import promote
from tierup.dialect.optable.core import Infer, InferRule, Kind, Op, Promotion, ShapeError, Tolerance
from tierup.dialect.optable.operands import dtype_of, is_none, or_unknown, product, shape


def one_dtype(op: str, *tensors: Value) -> DType | None:
    """The dtype that all have. TypeError when two known ones differ, or for bool."""
    known = [d for d in map(dtype_of, tensors) if d is not None]
    if len(set(known)) > 1:
        raise TypeError(f"{op}: expected operands of the same dtype, but got: {', '.join(d.name for d in known)}")
    if known and known[0] is dtypes.bool_:
        raise TypeError(f"{op}: not implemented for 'Bool'")
    return known[0] if known else None


@cache
def _numpy_dtype(function: str, a: DType, b: DType) -> DType | None:
    """The dtype of NumPy's product, asked of NumPy on one element. TypeError where NumPy has no such product."""
    of = getattr(np, function)
    one = (1, 1)
    return dtypes.from_numpy(of(np.ones(one, a.numpy), np.ones(one, b.numpy)).dtype)


def _dtype(ctx: Infer, op: str, function: str, a: Value, b: Value) -> DType | None:
    if ctx.promotion is Promotion.TORCH:
        return one_dtype(op, a, b)
    da, db = dtype_of(a), dtype_of(b)
    return None if da is None or db is None else _numpy_dtype(function, da, db)


def _ranks(op: str, *expected: tuple[Value, int]) -> None:
    for value, rank in expected:
        if isinstance(value, Tensor) and value.rank is not None and value.rank != rank:
            raise ShapeError(f"{op}: expected a tensor of rank {rank}, but got one of rank {value.rank}")


@or_unknown
def _product_shape(ctx: Infer, op: str, a: Value, b: Value) -> Shape:
    """np.matmul's and torch.matmul's common shape rule."""
    left, right = shape(a), shape(b)
    if not left or not right:
        raise ShapeError(f"both arguments to {op} need to be at least 1D, but they are {len(left)}D and {len(right)}D")
    ctx.equal(left[-1], right[-2 if len(right) > 1 else 0], f"{op}: mat1 and mat2 shapes cannot be multiplied")
    batch = ctx.broadcast([left[:-2], right[:-2]], f"{op}: batches do not broadcast:")
    assert batch is not None  # both ranks are known
    return (*batch, *left[-2:-1], *(right[-1:] if len(right) > 1 else ()))


def _fixed(op: str, rank_a: int, rank_b: int) -> InferRule:
    """mm, mv, dot: ranks are fixed under torch's rules; under NumPy's the op is np.matmul."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        a, b = operands[:2]
        if ctx.promotion is Promotion.TORCH:
            _ranks(op, (a, rank_a), (b, rank_b))
        return Tensor(_dtype(ctx, op, "matmul", a, b), _product_shape(ctx, op, a, b))

    return infer


def _matmul(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    a, b = operands[:2]
    return Tensor(_dtype(ctx, "matmul", "matmul", a, b), _product_shape(ctx, "matmul", a, b))


@or_unknown
def _batch_shape(ctx: Infer, op: str, a: Value, b: Value) -> Shape:
    (n, i, k), (m, l, j) = shape(a), shape(b)
    what = f"{op}: Expected size for first two dimensions of batch2 tensor to be those of batch1"
    ctx.equal(k, l, what)
    return (ctx.equal(n, m, what), i, j)


def _bmm(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    if ctx.promotion is Promotion.NUMPY:
        return _matmul(ctx, operands)
    a, b = operands[:2]
    _ranks("bmm", (a, 3), (b, 3))
    return Tensor(_dtype(ctx, "bmm", "matmul", a, b), _batch_shape(ctx, "bmm", a, b))


@or_unknown
def _dot_shape(ctx: Infer, a: Value, b: Value) -> Shape:
    """np.dot's rule: scalars multiply; else the last axis of a goes with the second to last of b."""
    left, right = shape(a), shape(b)
    if not left or not right:
        return left or right
    ctx.equal(left[-1], right[-2 if len(right) > 1 else 0], "shapes not aligned")
    return (*left[:-1], *right[:-2], *(right[-1:] if len(right) > 1 else ()))


def _dot(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    a, b = operands[:2]
    if ctx.promotion is Promotion.NUMPY:
        return Tensor(_dtype(ctx, "dot", "dot", a, b), _dot_shape(ctx, a, b))
    _ranks("dot", (a, 1), (b, 1))
    return Tensor(one_dtype("dot", a, b), _product_shape(ctx, "dot", a, b))


@or_unknown
def _outer_shape(ctx: Infer, a: Value, b: Value) -> Shape:
    return (product(shape(a)), product(shape(b)))


def _outer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    a, b = operands[:2]
    da, db = dtype_of(a), dtype_of(b)
    if ctx.promotion is Promotion.NUMPY:
        return Tensor(_dtype(ctx, "outer", "outer", a, b), _outer_shape(ctx, a, b))
    _ranks("outer", (a, 1), (b, 1))
    return Tensor(None if da is None or db is None else promote(da, db), _outer_shape(ctx, a, b))


@or_unknown
def _expanded(ctx: Infer, op: str, x: Value, result: Shape | None) -> None:
    """x must broadcast to the result's shape, and not enlarge it."""
    if result is None:
        return
    sizes = shape(x)
    if len(sizes) > len(result):
        raise ShapeError(f"{op}: input of rank {len(sizes)} cannot be expanded to rank {len(result)}")
    for size, target in zip(reversed(sizes), reversed(result), strict=False):
        if size != 1:
            ctx.equal(target, size, f"{op}: input cannot be expanded to the product's shape")


def _added(op: str, rank_a: int, rank_b: int) -> InferRule:
    """addmm and baddbmm."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        x, a, b = operands[:3]
        _ranks(op, (a, rank_a), (b, rank_b))
        result = _batch_shape(ctx, op, a, b) if rank_a == 3 else _product_shape(ctx, op, a, b)
        _expanded(ctx, op, x, result)
        return Tensor(one_dtype(op, x, a, b), result)

    return infer


@or_unknown
def _linear_shape(ctx: Infer, x: Value, weight: Value) -> Shape:
    left, right = shape(x), shape(weight)
    if not left or not right:
        raise ShapeError(f"both arguments to linear need to be at least 1D, but they are {len(left)}D and {len(right)}D")
    if len(right) > 2:
        raise ShapeError(f"linear: weight must have at most 2 dimensions, but has {len(right)}")
    ctx.equal(left[-1], right[-1], "linear: mat1 and mat2 shapes cannot be multiplied")
    return (*left[:-1], *right[:-1])


@or_unknown
def _has_bias(operands: Sequence[Value]) -> bool:
    return len(operands) > 2 and not is_none(operands[2])


@or_unknown
def _refuse_bias(x: Value, weight: Value, bias: Value) -> None:
    rank = len(shape(x))
    if len(shape(weight)) == 1 and (rank == 2 or rank > 2 and shape(bias)):
        raise ShapeError("linear: a weight of rank 1 takes no bias: mat2 must be a matrix, got 1-D tensor")


def _linear(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, weight = operands[:2]
    result = _linear_shape(ctx, x, weight)
    if not _has_bias(operands):
        return Tensor(one_dtype("linear", x, weight), result)
    bias = operands[2]
    _refuse_bias(x, weight, bias)
    _expanded(ctx, "linear", bias, result)
    return Tensor(one_dtype("linear", x, weight, bias), result)


_SUMMED = Tolerance(4.0, 1.0)


def _row(name: str, kernel: str, infer: InferRule, numpy: str | None = None, note: str = "") -> Op:
    return Op(f"aten.{name}", Kind.PRODUCT, f"products.{kernel}", infer, numpy=numpy, tolerance=_SUMMED, note=note)


ROWS = (
    _row("mm", "mm", _fixed("mm", 2, 2), "numpy_products.matmul"),
    _row("bmm", "bmm", _bmm, "numpy_products.matmul"),
    _row("matmul", "matmul", _matmul, "numpy_products.matmul"),
    _row("mv", "mv", _fixed("mv", 2, 1), "numpy_products.matmul"),
    _row("dot", "dot", _dot, "numpy_products.dot", "vectors only; under NumPy's rules np.dot, of any rank"),
    _row("outer", "outer", _outer, "numpy_products.outer"),
    _row("addmm", "addmm", _added("addmm", 2, 2), note="input is not read when beta is 0, nor the product when alpha is 0"),
    _row("baddbmm", "baddbmm", _added("baddbmm", 3, 3), note="input is not read when beta is 0, nor the product when alpha is 0"),
    _row("linear", "linear", _linear),
)
