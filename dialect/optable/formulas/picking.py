"""Elements by their places: taken from a tensor, put into one, and classes as places."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import Kind, ShapeError, normalise_dim
from tierup.dialect.optable.formulas.core import Ops, T, formula

_MOVEMENT = Kind.MOVEMENT


@formula("take(self, index; )", kind=_MOVEMENT, raises=True)
def take(o: Ops[T], x: T, index: T) -> T:
    """As if the tensor were a vector."""
    if o.known(index).dtype not in (None, dtypes.i64):
        raise TypeError("take(): Expected a long tensor for index")
    return o.call("aten.index.Tensor", o.call("aten.reshape", x, [-1]), [index])


@formula("one_hot(self; num_classes)", kind=_MOVEMENT, is_row=False, is_gradient=False)
def one_hot(o: Ops[T], x: T, classes: int = -1) -> T:
    if classes < 1:  # how many there are is known by the largest
        raise o.unknown()
    o.check(o.call("aten.ge.Scalar", x, 0), "Class values must be non-negative.")
    o.check(o.call("aten.lt.Scalar", x, classes), "Class values must be smaller than num_classes.")
    all_ = o.call("aten.arange", classes, None, None, None, None)
    found = o.call("aten.eq.Tensor", o.call("aten.unsqueeze", x, -1), all_)
    return o.call("aten.to.dtype", found, dtypes.i64.code, False, False, None)


def _put(o: Ops[T], x: T, dim: int, index: T, values: T, adds: bool) -> T:
    """`values` at entries of a dim."""
    rank = o.rank(x)
    axis = normalise_dim(dim, rank)
    if o.rank(index) > 1:
        raise IndexError("Index is supposed to be a vector")
    index = o.call("aten.reshape", index, [-1])
    if not rank:
        found = o.call("aten.index_put", o.call("aten.reshape", x, [1]), [index], o.call("aten.reshape", values, [-1]), adds)
        return o.call("aten.reshape", found, [])
    return o.call("aten.index_put", x, [*[None] * axis, index], values, adds)


@formula("index_add(self, =dim, index, source; alpha)", kind=_MOVEMENT, raises=True)
def index_add(o: Ops[T], x: T, dim: int, index: T, source: T, alpha: Any = 1) -> T:
    """No index counts from behind: an IndexError for a vector, as in PyTorch, and a RuntimeError otherwise."""
    if o.rank(index) > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector")
    rank, dtypes_of = o.rank(x), (o.known(x).dtype, o.known(source).dtype)
    if o.known(index).dtype not in (None, dtypes.i32, dtypes.i64):
        raise ShapeError("index_add(): Expected dtype int32/int64 for index")
    if None not in dtypes_of and dtypes_of[0] is not dtypes_of[1]:
        raise ShapeError("index_add(): self and source expected to have the same dtype")
    if o.rank(source) != rank:
        raise o.unknown() if rank * o.rank(source) == 0 else ShapeError("index_add(): source and destination have different ranks")
    axis, flat = normalise_dim(dim, rank), o.call("aten.reshape", index, [-1])
    for i in range(rank):
        o.equal(source, i, *((flat, 0) if i == axis else (x, i)), "index_add(): the sizes of source, index and self do not fit")
    if rank > 1:
        inside = o.call("aten.logical_and", o.call("aten.ge.Scalar", index, 0), o.call("aten.lt.Scalar", index, o.size(x, axis)))
        o.check(inside, f"index out of bounds for dimension {axis}")
    else:
        index = o.where(o.call("aten.lt.Scalar", index, 0), o.size(x, axis) if rank else 1, index)
    return _put(o, x, dim, index, source if alpha == 1 else o.mul(source, alpha), True)


@formula("index_fill.int_Scalar(self, =dim, index; value)", kind=_MOVEMENT, raises=True)
def index_fill(o: Ops[T], x: T, dim: int, index: T, value: Any) -> T:
    if o.known(index).dtype not in (None, dtypes.i64):
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    return _put(o, x, dim, index, o.call("aten.new_full", x, [], value, None, None, None, None), False)


@formula("index_copy(self, =dim, index, source; )", kind=_MOVEMENT, raises=True)
def index_copy(o: Ops[T], x: T, dim: int, index: T, source: T) -> T:
    """No index counts from behind."""
    dtypes_of = o.known(x).dtype, o.known(source).dtype
    if o.rank(index) > 1:
        raise IndexError("index_copy_(): Index should have dimension 1 or 0")
    if o.known(index).dtype not in (None, dtypes.i64):
        raise ShapeError("index_copy_(): Expected a long tensor for index")
    if None not in dtypes_of and dtypes_of[0] is not dtypes_of[1]:
        raise ShapeError("index_copy_(): self and source expected to have the same dtype")
    rank, axis = o.rank(x), normalise_dim(dim, o.rank(x))
    if o.rank(source) != rank:
        raise o.unknown() if rank * o.rank(source) == 0 else IndexError("index_copy_(): the ranks of source and destination do not match")
    flat = o.call("aten.reshape", index, [-1])
    counts = [(o.known(v).shape or ())[i] for v, i in ((source, axis), (flat, 0))] if rank else []
    if all(isinstance(n, int) for n in counts) and len({*counts}) > 1:
        raise IndexError("index_copy_(): Number of indices should be equal to source.size(dim)")
    for i in range(rank):
        o.equal(source, i, *((flat, 0) if i == axis else (x, i)), "index_copy_(): the sizes of source, index and self do not fit")
    index = o.where(o.call("aten.lt.Scalar", index, 0), o.size(x, axis) if rank else 1, index)
    return _put(o, x, dim, index, source, False)


@formula("scatter.reduce(self, =dim, index, src; reduce)", kind=_MOVEMENT, raises=True)
def scatter_reduce(o: Ops[T], x: T, dim: int, index: T, source: T, reduce: str) -> T:
    if reduce not in _REDUCTIONS:
        raise o.unknown() if not isinstance(reduce, str) else ShapeError("reduce argument must be either add or multiply.")
    o.no_gradient_of(x, "self")
    o.no_gradient_of(source, "src")
    return o.call("aten.scatter_reduce.two", x, dim, index, source, _REDUCTIONS[reduce], True)


_REDUCTIONS = {"add": "sum", "multiply": "prod"}


@formula("isin.Tensor_Tensor(elements, test_elements; assume_unique, invert)", kind=_MOVEMENT, no_gradient="truth values")
def isin(o: Ops[T], x: T, among: T, assume_unique: bool = False, invert: bool = False) -> T:
    """Each element compared with all."""
    if dtypes.bool_ in (o.known(x).dtype, o.known(among).dtype):
        raise ShapeError("Unsupported input type encountered for isin(): Bool")
    equal = o.call("aten.eq.Tensor", o.call("aten.unsqueeze", x, -1), o.call("aten.reshape", among, [-1]))
    found = o.call("aten.any.dim", equal, -1, False)
    return o.call("aten.logical_not", found) if invert else found


@formula("max_unpool2d(self, indices; output_size)", kind=_MOVEMENT, raises=True, is_gradient=False)
def max_unpool2d(o: Ops[T], x: T, indices: T, sizes: Sequence[int]) -> T:
    """Zeros, but for the elements of a pooled image where their maxima were."""
    return _unpooled(o, "max_unpooling2d", x, indices, sizes)


@formula("max_unpool3d(self, indices; output_size, stride, padding)", kind=_MOVEMENT, raises=True, is_gradient=False)
def max_unpool3d(o: Ops[T], x: T, indices: T, sizes: Sequence[int], stride: Sequence[int], padding: Sequence[int]) -> T:
    return _unpooled(o, "max_unpooling3d", x, indices, sizes)


def _unpooled(o: Ops[T], op: str, x: T, indices: T, sizes: Sequence[int]) -> T:
    dims, rank = int(op[-2]), o.rank(x)
    if rank not in (dims + 1, dims + 2) or len(sizes) != dims:
        raise ShapeError(f"{op}: expected images of rank {dims + 1} or {dims + 2} and {dims} output sizes, but got {rank} and {len(sizes)}")
    if o.known(indices).dtype not in (None, dtypes.i64):
        raise ShapeError("elements in indices should be type int64")
    o.same_sizes(x, indices, f"{op}: expected the indices to have the shape of the input")
    flat = [o.call("aten.flatten.using_ints", v, rank - dims, -1) for v in (x, indices)]
    room = prod(sizes)
    inside = o.call("aten.logical_and", o.call("aten.ge.Scalar", flat[1], 0), o.call("aten.lt.Scalar", flat[1], room))
    o.check(inside, f"found an invalid max index: it is not in 0 to {room - 1}")
    blank = o.call("aten.new_zeros", x, [*(o.size(x, i) for i in range(rank - dims)), room], None, None, None, None)
    return o.call("aten.unflatten.int", o.call("aten.scatter.src", blank, -1, flat[1], flat[0]), -1, list(sizes))
