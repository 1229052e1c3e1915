"""Parts of a tensor: the gradient of a part goes where the part was, zeros elsewhere; those of all parts are joined."""

from __future__ import annotations

from collections.abc import Callable

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.gradients.emitter import Operand
from tierup.dialect.ir.values import List
from tierup.dialect.mlir import ir

RULES = Rules()

# --- one part ----------------------------------------------------------------------------------------------------------


@RULES.vjp("aten.narrow(self, dim, start, length)", captures=("dim", "start", "length"))
def narrow(g: Backward) -> Gradients:
    return _between(g, g.number(2))


@RULES.vjp("aten.narrow.Tensor(self, dim, start, length)", captures=("dim", "start", "length"))
def narrow_tensor(g: Backward) -> Gradients:
    return _between(g, g.call("aten.Int.Tensor", g.operands[2], type_="!torch.int"))


def _between(g: Backward, start: int | float | ir.Value) -> Gradients:
    """The part from `start`, which may be negative and then counts from the end."""
    dim, length = g.number(1), g.number(3)
    if not (isinstance(start, int) and start >= 0):
        back = g.call("prim.max.int", g.call("prim.min.int", start, 0, type_="!torch.int"), -1, type_="!torch.int")  # -1 or 0
        shift = _times(g, g.size_of(g.like(0), dim), back)
        start = g.call("aten.sub.int", start, shift, type_="!torch.int")
    return g.call("aten.slice_scatter", g.zeros(0), g.grad, dim, start, _plus(g, start, length), 1)


@RULES.vjp("aten.diagonal(self, offset, dim1, dim2)", "aten.diagonal_copy(self, offset, dim1, dim2)", captures=("offset", "dim1", "dim2"))
def diagonal(g: Backward) -> Gradients:
    return g.call("aten.diagonal_scatter", g.zeros(0), g.grad, *(g.number(i) for i in (1, 2, 3)))


@RULES.vjp("aten.diagonal_scatter(self, src, offset, dim1, dim2)", captures=("offset", "dim1", "dim2"))
def diagonal_scatter(g: Backward) -> Gradients:
    where = [g.number(i) for i in (2, 3, 4)]
    return g.call("aten.diagonal_scatter", g.grad, g.zeros(1), *where), g.cast_to(g.call("aten.diagonal_copy", g.grad, *where), 1)


# --- lists of parts ----------------------------------------------------------------------------------------------------

Bounds = Callable[[int], tuple[Operand, Operand]]  # of the part of that number: where it starts, and where it ends
Put = Callable[[ir.Value, ir.Value, int], ir.Value]  # the whole, with the part of that number in its place


def _parts(g: Backward, dim: int | float | ir.Value, bounds: Bounds) -> Gradients:
    return _joined(g, "aten.cat", dim, lambda whole, part, i: g.call("aten.slice_scatter", whole, part, dim, *bounds(i), 1))


def _joined(g: Backward, join: str, dim: int | float | ir.Value, put: Put) -> Gradients:
    """The parts' gradients side by side; where some part has none, each in its place among zeros."""
    found = g.grads[0]
    if isinstance(found, ir.Value):
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


def _count(g: Backward) -> int | None:
    """How many parts there are, where it is known."""
    known = g.known(g.op.results[0])
    return len(known.items) if isinstance(known, List) and known.items is not None else None


@RULES.vjp("aten.split.Tensor(self, split_size, dim)", captures=("split_size", "dim"))
def split(g: Backward) -> Gradients:
    return _parts(g, g.number(2), _even(g, g.number(1)))


@RULES.vjp("aten.split.sizes(self, split_size, dim)", "aten.split_with_sizes(self, split_size, dim)", captures=("split_size", "dim"))
def split_sizes(g: Backward) -> Gradients:
    def bounds(i: int) -> tuple[Operand, Operand]:
        sizes = g.numbers(1)
        start: int | ir.Value = 0
        for size in sizes[:i]:
            start = _plus(g, start, size)
        return start, _plus(g, start, sizes[i])

    return _parts(g, g.number(2), bounds)


@RULES.vjp("aten.chunk(self, chunks, dim)", captures=("chunks", "dim"))
def chunk(g: Backward) -> Gradients:
    """Parts of one size, rounded up."""
    chunks, dim = g.number(1), g.number(2)
    more = _plus(g, g.size_of(g.like(0), dim), g.call("aten.sub.int", chunks, 1, type_="!torch.int"))
    return _parts(g, dim, _even(g, g.call("aten.floordiv.int", more, chunks, type_="!torch.int")))


@RULES.vjp("aten.tensor_split.sections(self, sections, dim)", captures=("sections", "dim"))
def tensor_split(g: Backward) -> Gradients:
    """The first parts are longer by one where the sections do not come out even."""
    sections, dim = g.number(1), g.number(2)
    total = g.size_of(g.like(0), dim)
    size = g.call("aten.floordiv.int", total, sections, type_="!torch.int")
    longer = g.call("aten.remainder.int", total, sections, type_="!torch.int")

    def start(i: int) -> Operand:
        return _plus(g, _times(g, size, i), g.call("prim.min.int", longer, i, type_="!torch.int"))

    return _parts(g, dim, lambda i: (start(i), start(i + 1)))


@RULES.vjp("aten.unbind.int(self, dim)", captures=("dim",))
def unbind(g: Backward) -> Gradients:
    dim = g.number(1)
    return _joined(g, "aten.stack", dim, lambda whole, part, i: g.call("aten.select_scatter", whole, part, dim, i))


def _even(g: Backward, size: int | float | ir.Value) -> Bounds:
    return lambda i: (_times(g, size, i), _times(g, size, i + 1))


def _plus(g: Backward, a: Operand, b: Operand) -> int | ir.Value:
    return a + b if isinstance(a, int) and isinstance(b, int) else g.call("aten.add.int", a, b, type_="!torch.int")


def _times(g: Backward, a: Operand, b: Operand) -> int | ir.Value:
    return a * b if isinstance(a, int) and isinstance(b, int) else g.call("aten.mul.int", a, b, type_="!torch.int")
