"""Views of parts: selections, slices, splits, diagonals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.inference.dims import Dim, at_least, floordiv, mod
from tierup.dialect.ir.values import Int, List, Shape, Tensor, Value
from tierup.dialect.kernels.axes import axis_of
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Aliasing, Infer, InferRule, Kind, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.sizes import ceildiv, chunks_of, diagonal_length, slice_length

if TYPE_CHECKING:
    from tierup.dialect.gradients.core import Backward, Gradients
    from tierup.dialect.gradients.emitter import Operand
    from tierup.dialect.mlir import ir

    Bounds = Callable[[int], tuple[Operand, Operand]]  # of the part of that number: where it starts, and where it ends
    Put = Callable[[ir.Value, ir.Value, int], ir.Value]  # the whole, with the part of that number in its place


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


_ALL = slice(None)


def _at(axis: int, index: int | slice) -> tuple[Any, ...]:
    """An index for one axis; the ellipsis keeps a view where NumPy would give a scalar."""
    return (*(_ALL,) * axis, index, ...)


@op(
    "aten.select.int(Tensor(a) self, int dim, int index) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_select), aliasing=Aliasing.VIEW, tolerance=EXACT, raises=True,
)  # fmt: skip
def select(x: np.ndarray, dim: int, index: int) -> np.ndarray:
    """One index along dim, which goes. Negative ones count from the end; IndexError out of range."""
    if not x.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis = axis_of(dim, x.ndim)
    size = x.shape[axis]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {axis}")
    return x[_at(axis, index)]


_ALL_under_numpy = slice(None)


def _at_under_numpy(x: np.ndarray, dim: int, index: int | slice) -> np.ndarray:
    """x[:, ..., index], a view even where NumPy would give a scalar."""
    axis = dim + x.ndim if dim < 0 else dim
    return x[(*(_ALL_under_numpy,) * axis, index, ...)]


@select.under_numpy(form="as_is")
def _(x: np.ndarray, dim: int, index: int) -> np.ndarray:
    """x[:, ..., index]. IndexError with NumPy's text: out of bounds, or too many indices."""
    return _at_under_numpy(x, dim, index)


@select.vjp(reads=("dim", "index"))
def _(g: Backward) -> Gradients:
    return g.call("aten.select_scatter", g.zeros("self"), g.grad, *g.operands[1:3])


def _resized(of: Shape, axis: int, size: Dim) -> Shape:
    return (*of[:axis], size, *of[axis + 1 :])


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


def _slice(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = _axis("slice", of, read.given(rest, 0, 0))
    step = or_unknown(read.integer)(read.given(rest, 3, 1))
    if step is not None and (step == 0 or step < 0 and ctx.promotion is Promotion.TORCH):
        raise ShapeError("slice step must be positive")
    length = _length(of[axis], read.given(rest, 1), read.given(rest, 2), step)
    return _resized(of, axis, ctx.part(of[axis], rest[1:]) if length is None else length)


@op(
    "aten.slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_slice), aliasing=Aliasing.VIEW, tolerance=EXACT,
    note="the step is positive; under NumPy's rules it may be negative",
)  # fmt: skip
def slice_(x: np.ndarray, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> np.ndarray:
    """Start to end in steps of at least 1; bounds count from the end when negative, and are clamped."""
    if not x.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    axis = axis_of(dim, x.ndim)
    if step <= 0:
        raise ValueError("slice step must be positive")
    return x[_at(axis, slice(start, end, step))]


@slice_.under_numpy(form="slice_")
def _(x: np.ndarray, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> np.ndarray:
    """x[:, ..., start:end:step]; the step may be negative, None meaning the end that it starts from."""
    return _at_under_numpy(x, dim, slice(start, end, step))


def _slice_backwards(g: Backward, step: int) -> ir.Value:
    """NumPy's x[start:end:-step] goes forwards in x turned around, where what is at i is at -1 - i."""
    dim = g.number(1)
    bounds: list[Operand] = []
    for i in (2, 3):
        at = g.number(i) if g.given(i) else None
        bounds.append(g.call("aten.sub.int", -1, at, type_="!torch.int") if g.is_value(at) else None if at is None else -1 - at)
    return g.call("aten.flip", g.call("aten.slice_scatter", g.zeros(0), g.grad, dim, *bounds, step), [dim])


@slice_.vjp(reads=("dim", "start", "end", "step"))
def _(g: Backward) -> Gradients:
    step = g.constant("step") if g.numpy else 1
    if step < 0:
        return _slice_backwards(g, -int(step))
    return g.call("aten.slice_scatter", g.zeros("self"), g.grad, *g.operands[1:5])


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


@op(
    "aten.narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_narrow), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def narrow(x: np.ndarray, dim: int, start: int, length: int) -> np.ndarray:
    """Aten.narrow: `length` elements from start, all of which must exist."""
    if not x.ndim:
        raise ValueError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise ValueError("narrow(): length must be non-negative.")
    axis = axis_of(dim, x.ndim)
    size = x.shape[axis]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    first = start + size if start < 0 else start
    if first + length > size:
        raise ValueError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return x[_at(axis, slice(first, first + length))]


def _plus(g: Backward, a: Operand, b: Operand) -> int | ir.Value:
    return a + b if isinstance(a, int) and isinstance(b, int) else g.call("aten.add.int", a, b, type_="!torch.int")


def _times(g: Backward, a: Operand, b: Operand) -> int | ir.Value:
    return a * b if isinstance(a, int) and isinstance(b, int) else g.call("aten.mul.int", a, b, type_="!torch.int")


def _between(g: Backward, start: int | float | ir.Value) -> Gradients:
    """The part from `start`, which may be negative and then counts from the end."""
    dim, length = g.number(1), g.number(3)
    if not (isinstance(start, int) and start >= 0):
        back = g.call("prim.max.int", g.call("prim.min.int", start, 0, type_="!torch.int"), -1, type_="!torch.int")  # -1 or 0
        shift = _times(g, g.size_of(g.like(0), dim), back)
        start = g.call("aten.sub.int", start, shift, type_="!torch.int")
    return g.call("aten.slice_scatter", g.zeros(0), g.grad, dim, start, _plus(g, start, length), 1)


@narrow.vjp(reads=("dim", "start", "length"))
def _(g: Backward) -> Gradients:
    return _between(g, g.number("start"))


@op(
    "aten.narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_narrow), aliasing=Aliasing.VIEW, tolerance=EXACT, native=False, raises=True,
)  # fmt: skip
def narrow_tensor(x: np.ndarray, dim: int, start: np.ndarray, length: int) -> np.ndarray:
    """Start is a rank-0 integer tensor."""
    if start.ndim or start.dtype.kind not in "iu":
        raise ValueError("start must be an 0-dim integral Tensor.")
    return narrow(x, dim, int(start), length)


@narrow_tensor.vjp(reads=("dim", "start", "length"))
def _(g: Backward) -> Gradients:
    return _between(g, g.call("aten.Int.Tensor", g.operands[2], type_="!torch.int"))


def _cut(x: np.ndarray, axis: int, sizes: Sequence[int]) -> list[np.ndarray]:
    parts, start = [], 0
    for size in sizes:
        parts.append(x[_at(axis, slice(start, start + size))])
        start += size
    return parts


def _parts(op: str, dim: int, sizes_of: Callable[[Infer, Dim, Value], Sequence[Dim]]) -> InferRule:
    """Split and its kin: `dim` is where the dim is among the operands after the tensor, the sizes come from the other one."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> List:
        x, rest = operands[0], operands[1:]
        pieces = _pieces(ctx, x, rest)
        if pieces is None:
            return List(None, Tensor(read.dtype_of(x), None))
        return List(tuple(Tensor(read.dtype_of(x), shape) for shape in pieces))

    @or_unknown
    def _pieces(ctx: Infer, x: Value, rest: Sequence[Value]) -> list[Shape]:
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


def _needs_a_dim(op: str, x: np.ndarray) -> None:
    if not x.ndim:
        raise ValueError(f"{op} expects at least a 1-dimensional tensor")


@op(
    "aten.split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]",
    kind=Kind.VIEW, infer=_parts("split", 1, _split), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def split(x: np.ndarray, size: int, dim: int = 0) -> list[np.ndarray]:
    """Parts of `size`, the last one maybe shorter."""
    _needs_a_dim("split", x)
    if size < 0:
        raise ValueError(f"split expects split_size be non-negative, but got split_size={size}")
    axis = axis_of(dim, x.ndim)
    total = x.shape[axis]
    if size == 0:
        if total:
            raise ValueError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}")
        return _cut(x, axis, [0])
    return _cut(x, axis, [size] * max(1, -(-total // size)))


def _count(g: Backward) -> int | None:
    """How many parts there are, where it is known."""
    known = g.known(g.op.results[0])
    return len(known.items) if isinstance(known, List) and known.items is not None else None


def _joined(g: Backward, join: str, dim: int | float | ir.Value, put: Put) -> Gradients:
    """The parts' gradients side by side; where some part has none, each in its place among zeros."""
    found = g.grads[0]
    if g.is_value(found):
        return g.call(join, found, dim)
    assert found is not None
    given = [x for x in found if x is not None]
    if len(given) == _count(g):
        return g.call(join, given, dim)
    whole = g.zeros(0)
    for i, gradient in enumerate(found):
        if gradient is not None:
            whole = put(whole, gradient, i)
    return whole


def _parts_gradient(g: Backward, dim: int | float | ir.Value, bounds: Bounds) -> Gradients:
    return _joined(g, "aten.cat", dim, lambda whole, part, i: g.call("aten.slice_scatter", whole, part, dim, *bounds(i), 1))


def _even_gradient(g: Backward, size: int | float | ir.Value) -> Bounds:
    return lambda i: (_times(g, size, i), _times(g, size, i + 1))


@split.vjp(reads=("split_size", "dim"))
def _(g: Backward) -> Gradients:
    return _parts_gradient(g, g.number("dim"), _even_gradient(g, g.number("split_size")))


def _split_sizes(ctx: Infer, total: Dim, lengths: Value) -> Sequence[Dim]:
    sizes = read.sizes(lengths)
    if any(isinstance(s, int) and s < 0 for s in sizes):
        raise ShapeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}")
    ctx.equal(sum(sizes), total, "split_with_sizes expects split_sizes to sum exactly to the dimension's size")
    return sizes


@op(
    "aten.split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]",
    "aten.split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
    kind=Kind.VIEW, infer=_parts("split_with_sizes", 1, _split_sizes), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def split_sizes(x: np.ndarray, sizes: Sequence[int], dim: int = 0) -> list[np.ndarray]:
    """Parts of these sizes, which must sum to the dim's."""
    _needs_a_dim("split_with_sizes", x)
    axis = axis_of(dim, x.ndim)
    if any(s < 0 for s in sizes):
        raise ValueError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}")
    if sum(sizes) != x.shape[axis]:
        raise ValueError(
            f"split_with_sizes expects split_sizes to sum exactly to {x.shape[axis]} (input tensor's size at dimension {axis}), "
            f"but got split_sizes={list(sizes)}"
        )
    return _cut(x, axis, sizes)


@split_sizes.vjp("sizes", reads=("split_size", "dim"))
@split_sizes.vjp("split_with_sizes", reads=("split_sizes", "dim"))
def _(g: Backward) -> Gradients:
    def bounds(i: int) -> tuple[Operand, Operand]:
        sizes = g.numbers(1)
        start: int | ir.Value = 0
        for size in sizes[:i]:
            start = _plus(g, start, size)
        return start, _plus(g, start, sizes[i])

    return _parts_gradient(g, g.number("dim"), bounds)


def _even(total: Dim, parts: int) -> Dim:
    """The size of each of `parts` equal parts; Unknown unless they are equal for certain."""
    if mod(total, parts) != 0:
        raise read.Unknown
    return floordiv(total, parts)


def _chunk(ctx: Infer, total: Dim, count: Value) -> Sequence[Dim]:
    chunks = read.integer(count)
    if chunks <= 0:
        raise ShapeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if total == 0:
        return [0] * chunks
    return chunks_of(total, ceildiv(total, chunks)) if isinstance(total, int) else [_even(total, chunks)] * chunks


@op(
    "aten.chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
    kind=Kind.VIEW, infer=_parts("chunk", 1, _chunk), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def chunk(x: np.ndarray, chunks: int, dim: int = 0) -> list[np.ndarray]:
    """At most `chunks` parts of one size, the last one maybe shorter; fewer when rounding up leaves none."""
    _needs_a_dim("chunk", x)
    if chunks <= 0:
        raise ValueError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    axis = axis_of(dim, x.ndim)
    total = x.shape[axis]
    return split(x, -(-total // chunks), axis) if total else _cut(x, axis, [0] * chunks)


@chunk.vjp(reads=("chunks", "dim"))
def _(g: Backward) -> Gradients:
    """Parts of one size, rounded up."""
    chunks, dim = g.number("chunks"), g.number("dim")
    more = _plus(g, g.size_of(g.like("self"), dim), g.call("aten.sub.int", chunks, 1, type_="!torch.int"))
    return _parts_gradient(g, dim, _even_gradient(g, g.call("aten.floordiv.int", more, chunks, type_="!torch.int")))


def _tensor_split(ctx: Infer, total: Dim, count: Value) -> Sequence[Dim]:
    sections = read.integer(count)
    if sections <= 0:
        raise ShapeError(f"number of sections must be larger than 0, got {sections}")
    if isinstance(total, int):
        small, longer = divmod(total, sections)
        return [small + (i < longer) for i in range(sections)]
    return [_even(total, sections)] * sections


@op(
    "aten.tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]",
    kind=Kind.VIEW, infer=_parts("tensor_split", 1, _tensor_split), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def tensor_split(x: np.ndarray, sections: int, dim: int = 0) -> list[np.ndarray]:
    """That many parts, the first ones longer by one where needed."""
    _needs_a_dim("tensor_split", x)
    axis = axis_of(dim, x.ndim)
    if sections <= 0:
        raise ValueError(f"number of sections must be larger than 0, got {sections}")
    small, longer = divmod(x.shape[axis], sections)
    return _cut(x, axis, [small + (i < longer) for i in range(sections)])


@tensor_split.vjp(reads=("sections", "dim"))
def _(g: Backward) -> Gradients:
    """The first parts are longer by one where the sections do not come out even."""
    sections, dim = g.number("sections"), g.number("dim")
    total = g.size_of(g.like("self"), dim)
    size = g.call("aten.floordiv.int", total, sections, type_="!torch.int")
    longer = g.call("aten.remainder.int", total, sections, type_="!torch.int")

    def start(i: int) -> Operand:
        return _plus(g, _times(g, size, i), g.call("prim.min.int", longer, i, type_="!torch.int"))

    return _parts_gradient(g, dim, lambda i: (start(i), start(i + 1)))


def _unbound(x: Value, dim: Value) -> tuple[Dim, Shape]:
    of = read.shape(x)
    if not of:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    axis = normalise_dim(read.integer(dim), len(of))
    return of[axis], (*of[:axis], *of[axis + 1 :])


def _unbind(ctx: Infer, operands: Sequence[Value]) -> List:
    x = operands[0]
    part = or_unknown(_unbound)(x, read.given(operands, 1, 0))
    if part is None:
        return List(None, Tensor(read.dtype_of(x), None))
    size, rest = part
    element = Tensor(read.dtype_of(x), rest)
    return List((element,) * size) if isinstance(size, int) else List(None, element)


@op(
    "aten.unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
    kind=Kind.VIEW, infer=_unbind, aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def unbind(x: np.ndarray, dim: int = 0) -> list[np.ndarray]:
    """Every index along dim."""
    if not x.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    axis = axis_of(dim, x.ndim)
    return [x[_at(axis, i)] for i in range(x.shape[axis])]


@unbind.vjp(reads=("dim",))
def _(g: Backward) -> Gradients:
    dim = g.number("dim")
    return _joined(g, "aten.stack", dim, lambda whole, part, i: g.call("aten.select_scatter", whole, part, dim, i))


def _diagonal(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    a, b = (normalise_dim(read.integer(read.given(rest, i, i - 1)), len(of)) for i in (1, 2))
    if a == b:
        raise ShapeError(f"diagonal dimensions cannot be identical {a}, {b}")
    length = diagonal_length(of[a], of[b], read.integer(read.given(rest, 0, 0)))
    return (*(d for i, d in enumerate(of) if i not in (a, b)), length)


@op(
    "aten.diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_diagonal), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def diagonal(x: np.ndarray, offset: int = 0, dim1: int = 0, dim2: int = 1) -> np.ndarray:
    """Of dims 1 and 2, as the last dim; written through like every view."""
    a, b = axis_of(dim1, x.ndim), axis_of(dim2, x.ndim)
    if a == b:
        raise ValueError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    result = np.diagonal(x, offset, a, b)
    if x.flags.writeable:
        result.flags.writeable = True  # NumPy's diagonal is read-only out of caution for old code
    return result


@diagonal.under_numpy(form="locked")
def _(x: np.ndarray, offset: int = 0, dim1: int = 0, dim2: int = 1) -> np.ndarray:
    """Np.diagonal(x, offset, axis1, axis2): read-only."""
    return np.diagonal(x, offset, dim1, dim2)


@diagonal.vjp(reads=("offset", "dim1", "dim2"))
def _(g: Backward) -> Gradients:
    return g.call("aten.diagonal_scatter", g.zeros("self"), g.grad, *(g.number(i) for i in (1, 2, 3)))
