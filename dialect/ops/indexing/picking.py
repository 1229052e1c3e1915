"""Elements that a tensor of positions names along one dim, and positions: of classes, between boundaries, of what is not zero."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import Dim
from tierup.dialect.facts.values import List, Shape, Tensor, Value
from tierup.dialect.ops.indexing.by_tensors import put_gradient, taken_gradient
from tierup.dialect.ops.reductions.reduced import replaced
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, OF_COMPLEX, Infer, Kind, Layout, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.operands import or_unknown

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_INT32, _INT64 = dtypes.i32.numpy, dtypes.i64.numpy
NEGATIVE = "negative indices are out of range; not under NumPy's rules"

_op = partial(op, kind=Kind.MOVEMENT, tolerance=EXACT, **OF_COMPLEX)


def check_integers(op: str, index: Value) -> None:
    """Raises TypeError, but for an index of no elements, as in PyTorch."""
    dtype = read.dtype_of(index)
    empty = op != "index_select" and isinstance(index, Tensor) and index.shape is not None and 0 in index.shape
    if dtype not in (None, dtypes.i32, dtypes.i64) and not empty:
        raise TypeError(f"{op}(): Expected dtype int32 or int64 for index, but got {dtype}")


def check_numpy_integers(index: Value) -> None:
    """Raises TypeError."""
    dtype = read.dtype_of(index)
    if dtype is not None and dtype.category is not dtypes.Category.INT:
        raise TypeError(f"indices must be integers, not {dtype}")


def check_in_range(index: np.ndarray, dim: int, size: int) -> None:
    """IndexError for the first index that is negative or too large."""
    wrong = (index < 0) | (index >= size)
    if wrong.any():
        first = index.reshape(-1)[np.argmax(wrong)]
        raise IndexError(f"index {first} is out of bounds for dimension {dim} with size {size}")


# --- entries of a dim ----------------------------------------------------------------------------------------------------


@or_unknown
def _selected(ctx: Infer, x: Value, dim: Value, index: Value) -> Shape:
    of, by = read.shape(x), read.shape(index)
    axis = normalise_dim(read.integer(dim), len(of))
    if ctx.promotion is Promotion.NUMPY:
        return (*of[:axis], *by, *of[axis + 1 :])
    if len(by) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not of:
        if by and by[0] != 1:
            ctx.equal(by[0], 1, "index_select(): Index to scalar can have only 1 value")
        return ()
    return (*of[:axis], by[0] if by else 1, *of[axis + 1 :])


def _index_select(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, dim, index = operands[:3]
    made = Tensor(read.dtype_of(x), _selected(ctx, x, dim, index))
    if ctx.promotion is Promotion.NUMPY:
        check_numpy_integers(index)
    else:
        check_integers("index_select", index)
    return made


@_op("aten.index_select(Tensor self, int dim, Tensor index) -> Tensor", infer=_index_select, raises=True, note=NEGATIVE)
def index_select(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """The entries of a dim that a vector (or rank-0 tensor) of indices names."""
    made = index_select.checked(x, dim, index)
    axis = normalise_dim(dim, x.ndim)
    check_in_range(index, axis, x.shape[axis] if x.ndim else 1)
    return np.take(np.atleast_1d(x), index.reshape(-1), axis).reshape(made.shape)


@index_select.under_numpy(form="take")
def _(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """An index of any rank takes the axis's place."""
    return np.asarray(np.take(x, index, dim))


@index_select.vjp(reads=("dim", "index"))
def _(g: Backward) -> Gradients:
    """As if the dim were the first one, and the index a vector. NumPy looks at no index where nothing is taken."""
    where, dim, grad = g.operands[2], int(g.constant("dim")), g.grad
    flat = g.call("aten.reshape", where, [-1])
    if g.numpy:  # an index of any rank stands where the dim was
        grad = g.call("aten.reshape", grad, replaced(g, g.operand_size("self"), dim, [g.call("aten.numel", where, type_="!torch.int")]))
    zeros = g.zeros("self")
    if g.rank("self") is None or g.rank("self") == 0:
        zeros, grad = g.call("aten.atleast_1d", zeros), g.call("aten.atleast_1d", grad)

    def added() -> ir.Value:
        if dim == 0:
            return put_gradient(g, zeros, g.value([flat]), grad, adds=True)
        turned = [g.call("aten.transpose.int", v, 0, dim) for v in (zeros, grad)]
        return g.call("aten.transpose.int", put_gradient(g, turned[0], g.value([flat]), turned[1], adds=True), 0, dim)

    made = g.choose(_takes_some(g), added, lambda: zeros)
    return g.call("aten.reshape", made, g.operand_size("self")) if g.rank("self") is None or g.rank("self") == 0 else made


def _takes_some(g: Backward) -> ir.Value | bool:
    sizes = g.tensor(g.grad).shape
    if not g.numpy or sizes is not None and all(isinstance(size, int) and size for size in sizes):
        return True
    return g.call("aten.gt.int", g.call("aten.numel", g.grad, type_="!torch.int"), 0, type_="!torch.bool")


@or_unknown
def _embedded(ctx: Infer, weight: Value, indices: Value) -> Shape:
    of = read.shape(weight)
    if ctx.promotion is Promotion.TORCH and len(of) != 2:
        raise ShapeError("'weight' must be 2-D")
    return (*read.shape(indices), *of[1:])


def _embedding(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    weight, indices = operands[:2]
    made = Tensor(read.dtype_of(weight), _embedded(ctx, weight, indices))
    if ctx.promotion is Promotion.TORCH:
        check_integers("embedding", indices)
    return made


@_op(
    "aten.embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    infer=_embedding, raises=True, note=NEGATIVE,
)  # fmt: skip
def embedding(
    weight: np.ndarray, indices: np.ndarray, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> np.ndarray:
    """Rows of a matrix; (*) and (n, d) give (*, d)."""
    embedding.checked(weight, indices)
    check_in_range(indices, 0, weight.shape[0])
    return np.take(weight, indices, 0)


@embedding.under_numpy(form="take")
def _(weight: np.ndarray, indices: np.ndarray, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False) -> np.ndarray:
    return np.asarray(np.take(weight, indices, 0))


@embedding.vjp(reads=("indices", "padding_idx", "scale_grad_by_freq", "sparse"))
def _(g: Backward) -> Gradients:
    """Rows at `padding_idx` have no gradient; scaled, a row's is divided by how often it was taken. NumPy has neither."""
    if not g.numpy and g.constant("sparse"):
        raise g.no_gradient("sparse=True makes one that is a sparse tensor")
    where, grad = g.operands[1], g.grad
    padding, scaled = (-1, False) if g.numpy else (g.constant("padding_idx"), g.constant("scale_grad_by_freq"))
    if scaled:
        counts = g.call("aten.zeros", [g.size_of(g.like("weight"), 0)], g.dtype(grad), None, None, None)
        ones = g.call("aten.ones", g.size(where), g.dtype(grad), None, None, None)
        often = taken_gradient(g, put_gradient(g, counts, g.value([where]), ones, adds=True), g.value([where]))
        grad = g.div(grad, g.call("aten.unsqueeze", often, -1))
    if padding >= 0:
        grad = g.where(g.call("aten.unsqueeze", g.compare("eq", where, padding), -1), 0.0, grad)
    return put_gradient(g, g.zeros("weight"), g.value([where]), grad, adds=True)


# --- positions -----------------------------------------------------------------------------------------------------------


@or_unknown
def _classes(ctx: Infer, x: Value, classes: Dim | None) -> Shape:
    of = read.shape(x)
    if isinstance(classes, int) and classes < 0:
        if classes < -1:
            raise ShapeError("num_classes must be -1 or not negative")
        classes = None
    return (*of, ctx.fresh() if classes is None else classes)


def _one_hot(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x = operands[0]
    if read.dtype_of(x) not in (None, dtypes.i64):
        raise TypeError("one_hot is only applicable to index tensor of type LongTensor.")
    classes = or_unknown(read.size)(operands[1]) if len(operands) > 1 else -1
    return Tensor(dtypes.i64, _classes(ctx, x, classes))


@_op(
    "aten.one_hot(Tensor self, int num_classes=-1) -> Tensor", infer=_one_hot, native=False, raises=True, differentiable=False,
    no_gradient="made of integers",
)  # fmt: skip
def one_hot(x: np.ndarray, classes: int = -1) -> np.ndarray:
    """Int64 (*) -> int64 (*, classes); -1 means one more than the largest. ValueError for a class out of range."""
    one_hot.checked(x, classes)
    if not x.size:
        if classes <= 0:
            raise ValueError("Can not infer total number of classes from empty tensor.")
        return np.zeros((*x.shape, classes), _INT64)
    if x.min() < 0:
        raise ValueError("Class values must be non-negative.")
    if classes == -1:
        classes = int(x.max()) + 1
    elif x.max() >= classes:
        raise ValueError("Class values must be smaller than num_classes.")
    found: np.ndarray = x[..., None] == np.arange(classes)
    return found.astype(_INT64, order="C")


def _bucketize(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, boundaries = operands[:2]
    if isinstance(boundaries, Tensor) and boundaries.rank not in (None, 1):
        raise ShapeError(f"bucketize: boundaries tensor must be 1 dimension, but got dim({boundaries.rank})")
    small = or_unknown(read.flag)(operands[2]) if len(operands) > 2 else False
    return Tensor(None if small is None else dtypes.i32 if small else dtypes.i64, x.shape if isinstance(x, Tensor) else None)


@_op(
    "aten.bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", infer=_bucketize,
    on_device=False, differentiable=False, no_gradient="positions",
)  # fmt: skip
def bucketize(x: np.ndarray, boundaries: np.ndarray, out_int32: bool = False, right: bool = False) -> np.ndarray:
    """How many sorted boundaries are below each element (or not above, with `right`); NaN is above all."""
    bucketize.checked(x, boundaries)
    found = np.searchsorted(boundaries, x, side="right" if right else "left")
    return np.asarray(found).astype(_INT32 if out_int32 else _INT64, copy=False)


def _interp(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, xp, fp = operands[:3]
    if isinstance(xp, Tensor) and xp.shape and isinstance(fp, Tensor) and fp.shape:
        if xp.shape[0] == 0:
            raise ShapeError("array of sample points is empty")
        ctx.equal(xp.shape[0], fp.shape[0], "fp and xp are not of the same length.")
    return Tensor(dtypes.f64, x.shape if isinstance(x, Tensor) else None)


@_op(
    "tierup.interp(Tensor x, Tensor xp, Tensor fp, float? left, float? right) -> Tensor", infer=_interp, on_device=False,
    note="of float64; native for points in order",
)  # fmt: skip
def interp(x: np.ndarray, xp: np.ndarray, fp: np.ndarray, left: float | None, right: float | None) -> np.ndarray:
    """np.interp."""
    return np.asarray(np.interp(x, xp, fp, left, right))


@interp.vjp(reads=("x", "xp", "fp"))
def _(g: Backward) -> Gradients:
    """Between points i and i + 1 the result is (1 - t) fp[i] + t fp[i + 1], where t says how far x is from xp[i] to xp[i + 1], and s is the
    slope. Its gradients are s for x, 1 - t and t for fp, and -s times these for xp. Beyond the ends it is the end's fp, or given."""
    x, xp, fp = (g.promoted(i) for i in ("x", "xp", "fp"))
    if any(g.given(end) and g.wants(end) for end in ("left", "right")):
        raise g.no_gradient("of `left` and `right`: choose them with np.where")
    last = g.minus(g.size_of(xp, 0), 1)
    found = g.call("aten.sub.Scalar", g.call("aten.bucketize.Tensor", x, xp, False, True), 1, 1)
    first = g.call("aten.clamp", g.call("aten.clamp", found, None, g.minus(last, 1)), 0, None)
    second = g.call("aten.clamp", g.call("aten.add.Scalar", first, 1, 1), None, last)
    start, end, low, high = (taken_gradient(g, of, g.value([at])) for of in (xp, fp) for at in (first, second))
    below, above = g.compare("lt", x, start), g.compare("gt", x, end)
    width = g.sub(end, start)
    width = g.where(g.compare("eq", width, 0), 1.0, width)  # one point alone
    t = g.where(below, 0.0, g.where(above, 1.0, g.div(g.sub(x, start), width)))
    grad = g.where(below, 0.0, g.grad) if g.given("left") else g.grad
    grad = g.where(above, 0.0, grad) if g.given("right") else grad
    of_x = g.where(below, 0.0, g.where(above, 0.0, g.mul(grad, g.div(g.sub(high, low), width))))

    def of_points(which: str, grad: ir.Value) -> ir.Value:
        from_end = g.mul(grad, t)
        made = put_gradient(g, g.zeros(which), g.value([first]), g.cast_to(g.sub(grad, from_end), which), adds=True)
        return put_gradient(g, made, g.value([second]), g.cast_to(from_end, which), adds=True)

    return g.cast_to(of_x, "x"), of_points("xp", g.neg(of_x)), of_points("fp", grad)


def _bincount(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, weights = operands[:2]
    length = x.shape[0] if isinstance(x, Tensor) and x.shape else None
    if length == 0:
        return Tensor(dtypes.i64, or_unknown(lambda: (read.size(operands[2]),))())
    if isinstance(weights, Tensor) and weights.shape and length is not None:
        ctx.equal(length, weights.shape[0], "The weights and list don't have the same length.")
    return Tensor(dtypes.f64 if isinstance(weights, Tensor) else dtypes.i64, (ctx.fresh(),))


@_op(
    "tierup.bincount(Tensor self, Tensor? weights, int minlength) -> Tensor", infer=_bincount, on_device=False, raises=True,
    note="weights of nothing give ints",
)  # fmt: skip
def bincount(x: np.ndarray, weights: np.ndarray | None, minlength: int) -> np.ndarray:
    """np.bincount."""
    return np.bincount(x, weights, minlength)


@bincount.vjp(reads=("self",))
def _(g: Backward) -> Gradients:
    """Each weight counts once, in the place of its number."""
    return None, g.cast_to(taken_gradient(g, g.grad, g.value([g.operands[0]])), "weights") if g.given("weights") else None


def _nonzero(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x = operands[0]
    rank = x.rank if isinstance(x, Tensor) else None
    return Tensor(dtypes.i64, None if rank is None else (ctx.fresh(), rank))


@_op("aten.nonzero(Tensor self) -> Tensor", infer=_nonzero, differentiable=False, no_gradient="positions", layout=Layout.COLUMNS)
def nonzero(x: np.ndarray) -> np.ndarray:
    """Int64 (count, rank), the indices of elements that are not zero, in row-major order; in memory an axis after another."""
    return np.argwhere(x).astype(_INT64, copy=False)


def _nonzero_numpy(ctx: Infer, operands: Sequence[Value]) -> List:
    x = operands[0]
    rank = x.rank if isinstance(x, Tensor) else None
    if rank is None:
        return List(None, Tensor(dtypes.i64))
    count = ctx.fresh()
    return List((Tensor(dtypes.i64, (count,)),) * max(rank, 1))


@_op(
    "aten.nonzero_numpy(Tensor self) -> Tensor[]", infer=_nonzero_numpy, native=False, differentiable=False, no_gradient="positions"
)
def nonzero_numpy(x: np.ndarray) -> list[np.ndarray]:
    """One int64 vector per dim; rank 0 counts as one dim."""
    return [i.astype(_INT64, copy=False) for i in np.nonzero(np.atleast_1d(x))]


nonzero_numpy.under_numpy(form="none")(lambda x: list(np.nonzero(x)))
