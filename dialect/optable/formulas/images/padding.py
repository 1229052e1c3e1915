"""Padding that takes elements of the tensor itself: rows picked along one dim after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierup.dialect.optable.core import Kind
from tierup.dialect.optable.formulas.core import INT, Ops, T, formula


@formula("pad(self; pad, mode, value)", kind=Kind.MOVEMENT, is_row=False, is_gradient=False)
def pad(o: Ops[T], x: T, amounts: Sequence[int], mode: str = "constant", value: float | None = None) -> T:
    """From the last dim on: how much before, how much behind. Padding with a number is an op of its own."""
    shape = o.known(x).shape
    if mode not in _PLACES or shape is None:
        raise o.unknown()
    for i in range(len(amounts) // 2):
        dim, (before, behind) = len(shape) - 1 - i, amounts[2 * i : 2 * i + 2]
        if before or behind:
            known = shape[dim]
            size = known if isinstance(known, int) else o.size(x, dim)
            end = size + behind if isinstance(size, int) else o.call("aten.add.int", size, behind, type_=INT)
            places = o.call("aten.arange.start", -before, end, None, None, None, None)
            x = o.call("aten.index_select", x, dim, _PLACES[mode](o, places, size))
    return x


def _last(o: Ops[T], size: Any) -> Any:
    return size - 1 if isinstance(size, int) else o.call("aten.sub.int", size, 1, type_=INT)


def _replicated(o: Ops[T], places: T, size: Any) -> T:
    return o.call("aten.clamp", places, 0, _last(o, size))


def _reflected(o: Ops[T], places: T, size: Any) -> T:
    """Mirrored at both ends, which are not repeated."""
    last = _last(o, size)
    return o.rsub(last, o.call("aten.abs", o.rsub(last, o.call("aten.abs", places))))


def _around(o: Ops[T], places: T, size: Any) -> T:
    return o.call("aten.remainder.Scalar", places, size)


_PLACES = {"replicate": _replicated, "reflect": _reflected, "circular": _around}
