"""Sizes of parts: what slices, reshapes and diagonals leave of a symbolic size."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.facts.dims import Dim, at_least, floordiv, maximum, minimum, mod
from tierup.dialect.facts.values import Shape
from tierup.dialect.optable.core import Infer, ShapeError
from tierup.dialect.optable.operands import Unknown, product

_NO_BOUND = 1 << 62  # torch writes x[1:] with an end of 2**63 - 1


def is_one(dim: Dim) -> bool:
    """Whether a size is 1. Unknown for an expression that may be (s0 - 1, a size found at run time)."""
    if isinstance(dim, int):
        return dim == 1
    if at_least(dim, 2):
        return False
    raise Unknown


def ceildiv(a: Dim, b: Dim) -> Dim:
    """a / b rounded up, for positive b."""
    return floordiv(a + b - 1, b)


def _bound(value: Dim, size: Dim, low: int, high: Dim) -> Dim:
    """A slice's bound: counted from the end when negative, clamped to low ... high."""
    if isinstance(value, int):
        if value >= _NO_BOUND:
            return high
        return minimum(value, high) if value >= 0 else maximum(size + value, low)
    if at_least(value, 0):
        return minimum(value, high)
    if at_least(-value - 1, 0):
        return maximum(size + value, low)
    raise Unknown


def slice_length(size: Dim, start: Dim | None, end: Dim | None, step: int) -> Dim:
    """How many elements x[start:end:step] has. Python's rule (slice.indices), for a step that is not 0."""
    if step > 0:
        first = 0 if start is None else _bound(start, size, 0, size)
        last = size if end is None else _bound(end, size, 0, size)
        return ceildiv(last if first == 0 else maximum(last - first, 0), step)
    first = size - 1 if start is None else _bound(start, size, -1, size - 1)
    last = -1 if end is None else _bound(end, size, -1, size - 1)
    return ceildiv(first + 1 if last == -1 else maximum(first - last, 0), -step)


def reshaped(ctx: Infer, what: str, count: Dim, wanted: Sequence[Dim | None]) -> Shape:
    """The shape that `count` elements take: sizes, of which one may be -1; None is an int not known, which may be -1 too.

    A size that does not divide for certain is a tie. ShapeError when it cannot fit.
    """
    if any(w is None for w in wanted):
        return tuple(ctx.fresh() if w is None or w == -1 else w for w in wanted)
    sizes = [w for w in wanted if w is not None]
    unknown = [i for i, w in enumerate(sizes) if w == -1]
    if len(unknown) > 1:
        raise ShapeError(f"{what}: only one dimension can be inferred")
    for i, w in enumerate(sizes):
        if isinstance(w, int) and w < -1:
            raise ShapeError(f"{what}: invalid shape dimension {w} at index {i}")
    text = f"{what}: shape '[{', '.join(map(str, sizes))}]' is invalid for input of size {count}"
    known = product(tuple(w for w in sizes if w != -1))
    if not unknown:
        _must_equal(ctx, known, count, text)
        return tuple(sizes)
    if known == 0:
        raise ShapeError(text)
    rest = mod(count, known)
    if isinstance(rest, int) and rest:
        raise ShapeError(text)
    inferred = floordiv(count, known)
    if rest != 0:
        ctx.equal(inferred * known, count, text)
    return tuple(inferred if w == -1 else w for w in sizes)


def _must_equal(ctx: Infer, a: Dim, b: Dim, text: str) -> None:
    if isinstance(a, int) and isinstance(b, int) and a != b:
        raise ShapeError(text)
    ctx.equal(a, b, text)


def expanded(ctx: Infer, what: str, of: Shape, wanted: Sequence[Dim | None]) -> Shape:
    """The shape that broadcasting `of` to `wanted` gives: -1 keeps a size, None is an int not known."""
    new = len(wanted) - len(of)
    if new < 0:
        raise ShapeError(f"{what}: {len(wanted)} sizes are fewer than the tensor's {len(of)} dimensions")
    out: list[Dim] = []
    for i, size in enumerate(wanted):
        old = of[i - new] if i >= new else 1
        if size == -1:
            if i < new:
                raise ShapeError(f"{what}: the size -1 isn't allowed in a leading, non-existing dimension {i}")
            out.append(old)
        elif isinstance(size, int) and size < 0:
            raise ShapeError(f"{what}: invalid size {size}")
        elif size is None:
            out.append(ctx.fresh() if old == 1 else old)
        elif old == 1:
            out.append(size)
        else:
            # a size that may turn out to be 1 would be expanded: the tie keeps to sizes for which it is not
            out.append(ctx.equal(size, old, f"{what}: a size must match the existing size at a non-singleton dimension"))
    return tuple(out)


def chunks_of(size: Dim, length: Dim) -> list[Dim]:
    """The sizes of the parts of `length` that a dim of `size` is cut into. Unknown when their number is."""
    if isinstance(size, int) and isinstance(length, int):
        return [min(length, size - start) for start in range(0, size, length)] or [0]
    number = floordiv(size, length)
    if isinstance(number, int) and mod(size, length) == 0:
        return [length] * number
    raise Unknown


def diagonal_length(rows: Dim, columns: Dim, offset: int) -> Dim:
    """How long a matrix's diagonal is."""
    return maximum(minimum(rows, columns - offset) if offset >= 0 else minimum(rows + offset, columns), 0)
