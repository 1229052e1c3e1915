"""Views: the same memory under another shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tierup.dialect.dims import Dim, floordiv, mod
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Aliasing, Infer, InferRule, Kind, Op, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.sizes import ceildiv, chunks_of, diagonal_length, expanded, is_one, reshaped, slice_length
from tierup.dialect.values import Int, List, NoneValue, Shape, Tensor, Value

NONE = NoneValue()
ShapeRule = Callable[[Infer, Shape, Sequence[Value]], Shape]  # (ctx, operand 0's shape, the other operands) -> the view's


def _operand(rest: Sequence[Value], i: int, default: int | None = None) -> Value:
    """Operand i after the tensor; the schema's default where it is left out."""
    return rest[i] if i < len(rest) else NONE if default is None else Int(default)


def _view(rule: ShapeRule) -> InferRule:
    """A rule for one view: operand 0's dtype, and a shape that needs operand 0's to be known."""
    sized = or_unknown(lambda ctx, x, rest: rule(ctx, read.shape(x), rest))

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        return Tensor(read.dtype_of(operands[0]), sized(ctx, operands[0], operands[1:]))

    return infer


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
    return _view(lambda ctx, of, rest: rule(ctx, of, read.shape(rest[0])))


def _reshape_as(ctx: Infer, of: Shape, other: Shape) -> Shape:
    return reshaped(ctx, "reshape_as", read.product(of), other)


def _flatten(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    first = normalise_dim(read.integer(_operand(rest, 0, 0)), len(of))
    last = normalise_dim(read.integer(_operand(rest, 1, -1)), len(of))
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


def _transpose(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
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


# --- parts -------------------------------------------------------------------------------------------------------------


def _axis(op: str, of: Shape, dim: Value) -> int:
    if not of:
        raise IndexError(f"{op}() cannot be applied to a 0-dim tensor.")
    return normalise_dim(read.integer(dim), len(of))


def _select(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = _axis("select", of, rest[0])
    index, size = or_unknown(read.size)(rest[1]), of[axis]
    if isinstance(index, int) and isinstance(size, int) and not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for a dim of size {size} at dimension {axis}")
    return (*of[:axis], *of[axis + 1 :])


def _resized(of: Shape, axis: int, size: Dim) -> Shape:
    return (*of[:axis], size, *of[axis + 1 :])


def _slice(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = _axis("slice", of, _operand(rest, 0, 0))
    step = or_unknown(read.integer)(_operand(rest, 3, 1))
    if step is not None and (step == 0 or step < 0 and ctx.promotion is Promotion.TORCH):
        raise ShapeError("slice step must be positive")
    length = _length(of[axis], _operand(rest, 1), _operand(rest, 2), step)
    return _resized(of, axis, ctx.fresh() if length is None else length)


@or_unknown
def _length(size: Dim, start: Value, end: Value, step: int | None) -> Dim:
    if step is None:
        raise read.Unknown
    return slice_length(size, read.optional(read.size, start), read.optional(read.size, end), step)


def _narrow(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    if not of:
        raise ShapeError("narrow() cannot be applied to a 0-dim tensor.")
    axis = normalise_dim(read.integer(rest[0]), len(of))
    size, length = of[axis], or_unknown(read.size)(rest[2])
    if isinstance(length, int) and length < 0:
        raise ShapeError("narrow(): length must be non-negative.")
    start = or_unknown(read.integer)(rest[1]) if not isinstance(rest[1], Tensor) else None
    if isinstance(size, int) and start is not None:
        if not -size <= start <= size:
            raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
        first = start + size if start < 0 else start
        if isinstance(length, int) and first + length > size:
            raise ShapeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return _resized(of, axis, ctx.fresh() if length is None else length)


def _diagonal(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    a, b = (normalise_dim(read.integer(_operand(rest, i, i - 1)), len(of)) for i in (1, 2))
    if a == b:
        raise ShapeError(f"diagonal dimensions cannot be identical {a}, {b}")
    length = diagonal_length(of[a], of[b], read.integer(_operand(rest, 0, 0)))
    return (*(d for i, d in enumerate(of) if i not in (a, b)), length)


# --- lists of parts ----------------------------------------------------------------------------------------------------


def _parts(op: str, dim: int, sizes_of: Callable[[Infer, Dim, Value], Sequence[Dim]]) -> InferRule:
    """split and its kin: `dim` is where the dim is among the operands after the tensor, the sizes come from the other one."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> List:
        x, rest = operands[0], operands[1:]
        cut = _cut(ctx, x, rest)
        if cut is None:
            return List(None, Tensor(read.dtype_of(x), None))
        return List(tuple(Tensor(read.dtype_of(x), shape) for shape in cut))

    @or_unknown
    def _cut(ctx: Infer, x: Value, rest: Sequence[Value]) -> list[Shape]:
        of = read.shape(x)
        if not of:
            raise ShapeError(f"{op} expects at least a 1-dimensional tensor")
        axis = normalise_dim(read.integer(_operand(rest, dim, 0)), len(of))
        return [_resized(of, axis, size) for size in sizes_of(ctx, of[axis], rest[0])]

    return infer


def _split(ctx: Infer, total: Dim, length: Value) -> Sequence[Dim]:
    size = read.size(length)
    if isinstance(size, int) and size < 0:
        raise ShapeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0:
        if isinstance(total, int) and total:
            raise ShapeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}")
        return [ctx.equal(total, 0, "split_size can only be 0 if dimension size is 0")]
    return chunks_of(total, size)


def _split_sizes(ctx: Infer, total: Dim, lengths: Value) -> Sequence[Dim]:
    sizes = read.sizes(lengths)
    if any(isinstance(s, int) and s < 0 for s in sizes):
        raise ShapeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}")
    ctx.equal(sum(sizes), total, "split_with_sizes expects split_sizes to sum exactly to the dimension's size")
    return sizes


def _chunk(ctx: Infer, total: Dim, count: Value) -> Sequence[Dim]:
    chunks = read.integer(count)
    if chunks <= 0:
        raise ShapeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if total == 0:
        return [0] * chunks
    return chunks_of(total, ceildiv(total, chunks)) if isinstance(total, int) else [_even(total, chunks)] * chunks


def _even(total: Dim, parts: int) -> Dim:
    """The size of each of `parts` equal parts; Unknown unless they are equal for certain."""
    if mod(total, parts) != 0:
        raise read.Unknown
    return floordiv(total, parts)


def _tensor_split(ctx: Infer, total: Dim, count: Value) -> Sequence[Dim]:
    sections = read.integer(count)
    if sections <= 0:
        raise ShapeError(f"number of sections must be larger than 0, got {sections}")
    if isinstance(total, int):
        small, longer = divmod(total, sections)
        return [small + (i < longer) for i in range(sections)]
    return [_even(total, sections)] * sections


def _unbind(ctx: Infer, operands: Sequence[Value]) -> List:
    x = operands[0]
    part = or_unknown(_unbound)(x, _operand(operands, 1, 0))
    if part is None:
        return List(None, Tensor(read.dtype_of(x), None))
    size, rest = part
    element = Tensor(read.dtype_of(x), rest)
    return List((element,) * size) if isinstance(size, int) else List(None, element)


def _unbound(x: Value, dim: Value) -> tuple[Dim, Shape]:
    of = read.shape(x)
    if not of:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    axis = normalise_dim(read.integer(dim), len(of))
    return of[axis], (*of[:axis], *of[axis + 1 :])


# --- rows --------------------------------------------------------------------------------------------------------------


def _row(
    name: str, kernel: str, infer: InferRule, *, numpy: str | None = None, aliasing: Aliasing = Aliasing.VIEW, raises: bool = False,
    note: str = "",
) -> Op:  # fmt: skip
    flavour = None if numpy is None else f"numpy_views.{numpy}"
    return Op(
        f"aten.{name}", Kind.VIEW, f"views.{kernel}", infer, aliasing=aliasing, numpy=flavour, tolerance=EXACT, raises=raises, note=note
    )


MAY_VIEW = Aliasing.MAY_VIEW
_STRIDES = "tier 0 raises ValueError where strides allow no view"

ROWS = (
    _row("view", "view", _reshape("view"), note=_STRIDES),
    _row("reshape", "reshape", _reshape("reshape"), numpy="reshape", aliasing=MAY_VIEW),
    _row("_unsafe_view", "reshape", _reshape("view"), aliasing=MAY_VIEW),
    _row("_reshape_alias", "reshape_alias", _reshape("view"), note=_STRIDES),
    _row("reshape_as", "reshape_as", _like_other(_reshape_as), aliasing=MAY_VIEW),
    _row("flatten.using_ints", "flatten", _view(_flatten), aliasing=MAY_VIEW),
    _row("unflatten.int", "unflatten", _view(_unflatten)),
    _row("squeeze", "squeeze", _view(_squeeze), numpy="squeeze"),
    _row("squeeze.dim", "squeeze_dim", _view(_squeeze_dim), numpy="squeeze_dim", note="a dim that is not 1 stays; under NumPy's rules a ValueError"),
    _row("unsqueeze", "unsqueeze", _view(_unsqueeze), numpy="unsqueeze"),
    _row("atleast_1d", "atleast_1d", _view(partial(_at_least, 1))),
    _row("atleast_2d", "atleast_2d", _view(partial(_at_least, 2))),
    _row("transpose.int", "transpose", _view(_transpose), numpy="transpose"),
    _row("t", "t", _view(_t)),
    _row("numpy_T", "numpy_T", _view(lambda ctx, of, rest: of[::-1])),
    _row("permute", "permute", _view(_permute), numpy="permute"),
    _row("movedim.int", "movedim", _view(_movedim), numpy="movedim"),
    _row("expand", "expand", _view(_expand), numpy="broadcast_to", note="read-only where an element shows more than once"),
    _row("expand_as", "expand_as", _like_other(_expand_as), note="read-only where an element shows more than once"),
    _row("broadcast_to", "broadcast_to", _view(_expand), numpy="broadcast_to", note="read-only where an element shows more than once"),
    _row("broadcast_tensors", "broadcast_tensors", _broadcast_tensors),
    _row("meshgrid", "meshgrid", _meshgrid),
    _row("meshgrid.indexing", "meshgrid", _meshgrid),
    _row("select.int", "select", _view(_select), numpy="select", raises=True),
    _row("slice.Tensor", "slice_", _view(_slice), numpy="slice_", note="the step is positive; under NumPy's rules it may be negative"),
    _row("narrow", "narrow", _view(_narrow)),
    _row("narrow.Tensor", "narrow_tensor", _view(_narrow), raises=True),
    _row("split.Tensor", "split", _parts("split", 1, _split)),
    _row("split.sizes", "split_sizes", _parts("split_with_sizes", 1, _split_sizes)),
    _row("split_with_sizes", "split_sizes", _parts("split_with_sizes", 1, _split_sizes)),
    _row("chunk", "chunk", _parts("chunk", 1, _chunk)),
    _row("tensor_split.sections", "tensor_split", _parts("tensor_split", 1, _tensor_split)),
    _row("unbind.int", "unbind", _unbind),
    _row("diagonal", "diagonal", _view(_diagonal), numpy="diagonal"),
)
