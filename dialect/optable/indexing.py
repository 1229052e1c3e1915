"""Indexing: by vectors of indices, by an index per element, by masks, by lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.dialect.inference.dims import Dim, symbols
from tierup.dialect.ir.values import List, NoneValue, Shape, Tensor, Value
from tierup.dialect.kernels import overlap
from tierup.dialect.kernels.axes import axis_of, name_of, quiet, row_major
from tierup.dialect.kernels.casts import cast
from tierup.dialect.kernels.filling import Number, element
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Infer, InferRule, Kind, Promotion, ShapeError, Tolerance, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.padding import check_element
from tierup.dialect.optable.reduced import replaced

if TYPE_CHECKING:
    from tierup.dialect.gradients.core import Backward, Gradients
    from tierup.dialect.mlir import ir


_INTEGERS = (dtypes.i32, dtypes.i64)


def _integers(op: str, index: Value) -> None:
    dtype = read.dtype_of(index)
    empty = op != "index_select" and isinstance(index, Tensor) and index.shape is not None and 0 in index.shape
    if dtype is not None and dtype not in _INTEGERS and not empty:
        raise TypeError(f"{op}(): Expected dtype int32 or int64 for index, but got {dtype}")


def _numpy_integers(index: Value) -> None:
    dtype = read.dtype_of(index)
    if dtype is not None and dtype.category is not dtypes.Category.INT:
        raise TypeError(f"indices must be integers, not {dtype}")


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
    if ctx.promotion is Promotion.NUMPY:
        _numpy_integers(index)
    else:
        _integers("index_select", index)
    return Tensor(read.dtype_of(x), _selected(ctx, x, dim, index))


_INT64 = np.dtype(np.int64)


_INT32 = np.dtype(np.int32)


def _integers_of_arrays(op: str, index: np.ndarray) -> None:
    if index.dtype not in (_INT32, _INT64) and (index.size or op == "index_select"):  # as in PyTorch: no element, no question
        raise TypeError(f"{op}(): Expected dtype int32 or int64 for index, but got {name_of(index.dtype)}")


def _in_range(index: np.ndarray, dim: int, size: int) -> None:
    """IndexError for the first index that is negative or too large."""
    wrong = (index < 0) | (index >= size)
    if wrong.any():
        first = index.reshape(-1)[np.argmax(wrong)]
        raise IndexError(f"index {first} is out of bounds for dimension {dim} with size {size}")


@op(
    "aten.index_select(Tensor self, int dim, Tensor index) -> Tensor",
    kind=Kind.MOVEMENT, infer=_index_select, tolerance=EXACT, raises=True,
    note="negative indices are out of range; not under NumPy's rules",
)  # fmt: skip
def index_select(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """The entries of a dim that a vector (or rank-0 tensor) of indices names."""
    axis = axis_of(dim, x.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    _integers_of_arrays("index_select", index)
    if not x.ndim:
        if index.size != 1:
            raise ValueError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        _in_range(index, 0, 1)
        return x.copy()
    _in_range(index, axis, x.shape[axis])
    return np.take(x, index.reshape(-1), axis)


@index_select.under_numpy(form="take")
def _(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """Np.take(x, index, axis): an index of any rank takes the axis's place."""
    return np.asarray(np.take(x, index, dim))


def _has_optional(where: ir.Value) -> bool:
    return "optional" in str(where.type)


def _put_gradient(g: Backward, x: ir.Value, where: ir.Value, values: ir.Value, *, adds: bool = False) -> ir.Value:
    return g.alike("aten.index_put" if _has_optional(where) else "aten.index_put.hacked_twin", x, where, values, adds)


@index_select.vjp(reads=("dim", "index"))
def _(g: Backward) -> Gradients:
    """As if the dim were the first one, and the index a vector."""
    where, dim, grad = g.operands[2], int(g.constant("dim")), g.grad
    flat = g.call("aten.reshape", where, [-1])
    if g.numpy:  # an index of any rank stands where the dim was
        grad = g.call("aten.reshape", grad, replaced(g, g.operand_size("self"), dim, [g.call("aten.numel", where, type_="!torch.int")]))
    zeros = g.zeros("self")
    if g.rank("self") is None or g.rank("self") == 0:
        zeros, grad = g.call("aten.atleast_1d", zeros), g.call("aten.atleast_1d", grad)
    if dim == 0:
        added = _put_gradient(g, zeros, g.value([flat]), grad, adds=True)
    else:
        turned = [g.call("aten.transpose.int", v, 0, dim) for v in (zeros, grad)]
        added = g.call("aten.transpose.int", _put_gradient(g, turned[0], g.value([flat]), turned[1], adds=True), 0, dim)
    return g.call("aten.reshape", added, g.operand_size("self")) if g.rank("self") is None or g.rank("self") == 0 else added


@or_unknown
def _embedded(ctx: Infer, weight: Value, indices: Value) -> Shape:
    of = read.shape(weight)
    if ctx.promotion is Promotion.TORCH and len(of) != 2:
        raise ShapeError("'weight' must be 2-D")
    return (*read.shape(indices), *of[1:])


def _embedding(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    weight, indices = operands[:2]
    if ctx.promotion is Promotion.TORCH:
        _integers("embedding", indices)
    return Tensor(read.dtype_of(weight), _embedded(ctx, weight, indices))


@op(
    "aten.embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    kind=Kind.MOVEMENT, infer=_embedding, tolerance=EXACT, raises=True, note="negative indices are out of range; not under NumPy's rules",
)  # fmt: skip
def embedding(
    weight: np.ndarray, indices: np.ndarray, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> np.ndarray:
    """Rows of a matrix; (*) and (n, d) give (*, d)."""
    if weight.ndim != 2:
        raise ValueError("'weight' must be 2-D")
    _integers_of_arrays("embedding", indices)
    _in_range(indices, 0, weight.shape[0])
    return np.take(weight, indices, 0)


@embedding.under_numpy(form="take")
def _(
    weight: np.ndarray, indices: np.ndarray, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> np.ndarray:
    """Weight[indices] along the first axis."""
    return np.asarray(np.take(weight, indices, 0))


def _taken_gradient(g: Backward, x: ir.Value, where: ir.Value) -> ir.Value:
    return g.alike("aten.index.Tensor" if _has_optional(where) else "aten.index.Tensor_hacked_twin", x, where)


@embedding.vjp(reads=("indices", "padding_idx", "scale_grad_by_freq"))
def _(g: Backward) -> Gradients:
    """Rows at `padding_idx` have no gradient; scaled, a row's is divided by how often it was taken. NumPy has neither."""
    where, grad = g.operands[1], g.grad
    padding, scaled = (-1, False) if g.numpy else (g.constant("padding_idx"), g.constant("scale_grad_by_freq"))
    if scaled:
        counts = g.call("aten.zeros", [g.size_of(g.like("weight"), 0)], g.dtype(grad), None, None, None)
        ones = g.call("aten.ones", g.size(where), g.dtype(grad), None, None, None)
        often = _taken_gradient(g, _put_gradient(g, counts, g.value([where]), ones, adds=True), g.value([where]))
        grad = g.div(grad, g.call("aten.unsqueeze", often, -1))
    if padding >= 0:
        grad = g.where(g.call("aten.unsqueeze", g.compare("eq", where, padding), -1), 0.0, grad)
    return _put_gradient(g, g.zeros("weight"), g.value([where]), grad, adds=True)


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


@op(
    "aten.one_hot(Tensor self, int num_classes=-1) -> Tensor",
    kind=Kind.MOVEMENT, infer=_one_hot, tolerance=EXACT, native=False, raises=True, differentiable=False, no_gradient="made of integers",
)  # fmt: skip
def one_hot(x: np.ndarray, classes: int = -1) -> np.ndarray:
    """Int64 (*) -> int64 (*, classes); -1 means one more than the largest. ValueError for a class out of range."""
    if x.dtype != _INT64:
        raise TypeError("one_hot is only applicable to index tensor of type LongTensor.")
    if classes < -1:
        raise ValueError("num_classes must be -1 or not negative")
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
    return (x[..., None] == np.arange(classes)).astype(_INT64)


def _bucketize(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, boundaries = operands[:2]
    if isinstance(boundaries, Tensor) and boundaries.rank not in (None, 1):
        raise ShapeError(f"bucketize: boundaries tensor must be 1 dimension, but got dim({boundaries.rank})")
    small = or_unknown(read.flag)(operands[2]) if len(operands) > 2 else False
    return Tensor(None if small is None else dtypes.i32 if small else dtypes.i64, x.shape if isinstance(x, Tensor) else None)


@op(
    "aten.bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    kind=Kind.MOVEMENT, infer=_bucketize, tolerance=EXACT, native=False, differentiable=False, no_gradient="positions",
)  # fmt: skip
def bucketize(x: np.ndarray, boundaries: np.ndarray, out_int32: bool = False, right: bool = False) -> np.ndarray:
    """How many sorted boundaries are below each element (or not above, with `right`); NaN is above all."""
    if boundaries.ndim != 1:
        raise ValueError(f"bucketize: boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    found = np.searchsorted(boundaries, x, side="right" if right else "left")
    return np.asarray(found).astype(_INT32 if out_int32 else _INT64, copy=False)


@or_unknown
def _check_index(op: str, x: Value, dim: Value, index: Value, source: Value | None = None) -> None:
    """Ranks agree, and an index known to be larger than x apart from the dim, or than the source, is refused."""
    of, by = read.shape(x), read.shape(index)
    axis = normalise_dim(read.integer(dim), len(of))
    if 0 in by:
        return
    shapes = [of, by] if source is None else [of, by, read.shape(source)]
    if len({max(len(s), 1) for s in shapes}) > 1:
        raise ShapeError(f"{op}(): Index tensor must have the same number of dimensions as self and src tensors")
    for d, (size, limit) in enumerate(zip(by, of, strict=False)):
        if d != axis and isinstance(size, int) and isinstance(limit, int) and size > limit:
            raise ShapeError(f"{op}(): Expected index to be no larger than self apart from dimension {axis}")
    for size, limit in zip(by, shapes[-1] if source is not None else (), strict=False):
        if isinstance(size, int) and isinstance(limit, int) and size > limit:
            raise ShapeError(f"{op}(): Expected index to be no larger than src")


@or_unknown
def _along_axis(ctx: Infer, x: Value, dim: Value, index: Value) -> Shape:
    """Np.take_along_axis: all but the axis broadcast."""
    of, by = read.shape(x), read.shape(index)
    if len(of) != len(by):
        raise ShapeError("`indices` and `arr` must have the same number of dimensions")
    axis = normalise_dim(read.integer(dim), len(of))
    rest = ctx.broadcast([(*of[:axis], *of[axis + 1 :]), (*by[:axis], *by[axis + 1 :])], "indices and array do not broadcast:")
    assert rest is not None  # both are known
    return (*rest[:axis], by[axis], *rest[axis:])


def _gather(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, dim, index = operands[:3]
    if ctx.promotion is Promotion.NUMPY:
        _numpy_integers(index)
        return Tensor(read.dtype_of(x), _along_axis(ctx, x, dim, index))
    _integers("gather", index)
    _check_index("gather", x, dim, index)
    return Tensor(read.dtype_of(x), index.shape if isinstance(index, Tensor) else None)


def _whole(x: np.ndarray) -> np.ndarray:
    """x, as a vector when it has rank 0."""
    return x.reshape(1) if not x.ndim else x


def _check_index_of_arrays(op: str, x: np.ndarray, axis: int, index: np.ndarray, source: np.ndarray | None = None) -> None:
    """What gather and scatter ask of an index: integers, x's rank, no larger than x apart from the dim, nor than the source."""
    _integers_of_arrays(op, index)
    if not index.size:
        return
    ranks = {max(a.ndim, 1) for a in (x, index, source) if a is not None}
    if len(ranks) > 1:
        raise ValueError(f"{op}(): Index tensor must have the same number of dimensions as self and src tensors")
    sizes, limits = _whole(index).shape, _whole(x).shape
    if any(i > s for d, (i, s) in enumerate(zip(sizes, limits, strict=True)) if d != axis) or (
        source is not None and any(i > s for i, s in zip(sizes, _whole(source).shape, strict=True))
    ):
        beyond = f" and to be no larger size than src {list(source.shape)}" if source is not None else ""
        raise ValueError(
            f"{op}(): Expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart from dimension {axis}{beyond}"
        )
    _in_range(index, axis, limits[axis])


def _grid(index: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """The positions that an index of x's rank names: itself along the axis, its own coordinates along the others."""
    grid = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    grid[axis] = index
    return tuple(grid)


@op(
    "aten.gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    kind=Kind.MOVEMENT, infer=_gather, tolerance=EXACT, raises=True, note="negative indices are out of range; not under NumPy's rules",
)  # fmt: skip
def gather(x: np.ndarray, dim: int, index: np.ndarray, sparse_grad: bool = False) -> np.ndarray:
    """Result[i, j] = x[index[i, j], j] for dim 0, and so on; the result has index's shape."""
    axis = axis_of(dim, x.ndim)
    _check_index_of_arrays("gather", x, axis, index)
    if not index.size:
        return np.empty(index.shape, x.dtype)
    return row_major(_whole(x)[_grid(_whole(index), axis)]).reshape(index.shape)


@gather.under_numpy(form="gather")
def _(x: np.ndarray, dim: int, index: np.ndarray, sparse_grad: bool = False) -> np.ndarray:
    """Np.take_along_axis(x, index, axis)."""
    return np.take_along_axis(x, index, dim)


_INT64_CODE = dtypes.i64.code


@gather.vjp(reads=("dim", "index"))
def _(g: Backward) -> Gradients:
    where = g.operands[2]
    if not g.numpy:
        return g.call("aten.scatter_add", g.zeros("self"), g.number("dim"), where, g.grad)
    dim = int(g.constant("dim"))
    size = g.size_of(g.like("self"), dim)  # np.take_along_axis: negative indices, and all dims but one broadcast
    where = g.call("aten.to.dtype", where, _INT64_CODE, False, False, None)
    where = g.where(g.compare("lt", where, 0), g.add(where, size), where)
    where = g.expand(where, g.size(g.grad))
    whole = g.call("aten.zeros", replaced(g, g.size(g.grad), dim, [size]), g.dtype(g.grad), None, None, None)
    return g.sum_to(g.call("aten.scatter_add", whole, dim, where, g.grad), "self")


def _same_dtype(a: Value, b: Value, text: str) -> None:
    known = {d for d in (read.dtype_of(a), read.dtype_of(b)) if d is not None}
    if len(known) > 1:
        raise TypeError(text)


def _scatter(op: str) -> InferRule:
    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        x, dim, index, source = operands[:4]
        _integers(op, index)
        if isinstance(source, Tensor):
            _same_dtype(x, source, "scatter(): Expected self.dtype to be equal to src.dtype")
            _check_index(op, x, dim, index, source)
        else:
            check_element(source, read.dtype_of(x))
            _check_index(op, x, dim, index)
        return read.whole(x)

    return infer


def scatter_(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Aten.scatter_.src: x itself, written."""
    axis = axis_of(dim, x.ndim)
    if x.dtype != source.dtype:
        raise TypeError("scatter(): Expected self.dtype to be equal to src.dtype")
    _check_index_of_arrays("scatter", x, axis, index, source)
    overlap.refuse_repeats(x)
    overlap.refuse_shared(x, index, source)
    if index.size:
        whole = _whole(index)
        _whole(x)[_grid(whole, axis)] = _whole(source)[tuple(slice(n) for n in whole.shape)]
    return x


@op(
    "aten.scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    kind=Kind.MOVEMENT, infer=_scatter("scatter"), tolerance=EXACT, raises=True,
    note="negative indices are out of range; the last of several counts",
)  # fmt: skip
def scatter(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """a copy of x with x[index[i, j], j] = source[i, j] for dim 0, and so on; the last one of several counts."""
    return scatter_(x.copy(), dim, index, source)


def _source(g: Backward, where: list[ir.Value]) -> ir.Value:
    """The gradient of a source of which the first elements in each dim are read, as many as there are indices."""
    taken, rank = g.call("aten.gather", g.grad, *where, False), g.rank(3)
    if g.same_shape(taken, g.like(3)):
        return taken
    if rank is None:  # refused by the run where the source is larger than the index, as PyTorch does
        return g.call("aten.reshape", taken, g.operand_size(3))
    behind = [g.call("aten.sub.int", g.size_of(g.like(3), d), g.size_of(where[1], d), type_="!torch.int") for d in range(rank)]
    return g.call("aten.constant_pad_nd", taken, [v for more in reversed(behind) for v in (0, more)] or g.value([]), 0.0)


@scatter.vjp(reads=("dim", "index"))
def _(g: Backward) -> Gradients:
    where = g.operands[1:3]
    return g.call("aten.scatter.value", g.grad, *where, 0.0), None, None, _source(g, where)


def scatter_value_(x: np.ndarray, dim: int, index: np.ndarray, value: Number) -> np.ndarray:
    """Aten.scatter_.value: x itself, written."""
    axis = axis_of(dim, x.ndim)
    _check_index_of_arrays("scatter", x, axis, index)
    filler = element(value, x.dtype)
    overlap.refuse_repeats(x)
    overlap.refuse_shared(x, index)
    if index.size:
        _whole(x)[_grid(_whole(index), axis)] = filler
    return x


@op(
    "aten.scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    kind=Kind.MOVEMENT, infer=_scatter("scatter"), tolerance=EXACT, raises=True, note="negative indices are out of range",
)  # fmt: skip
def scatter_value(x: np.ndarray, dim: int, index: np.ndarray, value: Number) -> np.ndarray:
    """a copy of x with `value` at every index. ValueError where the dtype cannot hold it."""
    return scatter_value_(x.copy(), dim, index, value)


@scatter_value.vjp(reads=("dim", "index"))
def _(g: Backward) -> Gradients:
    return g.call("aten.scatter.value", g.grad, *g.operands[1:3], 0.0)


_BOOL = np.dtype(np.bool_)


def _accumulate(target: np.ndarray, where: tuple[np.ndarray | slice, ...], source: np.ndarray) -> None:
    with quiet:
        (np.logical_or if target.dtype == _BOOL else np.add).at(target, where, source)


def scatter_add_(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Aten.scatter_add_: x itself, written."""
    axis = axis_of(dim, x.ndim)
    if x.dtype != source.dtype:
        raise TypeError("scatter(): Expected self.dtype to be equal to src.dtype")
    _check_index_of_arrays("scatter_add", x, axis, index, source)
    overlap.refuse_repeats(x)
    overlap.refuse_shared(x, index, source)
    if index.size:
        whole = _whole(index)
        _accumulate(_whole(x), _grid(whole, axis), _whole(source)[tuple(slice(n) for n in whole.shape)])
    return x


@op(
    "aten.scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    kind=Kind.MOVEMENT, infer=_scatter("scatter_add"), tolerance=Tolerance(4.0, 1.0), raises=True,
    note="negative indices are out of range",
)  # fmt: skip
def scatter_add(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """a copy of x to which every source element is added at its index; or, for bools."""
    return scatter_add_(x.copy(), dim, index, source)


@scatter_add.vjp(reads=("dim", "index"))
def _(g: Backward) -> Gradients:
    return g.grad, None, None, _source(g, g.operands[1:3])


def _check_mask(op: str, mask: Value) -> None:
    if read.dtype_of(mask) not in (None, dtypes.bool_):
        raise TypeError(f"{op} only supports boolean masks, but got mask with dtype {read.dtype_of(mask)}")


def _broadcast(ctx: Infer, op: str, *tensors: Value) -> Shape | None:
    return ctx.broadcast([t.shape if isinstance(t, Tensor) else None for t in tensors], f"{op}: self and mask do not broadcast:")


def _masked_fill(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, mask, value = operands[:3]
    _check_mask("masked_fill", mask)
    if not isinstance(value, Tensor):
        check_element(value, read.dtype_of(x))
    elif value.rank:
        raise ShapeError(f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.rank} dimension(s).")
    return Tensor(read.dtype_of(x), _broadcast(ctx, "masked_fill", x, mask))


def _check_mask_of_arrays(op: str, mask: np.ndarray) -> None:
    if mask.dtype != _BOOL:
        raise TypeError(f"{op} only supports boolean masks, but got mask with dtype {name_of(mask.dtype)}")


def _masked(op: str, x: np.ndarray, mask: np.ndarray, filler: np.generic) -> np.ndarray:
    _check_mask_of_arrays(op, mask)
    try:
        shape = np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        raise ValueError(f"{op}: self {list(x.shape)} and mask {list(mask.shape)} do not broadcast") from None
    result = np.broadcast_to(x, shape).copy()
    np.copyto(result, filler, where=mask)
    return result


@op("aten.masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", kind=Kind.MOVEMENT, infer=_masked_fill, tolerance=EXACT)
def masked_fill(x: np.ndarray, mask: np.ndarray, value: Number) -> np.ndarray:
    """Aten.masked_fill.Scalar: `value` where the mask is true; both broadcast. ValueError where the dtype cannot hold it."""
    return _masked("masked_fill", x, mask, element(value, x.dtype))


@masked_fill.vjp(reads=("mask",))
def _(g: Backward) -> Gradients:
    return g.sum_to(g.where(g.operands[1], 0.0, g.grad), "self")


@op("aten.masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", kind=Kind.MOVEMENT, infer=_masked_fill, tolerance=EXACT)
def masked_fill_tensor(x: np.ndarray, mask: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The value is a rank-0 tensor, converted to x's dtype."""
    if value.ndim:
        raise ValueError(f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    return _masked("masked_fill", x, mask, cast(value, x.dtype)[()])


@masked_fill_tensor.vjp(reads=("mask",))
def _(g: Backward) -> Gradients:
    mask = g.operands[1]
    return g.sum_to(g.where(mask, 0.0, g.grad), 0), None, g.sum_to(g.where(mask, g.grad, 0.0), "value")


def _masked_select(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, mask = operands[:2]
    _check_mask("masked_select", mask)
    _broadcast(ctx, "masked_select", x, mask)
    return Tensor(read.dtype_of(x), (ctx.fresh(),))


@op("aten.masked_select(Tensor self, Tensor mask) -> Tensor", kind=Kind.MOVEMENT, infer=_masked_select, tolerance=EXACT)
def masked_select(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """a vector of the elements where the mask is true; both broadcast."""
    _check_mask_of_arrays("masked_select", mask)
    try:
        shape = np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        raise ValueError(f"masked_select: self {list(x.shape)} and mask {list(mask.shape)} do not broadcast") from None
    return np.broadcast_to(x, shape)[np.broadcast_to(mask, shape)]


@masked_select.vjp(reads=("mask",))
def _(g: Backward) -> Gradients:
    """Where one of the two broadcast, the places are those of both."""
    mask, places = g.operands[1], g.zeros("self")
    if not g.same_shape(mask, places):
        places = g.where(mask, places, 0.0)
        mask = g.expand(mask, g.size(places))
        places = g.zeros_like(places)
    return g.sum_to(_put_gradient(g, places, g.value([mask]), g.grad), "self")


def _masked_scatter(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, mask, source = operands[:3]
    _check_mask("masked_scatter", mask)
    _same_dtype(x, source, "masked_scatter: expected self and source to have same dtypes")
    return Tensor(read.dtype_of(x), _broadcast(ctx, "masked_scatter", x, mask))


@op(
    "aten.masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    kind=Kind.MOVEMENT, infer=_masked_scatter, tolerance=EXACT, native=False, raises=True,
)  # fmt: skip
def masked_scatter(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    """The source's elements in order, where the mask is true. ValueError when there are too few."""
    _check_mask_of_arrays("masked_scatter", mask)
    if x.dtype != source.dtype:
        raise TypeError(
            f"masked_scatter: expected self and source to have same dtypes but got {name_of(x.dtype)} and {name_of(source.dtype)}"
        )
    try:
        shape = np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        raise ValueError(f"masked_scatter: self {list(x.shape)} and mask {list(mask.shape)} do not broadcast") from None
    where = np.broadcast_to(mask, shape)
    count = int(np.count_nonzero(where))
    if source.size < count:
        raise ValueError("masked_scatter: Number of elements of source < number of ones in mask")
    result = np.broadcast_to(x, shape).copy()
    result[where] = source.reshape(-1)[:count]
    return result


@masked_scatter.vjp(reads=("mask",))
def _(g: Backward) -> Gradients:
    """Of the source as many elements are read as the mask has places."""
    mask = g.operands[1]
    taken = g.call("aten.masked_select", g.grad, mask)
    flat = g.call("aten.zeros", [g.call("aten.numel", g.like("source"), type_="!torch.int")], g.dtype(g.grad), None, None, None)
    flat = g.call("aten.slice_scatter", flat, taken, 0, 0, g.size_of(taken, 0), 1)
    return g.sum_to(g.where(mask, 0.0, g.grad), 0), None, g.cast_to(g.call("aten.reshape", flat, g.operand_size("source")), "source")


def _nonzero(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x = operands[0]
    rank = x.rank if isinstance(x, Tensor) else None
    return Tensor(dtypes.i64, None if rank is None else (ctx.fresh(), rank))


@op(
    "aten.nonzero(Tensor self) -> Tensor",
    kind=Kind.MOVEMENT, infer=_nonzero, tolerance=EXACT, differentiable=False, no_gradient="positions",
)  # fmt: skip
def nonzero(x: np.ndarray) -> np.ndarray:
    """Int64 (count, rank), the indices of elements that are not zero, in row-major order."""
    return np.argwhere(x).astype(_INT64, copy=False)


def _nonzero_numpy(ctx: Infer, operands: Sequence[Value]) -> List:
    x = operands[0]
    rank = x.rank if isinstance(x, Tensor) else None
    if rank is None:
        return List(None, Tensor(dtypes.i64))
    count = ctx.fresh()
    return List((Tensor(dtypes.i64, (count,)),) * max(rank, 1))


@op(
    "aten.nonzero_numpy(Tensor self) -> Tensor[]",
    kind=Kind.MOVEMENT, infer=_nonzero_numpy, tolerance=EXACT, native=False, differentiable=False, no_gradient="positions",
)  # fmt: skip
def nonzero_numpy(x: np.ndarray) -> list[np.ndarray]:
    """One int64 vector per dim; rank 0 counts as one dim."""
    return [i.astype(_INT64, copy=False) for i in np.nonzero(_whole(x))]


@nonzero_numpy.under_numpy(form="none")
def _(x: np.ndarray) -> list[np.ndarray]:
    """Np.nonzero(x)."""
    return list(np.nonzero(x))


def _is_mask(ctx: Infer, dtype: DType) -> bool:
    return dtype is dtypes.bool_ or dtype is dtypes.u8 and ctx.promotion is Promotion.TORCH


def _joined(ctx: Infer, integers: Sequence[Shape], masks: int) -> Shape:
    """The common shape of index tensors; a mask stands for a vector as long as it has true elements."""
    common = ctx.broadcast(integers, "shape mismatch: indexing tensors could not be broadcast together with shapes")
    assert common is not None  # all are known
    return (*common[:-1], ctx.counted(1)) if masks else common


@or_unknown
def _indexed(ctx: Infer, x: Value, indices: Value) -> Shape:
    """Where the broadcast shape of the index tensors goes among the dims that are kept: NumPy's rule, which is torch's."""
    of = read.shape(x)
    entries = read.items(indices)
    if not entries and ctx.promotion is Promotion.TORCH:
        raise IndexError("at least one index must be provided")
    kept: list[Dim] = []
    integers: list[Shape] = []
    masks = 0
    first = last = None  # among the kept dims, where the first and the last index stand
    dim = 0
    for entry in entries:
        if isinstance(entry, NoneValue):
            if dim >= len(of):
                raise IndexError(f"too many indices for tensor of dimension {len(of)} (got {len(entries)})")
            kept.append(of[dim])
            dim += 1
            continue
        dtype, by = read.dtype(entry), read.shape(entry)
        if _is_mask(ctx, dtype):
            if not by:
                raise read.Unknown
            masks += 1
        elif dtype in _INTEGERS or ctx.promotion is Promotion.NUMPY and dtype.category is dtypes.Category.INT:
            integers.append(by)
        else:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        taken = len(by) if _is_mask(ctx, dtype) else 1
        if dim + taken > len(of):
            raise IndexError(f"too many indices for tensor of dimension {len(of)} (got {len(entries)})")
        if _is_mask(ctx, dtype):
            for size, wanted in zip(by, of[dim : dim + taken], strict=True):
                ctx.equal(size, wanted, "The shape of the mask does not match the shape of the indexed tensor")
        first = len(kept) if first is None else first
        last = len(kept)
        dim += taken
    kept += of[dim:]
    together = _joined(ctx, integers, masks)
    place = first if first is not None and first == last else 0
    return (*kept[:place], *together, *kept[place:])


def _index(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return Tensor(read.dtype_of(operands[0]), _indexed(ctx, operands[0], operands[1]))


Indices = Sequence[np.ndarray | None]


_ALL = slice(None)


def _key(indices: Indices) -> tuple[np.ndarray | slice, ...]:
    """NumPy's key for a list of indices, masks (bool, or uint8 as torch has it) and Nones."""
    if not indices:
        raise IndexError("at least one index must be provided")
    key: list[np.ndarray | slice] = []
    for index in indices:
        if index is None:
            key.append(_ALL)
        elif index.dtype == np.uint8:
            key.append(index.astype(_BOOL))
        elif index.dtype in (_INT32, _INT64, _BOOL):
            key.append(index)
        else:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return tuple(key)


def _torch_text(error: IndexError) -> IndexError:
    return IndexError(str(error).replace("axis", "dimension"))


@op(
    "aten.index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "aten.index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
    kind=Kind.MOVEMENT, infer=_index, tolerance=EXACT, raises=True, note="negative indices count from the end",
)  # fmt: skip
def index(x: np.ndarray, indices: Indices) -> np.ndarray:
    """x[indices], with None for a whole dim. Index tensors broadcast; their dims come where the first one
    stands if they stand side by side, else in front. Negative indices count from the end."""
    try:
        return np.array(x[_key(indices)], order="C")
    except IndexError as e:
        raise _torch_text(e) from None






def _key_under_numpy(indices: Indices) -> tuple[np.ndarray | slice, ...]:
    return tuple(_ALL if i is None else i for i in indices)


@index.under_numpy(form="index")
def _(x: np.ndarray, indices: Indices) -> np.ndarray:
    """x[i, j, ...] with arrays: always a copy."""
    return np.array(x[_key_under_numpy(indices)])


@index.vjp(reads=("indices",))
def _(g: Backward) -> Gradients:
    return _put_gradient(g, g.zeros("self"), g.operands[1], g.grad, adds=True)


@or_unknown
def _put(ctx: Infer, x: Value, target: Shape | None, indices: Value, values: Value) -> None:
    """Values must broadcast to what is indexed. How many elements a mask names is left to the run."""
    if target is None:
        raise read.Unknown
    given = {s for v in (x, *read.items(indices)) if isinstance(v, Tensor) for d in v.shape or () for s in symbols(d)}
    for size, wanted in zip(reversed(read.shape(values)), reversed(target), strict=False):
        if isinstance(size, int) and isinstance(wanted, int) and size not in (1, wanted):
            raise ShapeError("shape mismatch: value tensor cannot be broadcast to indexing result")
        if size != 1 and symbols(wanted) <= given:
            ctx.equal(size, wanted, "shape mismatch: value tensor cannot be broadcast to indexing result")


def _index_put(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, indices, values = operands[:3]
    if ctx.promotion is Promotion.TORCH:
        _same_dtype(x, values, "Index put requires the source and destination dtypes match")
    _put(ctx, x, _indexed(ctx, x, indices), indices, values)
    return read.whole(x)


def index_put_(x: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """Aten.index_put_: x itself, written. Nothing is written when an index is out of range."""
    if x.dtype != values.dtype:
        raise TypeError(
            "Index put requires the source and destination dtypes match, "
            f"got {name_of(x.dtype)} for the destination and {name_of(values.dtype)} for the source."
        )
    key = _key(indices)
    overlap.refuse_shared(x, values, *indices)
    try:
        if accumulate:
            _accumulate(x, key, values)
        else:
            x[key] = values
    except IndexError as e:
        raise _torch_text(e) from None
    return x


@op(
    "aten.index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "aten.index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "aten._unsafe_index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
    kind=Kind.MOVEMENT, infer=_index_put, tolerance=EXACT, raises=True, note="negative indices count from the end",
)  # fmt: skip
def index_put(x: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """a copy of x with x[indices] = values, or += with every repeated index counted."""
    return index_put_(overlap.copy(x), indices, values, accumulate)


def index_put_under_numpy_(x: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """x[i, j, ...] = values, or np.add.at when accumulating."""
    if accumulate:
        np.add.at(x, _key_under_numpy(indices), values)
    else:
        x[_key_under_numpy(indices)] = values
    return x


@index_put.under_numpy(form="index_put")
def _(x: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """A copy of x after x[i, j, ...] = values, or np.add.at when accumulating."""
    return index_put_under_numpy_(x.copy(order="K"), indices, values, accumulate)


def _without(g: Backward, where: ir.Value) -> ir.Value:
    """The gradient, zero where elements were put."""
    return _put_gradient(g, g.grad, where, g.zeros(2))


def _are_masks(g: Backward, where: ir.Value) -> bool:
    """Whether no index is known to be other than a mask: these name each place once."""
    items = g.written_items(where)
    return items is not None and all(g.tensor(v).dtype is dtypes.bool_ for v in items)


def _kept(g: Backward, where: ir.Value, taken: ir.Value) -> ir.Value:
    """The gradient of what was put, zero for what something else was put over."""
    if not g.numpy or _are_masks(g, where):
        return taken
    count = g.call("aten.numel", taken, type_="!torch.int")
    numbers = g.call("aten.reshape", g.call("aten.arange", count, _INT64_CODE, None, None, None), g.size(taken))
    places = g.call("aten.zeros", g.operand_size(0), _INT64_CODE, None, None, None)
    last = _taken_gradient(g, _put_gradient(g, places, where, numbers), where)
    return g.where(g.compare("eq", last, numbers), taken, 0.0)


@index_put.vjp(reads=("indices", "accumulate"))
def _(g: Backward) -> Gradients:
    where = g.operands[1]
    adds = g.number("accumulate")
    taken = _taken_gradient(g, g.grad, where)
    if g.is_value(adds):
        of_self = g.choose(adds, lambda: g.grad, lambda: _without(g, where))
        of_values = g.choose(adds, lambda: taken, lambda: _kept(g, where, taken))
    else:
        of_self = g.grad if adds else _without(g, where)
        of_values = taken if adds else _kept(g, where, taken)
    return of_self, None, g.sum_to(of_values, "values")
