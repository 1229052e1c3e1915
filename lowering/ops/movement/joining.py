"""cat, stack, pad, scatters of slices: boxes put into a larger tensor."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.movement import shape
from tierup.lowering.ops.movement.views import slice_bounds
from tierup.lowering.ops.pointwise.context import Known, NotHandled, builtin_type
from tierup.lowering.ops.tensors import Sizes, Tensor

_MOST_INSERTED = 32  # parts: an insertion is computed in its place, where there is no copy


def _joined(c: Call, parts: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors one after the other along an axis. Vectors of size 0 fit anything, as in torch."""
    rank = len(c.sizes())
    used = [p for p in parts if not (p.sizes == (0,) and rank > 1)]
    total: Size = sum(part.length(axis) for part in used)
    values = c.fitted([total if i == axis else _common(used, i) for i in range(rank)])
    if len(used) > _MOST_INSERTED:
        return _concatenated([part.cast(c.dtype()) for part in used], values, axis)
    out = tensors.empty(values, c.dtype())
    start: Size = 0
    for part in used:
        length = part.length(axis)
        box = shape.along(out, axis, start, length)
        out = shape.inserted(part.cast(out.dtype).with_sizes(sizes.known(box[1])), out, *box)
        start = start + length
    return out


def _concatenated(parts: Sequence[Tensor], lengths: Sequence[Size], axis: int) -> Tensor:
    """The same as one op: of a chain of insertions bufferization compares each with all others."""
    known = sizes.known(lengths)

    def fitting(along: int | None) -> Sizes:
        return *known[:axis], along, *known[axis + 1 :]

    of_parts = [part.sizes[axis] for part in parts]
    made = fitting(None if None in of_parts else sum(n for n in of_parts if n is not None))
    operands = [part.with_sizes(fitting(n)).value for part, n in zip(parts, of_parts, strict=True)]
    value = b.value("tensor.concat", operands, builtin_type(Known(parts[0].dtype, made)), dim=ir.IntegerAttr.get(b.integer_type(64), axis))
    return Tensor(value, parts[0].dtype, made).with_sizes(known)


def _common(parts: Sequence[Tensor], axis: int) -> Size:
    """A size that all parts share, as an int if any of them knows it."""
    for part in parts:
        if part.sizes[axis] is not None:
            return part.length(axis)
    return parts[0].length(axis)


def _cat(c: Call) -> Tensor:
    return _joined(c, c.tensors(0), c.axis(1, len(c.sizes())))


def _stack(c: Call) -> Tensor:
    axis = c.axis(1, len(c.sizes()))
    return _joined(c, [shape.reshaped(p, [*p.lengths[:axis], 1, *p.lengths[axis:]]) for p in c.tensors(0)], axis)


def _hstack(c: Call) -> Tensor:
    return _joined(c, [p if p.rank else shape.flattened(p) for p in c.tensors(0)], min(1, len(c.sizes()) - 1))


def _column_stack(c: Call) -> Tensor:
    """Vectors become columns."""
    return _joined(c, [p if p.rank > 1 else shape.reshaped(p, [p.length(0) if p.rank else 1, 1]) for p in c.tensors(0)], 1)


def _constant_pad(value: int) -> Lowering:
    """Operand 1 lists (before, after) per axis, the last axis first; negative ones cut."""

    def lower(c: Call) -> Tensor:
        x, pads = c.tensor(0), c.ints(1)
        if pads is None or (value == 3 and c.known(2) != "constant"):
            raise NotHandled
        before, after = [0] * x.rank, [0] * x.rank
        for i in range(len(pads) // 2):
            before[x.rank - 1 - i], after[x.rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
        cut = [x.length(i) - (max(-before[i], 0) + max(-after[i], 0)) for i in range(x.rank)]
        padded = [v + (max(p, 0) + max(q, 0)) for v, p, q in zip(cut, before, after, strict=True)]
        out = tensors.filled(c.fitted(padded), c.number(value, c.dtype(), 0))
        if any(isinstance(v, int) and v <= 0 for v in cut):
            return out
        if any(not isinstance(v, int) for v in cut) and any(p < 0 for p in pads):
            raise NotHandled  # how much is left only the run knows
        inner = shape.sliced(x, [max(-p, 0) for p in before], cut)
        return shape.inserted(inner, out, [max(p, 0) for p in before], cut)

    return lower


def _slice_scatter(c: Call) -> Tensor:
    x, source = c.tensor(0), c.tensor(1)
    axis = c.axis(2, x.rank)
    box = shape.along(x, axis, *slice_bounds(c, x, axis, 3, 4, 5))
    return shape.inserted(source.cast(x.dtype).with_sizes(sizes.known(box[1])), x, *box)


def _select_scatter(c: Call) -> Tensor:
    x, source = c.tensor(0), c.tensor(1)
    axis = c.axis(2, x.rank)
    size = x.length(axis)
    place = c.place(3, size)
    if 0 in x.sizes:  # no element to write, or a check has failed
        return x
    offsets, lengths, _ = shape.along(x, axis, place, 1)
    written = source.cast(x.dtype).with_sizes(sizes.known([*lengths[:axis], *lengths[axis + 1 :]]))
    if not (isinstance(size, int) or c.is_inside or c.has_elements):  # where the run finds none, a check has failed: nothing is written
        lengths[axis] = sizes.least(size, 1)
        written = shape.sliced(shape.unsqueezed(written, axis), [0] * x.rank, lengths)
    return shape.inserted(written, x, offsets, lengths)


LOWERINGS: dict[str, Lowering] = {
    "aten.cat": _cat,
    "aten.stack": _stack,
    "aten.hstack": _hstack,
    "aten.column_stack": _column_stack,
    "aten.constant_pad_nd": _constant_pad(2),
    "aten.pad": _constant_pad(3),
    "aten.slice_scatter": _slice_scatter,
    "aten.select_scatter": _select_scatter,
}
