"""Views of parts: selections, slices, splits, diagonals. `views` has the rows of all views."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.inference.dims import Dim, at_least, floordiv, mod
from tierup.dialect.ir.values import Int, List, Shape, Tensor, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Aliasing, Infer, InferRule, Kind, Op, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.sizes import ceildiv, chunks_of, diagonal_length, slice_length


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
    axis = _axis("slice", of, read.given(rest, 0, 0))
    step = or_unknown(read.integer)(read.given(rest, 3, 1))
    if step is not None and (step == 0 or step < 0 and ctx.promotion is Promotion.TORCH):
        raise ShapeError("slice step must be positive")
    length = _length(of[axis], read.given(rest, 1), read.given(rest, 2), step)
    return _resized(of, axis, ctx.part(of[axis], rest[1:]) if length is None else length)


@or_unknown
def _length(size: Dim, start: Value, end: Value, step: int | None) -> Dim:
    if step is None:
        raise read.Unknown
    window = _window(size, start, end) if step == 1 else None
    return window if window is not None else slice_length(size, read.optional(read.size, start), read.optional(read.size, end), step)


def _window(size: Dim, start: Value, end: Value) -> Dim | None:
    """The length of x[i:i+m] in a loop over numbers i at which it fits; None where that is not known."""
    a, b = (v.counter if isinstance(v, Int) else None for v in (start, end))
    if a is None or b is None or a.loop != b.loop:
        return None
    length = b.offset - a.offset
    fits = at_least(a.offset, 0) and at_least(length, 0) and at_least(size - a.rounds + 1 - b.offset, 0)
    return length if fits else None


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
    a, b = (normalise_dim(read.integer(read.given(rest, i, i - 1)), len(of)) for i in (1, 2))
    if a == b:
        raise ShapeError(f"diagonal dimensions cannot be identical {a}, {b}")
    length = diagonal_length(of[a], of[b], read.integer(read.given(rest, 0, 0)))
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
        axis = normalise_dim(read.integer(read.given(rest, dim, 0)), len(of))
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
    part = or_unknown(_unbound)(x, read.given(operands, 1, 0))
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
    name: str, kernel: str, infer: InferRule, *, numpy: str | None = None, raises: bool = False, note: str = "", native: bool = True
) -> Op:
    flavour = None if numpy is None else f"numpy_views.{numpy}"
    return Op(
        f"aten.{name}",
        Kind.VIEW,
        f"parts.{kernel}",
        infer,
        aliasing=Aliasing.VIEW,
        numpy=flavour,
        tolerance=EXACT,
        raises=raises,
        native=native,
        note=note,
    )


ROWS = (
    _row("select.int", "select", read.of_first(_select), numpy="select", raises=True),
    _row(
        "slice.Tensor", "slice_", read.of_first(_slice), numpy="slice_", note="the step is positive; under NumPy's rules it may be negative"
    ),
    _row("narrow", "narrow", read.of_first(_narrow)),
    _row("narrow.Tensor", "narrow_tensor", read.of_first(_narrow), raises=True, native=False),
    _row("split.Tensor", "split", _parts("split", 1, _split)),
    _row("split.sizes", "split_sizes", _parts("split_with_sizes", 1, _split_sizes)),
    _row("split_with_sizes", "split_sizes", _parts("split_with_sizes", 1, _split_sizes)),
    _row("chunk", "chunk", _parts("chunk", 1, _chunk)),
    _row("tensor_split.sections", "tensor_split", _parts("tensor_split", 1, _tensor_split)),
    _row("unbind.int", "unbind", _unbind),
    _row("diagonal", "diagonal", read.of_first(_diagonal), numpy="diagonal"),
)
