"""Lists of views, into which a dim is cut. A gradient is put together of those of the parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.facts.dims import Dim, floordiv, mod
from tierup.dialect.facts.values import List, Shape, Tensor, Value
from tierup.dialect.ops.movement.parts import at, resized
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Aliasing, Infer, InferRule, Kind, ShapeError, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.sizes import ceildiv, chunks_of

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients
    from tierup.dialect.ops.gradients.emitter import Operand

    Bounds = Callable[[int], tuple[Operand, Operand]]  # of the part of that number: where it starts, and where it ends
    Put = Callable[[ir.Value, ir.Value, int], ir.Value]  # the whole, with the part of that number in its place

_view = partial(op, kind=Kind.VIEW, aliasing=Aliasing.VIEW, tolerance=EXACT)


def _parts(op: str, sizes_of: Callable[[Infer, Dim, Value], Sequence[Dim]]) -> InferRule:
    """`sizes_of` gives the sizes along the dim, of its size and operand 1."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> List:
        x = operands[0]
        pieces = _pieces(ctx, x, operands[1:])
        if pieces is None:
            return List(None, Tensor(read.dtype_of(x), None))
        return List(tuple(Tensor(read.dtype_of(x), shape) for shape in pieces))

    @or_unknown
    def _pieces(ctx: Infer, x: Value, rest: Sequence[Value]) -> list[Shape]:
        of = read.shape(x)
        if not of:
            raise ShapeError(f"{op} expects at least a 1-dimensional tensor")
        axis = normalise_dim(read.integer(read.given(rest, 1, 0)), len(of))
        return [resized(of, axis, size) for size in sizes_of(ctx, of[axis], rest[0])]

    return infer


def _cut(x: np.ndarray, dim: int, parts: List) -> list[np.ndarray]:
    """An array in parts that follow one another."""
    found, start = [], 0
    part: Any  # a tensor of known sizes
    for part in parts.items or ():
        end = start + part.shape[dim]
        found.append(at(x, dim, slice(start, end)))
        start = end
    return found


def _joined(g: Backward, join: str, dim: Operand, put: Put) -> Gradients:
    """The parts' gradients side by side; where some part has none, each in its place among zeros."""
    found, known = g.grads[0], g.known(g.op.results[0])
    if g.is_value(found):
        return g.call(join, found, dim)
    assert found is not None
    given = [x for x in found if x is not None]
    if isinstance(known, List) and known.items is not None and len(given) == len(known.items):
        return g.call(join, given, dim)
    whole = g.zeros(0)
    for i, gradient in enumerate(found):
        if gradient is not None:
            whole = put(whole, gradient, i)
    return whole


def _parts_gradient(g: Backward, dim: Operand, bounds: Bounds) -> Gradients:
    return _joined(g, "aten.cat", dim, lambda whole, part, i: g.call("aten.slice_scatter", whole, part, dim, *bounds(i), 1))


def _even_gradient(g: Backward, size: Operand) -> Gradients:
    """Of parts of one size."""
    return _parts_gradient(g, g.number("dim"), lambda i: (g.times(size, i), g.times(size, i + 1)))


def _split(ctx: Infer, total: Dim, length: Value) -> Sequence[Dim]:
    size = read.size(length)
    if isinstance(size, int) and size < 0:
        raise ShapeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0:
        if isinstance(total, int) and total:
            raise ShapeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}")
        return [ctx.equal(total, 0, "split_size can only be 0 if dimension size is 0")]
    return chunks_of(total, size)


@_view("aten.split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]", infer=_parts("split", _split), cuts=2)
def split(x: np.ndarray, size: int, dim: int = 0) -> list[np.ndarray]:
    """Parts of `size`, the last one maybe shorter."""
    return _cut(x, dim, split.checked(x, size, dim))


split.vjp(reads=("split_size", "dim"))(lambda g: _even_gradient(g, g.number("split_size")))


def _split_sizes(ctx: Infer, total: Dim, lengths: Value) -> Sequence[Dim]:
    sizes = read.sizes(lengths)
    if any(isinstance(s, int) and s < 0 for s in sizes):
        raise ShapeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}")
    ctx.equal(sum(sizes), total, "split_with_sizes expects split_sizes to sum exactly to the dimension's size")
    return sizes


@_view(
    "aten.split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]",
    "aten.split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
    infer=_parts("split_with_sizes", _split_sizes),
)  # fmt: skip
def split_sizes(x: np.ndarray, sizes: Sequence[int], dim: int = 0) -> list[np.ndarray]:
    """Parts of these sizes, which must sum to the dim's."""
    return _cut(x, dim, split_sizes.checked(x, sizes, dim))


@split_sizes.vjp("sizes", reads=("split_size", "dim"))
@split_sizes.vjp("split_with_sizes", reads=("split_sizes", "dim"))
def _(g: Backward) -> Gradients:
    def bounds(i: int) -> tuple[Operand, Operand]:
        sizes = g.numbers(1)
        start: Operand = 0
        for size in sizes[:i]:
            start = g.plus(start, size)
        return start, g.plus(start, sizes[i])

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


@_view("aten.chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", infer=_parts("chunk", _chunk), cuts=2)
def chunk(x: np.ndarray, chunks: int, dim: int = 0) -> list[np.ndarray]:
    """At most `chunks` parts of one size, the last one maybe shorter; fewer when rounding up leaves none."""
    return _cut(x, dim, chunk.checked(x, chunks, dim))


@chunk.vjp(reads=("chunks", "dim"))
def _(g: Backward) -> Gradients:
    """Parts of one size, rounded up."""
    chunks = g.number("chunks")
    more = g.plus(g.size_of(g.like("self"), g.number("dim")), g.minus(chunks, 1))
    return _even_gradient(g, g.call("aten.floordiv.int", more, chunks, type_="!torch.int"))


def _tensor_split(ctx: Infer, total: Dim, count: Value) -> Sequence[Dim]:
    sections = read.integer(count)
    if sections <= 0:
        raise ShapeError(f"number of sections must be larger than 0, got {sections}")
    if isinstance(total, int):
        small, longer = divmod(total, sections)
        return [small + (i < longer) for i in range(sections)]
    return [_even(total, sections)] * sections


@_view(
    "aten.tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]", infer=_parts("tensor_split", _tensor_split)
)
def tensor_split(x: np.ndarray, sections: int, dim: int = 0) -> list[np.ndarray]:
    """That many parts, the first ones longer by one where needed."""
    return _cut(x, dim, tensor_split.checked(x, sections, dim))


@tensor_split.vjp(reads=("sections", "dim"))
def _(g: Backward) -> Gradients:
    """The first parts are longer by one where the sections do not come out even."""
    sections, dim = g.number("sections"), g.number("dim")
    total = g.size_of(g.like("self"), dim)
    size = g.call("aten.floordiv.int", total, sections, type_="!torch.int")
    longer = g.call("aten.remainder.int", total, sections, type_="!torch.int")

    def start(i: int) -> Operand:
        return g.plus(g.times(size, i), g.call("prim.min.int", longer, i, type_="!torch.int"))

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


@_view("aten.unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", infer=_unbind)
def unbind(x: np.ndarray, dim: int = 0) -> list[np.ndarray]:
    """Every index along dim."""
    if not x.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    axis = normalise_dim(dim, x.ndim)
    return [at(x, axis, i) for i in range(x.shape[axis])]


@unbind.vjp(reads=("dim",))
def _(g: Backward) -> Gradients:
    dim = g.number("dim")
    return _joined(g, "aten.stack", dim, lambda whole, part, i: g.call("aten.select_scatter", whole, part, dim, i))
