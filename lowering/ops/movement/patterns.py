"""repeat, roll, flip, tril and their kin: each element's source worked out from its position."""

from __future__ import annotations

from collections.abc import Callable

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import SIGNED_INDEX, Scalar, constant, of, select
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.movement.views import diagonal
from tierup.lowering.ops.pointwise.context import NotHandled, widened
from tierup.lowering.ops.tensors import Tensor


def _read(c: Call, x: Tensor, lengths: list[Size], source: Callable[[list[ir.Value]], list[Size]]) -> Tensor:
    """A tensor whose element at some position is x's at `source(position)`."""
    values = c.fitted(lengths)
    if 0 in x.sizes:
        return tensors.empty(values, x.dtype)
    return tensors.made(values, x.dtype, lambda at: tensors.element(x, source(at)))


def _repeat(c: Call) -> Tensor:
    x, listed = c.tensor(0), c.sizes_list(1)
    counts = [*[1] * (x.rank - len(listed)), *listed]  # tile may name fewer axes
    lead = len(counts) - x.rank
    lengths = [n if i < lead else x.length(i - lead) * n for i, n in enumerate(counts)]

    def source(at: list[ir.Value]) -> list[Size]:
        once = [type(n) is int and n == 1 for n in counts[lead:]]
        return [at[i + lead] if once[i] else 0 if x.sizes[i] == 1 else at[i + lead] % x.length(i) for i in range(x.rank)]

    return _read(c, x, lengths, source)


def _repeat_interleave(c: Call) -> Tensor:
    x, times = c.tensor(0), c.integer(1)
    if times < 0 or c.known(2) is None or not x.rank:
        raise NotHandled
    axis = c.axis(2, x.rank)
    lengths = x.lengths
    lengths[axis] = lengths[axis] * times if times else 0
    if not times:
        return tensors.zeros(lengths, x.dtype)
    return _read(c, x, lengths, lambda at: [v // times if i == axis else v for i, v in enumerate(at)])


def _remainder(shift: Size, length: Size) -> Size:
    """`shift % length` as Python has it, of a shift of any sign."""
    if isinstance(shift, int):
        behind = abs(shift) % length
        return behind if shift >= 0 else length - behind
    return sizes.from_end(of(sizes.value(shift), SIGNED_INDEX).call("arith.remsi", sizes.value(length)), length)


def _roll(c: Call) -> Tensor:
    x, shifts, axes = c.tensor(0), c.sizes_list(1), c.ints(2)
    if not axes and x.rank == 1:
        axes = [0]
    if not shifts or not axes or len(shifts) != len(axes):
        raise NotHandled
    by: dict[int, Size] = {}
    for axis, shift in zip(axes, shifts, strict=True):
        by[axis % x.rank] = by.get(axis % x.rank, 0) + shift

    def source(at: list[ir.Value]) -> list[Size]:
        return [(v + x.length(i) - _remainder(by[i], x.length(i))) % x.length(i) if i in by else v for i, v in enumerate(at)]

    return _read(c, x, x.lengths, source)


def _flip(c: Call) -> Tensor:
    x, axes = c.tensor(0), c.ints(1)
    if axes is None:
        raise NotHandled
    flipped = {a % max(x.rank, 1) for a in axes}
    return _read(c, x, x.lengths, lambda at: [x.length(i) - 1 - v if i in flipped else v for i, v in enumerate(at)])


def _triangle(lower_part: bool) -> Lowering:
    """Elements on one side of a diagonal; zeros on the other."""

    def lower(c: Call) -> Tensor:
        x, diagonal = c.tensor(0), c.parameter(1)
        if not isinstance(diagonal, Scalar) and type(diagonal) is not int:
            raise NotHandled

        def keep(v: Scalar) -> Scalar:
            row, column = (b.loop_index(x.rank - i).cast(dtypes.i64) for i in (2, 1))
            kept = column - row <= diagonal if lower_part else column - row >= diagonal
            return select(kept, v, 0)

        return tensors.mapped(x, x.dtype, keep)

    return lower


def _diag_embed(c: Call) -> Tensor:
    rank = len(c.sizes())
    return _embedded(c, c.integer(1), c.axis(2, rank), c.axis(3, rank))


def _embedded(c: Call, offset: int, first: int, second: int) -> Tensor:
    """The operand's last axis along a diagonal of two new axes, zeros elsewhere."""
    x, rank = c.tensor(0), len(c.sizes())
    others = iter(x.lengths)
    side = x.length(x.rank - 1) + abs(offset)
    lengths = c.fitted([side if i in (first, second) else next(others) for i in range(rank)])
    if 0 in x.sizes:
        return tensors.zeros(lengths, x.dtype)
    zero = constant(0, x.dtype)
    return tensors.made(lengths, x.dtype, lambda at: _on_diagonal(at, x, offset, first, second, zero))


def _on_diagonal(at: list[ir.Value], along: Tensor, offset: int, first: int, second: int, else_: Scalar) -> Scalar:
    """At a position on a diagonal of two axes the element of `along`, whose last axis it is; `else_` anywhere else."""
    row, column = (at[i].cast(dtypes.i64) for i in (first, second))
    place = sizes.clamped(at[first] - max(-offset, 0), along.length(along.rank - 1) - 1)  # what is not on it is not taken
    kept = [position for i, position in enumerate(at) if i not in (first, second)]
    return select((column - row).equals(offset), tensors.element(along, [*kept, place]), else_)


def _diag(c: Call) -> Tensor:
    """A vector's matrix, a matrix's diagonal."""
    x, offset = c.tensor(0), c.integer(1)
    return _embedded(c, offset, 0, 1) if x.rank == 1 else diagonal(c, x, offset, 0, 1)


def _diagonal_scatter(c: Call) -> Tensor:
    """The operand with another's last axis along a diagonal of two of its axes."""
    x, source, offset = c.tensor(0), c.tensor(1).cast(c.dtype()), c.integer(2)
    if offset and source.sizes[-1] is None:
        raise NotHandled  # whether there is a diagonal only the run knows
    if 0 in x.sizes or 0 in source.sizes:
        return x
    axes = c.axis(3, x.rank), c.axis(4, x.rank)
    return tensors.made(x.lengths, x.dtype, lambda at: _on_diagonal(at, source, offset, *axes, tensors.element(x, list(at))))


def _prelu(c: Call) -> Tensor:
    """x where positive, else weight*x; the weights run along axis 1 (axis 0 of a vector)."""
    x, weight = c.tensor(0), c.tensor(1)
    dtype = widened(x.dtype)
    along = 1 if x.rank > 1 else 0
    used = tensors.squeezed(weight, []) if 1 in weight.sizes else weight

    def body(v: Scalar, w: Scalar) -> Scalar:
        wide = v.cast(dtype)
        return select(wide > 0, wide, w.cast(dtype) * wide)

    return tensors.pointwise(x.lengths, [tensors.whole(x), (used, [along] * used.rank)], x.dtype, body)


LOWERINGS: dict[str, Lowering] = {
    "aten.repeat": _repeat,
    "aten.tile": _repeat,
    "aten.repeat_interleave.self_int": _repeat_interleave,
    "aten.roll": _roll,
    "aten.flip": _flip,
    "aten.tril": _triangle(True),
    "aten.triu": _triangle(False),
    "aten.diag_embed": _diag_embed,
    "aten.diag": _diag,
    "aten.diagonal_scatter": _diagonal_scatter,
    "aten.prelu": _prelu,
}
