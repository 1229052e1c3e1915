"""Elements that are repeated, shifted, turned around or padded: each gets the sum of the gradients of its copies."""

from __future__ import annotations

from tierup.dialect import dtypes
from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.gradients.emitter import Operand
from tierup.dialect.mlir import ir
from tierup.dialect.optable.reduced import replaced

RULES = Rules()

_INT64 = dtypes.i64.code


def by_positions(g: Backward, name: str, *rest: Operand) -> ir.Value:
    """The gradient of an op that only moves elements, `rest` its other operands: it is done with the numbers of the elements, which
    says where each gradient goes."""
    count = g.call("aten.numel", g.like(0), type_="!torch.int")
    numbers = g.call("aten.reshape", g.call("aten.arange", count, _INT64, None, None, None), g.operand_size(0))
    moved = g.call("aten.reshape", g.alike(name, numbers, *rest), [-1])
    flat = g.call("aten.zeros", [count], g.dtype(g.grad), None, None, None)
    added = g.call("aten.index_put.hacked_twin", flat, g.value([moved]), g.call("aten.reshape", g.grad, [-1]), True)
    return g.call("aten.reshape", added, g.operand_size(0))


# --- repeating ---------------------------------------------------------------------------------------------------------


@RULES.vjp("aten.repeat(self, repeats)", captures=("repeats",))
def repeat(g: Backward) -> Gradients:
    return _repeated(g, g.numbers(1))


@RULES.vjp("aten.tile(self, dims)", captures=("dims",))
def tile(g: Backward) -> Gradients:
    return _repeated(g, g.numbers(1))


def _repeated(g: Backward, repeats: list[int | ir.Value]) -> ir.Value:
    """Each dim becomes two, the repeats first, over which is summed."""
    rank = g.rank(0)
    if rank is None:
        return by_positions(g, g.rule.op, g.value(repeats))
    repeats = [*[1] * (rank - len(repeats)), *repeats]
    new = len(repeats) - rank
    split: list[Operand] = []
    for d, times in enumerate(repeats):
        split += [times, 1 if d < new else g.size_of(g.like(0), d - new)]
    if not repeats:
        return g.grad
    summed = g.call("aten.sum.dim_IntList", g.call("aten.reshape", g.grad, split), list(range(0, len(split), 2)), False, None)
    return g.call("aten.reshape", summed, g.operand_size(0)) if new else summed


@RULES.vjp("aten.repeat_interleave.self_int(self, repeats, dim, output_size)", captures=("repeats",))
def repeat_interleave(g: Backward) -> Gradients:
    times = g.number(1)
    if not g.given(2):
        rows = g.call("aten.reshape", g.grad, [g.call("aten.numel", g.like(0), type_="!torch.int"), times])
        return g.call("aten.reshape", _sum(g, rows, 1), g.operand_size(0))
    dim = int(g.constant(2))
    split = replaced(g, g.operand_size(0), dim, [g.size_of(g.like(0), dim), times])
    return _sum(g, g.call("aten.reshape", g.grad, split), dim if dim < 0 else dim + 1)


def _sum(g: Backward, x: ir.Value, dim: int) -> ir.Value:
    return g.call("aten.sum.dim_IntList", x, [dim], False, None)


# --- shifting and turning ----------------------------------------------------------------------------------------------


@RULES.vjp("aten.roll(self, shifts, dims)", captures=("shifts", "dims"))
def roll(g: Backward) -> Gradients:
    return g.alike("aten.roll", g.grad, _negated(g, 1), *g.operands[2:])


@RULES.vjp("aten.flip(self, dims)", captures=("dims",))
def flip(g: Backward) -> Gradients:
    return g.alike("aten.flip", g.grad, g.operands[1])


# --- padding -----------------------------------------------------------------------------------------------------------


@RULES.vjp("aten.constant_pad_nd(self, pad, value)", captures=("pad",))
def constant_pad(g: Backward) -> Gradients:
    return g.call("aten.constant_pad_nd", g.grad, _negated(g, 1), 0.0)


@RULES.vjp("aten.pad(self, pad, mode, value)", captures=("pad",))
def pad(g: Backward) -> Gradients:
    """What is not padded with a number repeats elements."""
    if g.text(2) == "constant":
        return constant_pad(g)
    return by_positions(g, "aten.pad", g.operands[1], g.like(2), None)


def _negated(g: Backward, i: int) -> ir.Value:
    """The numbers of a list, each negated."""
    return g.value([-n if isinstance(n, int) else g.call("aten.neg.int", n, type_="!torch.int") for n in g.numbers(i)] or g.value([]))


# --- triangles and diagonals -------------------------------------------------------------------------------------------


@RULES.vjp("aten.tril(self, diagonal)", "aten.triu(self, diagonal)", captures=("diagonal",))
def triangle(g: Backward) -> Gradients:
    """NumPy makes a matrix of a vector's copies first."""
    grad = g.call(g.rule.op, g.grad, g.number(1))
    return g.sum_to(grad, 0) if g.numpy else grad


@RULES.vjp("aten.diag_embed(self, offset, dim1, dim2)", captures=("offset", "dim1", "dim2"))
def diag_embed(g: Backward) -> Gradients:
    return g.call("aten.diagonal", g.grad, *(g.number(i) for i in (1, 2, 3)))


@RULES.vjp("aten.diag(self, diagonal)", captures=("diagonal",))
def diag(g: Backward) -> Gradients:
    """Of a vector a matrix, of a matrix its diagonal."""
    offset, rank = g.number(1), g.rank(0)
    is_vector = rank == 1 if rank is not None else g.call(
        "aten.eq.int", g.call("aten.dim", g.like(0), type_="!torch.int"), 1, type_="!torch.bool"
    )  # fmt: skip
    return g.choose(
        is_vector,
        lambda: g.call("aten.diagonal", g.grad, offset, 0, 1),
        lambda: g.call("aten.diagonal_scatter", g.zeros(0), g.grad, offset, 0, 1),
    )
