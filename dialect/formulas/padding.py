"""Padding that takes elements of the tensor itself: rows picked along one dim after the other."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.formulas.core import Ops, T, formula
from tierup.dialect.optable.core import Kind


@formula("pad(self; pad, mode, value)", kind=Kind.MOVEMENT, is_row=False, is_gradient=False)
def pad(o: Ops[T], x: T, amounts: Sequence[int], mode: str = "constant", value: float | None = None) -> T:
    """From the last dim on: how much before, how much behind. Padding with a number is an op of its own."""
    shape = o.known(x).shape
    if mode not in _PLACES or shape is None:
        raise o.unknown()
    for i in range(len(amounts) // 2):
        dim, (before, behind) = len(shape) - 1 - i, amounts[2 * i : 2 * i + 2]
        size = shape[dim]
        if not isinstance(size, int):
            raise o.unknown()
        if before or behind:
            places = o.call("aten.arange.start", -before, size + behind, None, None, None, None)
            x = o.call("aten.index_select", x, dim, _PLACES[mode](o, places, size))
    return x


def _replicated(o: Ops[T], places: T, size: int) -> T:
    return o.call("aten.clamp", places, 0, size - 1)


def _reflected(o: Ops[T], places: T, size: int) -> T:
    """Mirrored at both ends, which are not repeated."""
    return o.rsub(size - 1, o.call("aten.abs", o.rsub(size - 1, o.call("aten.abs", places))))


def _around(o: Ops[T], places: T, size: int) -> T:
    return o.call("aten.remainder.Scalar", places, size)


_PLACES = {"replicate": _replicated, "reflect": _reflected, "circular": _around}
