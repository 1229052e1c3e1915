"""Views: the same memory under another shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tierup.dialect.ir.values import List, Shape, Tensor, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable import parts
from tierup.dialect.optable.core import EXACT, Aliasing, Infer, InferRule, Kind, Op, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.sizes import expanded, is_one, reshaped

# --- the same elements in another shape --------------------------------------------------------------------------------


def _reshape(op: str) -> InferRule:
    """view and reshape: sizes may be known where the operand's are not."""

    @or_unknown
    def sized(ctx: Infer, x: Value, wanted: Value) -> Shape:
        sizes = read.sizes_or_none(wanted)
        if isinstance(x, Tensor) and x.shape is None:
            if any(s is None or s == -1 for s in sizes):
                raise read.Unknown
            return tuple(s for s in sizes if s is not None)
        return reshaped(ctx, op, read.product(read.shape(x)), sizes)

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        return Tensor(read.dtype_of(operands[0]), sized(ctx, operands[0], operands[1]))

    return infer


def _like_other(rule: Callable[[Infer, Shape, Shape], Shape]) -> InferRule:
    return read.of_first(lambda ctx, of, rest: rule(ctx, of, read.shape(rest[0])))


def _reshape_as(ctx: Infer, of: Shape, other: Shape) -> Shape:
    return reshaped(ctx, "reshape_as", read.product(of), other)


def _flatten(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    first = normalise_dim(read.integer(read.given(rest, 0, 0)), len(of))
    last = normalise_dim(read.integer(read.given(rest, 1, -1)), len(of))
    if first > last:
        raise ShapeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return (*of[:first], read.product(of[first : last + 1]), *of[last + 1 :])


def _unflatten(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = normalise_dim(read.integer(rest[0]), len(of))
    wanted = read.sizes_or_none(rest[1])
    if not wanted:
        raise ShapeError("unflatten: sizes must be non-empty")
    if not of:
        raise IndexError("unflatten() cannot be applied to a 0-dim tensor")
    return (*of[:axis], *reshaped(ctx, "unflatten", of[axis], wanted), *of[axis + 1 :])


def _squeeze(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    return tuple(d for d in of if not is_one(d))


def _squeeze_dim(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = normalise_dim(read.integer(rest[0]), len(of))
    if not of:
        return of
    if is_one(of[axis]):
        return (*of[:axis], *of[axis + 1 :])
    if ctx.promotion is Promotion.NUMPY:
        raise ShapeError("cannot select an axis to squeeze out which has size not equal to one")
    return of


def _unsqueeze(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = normalise_dim(read.integer(rest[0]), len(of) + 1)
    return (*of[:axis], 1, *of[axis:])


def _at_least(rank: int, ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    return (*(1,) * (rank - len(of)), *of)


# --- dims in another order ---------------------------------------------------------------------------------------------


def refuse_axes_of_rank_0(ctx: Infer, of: Shape, given: bool = True) -> None:
    """NumPy's functions take no axis of an array without any, where torch's take 0 and -1."""
    if given and not of and ctx.promotion is Promotion.NUMPY:
        raise IndexError("axis 0 is out of bounds for array of dimension 0")


def _transpose(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    refuse_axes_of_rank_0(ctx, of)
    a, b = (normalise_dim(read.integer(r), len(of)) for r in rest[:2])
    out = list(of)
    if of:
        out[a], out[b] = out[b], out[a]
    return tuple(out)


def _t(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    if len(of) > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(of)}D")
    return of[::-1]


def _permute(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    dims = read.integers(rest[0])
    if len(dims) != len(of):
        raise ShapeError(f"permute(): input.dim() = {len(of)} is not equal to len(dims) = {len(dims)}")
    axes = [normalise_dim(d, len(of)) for d in dims]
    if len(set(axes)) != len(axes):
        raise ShapeError("permute(): duplicate dims are not allowed.")
    return tuple(of[a] for a in axes)


def _movedim(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    refuse_axes_of_rank_0(ctx, of)
    source, destination = (normalise_dim(read.integer(r), len(of)) for r in rest[:2])
    if not of:
        return of
    others = [d for i, d in enumerate(of) if i != source]
    return (*others[:destination], of[source], *others[destination:])


# --- repeating without copying -----------------------------------------------------------------------------------------


def _expand(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    wanted = read.sizes_or_none(rest[0])
    if ctx.promotion is Promotion.NUMPY and any(isinstance(w, int) and w < 0 for w in wanted):
        raise ShapeError("all elements of broadcast shape must be non-negative")
    return expanded(ctx, "expand", of, wanted)


def _expand_as(ctx: Infer, of: Shape, other: Shape) -> Shape:
    return expanded(ctx, "expand_as", of, other)


def _meshgrid(ctx: Infer, operands: Sequence[Value]) -> List:
    tensors = or_unknown(read.items)(operands[0])
    mode = or_unknown(read.text)(operands[1]) if len(operands) > 1 else "ij"
    if mode not in (None, "ij", "xy"):
        raise ShapeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {mode}')
    if tensors is None:
        return List(None, Tensor())
    if not tensors:
        raise ShapeError("meshgrid expects a non-empty TensorList")
    known = {d for d in map(read.dtype_of, tensors) if d is not None}
    if len(known) > 1:
        raise TypeError("meshgrid expects all tensors to have the same dtype")
    grid = _grid(tensors, mode)
    return List(tuple(Tensor(read.dtype_of(t), grid) for t in tensors))


@or_unknown
def _grid(tensors: Sequence[Value], mode: str | None) -> Shape:
    shapes = [read.shape(t) for t in tensors]
    if any(len(s) > 1 for s in shapes):
        raise ShapeError("torch.meshgrid: Expected 0D or 1D tensors in the tensor list")
    out = [read.product(s) for s in shapes]
    if mode is None:
        raise read.Unknown
    if mode == "xy" and len(out) > 1:
        out[:2] = out[1], out[0]
    return tuple(out)


def _broadcast_tensors(ctx: Infer, operands: Sequence[Value]) -> List:
    tensors = or_unknown(read.items)(operands[0])
    if tensors is None:
        return List(None, Tensor())
    common = ctx.broadcast([t.shape if isinstance(t, Tensor) else None for t in tensors])
    return List(tuple(Tensor(read.dtype_of(t), common) for t in tensors))


# --- rows --------------------------------------------------------------------------------------------------------------


def _row(
    name: str, kernel: str, infer: InferRule, *, numpy: str | None = None, aliasing: Aliasing = Aliasing.VIEW, note: str = "",
    native: bool = True,
) -> Op:  # fmt: skip
    flavour = None if numpy is None else f"numpy_views.{numpy}"
    return Op(
        f"aten.{name}", Kind.VIEW, f"views.{kernel}", infer, aliasing=aliasing, numpy=flavour, tolerance=EXACT, note=note, native=native
    )


MAY_VIEW = Aliasing.MAY_VIEW
_STRIDES = "tier 0 raises ValueError where strides allow no view"

ROWS = (
    _row("view", "view", _reshape("view"), note=_STRIDES),
    _row("reshape", "reshape", _reshape("reshape"), numpy="reshape", aliasing=MAY_VIEW),
    _row("_unsafe_view", "reshape", _reshape("view"), aliasing=MAY_VIEW),
    _row("_reshape_alias", "reshape_alias", _reshape("view"), note=_STRIDES),
    _row("reshape_as", "reshape_as", _like_other(_reshape_as), aliasing=MAY_VIEW),
    _row("flatten.using_ints", "flatten", read.of_first(_flatten), aliasing=MAY_VIEW),
    _row("unflatten.int", "unflatten", read.of_first(_unflatten)),
    _row("squeeze", "squeeze", read.of_first(_squeeze), numpy="squeeze"),
    _row(
        "squeeze.dim",
        "squeeze_dim",
        read.of_first(_squeeze_dim),
        numpy="squeeze_dim",
        note="a dim that is not 1 stays; under NumPy's rules a ValueError",
    ),
    _row("unsqueeze", "unsqueeze", read.of_first(_unsqueeze), numpy="unsqueeze"),
    _row("atleast_1d", "atleast_1d", read.of_first(partial(_at_least, 1))),
    _row("atleast_2d", "atleast_2d", read.of_first(partial(_at_least, 2))),
    _row("transpose.int", "transpose", read.of_first(_transpose), numpy="transpose"),
    _row("t", "t", read.of_first(_t)),
    _row("numpy_T", "numpy_T", read.of_first(lambda ctx, of, rest: of[::-1])),
    _row("permute", "permute", read.of_first(_permute), numpy="permute"),
    _row("movedim.int", "movedim", read.of_first(_movedim), numpy="movedim"),
    _row("expand", "expand", read.of_first(_expand), numpy="broadcast_to"),
    _row("expand_as", "expand_as", _like_other(_expand_as)),
    _row("broadcast_to", "broadcast_to", read.of_first(_expand), numpy="broadcast_to"),
    _row("broadcast_tensors", "broadcast_tensors", _broadcast_tensors, native=False),
    _row("meshgrid", "meshgrid", _meshgrid, native=False),
    _row("meshgrid.indexing", "meshgrid", _meshgrid, native=False),
    *parts.ROWS,
)
