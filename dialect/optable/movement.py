"""Movement: elements go elsewhere, their values stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, reduce

import numpy as np

from tierup.dialect import dtypes, optable
from tierup.dialect.dtypes import DType
from tierup.dialect.inference.dims import Dim
from tierup.dialect.ir.values import Shape, Tensor, Value
from tierup.dialect.kernels.promotion import promote
from tierup.dialect.optable import operands as read
from tierup.dialect.optable import padding, views
from tierup.dialect.optable.core import EXACT, Infer, InferRule, Kind, Op, Promotion, ShapeError, normalise_dim, without_gradient
from tierup.dialect.optable.operands import or_unknown


def _same(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    return of


# --- joining -----------------------------------------------------------------------------------------------------------


@cache
def _numpy_common(*known: DType) -> DType | None:
    return dtypes.from_numpy(np.result_type(*(d.numpy for d in known)))


def _common(ctx: Infer, tensors: Sequence[Value]) -> DType | None:
    known = [d for d in map(read.dtype_of, tensors) if d is not None]
    if len(known) < len(tensors):
        return None
    return _numpy_common(*known) if ctx.promotion is Promotion.NUMPY else reduce(promote, known)


def _tensors(operand: Value, what: str) -> tuple[Value, ...] | None:
    found = or_unknown(read.items)(operand)
    if found is not None and not found:
        raise ShapeError(f"{what} expects a non-empty list of tensors")
    return found


def _concatenated(ctx: Infer, shapes: Sequence[Shape], dim: int) -> Shape:
    for i, of in enumerate(shapes):
        if not of:
            raise ShapeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    kept = list(shapes) if ctx.promotion is Promotion.NUMPY else [s for s in shapes if s != (0,)]
    if not kept:
        return (0,)
    rank = len(kept[0])
    axis = normalise_dim(dim, rank)
    out, total = list(kept[0]), kept[0][axis]
    for of in kept[1:]:
        if len(of) != rank:
            raise ShapeError(f"Tensors must have same number of dimensions: got {rank} and {len(of)}")
        total = total + of[axis]
        for i, size in enumerate(of):
            if i != axis:
                out[i] = ctx.equal(out[i], size, f"Sizes of tensors must match except in dimension {axis}")
    out[axis] = total
    return tuple(out)


def _cat(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    tensors = _tensors(operands[0], "cat")
    if tensors is None:
        return Tensor()
    sized = or_unknown(lambda: _concatenated(ctx, [read.shape(t) for t in tensors], read.integer(read.given(operands, 1, 0))))
    return Tensor(_common(ctx, tensors), sized())


def _stack(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    tensors = _tensors(operands[0], "stack")
    if tensors is None:
        return Tensor()
    return Tensor(_common(ctx, tensors), _stacked(ctx, tensors, read.given(operands, 1, 0)))


@or_unknown
def _stacked(ctx: Infer, tensors: Sequence[Value], dim: Value) -> Shape:
    first = read.shape(tensors[0])
    axis = normalise_dim(read.integer(dim), len(first) + 1)
    for i, tensor in enumerate(tensors):
        of = read.shape(tensor)
        if len(of) != len(first):
            raise ShapeError(f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(of)} at entry {i}")
        first = tuple(ctx.equal(a, b, "stack expects each tensor to be equal size") for a, b in zip(first, of, strict=True))
    return (*first[:axis], len(tensors), *first[axis:])


def _joined(whole: Callable[[Shape], Shape], dim_of: Callable[[Shape], int], what: str) -> InferRule:
    """hstack and column_stack: cat of tensors brought to a least rank."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        tensors = _tensors(operands[0], what)
        if tensors is None:
            return Tensor()
        return Tensor(_common(ctx, tensors), sized(ctx, tensors))

    @or_unknown
    def sized(ctx: Infer, tensors: Sequence[Value]) -> Shape:
        shapes = [whole(read.shape(t)) for t in tensors]
        return _concatenated(ctx, shapes, dim_of(shapes[0]))

    return infer


_hstack = _joined(lambda s: s or (1,), lambda s: 0 if len(s) == 1 else 1, "hstack")
_column_stack = _joined(lambda s: (*(s or (1,)), 1) if len(s) < 2 else s, lambda s: 1, "column_stack")


# --- repeating ---------------------------------------------------------------------------------------------------------


def _times(of: Shape, repeats: Sequence[Dim]) -> Shape:
    if any(isinstance(r, int) and r < 0 for r in repeats):
        raise ShapeError(f"Trying to create tensor with negative dimension: repeats {list(repeats)}")
    rank = max(len(of), len(repeats))
    whole = (*(1,) * (rank - len(of)), *of)
    times = (*(1,) * (rank - len(repeats)), *repeats)
    return tuple(a * b for a, b in zip(whole, times, strict=True))


def _repeat(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    repeats = read.sizes(rest[0])
    if len(repeats) < len(of):
        raise ShapeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return _times(of, repeats)


def _tile(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    return _times(of, read.sizes(rest[0]))


def _repeat_interleave(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    repeats, dim = read.size(rest[0]), read.optional(read.integer, read.given(rest, 1))
    if isinstance(repeats, int) and repeats < 0 and (ctx.promotion is Promotion.TORCH or read.product(of) != 0):
        raise ShapeError("Repeats must be non-negative")
    if dim is None:
        of, dim = (read.product(of),), 0
    if not of:
        raise IndexError("Dimension out of range: a 0-dim tensor has no dimension to repeat along")
    axis = normalise_dim(dim, len(of))
    size = of[axis] * repeats if of[axis] != 0 else 0
    asked = read.optional(read.size, read.given(rest, 2))
    if asked is not None:
        size = ctx.equal(size, asked, "repeat_interleave: Invalid output_size")
    return (*of[:axis], size, *of[axis + 1 :])


def _repeat_indices(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    repeats, dtype = operands[0], read.dtype_of(operands[0])
    if isinstance(repeats, Tensor) and repeats.rank not in (None, 1):
        raise ShapeError("repeat_interleave only accept 1D vector as repeat")
    if dtype not in (None, dtypes.i32, dtypes.i64):
        raise TypeError("repeats has to be Long or Int tensor")
    asked = or_unknown(read.size)(read.given(operands, 1))
    return Tensor(dtype, (ctx.fresh() if asked is None else asked,))


def _roll(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    if ctx.promotion is Promotion.NUMPY:
        views.refuse_axes_of_rank_0(ctx, of, len(rest) > 1 and bool(read.integers(rest[1])))
        return of
    count, dims = len(read.items(rest[0])), read.integers(rest[1]) if len(rest) > 1 else ()
    if not count:
        raise ShapeError("`shifts` required")
    if not dims and count == 1:
        return of
    if count != len(dims):
        raise ShapeError(f"shifts and dimensions must align. shifts: {count}, dims:{len(dims)}")
    if not of:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    for d in dims:
        normalise_dim(d, len(of))
    return of


def _flip(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axes = [normalise_dim(d, len(of)) for d in read.integers(rest[0])]
    views.refuse_axes_of_rank_0(ctx, of, bool(axes))
    if len(set(axes)) != len(axes):
        raise ShapeError("a dim appears multiple times in the list of dims")
    return of


# --- writing into a copy -----------------------------------------------------------------------------------------------


def _scattered(view: InferRule) -> InferRule:
    """slice_scatter and its kin: `source` has the shape of the part that it replaces."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        x, source, *rest = operands
        part = view(ctx, [x, *rest])
        assert isinstance(part, Tensor)
        if part.shape is not None and isinstance(source, Tensor) and source.shape is not None:
            if len(part.shape) != len(source.shape):
                raise ShapeError("expected src to have a size equal to the slice of self")
            for a, b in zip(part.shape, source.shape, strict=True):
                ctx.equal(a, b, "expected src to have a size equal to the slice of self")
        return read.whole(x)

    return infer


# --- sorting -----------------------------------------------------------------------------------------------------------


def _along(dim: int, rule: Callable[[Infer, Shape, int, Sequence[Value]], Shape]) -> Callable[[Infer, Sequence[Value]], Shape | None]:
    """The shape that a rule gives for the dim at operand `dim`, -1 when left out."""

    def sized(ctx: Infer, operands: Sequence[Value]) -> Shape:
        of = read.shape(operands[0])
        return rule(ctx, of, normalise_dim(read.integer(read.given(operands, dim, -1)), len(of)), operands)

    return or_unknown(sized)


def _sorted(ctx: Infer, of: Shape, axis: int, operands: Sequence[Value]) -> Shape:
    views.refuse_axes_of_rank_0(ctx, of)
    return of


def _order(ctx: Infer, of: Shape, axis: int, operands: Sequence[Value]) -> Shape:
    return of or (1,) if ctx.promotion is Promotion.NUMPY else of  # np.argsort makes a vector of rank 0


def _top(ctx: Infer, of: Shape, axis: int, operands: Sequence[Value]) -> Shape:
    k = read.size(operands[1])
    size = of[axis] if of else 1
    if isinstance(k, int) and (k < 0 or isinstance(size, int) and k > size):
        raise ShapeError("selected index k out of range")
    return (*of[:axis], k, *of[axis + 1 :]) if of else () if k else (0,)


def _values_and_indices(sized: Callable[[Infer, Sequence[Value]], Shape | None]) -> InferRule:
    def infer(ctx: Infer, operands: Sequence[Value]) -> tuple[Tensor, Tensor]:
        shape = sized(ctx, operands)
        return Tensor(read.dtype_of(operands[0]), shape), Tensor(dtypes.i64, shape)

    return infer


def _argsort(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return Tensor(dtypes.i64, _along(1, _order)(ctx, operands))


# --- rows --------------------------------------------------------------------------------------------------------------


def _row(
    name: str,
    kernel: str,
    infer: InferRule,
    *,
    numpy: bool = False,
    results: int = 1,
    native: bool = True,
    raises: bool = False,
    note: str = "",
) -> Op:
    flavour = f"numpy_movement.{kernel.split('.')[1]}" if numpy else None
    return Op(
        f"aten.{name}", Kind.MOVEMENT, kernel, infer, results, numpy=flavour, native=native, tolerance=EXACT, raises=raises, note=note
    )


_COPIES = {
    "expand": "expand_copy", "permute": "permute_copy", "select.int": "select_copy", "slice.Tensor": "slice_copy",
    "squeeze": "squeeze_copy",
    "squeeze.dim": "squeeze_dim_copy", "transpose.int": "transpose_copy", "unsqueeze": "unsqueeze_copy", "view": "view_copy",
    "t": "t_copy", "diagonal": "diagonal_copy",
}  # fmt: skip


def _copy_name(view: str) -> str:
    """select.int -> select_copy.int."""
    base, dot, overload = view.partition(".")
    return f"{base}_copy{dot}{overload}"


_VIEWS = {op.name.removeprefix("aten."): op for family in ("views", "parts") for op in optable.rows_of(family)}


def _copy_of(view: str, kernel: str) -> Op:
    """The op that gives a copy of what a view shows."""
    of = _VIEWS[view]
    copy = _row(_copy_name(view), f"movement.{kernel}", of.infer, raises=of.raises)
    return replace(copy, operands=of.operands, gradient=of.gradient)


ROWS = (
    _row("cat", "movement.cat", _cat, numpy=True, note="vectors of size 0 fit anything"),
    _row("stack", "movement.stack", _stack, numpy=True),
    _row("hstack", "movement.hstack", _hstack, numpy=True),
    _row("column_stack", "movement.column_stack", _column_stack, numpy=True),
    _row("repeat", "movement.repeat", read.of_first(_repeat)),
    _row("tile", "movement.tile", read.of_first(_tile), numpy=True),
    _row("repeat_interleave.self_int", "movement.repeat_interleave", read.of_first(_repeat_interleave), numpy=True),
    without_gradient(_row("repeat_interleave.Tensor", "movement.repeat_indices", _repeat_indices, native=False, raises=True)),
    _row("roll", "movement.roll", read.of_first(_roll), numpy=True),
    _row("flip", "movement.flip", read.of_first(_flip), numpy=True),
    _row("slice_scatter", "movement.slice_scatter", _scattered(_VIEWS["slice.Tensor"].infer)),
    _row("select_scatter", "movement.select_scatter", _scattered(_VIEWS["select.int"].infer), raises=True),
    _row("diagonal_scatter", "movement.diagonal_scatter", _scattered(_VIEWS["diagonal"].infer)),
    *(_copy_of(view, kernel) for view, kernel in _COPIES.items()),
    *padding.ROWS,
    _row(
        "sort", "ordering.sort", _values_and_indices(_along(1, _sorted)), numpy=True, results=2, native=False, note="stable; NaN is largest"
    ),
    without_gradient(_row("argsort", "ordering.argsort", _argsort, numpy=True, native=False, note="stable; NaN is largest")),
    _row("topk", "ordering.topk", _values_and_indices(_along(2, _top)), results=2, native=False, note="in order; NaN is largest"),
)
