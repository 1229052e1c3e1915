"""What a reduction was over: its dims, and how many elements went into one."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward
from tierup.dialect.ir.rewriting import under_casts
from tierup.dialect.mlir import ir


def dims_of(g: Backward, i: int) -> list[int] | None:
    """Operand i, the dims of a reduction: a list, one dim, or None. Raises NoGradient where they are not constant."""
    if str(under_casts(g.like(i)).type).startswith("!torch.list") or g.is_none(i):
        return g.ints(i)
    return [int(g.constant(i))]


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
