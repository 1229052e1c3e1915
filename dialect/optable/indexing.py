"""Indexing: by vectors of indices, by an index per element, by masks, by lists of them."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.dialect.inference.dims import Dim, symbols
from tierup.dialect.ir.values import List, NoneValue, Shape, Tensor, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import (
    EXACT,
    Infer,
    InferRule,
    Kind,
    Op,
    Promotion,
    ShapeError,
    Tolerance,
    normalise_dim,
    without_gradient,
)
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.padding import check_element

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


# --- one index for a whole dim -----------------------------------------------------------------------------------------


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


def _one_hot(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x = operands[0]
    if read.dtype_of(x) not in (None, dtypes.i64):
        raise TypeError("one_hot is only applicable to index tensor of type LongTensor.")
    classes = or_unknown(read.size)(operands[1]) if len(operands) > 1 else -1
    return Tensor(dtypes.i64, _classes(ctx, x, classes))


@or_unknown
def _classes(ctx: Infer, x: Value, classes: Dim | None) -> Shape:
    of = read.shape(x)
    if isinstance(classes, int) and classes < 0:
        if classes < -1:
            raise ShapeError("num_classes must be -1 or not negative")
        classes = None
    return (*of, ctx.fresh() if classes is None else classes)


def _bucketize(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, boundaries = operands[:2]
    if isinstance(boundaries, Tensor) and boundaries.rank not in (None, 1):
        raise ShapeError(f"bucketize: boundaries tensor must be 1 dimension, but got dim({boundaries.rank})")
    small = or_unknown(read.flag)(operands[2]) if len(operands) > 2 else False
    return Tensor(None if small is None else dtypes.i32 if small else dtypes.i64, x.shape if isinstance(x, Tensor) else None)


# --- one index per element ---------------------------------------------------------------------------------------------


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
    """np.take_along_axis: all but the axis broadcast."""
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


# --- masks -------------------------------------------------------------------------------------------------------------


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


def _masked_select(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, mask = operands[:2]
    _check_mask("masked_select", mask)
    _broadcast(ctx, "masked_select", x, mask)
    return Tensor(read.dtype_of(x), (ctx.fresh(),))


def _masked_scatter(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, mask, source = operands[:3]
    _check_mask("masked_scatter", mask)
    _same_dtype(x, source, "masked_scatter: expected self and source to have same dtypes")
    return Tensor(read.dtype_of(x), _broadcast(ctx, "masked_scatter", x, mask))


def _nonzero(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x = operands[0]
    rank = x.rank if isinstance(x, Tensor) else None
    return Tensor(dtypes.i64, None if rank is None else (ctx.fresh(), rank))


def _nonzero_numpy(ctx: Infer, operands: Sequence[Value]) -> List:
    x = operands[0]
    rank = x.rank if isinstance(x, Tensor) else None
    if rank is None:
        return List(None, Tensor(dtypes.i64))
    count = ctx.fresh()
    return List((Tensor(dtypes.i64, (count,)),) * max(rank, 1))


# --- lists of indices and masks ----------------------------------------------------------------------------------------


def _is_mask(ctx: Infer, dtype: DType) -> bool:
    return dtype is dtypes.bool_ or dtype is dtypes.u8 and ctx.promotion is Promotion.TORCH


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


def _joined(ctx: Infer, integers: Sequence[Shape], masks: int) -> Shape:
    """The common shape of index tensors; a mask stands for a vector as long as it has true elements."""
    common = ctx.broadcast(integers, "shape mismatch: indexing tensors could not be broadcast together with shapes")
    assert common is not None  # all are known
    return (*common[:-1], ctx.counted(1)) if masks else common


def _index(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return Tensor(read.dtype_of(operands[0]), _indexed(ctx, operands[0], operands[1]))


def _index_put(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, indices, values = operands[:3]
    if ctx.promotion is Promotion.TORCH:
        _same_dtype(x, values, "Index put requires the source and destination dtypes match")
    _put(ctx, x, _indexed(ctx, x, indices), indices, values)
    return read.whole(x)


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


# --- rows --------------------------------------------------------------------------------------------------------------


def _row(
    name: str, kernel: str, infer: InferRule, *, numpy: bool = False, raises: bool = False, native: bool = True, note: str = "",
    tolerance: Tolerance = EXACT,
) -> Op:  # fmt: skip
    flavour = f"numpy_indexing.{kernel}" if numpy else None
    row = Op(
        f"aten.{name}",
        Kind.MOVEMENT,
        f"indexing.{kernel}",
        infer,
        numpy=flavour,
        native=native,
        tolerance=tolerance,
        raises=raises,
        note=note,
    )
    return without_gradient(row) if name.partition(".")[0] in _WITHOUT_GRADIENT else row


_WITHOUT_GRADIENT = frozenset({"one_hot", "bucketize", "nonzero", "nonzero_numpy"})
_NEGATIVE = "negative indices count from the end"
_POSITIVE = "negative indices are out of range; not under NumPy's rules"

ROWS = (
    _row("index_select", "index_select", _index_select, numpy=True, raises=True, note=_POSITIVE),
    _row("embedding", "embedding", _embedding, numpy=True, raises=True, note=_POSITIVE),
    _row("one_hot", "one_hot", _one_hot, raises=True, native=False),
    _row("bucketize.Tensor", "bucketize", _bucketize, native=False),
    _row("gather", "gather", _gather, numpy=True, raises=True, note=_POSITIVE),
    _row("scatter.src", "scatter", _scatter("scatter"), raises=True, note="negative indices are out of range; the last of several counts"),
    _row("scatter.value", "scatter_value", _scatter("scatter"), raises=True, note="negative indices are out of range"),
    _row(
        "scatter_add",
        "scatter_add",
        _scatter("scatter_add"),
        raises=True,
        tolerance=Tolerance(4.0, 1.0),
        note="negative indices are out of range",
    ),
    _row("masked_fill.Scalar", "masked_fill", _masked_fill),
    _row("masked_fill.Tensor", "masked_fill_tensor", _masked_fill),
    _row("masked_select", "masked_select", _masked_select),
    _row("masked_scatter", "masked_scatter", _masked_scatter, raises=True, native=False),
    _row("nonzero", "nonzero", _nonzero),
    _row("nonzero_numpy", "nonzero_numpy", _nonzero_numpy, numpy=True, native=False),
    _row("index.Tensor", "index", _index, numpy=True, raises=True, note=_NEGATIVE),
    _row("index.Tensor_hacked_twin", "index", _index, numpy=True, raises=True, note=_NEGATIVE),
    _row("index_put", "index_put", _index_put, numpy=True, raises=True, note=_NEGATIVE),
    _row("index_put.hacked_twin", "index_put", _index_put, numpy=True, raises=True, note=_NEGATIVE),
    _row("_unsafe_index_put.hacked_twin", "index_put", _index_put, numpy=True, raises=True, note=_NEGATIVE),
)
