"""In which order eager PyTorch lays out the dims of what elementwise ops make, by how their operands lie (ATen/TensorIterator.cpp)."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.facts.dims import Dim, at_least, floordiv


def elementwise_order(sizes: Sequence[Dim], operands: Sequence[tuple[Sequence[Dim], Sequence[Dim]]]) -> tuple[int, ...] | None:
    """The dims from the outermost to the innermost: by the first operand, of sizes and strides, that tells two dims apart
    (`reorder_dimensions`). None where that hangs on what symbols are."""
    rank = len(sizes)
    strides: list[list[Dim]] = []
    for of, steps in operands:
        own = [0 if old == 1 and new != 1 else s for old, new, s in zip(of, sizes[rank - len(of) :], steps, strict=True)]
        strides.append([*[0] * (rank - len(own)), *own])
    fastest = list(range(rank))[::-1]
    for i in range(1, rank):
        at = i
        for j in range(i - 1, -1, -1):
            swap = _swaps(fastest[j], fastest[at], strides, sizes)
            if swap is None:
                return None
            if swap > 0:
                fastest[j], fastest[at] = fastest[at], fastest[j]
                at = j
            elif swap < 0:
                break
    return tuple(fastest[::-1])


def _swaps(a: int, b: int, strides: Sequence[Sequence[Dim]], sizes: Sequence[Dim]) -> int | None:
    for of in strides:
        if of[a] == 0 or of[b] == 0:
            continue
        by = compared(of[a], of[b])
        if by != 0:
            return by
        larger = compared(sizes[a], sizes[b])
        if larger is None or larger > 0:
            return larger
    return 0


def compared(a: Dim, b: Dim) -> int | None:
    """-1, 0 or 1; None where it hangs on what symbols are."""
    if a == b:
        return 0
    return 1 if _is_more(a, b) else -1 if _is_more(b, a) else None


def _is_more(a: Dim, b: Dim) -> bool:
    """Strides are products of sizes: of one that is a multiple of another it is known, whatever the symbols are."""
    if at_least(a - b, 1):
        return True
    times = floordiv(a, b) if at_least(b, 1) else 0
    return times * b == a and at_least(times, 2)
