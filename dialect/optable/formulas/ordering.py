"""Sorting, under torch's rules: stable, and NaN is larger than all else, as NumPy's stable sort has it."""

from __future__ import annotations

from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import Kind, normalise_dim
from tierup.dialect.optable.formulas.core import INT, Ops, T, formula

_MOVEMENT = Kind.MOVEMENT


def _found(o: Ops[T], x: T, dim: int, descending: bool) -> T:
    """From behind, what is found to be the last of several equal elements is the first of them."""
    if o.known(x).dtype is None:
        raise o.unknown()
    axis = normalise_dim(dim, o.rank(x))
    if o.rank(x) == 0:
        return o.call("aten.zeros_like", x, dtypes.i64.code, None, None, None, None)
    if o.known(x).dtype is dtypes.bf16:  # which NumPy does not sort; float32 holds each
        x = o.call("aten.to.dtype", x, dtypes.f32.code, False, False, None)
    if not descending:
        return o.call("tierup.argsort", x, axis, True)
    turned = o.call("aten.flip", o.call("tierup.argsort", o.call("aten.flip", x, [axis]), axis, True), [axis])
    return o.rsub(o.call("aten.sub.int", o.size(x, axis), 1, type_=INT), turned)


def _placed(o: Ops[T], x: T, found: T, code: int | None = None) -> T:
    """In memory as the operand lies there, without gaps. `code`: of another dtype than x has."""
    return o.call("aten.copy", o.call("aten.zeros_like", x, code, None, None, None, None), found, False)


@formula("argsort(self; dim, descending)", kind=_MOVEMENT, is_row=False, is_gradient=False)
def argsort(o: Ops[T], x: T, dim: int = -1, descending: bool = False) -> T:
    return _placed(o, x, _found(o, x, dim, descending), dtypes.i64.code)


@formula("argsort.stable(self; stable, dim, descending)", kind=_MOVEMENT, is_row=False, is_gradient=False)
def argsort_stable(o: Ops[T], x: T, stable: bool, dim: int = -1, descending: bool = False) -> T:
    return argsort(o, x, dim, descending)


@formula("sort(self; dim, descending)", kind=_MOVEMENT, results=2, is_row=False, is_gradient=False)
def sort(o: Ops[T], x: T, dim: int = -1, descending: bool = False) -> tuple[T, T]:
    indices = _found(o, x, dim, descending)
    values = o.call("aten.gather", x, dim, indices, False) if o.rank(x) else x
    return _placed(o, x, values), _placed(o, x, indices, dtypes.i64.code)


@formula("sort.stable(self; stable, dim, descending)", kind=_MOVEMENT, results=2)
def sort_stable(o: Ops[T], x: T, stable: bool | None, dim: int = -1, descending: bool = False) -> tuple[T, T]:
    return sort(o, x, dim, descending)


msort = formula("msort(self; )", kind=_MOVEMENT)(lambda o, x: sort(o, x, 0)[0])


@formula("median(self; )", kind=_MOVEMENT, is_row=False, is_gradient=False)
def median(o: Ops[T], x: T) -> T:
    """Of an even number the lower one of the two; NaN where there is one."""
    dtype, count = o.known(x).dtype, o.call("aten.numel", x, type_=INT)
    sizes = o.known(x).shape
    if dtype is None or sizes is None or any(n == 0 or not isinstance(n, int) for n in sizes):
        raise o.unknown()
    ordered = sort(o, o.call("aten.reshape", x, [-1]), 0)[0]

    def at(place: Any) -> T:
        return o.call("aten.clone", o.call("aten.select.int", ordered, 0, place), None)

    middle = at(o.call("aten.floordiv.int", o.call("aten.sub.int", count, 1, type_=INT), 2, type_=INT))
    return o.where(o.call("aten.isnan", at(-1)), at(-1), middle) if dtype.is_float else middle
