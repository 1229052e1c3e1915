"""cat, stack, pad, scatters of slices: boxes put into a larger tensor."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.dtypes import DType
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import Scalar, constant
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.movement import shape
from tierup.lowering.ops.movement.views import axis_of, slice_bounds, unsqueezed
from tierup.lowering.ops.pointwise.context import NotHandled
from tierup.lowering.ops.tensors import Tensor


def converted(x: Tensor, dtype: DType) -> Tensor:
    """x in `dtype`."""
    return x if x.dtype is dtype else tensors.pointwise(x, [(x, range(x.rank))], dtype, lambda v: v)


def _joined(c: Call, parts: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors one after the other along an axis. Vectors of size 0 fit anything, as in torch."""
    known, dtype = c.sizes(), c.dtype()
    used = [p for p in parts if not (p.sizes == (0,) and len(known) > 1)]
    total: Size = 0
    for part in used:
        total = total + part.length(axis)
    lengths = [total if i == axis else _common(used, i) for i in range(len(known))]
    values = [k if k is not None else v for k, v in zip(known, lengths, strict=True)]
    dynamic = [sizes.value(v) for v, k in zip(values, known, strict=True) if k is None]
    out = Tensor(tensors.empty(known, dynamic, dtype), dtype, known)
    start: Size = 0
    for part in used:
        offsets: list[Size] = [0] * part.rank
        offsets[axis] = start
        lengths = [v if i != axis else part.length(axis) for i, v in enumerate(values)]
        source = shape.cast(converted(part, dtype), tuple(v if isinstance(v, int) else None for v in lengths))
        out = shape.inserted(source, out, offsets, lengths, [1] * part.rank)
        start = start + part.length(axis)
    return out


def _common(parts: Sequence[Tensor], axis: int) -> Size:
    """A size that all parts share, as an int if any of them knows it."""
    for part in parts:
        if part.sizes[axis] is not None:
            return part.length(axis)
    return parts[0].length(axis)


def _cat(c: Call) -> Tensor:
    return _joined(c, c.tensors(0), axis_of(c, 1, len(c.sizes())))


def _stack(c: Call) -> Tensor:
    parts, axis = c.tensors(0), axis_of(c, 1, len(c.sizes()))
    return _joined(c, [_with_axis(p, axis) for p in parts], axis)


def _with_axis(x: Tensor, axis: int) -> Tensor:
    known = (*x.sizes[:axis], 1, *x.sizes[axis:])
    return shape.reshaped(x, known, [*x.lengths[:axis], 1, *x.lengths[axis:]])


def _at_least_vector(x: Tensor) -> Tensor:
    return x if x.rank else shape.flattened(x)


def _hstack(c: Call) -> Tensor:
    parts = [_at_least_vector(p) for p in c.tensors(0)]
    return _joined(c, parts, min(1, len(c.sizes()) - 1))


def _column_stack(c: Call) -> Tensor:
    """Vectors become columns."""
    return _joined(
        c,
        [p if p.rank > 1 else shape.reshaped(p, (p.sizes[0] if p.rank else 1, 1), [p.length(0) if p.rank else 1, 1]) for p in c.tensors(0)],
        1,
    )


def _constant_pad(value: int) -> Lowering:
    """Operand 1 lists (before, after) per axis, the last axis first; negative ones cut."""

    def lower(c: Call) -> Tensor:
        x, pads = c.tensor(0), c.ints(1)
        if pads is None or (value == 3 and c.known(2) != "constant"):
            raise NotHandled
        filler = c.parameter(value)
        known, dtype = c.sizes(), c.dtype()
        number = constant(0, dtype) if filler is None else filler.cast(dtype) if isinstance(filler, Scalar) else constant(filler, dtype)
        before, after = [0] * x.rank, [0] * x.rank
        for i in range(len(pads) // 2):
            before[x.rank - 1 - i], after[x.rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
        cut = [x.length(i) - (max(-before[i], 0) + max(-after[i], 0)) for i in range(x.rank)]
        lengths = [
            k if k is not None else v + (max(before[i], 0) + max(after[i], 0)) for i, (k, v) in enumerate(zip(known, cut, strict=True))
        ]
        dynamic = [sizes.value(v) for v, k in zip(lengths, known, strict=True) if k is None]
        out = Tensor(tensors.filled(known, dynamic, number), dtype, known)
        if any(isinstance(v, int) and v <= 0 for v in cut):
            return out
        if any(not isinstance(v, int) for v in cut) and any(p < 0 for p in pads):
            raise NotHandled  # how much is left only the run knows
        inner = shape.sliced(x, [max(-p, 0) for p in before], cut, [1] * x.rank)
        return shape.inserted(inner, out, [max(p, 0) for p in before], cut, [1] * x.rank)

    return lower


def _slice_scatter(c: Call) -> Tensor:
    x, source = c.tensor(0), c.tensor(1)
    axis = axis_of(c, 2, x.rank)
    low, length, step = slice_bounds(c, x, axis, 3, 4, 5)
    offsets: list[Size] = [0] * x.rank
    lengths, steps = x.lengths, [1] * x.rank
    offsets[axis], lengths[axis], steps[axis] = low, length, step
    fitted = shape.cast(converted(source, x.dtype), tuple(v if isinstance(v, int) else None for v in lengths))
    return shape.inserted(fitted, x, offsets, lengths, steps)


def _select_scatter(c: Call) -> Tensor:
    x, source, position = c.tensor(0), c.tensor(1), c.position(3)
    axis = axis_of(c, 2, x.rank)
    if position is None:
        raise NotHandled
    if 0 in x.sizes:  # no element to write, or a check has failed
        return x
    offsets: list[Size] = [0] * x.rank
    lengths = x.lengths
    size = x.length(axis)
    offsets[axis], lengths[axis] = sizes.from_end(position, size), 1
    kept = [v if isinstance(v, int) else None for i, v in enumerate(lengths) if i != axis]
    written = shape.cast(converted(source, x.dtype), tuple(kept))
    if not isinstance(size, int):  # where the run finds the axis empty, a check has failed and nothing may be written
        written, lengths[axis] = unsqueezed(written, axis), sizes.least(size, 1)
        written = shape.sliced(written, [0] * x.rank, lengths, [1] * x.rank)
    return shape.inserted(written, x, offsets, lengths, [1] * x.rank)


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
