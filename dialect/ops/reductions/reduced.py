"""What the gradients of reductions share: its dims, how many elements went into one, and dropped dims put back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Union

from tierup.dialect.base import dtypes

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward
    from tierup.dialect.ops.gradients.emitter import Operand


Which = Union[int, str]
Dims = Union["list[int]", None]


def dims_of(g: Backward, which: Which = "dim") -> Dims:
    """The operand that says the dims of a reduction: a list, one dim, or None. Raises NoGradient where they are not constant."""
    return g.ints(which) if g.is_list(which) or g.is_none(which) else [int(g.constant(which))]


def kept(g: Backward) -> bool:
    """Whether a reduction keeps its dims, with size 1."""
    return bool(g.constant("keepdim"))


def count(g: Backward, dims: list[int] | None, of: int = 0) -> int | ir.Value:
    """How many elements of operand `of` were reduced to one: a number where it is known, else a `!torch.int`. None, []: all of them."""
    shape = g.tensor(g.like(of)).shape
    if shape is not None:
        sizes = [shape[d] for d in dims] if dims and shape else list(shape)
        total = 1
        for n in sizes:
            if not isinstance(n, int):
                break
            total *= n
        else:
            return total
    if not dims or g.rank(of) == 0:
        return g.call("aten.numel", g.like(of), type_="!torch.int")
    if g.rank(of) is None and dims in ([0], [-1]):  # rank 0 has one element
        one, size = g.value([1]), g.operand_size(of)
        sizes = g.call("aten.add.t", *((size, one) if dims == [0] else (one, size)), type_="!torch.list<int>")
        return g.call("aten.__getitem__.t", sizes, dims[0], type_="!torch.int")
    found = g.size_of(g.like(of), dims[0])
    for d in dims[1:]:
        found = g.call("aten.mul.int", found, g.size_of(g.like(of), d), type_="!torch.int")
    return found


# --- dims that were dropped, put back ----------------------------------------------------------------------------------


def keepdims(g: Backward, gradient: ir.Value, dims: Dims, kept: bool, of: int = 0) -> ir.Value:
    """A gradient of what was reduced over `dims` of operand `of`, with these dims of size 1. `kept`: it has them. None, []: all dims.
    A tensor of rank 0 may be reduced over its dim 0 or -1, which it has not got."""
    if kept or not dims:
        return gradient  # rank 0 expands to anything
    rank = g.rank(of)
    if rank is not None:
        dims = [d % max(rank, 1) for d in dims]
        if rank == 0:
            return gradient
    elif dims in ([0], [-1]):
        size = g.operand_size(of)  # what stands beside the dim; of rank 0 nothing, and no 1 either
        rest = _slice(g, size, 1, None) if dims == [0] else _slice(g, size, None, -1)
        ones = _joined(g, [g.value([1]), rest] if dims == [0] else [rest, g.value([1])])
        return g.call("aten.reshape", gradient, g.call("aten.slice.t", ones, None, _rank(g, size), 1, type_="!torch.list<int>"))
    if all(d >= 0 for d in dims) or all(d < 0 for d in dims):
        for d in sorted(dims, key=lambda d: d if d >= 0 else -d):  # from the outer end, so that what is counted from there stands
            gradient = g.call("aten.unsqueeze", gradient, d)
        return gradient
    size = g.operand_size(of)
    for d in dims:
        parts: list[ir.Value] = [_slice(g, size, None, d), g.value([1])]
        if d != -1:
            parts.append(_slice(g, size, d + 1, None))
        size = _joined(g, parts)
    return g.call("aten.reshape", gradient, size)


def _joined(g: Backward, parts: list[ir.Value]) -> ir.Value:
    size = parts[0]
    for part in parts[1:]:
        size = g.call("aten.add.t", size, part, type_="!torch.list<int>")
    return size


def _rank(g: Backward, size: ir.Value) -> ir.Value:
    return g.call("aten.len.t", size, type_="!torch.int")


def _slice(g: Backward, size: ir.Value, start: int | None, end: int | None) -> ir.Value:
    return g.call("aten.slice.t", size, start, end, 1, type_="!torch.list<int>")


def replaced(g: Backward, size: ir.Value, dim: int, by: Sequence[Operand]) -> ir.Value:
    """A list of sizes with others, or none, in the place of one; `dim` counts from the end when negative."""
    parts = [_slice(g, size, None, dim), g.value(by)]
    return _joined(g, parts if dim == -1 else [*parts, _slice(g, size, dim + 1, None)])


# --- of products: each factor's gradient is the product of the others, which is divided out where no factor is zero -----------


def has_zero(g: Backward, x: ir.Value) -> ir.Value:
    """Whether an element of x is zero: a `!torch.bool`."""
    return g.call("aten.Bool.Tensor", g.call("aten.any", g.compare("eq", x, 0)), type_="!torch.bool")


def moved_last(g: Backward, x: ir.Value, dim: int) -> ir.Value:
    """x with dim and the last one exchanged: done twice it is x again."""
    return x if dim == -1 else g.call("aten.transpose.int", x, dim, -1)


def places(g: Backward, x: ir.Value) -> ir.Value:
    """0, 1, 2, ... along the last dim."""
    return g.call("aten.arange", g.size_of(x, -1), dtypes.i64.code, None, None, None)
