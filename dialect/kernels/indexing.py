"""Tier-0 kernels of indexing, with torch's semantics. Indices are int32 or int64.

An index out of range is an IndexError (PyTorch has a RuntimeError for gather and scatter). Negative indices count from the
end in index.Tensor and index_put only; elsewhere they are out of range, as in torch. Other errors: ValueError for shapes
that do not fit, TypeError for dtypes that the op refuses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tierup.dialect.kernels import overlap
from tierup.dialect.kernels.axes import axis_of, name_of, quiet
from tierup.dialect.kernels.casts import cast
from tierup.dialect.kernels.filling import Number, element

_INT64 = np.dtype(np.int64)
_INT32 = np.dtype(np.int32)
_BOOL = np.dtype(np.bool_)
_ALL = slice(None)
Indices = Sequence[np.ndarray | None]


def _integers(op: str, index: np.ndarray) -> None:
    if index.dtype not in (_INT32, _INT64) and (index.size or op == "index_select"):  # as in PyTorch: no element, no question
        raise TypeError(f"{op}(): Expected dtype int32 or int64 for index, but got {name_of(index.dtype)}")


def _in_range(index: np.ndarray, dim: int, size: int) -> None:
    """IndexError for the first index that is negative or too large."""
    wrong = (index < 0) | (index >= size)
    if wrong.any():
        first = index.reshape(-1)[np.argmax(wrong)]
        raise IndexError(f"index {first} is out of bounds for dimension {dim} with size {size}")


# --- one index for a whole dim -----------------------------------------------------------------------------------------


def index_select(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """aten.index_select: the entries of a dim that a vector (or rank-0 tensor) of indices names."""
    axis = axis_of(dim, x.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    _integers("index_select", index)
    if not x.ndim:
        if index.size != 1:
            raise ValueError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        _in_range(index, 0, 1)
        return x.copy()
    _in_range(index, axis, x.shape[axis])
    return np.take(x, index.reshape(-1), axis)


def embedding(
    weight: np.ndarray, indices: np.ndarray, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> np.ndarray:
    """aten.embedding: rows of a matrix; (*) and (n, d) give (*, d)."""
    if weight.ndim != 2:
        raise ValueError("'weight' must be 2-D")
    _integers("embedding", indices)
    _in_range(indices, 0, weight.shape[0])
    return np.take(weight, indices, 0)


def one_hot(x: np.ndarray, classes: int = -1) -> np.ndarray:
    """aten.one_hot: int64 (*) -> int64 (*, classes); -1 means one more than the largest. ValueError for a class out of range."""
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


def bucketize(x: np.ndarray, boundaries: np.ndarray, out_int32: bool = False, right: bool = False) -> np.ndarray:
    """aten.bucketize.Tensor: how many sorted boundaries are below each element (or not above, with `right`); NaN is above all."""
    if boundaries.ndim != 1:
        raise ValueError(f"bucketize: boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    found = np.searchsorted(boundaries, x, side="right" if right else "left")
    return np.asarray(found).astype(_INT32 if out_int32 else _INT64, copy=False)


# --- one index per element ---------------------------------------------------------------------------------------------


def _whole(x: np.ndarray) -> np.ndarray:
    """x, as a vector when it has rank 0."""
    return x.reshape(1) if not x.ndim else x


def _check_index(op: str, x: np.ndarray, axis: int, index: np.ndarray, source: np.ndarray | None = None) -> None:
    """What gather and scatter ask of an index: integers, x's rank, no larger than x apart from the dim, nor than the source."""
    _integers(op, index)
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


def gather(x: np.ndarray, dim: int, index: np.ndarray, sparse_grad: bool = False) -> np.ndarray:
    """aten.gather: result[i, j] = x[index[i, j], j] for dim 0, and so on; the result has index's shape."""
    axis = axis_of(dim, x.ndim)
    _check_index("gather", x, axis, index)
    if not index.size:
        return np.empty(index.shape, x.dtype)
    return np.asarray(_whole(x)[_grid(_whole(index), axis)]).reshape(index.shape)


def scatter(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """aten.scatter.src: a copy of x with x[index[i, j], j] = source[i, j] for dim 0, and so on; the last one of several counts."""
    return scatter_(x.copy(), dim, index, source)


def scatter_(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """aten.scatter_.src: x itself, written."""
    axis = axis_of(dim, x.ndim)
    if x.dtype != source.dtype:
        raise TypeError("scatter(): Expected self.dtype to be equal to src.dtype")
    _check_index("scatter", x, axis, index, source)
    overlap.refuse_repeats(x)
    overlap.refuse_shared(x, index, source)
    if index.size:
        whole = _whole(index)
        _whole(x)[_grid(whole, axis)] = _whole(source)[tuple(slice(n) for n in whole.shape)]
    return x


def scatter_value(x: np.ndarray, dim: int, index: np.ndarray, value: Number) -> np.ndarray:
    """aten.scatter.value: a copy of x with `value` at every index. ValueError where the dtype cannot hold it."""
    return scatter_value_(x.copy(), dim, index, value)


def scatter_value_(x: np.ndarray, dim: int, index: np.ndarray, value: Number) -> np.ndarray:
    """aten.scatter_.value: x itself, written."""
    axis = axis_of(dim, x.ndim)
    _check_index("scatter", x, axis, index)
    filler = element(value, x.dtype)
    overlap.refuse_repeats(x)
    overlap.refuse_shared(x, index)
    if index.size:
        _whole(x)[_grid(_whole(index), axis)] = filler
    return x


def scatter_add(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """aten.scatter_add: a copy of x to which every source element is added at its index; or, for bools."""
    return scatter_add_(x.copy(), dim, index, source)


def scatter_add_(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """aten.scatter_add_: x itself, written."""
    axis = axis_of(dim, x.ndim)
    if x.dtype != source.dtype:
        raise TypeError("scatter(): Expected self.dtype to be equal to src.dtype")
    _check_index("scatter_add", x, axis, index, source)
    overlap.refuse_repeats(x)
    overlap.refuse_shared(x, index, source)
    if index.size:
        whole = _whole(index)
        _accumulate(_whole(x), _grid(whole, axis), _whole(source)[tuple(slice(n) for n in whole.shape)])
    return x


def _accumulate(target: np.ndarray, where: tuple[np.ndarray | slice, ...], source: np.ndarray) -> None:
    with quiet:
        (np.logical_or if target.dtype == _BOOL else np.add).at(target, where, source)


# --- masks -------------------------------------------------------------------------------------------------------------


def _check_mask(op: str, mask: np.ndarray) -> None:
    if mask.dtype != _BOOL:
        raise TypeError(f"{op} only supports boolean masks, but got mask with dtype {name_of(mask.dtype)}")


def _masked(op: str, x: np.ndarray, mask: np.ndarray, filler: np.generic) -> np.ndarray:
    _check_mask(op, mask)
    try:
        shape = np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        raise ValueError(f"{op}: self {list(x.shape)} and mask {list(mask.shape)} do not broadcast") from None
    result = np.broadcast_to(x, shape).copy()
    np.copyto(result, filler, where=mask)
    return result


def masked_fill(x: np.ndarray, mask: np.ndarray, value: Number) -> np.ndarray:
    """aten.masked_fill.Scalar: `value` where the mask is true; both broadcast. ValueError where the dtype cannot hold it."""
    return _masked("masked_fill", x, mask, element(value, x.dtype))


def masked_fill_tensor(x: np.ndarray, mask: np.ndarray, value: np.ndarray) -> np.ndarray:
    """aten.masked_fill.Tensor: the value is a rank-0 tensor, converted to x's dtype."""
    if value.ndim:
        raise ValueError(f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    return _masked("masked_fill", x, mask, cast(value, x.dtype)[()])


def masked_select(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """aten.masked_select: a vector of the elements where the mask is true; both broadcast."""
    _check_mask("masked_select", mask)
    try:
        shape = np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        raise ValueError(f"masked_select: self {list(x.shape)} and mask {list(mask.shape)} do not broadcast") from None
    return np.broadcast_to(x, shape)[np.broadcast_to(mask, shape)]


def masked_scatter(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    """aten.masked_scatter: the source's elements in order, where the mask is true. ValueError when there are too few."""
    _check_mask("masked_scatter", mask)
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


def nonzero(x: np.ndarray) -> np.ndarray:
    """aten.nonzero: int64 (count, rank), the indices of elements that are not zero, in row-major order."""
    return np.argwhere(x).astype(_INT64, copy=False)


def nonzero_numpy(x: np.ndarray) -> list[np.ndarray]:
    """aten.nonzero_numpy: one int64 vector per dim; rank 0 counts as one dim."""
    return [i.astype(_INT64, copy=False) for i in np.nonzero(_whole(x))]


# --- lists of indices and masks ----------------------------------------------------------------------------------------


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


def index(x: np.ndarray, indices: Indices) -> np.ndarray:
    """aten.index.Tensor: x[indices], with None for a whole dim. Index tensors broadcast; their dims come where the first one
    stands if they stand side by side, else in front. Negative indices count from the end."""
    try:
        return np.array(x[_key(indices)])
    except IndexError as e:
        raise _torch_text(e) from None


def index_put(x: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """aten.index_put: a copy of x with x[indices] = values, or += with every repeated index counted."""
    return index_put_(x.copy(order="K"), indices, values, accumulate)


def index_put_(x: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """aten.index_put_: x itself, written. Nothing is written when an index is out of range."""
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
