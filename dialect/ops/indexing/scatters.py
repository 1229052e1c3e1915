"""Elements that an index of the tensor's rank names: result[i, j] = x[index[i, j], j] for dim 0, and so on; and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.ops.indexing.by_tensors import accumulate_at, same_dtype
from tierup.dialect.ops.indexing.picking import NEGATIVE, check_in_range, check_integers, check_numpy_integers
from tierup.dialect.ops.movement.padding import check_element
from tierup.dialect.ops.reductions.reduced import replaced
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Infer, InferRule, Kind, Promotion, ShapeError, Tolerance, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels import overlap
from tierup.dialect.optable.kernels.arrays import Number, element, in_rows
from tierup.dialect.optable.operands import or_unknown

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_op = partial(op, kind=Kind.MOVEMENT, raises=True)


@or_unknown
def _check_dim(x: Value, dim: Value) -> None:
    normalise_dim(read.integer(dim), len(read.shape(x)))


@or_unknown
def _check_index(op: str, x: Value, dim: Value, index: Value, source: Value | None = None) -> None:
    """Ranks agree, and an index known to be larger than x apart from the dim, or than the source, is refused."""
    of, by = read.shape(x), read.shape(index)
    axis = normalise_dim(read.integer(dim), len(of))
    if 0 in by:
        return
    shapes = [s or (1,) for s in ((of, by) if source is None else (of, by, read.shape(source)))]
    if len(set(map(len, shapes))) > 1:
        raise ShapeError(f"{op}(): Index tensor must have the same number of dimensions as self and src tensors")
    for d, (size, limit) in enumerate(zip(shapes[1], shapes[0], strict=True)):
        if d != axis and isinstance(size, int) and isinstance(limit, int) and size > limit:
            raise ShapeError(f"{op}(): Expected index {list(by)} to be no larger than self {list(of)} apart from dimension {axis}")
    for size, limit in zip(shapes[1], shapes[2] if source is not None else (), strict=False):
        if isinstance(size, int) and isinstance(limit, int) and size > limit:
            raise ShapeError(f"{op}(): Expected index {list(by)} to be no larger than src {list(shapes[2])}")


def _whole(x: np.ndarray) -> np.ndarray:
    """x, as a vector when it has rank 0."""
    return x.reshape(1) if not x.ndim else x


def _grid(index: np.ndarray, axis: int, size: int) -> tuple[np.ndarray, ...]:
    """The positions that an index names: itself along the axis, its own coordinates along the others. IndexError for what is not there."""
    check_in_range(index, axis, size)
    grid = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    grid[axis] = index
    return tuple(grid)


# --- gather --------------------------------------------------------------------------------------------------------------


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
        check_numpy_integers(index)
        return Tensor(read.dtype_of(x), _along_axis(ctx, x, dim, index))
    _check_dim(x, dim)
    check_integers("gather", index)
    _check_index("gather", x, dim, index)
    return Tensor(read.dtype_of(x), index.shape if isinstance(index, Tensor) else None)


@_op(
    "aten.gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", infer=_gather, tolerance=EXACT, note=NEGATIVE
)
def gather(x: np.ndarray, dim: int, index: np.ndarray, sparse_grad: bool = False) -> np.ndarray:
    """The result has index's shape."""
    gather.checked(x, dim, index)
    if not index.size:
        return np.empty(index.shape, x.dtype)
    axis, whole = normalise_dim(dim, x.ndim), _whole(x)
    return in_rows(whole[_grid(_whole(index), axis, whole.shape[axis])]).reshape(index.shape)


gather.under_numpy(form="gather")(lambda x, dim, index, sparse_grad=False: np.take_along_axis(x, index, dim))


@gather.vjp(reads=("dim", "index", "sparse_grad"))
def _(g: Backward) -> Gradients:
    if not g.numpy and g.constant("sparse_grad"):
        raise g.no_gradient("sparse_grad=True makes one that is a sparse tensor")
    where = g.operands[2]
    if not g.numpy:
        return g.call("aten.scatter_add", g.zeros("self"), g.number("dim"), where, g.grad)
    dim = int(g.constant("dim"))
    size = g.size_of(g.like("self"), dim)  # np.take_along_axis: negative indices, and all dims but one broadcast
    where = g.call("aten.to.dtype", where, dtypes.i64.code, False, False, None)
    where = g.where(g.compare("lt", where, 0), g.add(where, size), where)
    where = g.expand(where, g.size(g.grad))
    whole = g.call("aten.zeros", replaced(g, g.size(g.grad), dim, [size]), g.dtype(g.grad), None, None, None)
    return g.sum_to(g.call("aten.scatter_add", whole, dim, where, g.grad), "self")


# --- scatter -------------------------------------------------------------------------------------------------------------


def scatters(op: str) -> InferRule:
    """The rule of an op (self, dim, index, source or number, ...) that writes where an index says."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        x, dim, index, source = operands[:4]
        _check_dim(x, dim)
        check_integers(op, index)
        if isinstance(source, Tensor):
            same_dtype(x, source, "scatter(): Expected self.dtype to be equal to src.dtype")
            _check_index(op, x, dim, index, source)
        else:
            check_element(source, read.dtype_of(x))
            _check_index(op, x, dim, index)
        return read.whole(x)

    return infer


def target(x: np.ndarray, dim: int, index: np.ndarray, *source: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """What is written, as a vector when it has rank 0, and where; memory that PyTorch refuses to write is refused."""
    axis, whole = normalise_dim(dim, x.ndim), _whole(x)
    where = _grid(_whole(index), axis, whole.shape[axis]) if index.size else (np.empty(0, np.int64),) * whole.ndim
    overlap.refuse_repeats(x)
    overlap.refuse_shared(x, index, *source)
    return whole, where


def read_source(source: np.ndarray, index: np.ndarray) -> np.ndarray:
    """As many elements of the source as there are indices."""
    return _whole(source)[tuple(slice(n) for n in _whole(index).shape)]


def scatter_(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """aten.scatter_.src: x itself, written."""
    scatter.checked(x, dim, index, source)
    whole, where = target(x, dim, index, source)
    if index.size:
        whole[where] = read_source(source, index)
    return x


@_op(
    "aten.scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", infer=scatters("scatter"), tolerance=EXACT,
    note="negative indices are out of range; the last of several counts",
)  # fmt: skip
def scatter(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """A copy of x with x[index[i, j], j] = source[i, j] for dim 0, and so on; the last one of several counts."""
    return scatter_(x.copy(), dim, index, source)


def source_gradient(g: Backward, where: list[ir.Value], of_target: ir.Value | None = None) -> ir.Value:
    """The gradient of a source of which the first elements in each dim are read, as many as there are indices; from that of what is
    written, the result where it is not given."""
    taken, rank = g.call("aten.gather", g.grad if of_target is None else of_target, *where, False), g.rank("src")
    if g.same_shape(taken, g.like("src")):
        return taken
    if rank is None:  # refused by the run where the source is larger than the index, as PyTorch does
        return g.call("aten.reshape", taken, g.operand_size("src"))
    behind = [g.call("aten.sub.int", g.size_of(g.like("src"), d), g.size_of(where[1], d), type_="!torch.int") for d in range(rank)]
    return g.call("aten.constant_pad_nd", taken, [v for more in reversed(behind) for v in (0, more)] or g.value([]), 0.0)


@scatter.vjp(reads=("dim", "index"))
def _(g: Backward) -> Gradients:
    where = g.operands[1:3]
    return g.call("aten.scatter.value", g.grad, *where, 0.0), None, None, source_gradient(g, where)


def scatter_value_(x: np.ndarray, dim: int, index: np.ndarray, value: Number) -> np.ndarray:
    """aten.scatter_.value: x itself, written."""
    scatter_value.checked(x, dim, index, value)
    whole, where = target(x, dim, index)
    if index.size:
        whole[where] = element(value, x.dtype)
    return x


@_op(
    "aten.scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", infer=scatters("scatter"), tolerance=EXACT,
    note="negative indices are out of range",
)  # fmt: skip
def scatter_value(x: np.ndarray, dim: int, index: np.ndarray, value: Number) -> np.ndarray:
    """A copy of x with `value` at every index. ValueError where the dtype cannot hold it."""
    return scatter_value_(x.copy(), dim, index, value)


scatter_value.vjp(reads=("dim", "index"))(lambda g: g.call("aten.scatter.value", g.grad, *g.operands[1:3], 0.0))


def scatter_add_(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """aten.scatter_add_: x itself, written."""
    scatter_add.checked(x, dim, index, source)
    whole, where = target(x, dim, index, source)
    if index.size:
        accumulate_at(whole, where, read_source(source, index))
    return x


@_op(
    "aten.scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", infer=scatters("scatter_add"),
    tolerance=Tolerance(4.0, 1.0), note="negative indices are out of range",
)  # fmt: skip
def scatter_add(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """A copy of x to which every source element is added at its index; or, for bools."""
    return scatter_add_(x.copy(), dim, index, source)


scatter_add.vjp(reads=("dim", "index"))(lambda g: (g.grad, None, None, source_gradient(g, g.operands[1:3])))
