"""Products: dot, matrix products, matmul, outer products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts import dims
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.optable.core import NO_RULE, OF_COMPLEX, Infer, InferRule, Kind, Promotion, ShapeError, Tolerance, format_shape
from tierup.dialect.optable.define import DefinedOp, define, op
from tierup.dialect.optable.kernels.arrays import cast, in_rows, quiet, rounded, widened
from tierup.dialect.optable.kernels.promotion import promote
from tierup.dialect.optable.operands import dtype_of, integer, is_none, or_unknown, product, shape

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

Number = int | float
_SCALED = "input is not read when beta is 0, nor the product when alpha is 0"

_HOW: Any = {"kind": Kind.PRODUCT, "tolerance": Tolerance(4.0, 1.0), **OF_COMPLEX}
_op = partial(op, **_HOW)


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


def _inner(ctx: Infer, op: str, left: Shape, right: Shape, along: int) -> None:
    """left's last size and right's `along`, over which is summed."""
    a, b = left[-1], right[along]
    if isinstance(a, int) and isinstance(b, int) and a != b:
        raise ShapeError(f"{op}: mat1 and mat2 shapes cannot be multiplied ({format_shape(left)} and {format_shape(right)})")
    ctx.equal(a, b, f"{op}: mat1 and mat2 shapes cannot be multiplied")


@or_unknown
def _product_shape(ctx: Infer, op: str, a: Value, b: Value) -> Shape:
    """np.matmul's and torch.matmul's common shape rule."""
    left, right = shape(a), shape(b)
    if not left or not right:
        raise ShapeError(f"both arguments to {op} need to be at least 1D, but they are {len(left)}D and {len(right)}D")
    _inner(ctx, op, left, right, -2 if len(right) > 1 else 0)
    batch = ctx.broadcast([left[:-2], right[:-2]], f"{op}: batches do not broadcast:")
    assert batch is not None  # both ranks are known
    return (*batch, *left[-2:-1], *(right[-1:] if len(right) > 1 else ()))


def _fixed(op: str, rank_a: int, rank_b: int) -> InferRule:
    """Mm, mv, dot: ranks are fixed under torch's rules; under NumPy's the op is np.matmul."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        a, b = operands[:2]
        if ctx.promotion is Promotion.TORCH:
            _ranks(op, (a, rank_a), (b, rank_b))
        return Tensor(_dtype(ctx, op, "matmul", a, b), _product_shape(ctx, op, a, b))

    return infer


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b, in float32 for the halves."""
    with quiet:
        return in_rows(np.matmul(widened(a), widened(b)))


def _product_op(schema: str, infer: InferRule, numpy: Callable[..., Any] = np.matmul, note: str = "") -> DefinedOp[np.ndarray]:
    """The op that gives the product of tensors of such ranks as its rule takes; under NumPy's rules `numpy`, of all ranks that it takes."""

    def tier0(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        made.checked(a, b)
        return rounded(_product(a, b), a.dtype)

    made = define(schema, tier0, infer=infer, note=note, **_HOW)
    made.under_numpy(form=numpy.__name__)(lambda a, b: np.asarray(numpy(a, b)))
    return made


mm = _product_op("aten.mm(Tensor self, Tensor mat2) -> Tensor", _fixed("mm", 2, 2))


def _mm(g: Backward, x: ir.Value, y: ir.Value) -> ir.Value:
    return g.call("aten.mm", x, y)


def _t(g: Backward, x: ir.Value) -> ir.Value:
    return g.call("aten.t", x)


mm.vjp(reads=("self", "mat2"))(lambda g: _of_matrices(g))


def _of_matrices(g: Backward) -> Gradients:
    """Of the product of the first two operands."""
    return g.cast_to(_mm(g, g.grad, _t(g, g.promoted(1))), 0), g.cast_to(_mm(g, _t(g, g.promoted(0)), g.grad), 1)


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


bmm = _product_op("aten.bmm(Tensor self, Tensor mat2) -> Tensor", _bmm)  # batches do not broadcast


def _swap(g: Backward, x: ir.Value) -> ir.Value:
    return g.call("aten.transpose.int", x, -2, -1)


@bmm.vjp(reads=("self", "mat2"))
def _(g: Backward) -> Gradients:
    x, y = g.promoted("self"), g.promoted("mat2")
    return g.cast_to(g.call("aten.bmm", g.grad, _swap(g, y)), 0), g.cast_to(g.call("aten.bmm", _swap(g, x), g.grad), "mat2")


matmul = _product_op("aten.matmul(Tensor self, Tensor other) -> Tensor", _matmul)  # vectors, matrices and batches, which broadcast


def is_vector(g: Backward, i: int) -> bool | ir.Value:
    """Whether operand i has one dim: where only the run knows, a `!torch.bool`."""
    rank = g.rank(i)
    if rank is not None:
        return rank == 1
    return g.call("aten.eq.int", g.call("aten.dim", g.like(i), type_="!torch.int"), 1, type_="!torch.bool")


def _of_any_ranks(g: Backward, other: str) -> Gradients:
    """A vector on the left is a row, one on the right a column; what the product broadcast is summed."""
    if g.rank("self") == g.rank(other) == 2:
        return _of_matrices(g)
    row, column = is_vector(g, 0), is_vector(g, 1)
    x, y = g.promoted("self"), g.promoted(other)
    left = g.choose(row, lambda: g.call("aten.unsqueeze", x, 0), lambda: x)
    right = g.choose(column, lambda: g.call("aten.unsqueeze", y, 1), lambda: y)
    widened = g.choose(column, lambda: g.call("aten.unsqueeze", g.grad, -1), lambda: g.grad)
    grad = g.choose(row, lambda: g.call("aten.unsqueeze", widened, -2), lambda: widened)
    of_right = g.call("aten.matmul", _swap(g, left), grad)
    return (
        g.sum_to(g.call("aten.matmul", grad, _swap(g, right)), "self"),
        g.sum_to(g.choose(column, lambda: g.call("aten.squeeze.dim", of_right, -1), lambda: of_right), other),
    )


matmul.vjp(reads=("self", "other"))(lambda g: _of_any_ranks(g, "other"))


mv = _product_op("aten.mv(Tensor self, Tensor vec) -> Tensor", _fixed("mv", 2, 1))


@mv.vjp(reads=("self", "vec"))
def _(g: Backward) -> Gradients:
    outer = g.call("aten.outer", g.grad, g.promoted("vec"))
    return g.cast_to(outer, 0), g.cast_to(g.call("aten.mv", _t(g, g.promoted("self")), g.grad), "vec")


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


dot = _product_op(
    "aten.dot(Tensor self, Tensor tensor) -> Tensor", _dot, np.dot, note="vectors only; under NumPy's rules np.dot, of any rank"
)


@dot.vjp(reads=("self", "tensor"))
def _(g: Backward) -> Gradients:
    if g.numpy and 0 not in (ranks := (g.rank("self"), g.rank("tensor"))) and ranks != (1, 1):
        return _of_any_ranks(g, "tensor")
    return g.sum_to(g.mul(g.promoted("tensor"), g.grad), 0), g.sum_to(g.mul(g.promoted("self"), g.grad), "tensor")


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


@_op("aten.outer(Tensor self, Tensor vec2) -> Tensor", infer=_outer)
def outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n), (m) -> (n, m), in their common dtype."""
    dtype = outer.dtype(a, b)
    with quiet:
        return cast(np.multiply.outer(widened(cast(a, dtype)), widened(cast(b, dtype))), dtype)


@outer.under_numpy(form="outer")
def _(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """np.outer(a, b): operands of any rank are flattened."""
    return np.outer(a, b)


@outer.vjp(reads=("self", "vec2"))
def _(g: Backward) -> Gradients:
    of_first, of_second = g.call("aten.mv", g.grad, g.promoted("vec2")), g.call("aten.mv", _t(g, g.grad), g.promoted("self"))
    return g.cast_to(of_first, "self"), g.cast_to(of_second, "vec2")


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
    """Addmm and baddbmm."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        x, a, b = operands[:3]
        _ranks(op, (a, rank_a), (b, rank_b))
        result = _batch_shape(ctx, op, a, b) if rank_a == 3 else _product_shape(ctx, op, a, b)
        _expanded(ctx, op, x, result)
        return Tensor(one_dtype(op, x, a, b), result)

    return infer


def _added_of_arrays(made: Tensor, x: np.ndarray, a: np.ndarray, b: np.ndarray, beta: Number = 1, alpha: Number = 1) -> np.ndarray:
    """beta * x + alpha * (a @ b), rounded once. x is not read when beta is 0, nor a @ b when alpha is 0 (as in BLAS), so that
    their NaNs do not show. For integers alpha and beta are truncated to integers."""
    if x.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    compute = np.dtype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x.dtype
    sizes: Any = made.shape
    with quiet:
        scale_x, scale_product = np.asarray([beta, alpha]).astype(compute)
        result = _product(a, b) * scale_product if alpha != 0 else np.zeros(sizes, compute)
        if beta != 0:
            result += x * scale_x if beta != 1 else x
        return rounded(result, x.dtype)


@_op(
    "aten.addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    infer=_added("addmm", 2, 2), note=_SCALED,
)  # fmt: skip
def addmm(x: np.ndarray, a: np.ndarray, b: np.ndarray, beta: Number = 1, alpha: Number = 1) -> np.ndarray:
    """beta * x + alpha * (a @ b); x broadcasts to (n, m)."""
    return _added_of_arrays(addmm.checked(x, a, b), x, a, b, beta, alpha)


@addmm.vjp(reads=("mat1", "mat2", "beta", "alpha"))
def _(g: Backward) -> Gradients:
    scaled = g.mul(g.grad, g.number("alpha"))
    return g.sum_to(g.mul(g.grad, g.number("beta")), "self"), _mm(g, scaled, _t(g, g.operands[2])), _mm(g, _t(g, g.operands[1]), scaled)


@_op(
    "aten.baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    infer=_added("baddbmm", 3, 3), note=_SCALED,
)  # fmt: skip
def baddbmm(x: np.ndarray, a: np.ndarray, b: np.ndarray, beta: Number = 1, alpha: Number = 1) -> np.ndarray:
    """beta * x + alpha * (a @ b) over batches; x broadcasts to (b, n, m)."""
    return _added_of_arrays(baddbmm.checked(x, a, b), x, a, b, beta, alpha)


@baddbmm.vjp(reads=("batch1", "batch2", "beta", "alpha"))
def _(g: Backward) -> Gradients:
    scaled = g.mul(g.grad, g.number("alpha"))
    x, y = g.operands[1:3]
    of_products = g.call("aten.bmm", scaled, _swap(g, y)), g.call("aten.bmm", _swap(g, x), scaled)
    return g.sum_to(g.mul(g.grad, g.number("beta")), "self"), *of_products


@or_unknown
def _linear_shape(ctx: Infer, x: Value, weight: Value) -> Shape:
    left, right = shape(x), shape(weight)
    if not left or not right:
        raise ShapeError(f"both arguments to linear need to be at least 1D, but they are {len(left)}D and {len(right)}D")
    if len(right) > 2:
        raise ShapeError(f"linear: weight must have at most 2 dimensions, but has {len(right)}")
    _inner(ctx, "linear", left, right, -1)
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


@_op(
    "aten.linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    infer=_linear,
)  # fmt: skip
def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """x @ weight.T + bias, rounded once. x (*, in), weight (out, in) or (in), bias broadcasting to the result;
    a weight of rank 1 takes a bias of rank 0 only, and none when x is a matrix."""
    made = linear.checked(x, weight, bias)
    return rounded(_product(x, weight.T), x.dtype) if bias is None else _added_of_arrays(made, bias, x, weight.T)


@linear.vjp(reads=("input", "weight"))
def _(g: Backward) -> Gradients:
    """A weight of rank 1 is one row, and the result has no dim for it."""
    x, weight = g.operands[:2]
    bias = None if g.is_none("bias") else g.sum_to(g.grad, "bias")
    if g.rank("input") == g.rank("weight") == 2:
        return _mm(g, g.grad, weight), _mm(g, _t(g, g.grad), x), bias
    vector = is_vector(g, 1)

    def of_input() -> ir.Value:
        return g.mul(g.call("aten.unsqueeze", g.grad, -1), weight)

    def of_vector() -> ir.Value:
        return g.sum_to(g.mul(g.call("aten.unsqueeze", g.grad, -1), x), "weight")

    def of_matrix() -> ir.Value:
        rows = [g.call("aten.flatten.using_ints", g.call("aten.unsqueeze", v, 0), 0, -2) for v in (g.grad, x)]
        return _mm(g, _t(g, rows[0]), rows[1])

    return g.choose(vector, of_input, lambda: g.call("aten.matmul", g.grad, weight)), g.choose(vector, of_vector, of_matrix), bias


# --- products of windows -------------------------------------------------------------------------------------------------


def _infer_correlate(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    a, v = operands[:2]
    known = [d.numpy for d in map(dtype_of, (a, v)) if d is not None]
    of = dtypes.from_numpy(np.promote_types(*known)) if len(known) == 2 else None
    if not (isinstance(a, Tensor) and isinstance(v, Tensor) and a.shape and v.shape):
        return Tensor(of, (ctx.fresh(),))
    if 0 in (a.shape[0], v.shape[0]):
        raise ShapeError("array argument cannot be empty")
    longer, shorter, mode = dims.maximum(a.shape[0], v.shape[0]), dims.minimum(a.shape[0], v.shape[0]), integer(operands[2])
    return Tensor(of, ((longer - shorter + 1, longer, a.shape[0] + v.shape[0] - 1)[mode],))


@op(
    "tierup.correlate(Tensor a, Tensor v, int mode) -> Tensor", kind=Kind.OTHER, infer=_infer_correlate, on_device=False, raises=True,
    no_gradient=NO_RULE,
)  # fmt: skip
def correlate(a: np.ndarray, v: np.ndarray, mode: int) -> np.ndarray:
    """np.correlate of two vectors; `mode`: 0 valid, 1 same, 2 full."""
    return np._core.multiarray.correlate2(a, v, mode)  # type: ignore[attr-defined,no-any-return]  # private: takes ints
