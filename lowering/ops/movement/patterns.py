"""repeat, roll, flip, tril and their kin: each element's source worked out from its position."""

from __future__ import annotations

from collections.abc import Callable

from tierup.dialect import dtypes
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import Scalar, constant, select
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.movement.views import axis_of, diagonal
from tierup.lowering.ops.pointwise.context import NotHandled
from tierup.lowering.ops.tensors import Tensor


def _read(c: Call, x: Tensor, lengths: list[Size], source: Callable[[list[ir.Value]], list[Size]]) -> Tensor:
    """A tensor whose element at some position is x's at `source(position)`."""
    known = c.sizes()
    values = [k if k is not None else v for k, v in zip(known, lengths, strict=True)]
    if 0 in x.sizes:
        dynamic = [sizes.value(v) for v, k in zip(values, known, strict=True) if k is None]
        return Tensor(tensors.empty(known, dynamic, x.dtype), x.dtype, known)
    return tensors.made(known, values, x.dtype, lambda at: tensors.element(x, source(at)))


def _repeat(c: Call) -> Tensor:
    x, counts = c.tensor(0), c.ints(1)
    if counts is None:
        raise NotHandled
    counts = [1] * (x.rank - len(counts)) + counts  # tile may name fewer axes
    lead = len(counts) - x.rank
    lengths = [n if i < lead else x.length(i - lead) * n for i, n in enumerate(counts)]

    def source(at: list[ir.Value]) -> list[Size]:
        return [at[i + lead] if counts[i + lead] == 1 else 0 if x.sizes[i] == 1 else at[i + lead] % x.length(i) for i in range(x.rank)]

    return _read(c, x, lengths, source)


def _repeat_interleave(c: Call) -> Tensor:
    x, times = c.tensor(0), c.known(1)
    if type(times) is not int or times < 1 or c.known(2) is None or not x.rank:
        raise NotHandled
    axis = axis_of(c, 2, x.rank)
    lengths = x.lengths
    lengths[axis] = lengths[axis] * times
    return _read(c, x, lengths, lambda at: [v // times if i == axis else v for i, v in enumerate(at)])


def _roll(c: Call) -> Tensor:
    x, shifts, axes = c.tensor(0), c.ints(1), c.ints(2)
    if not shifts or not axes or len(shifts) != len(axes):
        raise NotHandled
    by: dict[int, int] = {}
    for axis, shift in zip(axes, shifts, strict=True):
        by[axis % x.rank] = by.get(axis % x.rank, 0) + shift

    def source(at: list[ir.Value]) -> list[Size]:
        found: list[Size] = []
        for i, position in enumerate(at):
            if i not in by:
                found.append(position)
                continue
            length = x.length(i)
            # (position - shift) mod length, of numbers that are not negative
            behind = abs(by[i]) % length
            ahead = length - behind if by[i] > 0 else behind
            found.append((position + ahead) % length)
        return found

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
            return select(kept, v, constant(0, x.dtype))

        return tensors.pointwise(x, [(x, range(x.rank))], x.dtype, keep)

    return lower


def _diag_embed(c: Call) -> Tensor:
    offset, rank = c.known(1), len(c.sizes())
    if type(offset) is not int:
        raise NotHandled
    return _embedded(c, offset, axis_of(c, 2, rank), axis_of(c, 3, rank))


def _embedded(c: Call, offset: int, first: int, second: int) -> Tensor:
    """The operand's last axis along a diagonal of two new axes, zeros elsewhere."""
    x, known = c.tensor(0), c.sizes()
    side = x.length(x.rank - 1) + abs(offset)
    kept = [i for i in range(len(known)) if i not in (first, second)]
    lengths: list[Size] = [side] * len(known)
    for axis, length in zip(kept, x.lengths, strict=False):
        lengths[axis] = length
    values = [k if k is not None else v for k, v in zip(known, lengths, strict=True)]
    if 0 in x.sizes:
        dynamic = [sizes.value(v) for v, k in zip(values, known, strict=True) if k is None]
        return Tensor(tensors.filled(known, dynamic, constant(0, x.dtype)), x.dtype, known)

    def body(at: list[ir.Value]) -> Scalar:
        row, column = (at[i].cast(dtypes.i64) for i in (first, second))
        on = (column - row).equals(offset)
        along = at[first] - max(-offset, 0)
        inside = sizes.greatest(sizes.least(along, x.length(x.rank - 1) - 1), 0)  # what is not on it is not taken
        return select(on, tensors.element(x, [*(at[i] for i in kept), inside]), constant(0, x.dtype))

    return tensors.made(known, values, x.dtype, body)


def _diag(c: Call) -> Tensor:
    """A vector's matrix, a matrix's diagonal."""
    x, offset = c.tensor(0), c.known(1)
    if type(offset) is not int:
        raise NotHandled
    return _embedded(c, offset, 0, 1) if x.rank == 1 else diagonal(c, x, offset, 0, 1)


def _diagonal_scatter(c: Call) -> Tensor:
    """The operand with another's last axis along a diagonal of two of its axes."""
    x, source, offset = c.tensor(0), c.tensor(1), c.known(2)
    if type(offset) is not int or (offset and source.sizes[-1] is None):
        raise NotHandled  # whether there is a diagonal only the run knows
    if 0 in x.sizes or 0 in source.sizes:
        return x
    first, second = axis_of(c, 3, x.rank), axis_of(c, 4, x.rank)
    kept = [i for i in range(x.rank) if i not in (first, second)]
    last = source.length(source.rank - 1) - 1

    def body(at: list[ir.Value]) -> Scalar:
        row, column = (at[i].cast(dtypes.i64) for i in (first, second))
        along = sizes.greatest(sizes.least(at[first] - max(-offset, 0), last), 0)  # what is not on it is not taken
        found = tensors.element(source, [*(at[i] for i in kept), along]).cast(x.dtype)
        return select((column - row).equals(offset), found, tensors.element(x, list(at)))

    return tensors.made(x.sizes, x.lengths, x.dtype, body)


def _prelu(c: Call) -> Tensor:
    """x where positive, else weight*x; the weights run along axis 1 (axis 0 of a vector)."""
    x, weight = c.tensor(0), c.tensor(1)
    dtype = tensors.widened(x.dtype)
    along = [] if 1 in weight.sizes or not weight.rank else [1 if x.rank > 1 else 0]
    used = weight if along or not weight.rank else tensors.squeezed(weight, [])

    def body(v: Scalar, w: Scalar) -> Scalar:
        wide = v.cast(dtype)
        return select(wide > 0, wide, w.cast(dtype) * wide)

    return tensors.pointwise(x, [(x, range(x.rank)), (used, along)], x.dtype, body)


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
