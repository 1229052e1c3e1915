"""Elements that are repeated, shifted or turned around: each gets the sum of the gradients of its copies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import floordiv
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.ops.reductions.reduced import replaced
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, OF_COMPLEX, Aliasing, Infer, Kind, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.arrays import distinct_axes, in_rows
from tierup.dialect.optable.kernels.overlap import fills_memory
from tierup.dialect.optable.operands import or_unknown, refuse_axes_of_rank_0

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients
    from tierup.dialect.ops.gradients.emitter import Operand

_op = partial(op, kind=Kind.MOVEMENT, tolerance=EXACT, **OF_COMPLEX)


def by_positions(g: Backward, *rest: Operand) -> ir.Value:
    """The gradient of an op that only moves elements, `rest` its other operands: it is done with the numbers of the elements, which
    says where each gradient goes."""
    count = g.call("aten.numel", g.like(0), type_="!torch.int")
    numbers = g.call("aten.reshape", g.call("aten.arange", count, dtypes.i64.code, None, None, None), g.operand_size(0))
    moved = g.call("aten.reshape", g.alike(g.rule.op, numbers, *rest), [-1])
    flat = g.call("aten.zeros", [count], g.dtype(g.grad), None, None, None)
    added = g.call("aten.index_put.hacked_twin", flat, g.value([moved]), g.call("aten.reshape", g.grad, [-1]), True)
    return g.call("aten.reshape", added, g.operand_size(0))


def negated(g: Backward, which: str) -> ir.Value:
    """The numbers of a list, each negated."""
    return g.value([-n if isinstance(n, int) else g.call("aten.neg.int", n, type_="!torch.int") for n in g.numbers(which)] or g.value([]))


# --- repeating ---------------------------------------------------------------------------------------------------------


def _tile(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    repeats = read.sizes_or_none(rest[0])
    if any(isinstance(r, int) and r < 0 for r in repeats):
        raise ShapeError(f"Trying to create tensor with negative dimension: repeats {list(repeats)}")
    rank = max(len(of), len(repeats))
    whole = (*(1,) * (rank - len(of)), *of)
    times = (*(1,) * (rank - len(repeats)), *repeats)
    return tuple(ctx.fresh() if b is None else a * b for a, b in zip(whole, times, strict=True))


def _repeat(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    if len(read.sizes_or_none(rest[0])) < len(of):
        raise ShapeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return _tile(ctx, of, rest)


def _repeated(g: Backward) -> ir.Value:
    """Each dim becomes two, the repeats first, over which is summed."""
    repeats, rank = g.numbers(1), g.rank("self")
    if rank is None:
        return by_positions(g, g.value(repeats))
    repeats = [*[1] * (rank - len(repeats)), *repeats]
    new = len(repeats) - rank
    split: list[Operand] = []
    for d, times in enumerate(repeats):
        split += [times, 1 if d < new else g.size_of(g.like("self"), d - new)]
    if not repeats:
        return g.grad
    summed = g.call("aten.sum.dim_IntList", g.call("aten.reshape", g.grad, split), list(range(0, len(split), 2)), False, None)
    return g.call("aten.reshape", summed, g.operand_size("self")) if new else summed


@_op("aten.repeat(Tensor self, int[] repeats) -> Tensor", infer=read.of_first(_repeat))
def repeat(x: np.ndarray, repeats: Sequence[int]) -> np.ndarray:
    """The whole tensor that many times along each dim; new dims come in front."""
    repeat.checked(x, repeats)
    return in_rows(np.tile(x, tuple(repeats)))


repeat.vjp(reads=("repeats",))(_repeated)


@_op("aten.tile(Tensor self, int[] dims) -> Tensor", infer=read.of_first(_tile))
def tile(x: np.ndarray, repeats: Sequence[int]) -> np.ndarray:
    """As repeat, with ones in front of too few repeats."""
    return repeat(x, [*(1,) * (x.ndim - len(repeats)), *repeats])


tile.under_numpy(form="as_is")(lambda x, repeats: np.tile(x, tuple(repeats)))


tile.vjp(reads=("dims",))(_repeated)


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


@_op(
    "aten.repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor",
    infer=read.of_first(_repeat_interleave),
)  # fmt: skip
def repeat_interleave(x: np.ndarray, repeats: int, dim: int | None = None, output_size: int | None = None) -> np.ndarray:
    """Each element `repeats` times, along dim or of the flattened tensor."""
    repeat_interleave.checked(x, repeats, dim, output_size)
    return np.repeat(x, repeats, dim)


repeat_interleave.under_numpy(form="as_is")(lambda x, repeats, dim=None, output_size=None: np.repeat(x, repeats, dim))


@repeat_interleave.vjp(reads=("repeats",))
def _(g: Backward) -> Gradients:
    times = g.number("repeats")
    if not g.given("dim"):
        rows = g.call("aten.reshape", g.grad, [g.call("aten.numel", g.like("self"), type_="!torch.int"), times])
        return g.call("aten.reshape", _sum(g, rows, 1), g.operand_size("self"))
    dim = int(g.constant("dim"))
    split = replaced(g, g.operand_size("self"), dim, [g.size_of(g.like("self"), dim), times])
    return _sum(g, g.call("aten.reshape", g.grad, split), dim if dim < 0 else dim + 1)


def _sum(g: Backward, x: ir.Value, dim: int) -> ir.Value:
    return g.call("aten.sum.dim_IntList", x, [dim], False, None)


def _repeat_indices(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    repeats, dtype = operands[0], read.dtype_of(operands[0])
    if isinstance(repeats, Tensor) and repeats.rank not in (None, 1):
        raise ShapeError("repeat_interleave only accept 1D vector as repeat")
    if dtype not in (None, dtypes.i32, dtypes.i64):
        raise TypeError("repeats has to be Long or Int tensor")
    asked = or_unknown(read.size)(read.given(operands, 1))
    return Tensor(dtype, (ctx.fresh() if asked is None else asked,))


@_op(
    "aten.repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor", infer=_repeat_indices, native=False, raises=True,
    differentiable=False, no_gradient="made of integers",
)  # fmt: skip
def repeat_indices(repeats: np.ndarray, output_size: int | None = None) -> np.ndarray:
    """Index i repeats[i] times. ValueError for a negative one."""
    repeat_indices.checked(repeats)
    if (repeats < 0).any():
        raise ValueError("repeats can not be negative")
    return np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats)


# --- shifting and turning ----------------------------------------------------------------------------------------------


def _roll(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    if ctx.promotion is Promotion.NUMPY:
        refuse_axes_of_rank_0(ctx, of, len(rest) > 1 and bool(read.integers(rest[1])))
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


@_op("aten.roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor", infer=read.of_first(_roll))
def roll(x: np.ndarray, shifts: Sequence[int], dims: Sequence[int] = ()) -> np.ndarray:
    """Elements shifted around along dims, or in the flattened tensor when there are none."""
    roll.checked(x, shifts, dims)
    if not x.ndim:
        return x.copy()
    return in_rows(np.roll(x, tuple(shifts), tuple(dims)) if dims else np.roll(x, shifts[0]))


@roll.under_numpy(form="of_known_rank")
def _(x: np.ndarray, shifts: Sequence[int], dims: Sequence[int] = ()) -> np.ndarray:
    """Of the flattened array when there is no axis."""
    if not dims:
        return np.roll(x, shifts[0] if len(shifts) == 1 else tuple(shifts))
    return np.roll(x, tuple(shifts), tuple(dims))


roll.vjp(reads=("shifts", "dims"))(lambda g: g.alike("aten.roll", g.grad, negated(g, "shifts"), *g.operands[2:]))


def _flip(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axes = [normalise_dim(d, len(of)) for d in read.integers(rest[0])]
    refuse_axes_of_rank_0(ctx, of, bool(axes))
    if len(set(axes)) != len(axes):
        raise ShapeError("a dim appears multiple times in the list of dims")
    return of


@_op("aten.flip(Tensor self, int[] dims) -> Tensor", infer=read.of_first(_flip))
def flip(x: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """Dims in reverse order, in memory that is laid out as x where x fills its own."""
    axes = distinct_axes(dims, x.ndim)
    result = np.empty_like(x) if fills_memory(x) else np.empty(x.shape, x.dtype)
    np.copyto(result, np.flip(x, axes) if axes else x)
    return result


@flip.under_numpy(form="of_known_rank")
def _(x: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """Copied: the view that NumPy gives is `x[::-1]`, a slice."""
    return np.asarray(np.flip(x, tuple(dims))).copy()


flip.vjp(reads=("dims",))(lambda g: g.alike("aten.flip", g.grad, g.operands[1]))


# --- windows -----------------------------------------------------------------------------------------------------------


def _unfold(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    size, step = read.integer(rest[1]), read.integer(rest[2])
    if size < 0 or step < 1:
        raise ShapeError(f"unfold expects a size of at least 0 and a step of at least 1, but got {size} and {step}")
    axis = normalise_dim(read.integer(rest[0]), max(len(of), 1))
    length = of[axis] if of else 1
    if isinstance(length, int) and length < size:
        raise ShapeError(f"maximum size for tensor at dimension {axis} is {length} but size is {size}")
    return (*of[:axis], floordiv(length - size, step) + 1, *of[axis + 1 :], size) if of else (size,)


@op(
    "aten.unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    kind=Kind.VIEW, aliasing=Aliasing.VIEW, tolerance=EXACT, infer=read.of_first(_unfold),
)  # fmt: skip
def unfold(x: np.ndarray, dimension: int, size: int, step: int) -> np.ndarray:
    """All windows of `size` along a dim, `step` apart; the window is the last dim. Of a number there is one, of at most one element."""
    found = unfold.checked(x, dimension, size, step)
    if not x.ndim:
        return x.reshape(1)[:size]
    axis = dimension % x.ndim
    strides = [n * step if i == axis else n for i, n in enumerate(x.strides)]
    return np.lib.stride_tricks.as_strided(x, found.shape, [*strides, x.strides[axis]])


unfold.vjp(reads=("dimension", "size", "step"))(lambda g: by_positions(g, *g.operands[1:4]))
unfold.copied_as("aten.unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor")
