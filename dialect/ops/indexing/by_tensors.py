"""Indexing by lists of indices and masks, x[i, j, ...], and assignment to what they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType, scalar_type
from tierup.dialect.facts.dims import Dim, symbols
from tierup.dialect.facts.values import NoneValue, Shape, Tensor, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, KEPT_COMPLEX, OF_COMPLEX, Infer, Kind, Promotion, ShapeError
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels import overlap
from tierup.dialect.optable.kernels.arrays import quiet
from tierup.dialect.optable.operands import or_unknown

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

Indices = Sequence[np.ndarray | None]
_BOOL, _INTEGERS = dtypes.bool_.numpy, (dtypes.i32, dtypes.i64)
NOT_BROADCASTABLE = "array is not broadcastable to correct shape"  # of ufunc.at
_MISMATCH = "shape mismatch: value tensor cannot be broadcast to indexing result"


def same_dtype(a: Value, b: Value, text: str) -> None:
    """Raises TypeError where two tensors are known to differ."""
    known = {d for d in (read.dtype_of(a), read.dtype_of(b)) if d is not None}
    if len(known) > 1:
        raise TypeError(text)


def accumulate_at(target: np.ndarray, where: tuple[Any, ...], source: np.ndarray) -> None:
    """Each element counts, also where an index stands more than once; of bools: or."""
    with quiet:
        (np.logical_or if target.dtype == _BOOL else np.add).at(target, where, source)


def _has_optional(where: ir.Value) -> bool:
    return "optional" in str(where.type)


def put_gradient(g: Backward, x: ir.Value, where: ir.Value, values: ir.Value, *, adds: bool = False) -> ir.Value:
    return g.alike("aten.index_put" if _has_optional(where) else "aten.index_put.hacked_twin", x, where, values, adds)


def taken_gradient(g: Backward, x: ir.Value, where: ir.Value) -> ir.Value:
    return g.alike("aten.index.Tensor" if _has_optional(where) else "aten.index.Tensor_hacked_twin", x, where)


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


_ALL = slice(None)


def key_of(indices: Indices) -> tuple[np.ndarray | slice, ...]:
    """NumPy's key for a list of indices, masks (bool, or uint8 as torch has it) and Nones."""
    if not indices:
        raise IndexError("at least one index must be provided")
    key: list[np.ndarray | slice] = []
    for index in indices:
        if index is None:
            key.append(_ALL)
        elif index.dtype == np.uint8:
            key.append(index.astype(_BOOL))
        elif index.dtype in (*(d.numpy for d in _INTEGERS), _BOOL):
            key.append(index)
        else:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return tuple(key)


def _torch_text(error: IndexError) -> IndexError:
    return IndexError(str(error).replace("axis", "dimension"))


@op(
    "aten.index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "aten.index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
    kind=Kind.MOVEMENT, infer=_index, tolerance=EXACT, raises=True, **OF_COMPLEX, note="negative indices count from the end",
)  # fmt: skip
def index(x: np.ndarray, indices: Indices) -> np.ndarray:
    """x[indices], with None for a whole dim. Index tensors broadcast; their dims come where the first one
    stands if they stand side by side, else in front. Negative indices count from the end."""
    try:
        return np.array(x[key_of(indices)], order="C")
    except IndexError as e:
        raise _torch_text(e) from None



def _key_under_numpy(indices: Indices) -> tuple[np.ndarray | slice, ...]:
    return tuple(_ALL if i is None else i for i in indices)


@index.under_numpy(form="index")
def _(x: np.ndarray, indices: Indices) -> np.ndarray:
    """x[i, j, ...] with arrays: always a copy."""
    return np.array(x[_key_under_numpy(indices)])


index.vjp(reads=("indices",))(lambda g: put_gradient(g, g.zeros("self"), g.operands[1], g.grad, adds=True))


@or_unknown
def _put(ctx: Infer, x: Value, target: Shape | None, indices: Value, values: Value) -> None:
    """Values must broadcast to what is indexed. How many elements a mask names is left to the run."""
    if target is None:
        raise read.Unknown
    if ctx.promotion is Promotion.TORCH and len(read.shape(values)) > len(target):
        raise ShapeError(_MISMATCH)
    given = {s for v in (x, *read.items(indices)) if isinstance(v, Tensor) for d in v.shape or () for s in symbols(d)}
    for size, wanted in zip(reversed(read.shape(values)), reversed(target), strict=False):
        if isinstance(size, int) and isinstance(wanted, int) and size not in (1, wanted):
            raise ShapeError(_MISMATCH)
        if size != 1 and symbols(wanted) <= given:
            ctx.equal(size, wanted, _MISMATCH)


def check_put(ctx: Infer, x: Value, indices: Value, values: Value) -> None:
    """Raises what an assignment of values to x[indices] is refused with."""
    if ctx.promotion is Promotion.TORCH:
        same_dtype(x, values, "Index put requires the source and destination dtypes match")
    _put(ctx, x, _indexed(ctx, x, indices), indices, values)


def _index_put(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    check_put(ctx, *operands[:3])
    return read.whole(operands[0])


def for_each(x: np.ndarray, key: tuple[np.ndarray | slice, ...], values: np.ndarray, refusal: str = "") -> np.ndarray:
    """A value for each element that is named. ValueError where they do not fit: np.add.at ends the process for some of a larger rank.
    `refusal`: what it says, where that is not PyTorch's."""
    shape = np.broadcast_to(False, x.shape)[key].shape
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ValueError(refusal or f"{_MISMATCH}: {list(values.shape)} and {list(shape)}") from None


def index_put_(x: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """x itself, written. Nothing is written when an index is out of range."""
    if x.dtype != values.dtype:
        raise TypeError(
            "Index put requires the source and destination dtypes match, "
            f"got {scalar_type(x.dtype)} for the destination and {scalar_type(values.dtype)} for the source."
        )
    key = key_of(indices)
    overlap.refuse_shared(x, values, *indices)
    try:
        each = for_each(x, key, values)
        if accumulate:
            accumulate_at(x, key, each)
        else:
            x[key] = each
    except IndexError as e:
        raise _torch_text(e) from None
    return x


@op(
    "aten.index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "aten.index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "aten._unsafe_index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
    kind=Kind.MOVEMENT, infer=_index_put, puts=True, tolerance=EXACT, raises=True, **KEPT_COMPLEX,
    note="negative indices count from the end",
)  # fmt: skip
def index_put(x: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """A copy of x with x[indices] = values, or += with every repeated index counted."""
    return index_put_(overlap.copy(x), indices, values, accumulate)


def index_put_under_numpy_(x: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """x[i, j, ...] = values, or np.add.at when accumulating."""
    if accumulate:
        key: Any = _key_under_numpy(indices)
        np.add.at(x, key, for_each(x, key, values, NOT_BROADCASTABLE))
    else:
        x[_key_under_numpy(indices)] = values
    return x


@index_put.under_numpy(form="index_put")
def _(x: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """A copy of x after x[i, j, ...] = values, or np.add.at when accumulating."""
    return index_put_under_numpy_(x.copy(order="K"), indices, values, accumulate)


def _without(g: Backward, where: ir.Value) -> ir.Value:
    """The gradient, zero where elements were put."""
    return put_gradient(g, g.grad, where, g.zeros(2))


def _are_masks(g: Backward, where: ir.Value) -> bool:
    """Whether no index is known to be other than a mask: these name each place once."""
    items = g.written_items(where)
    return items is not None and all(g.tensor(v).dtype is dtypes.bool_ for v in items)


def _kept(g: Backward, where: ir.Value, taken: ir.Value) -> ir.Value:
    """The gradient of what was put, zero for what something else was put over."""
    if not g.numpy or _are_masks(g, where):
        return taken
    count = g.call("aten.numel", taken, type_="!torch.int")
    numbers = g.call("aten.reshape", g.call("aten.arange", count, dtypes.i64.code, None, None, None), g.size(taken))
    places = g.call("aten.zeros", g.operand_size(0), dtypes.i64.code, None, None, None)
    last = taken_gradient(g, put_gradient(g, places, where, numbers), where)
    return g.where(g.compare("eq", last, numbers), taken, 0.0)


@index_put.vjp(reads=("indices", "accumulate"))
def _(g: Backward) -> Gradients:
    where = g.operands[1]
    adds = g.number("accumulate")
    taken = taken_gradient(g, g.grad, where)
    if g.is_value(adds):
        of_self = g.choose(adds, lambda: g.grad, lambda: _without(g, where))
        of_values = g.choose(adds, lambda: taken, lambda: _kept(g, where, taken))
    else:
        of_self = g.grad if adds else _without(g, where)
        of_values = taken if adds else _kept(g, where, taken)
    return of_self, None, g.sum_to(of_values, "values")
