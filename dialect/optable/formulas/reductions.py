"""Reductions in terms of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import ShapeError, normalise_dim
from tierup.dialect.optable.formulas.core import Ops, T, formula


def _without_nan(o: Ops[T], x: T) -> T:
    if o.is_float(x) is None:
        raise o.unknown()
    return o.where(o.call("aten.isnan", x), 0.0, x) if o.is_float(x) else x


@formula("nansum(self; dim, keepdim, dtype)")
def nansum(o: Ops[T], x: T, dim: Sequence[int] | None = None, keepdim: bool = False, dtype: int | None = None) -> T:
    """NaN counts as 0."""
    return o.call("aten.sum.dim_IntList", _without_nan(o, x), dim, keepdim, dtype)


@formula("nanmean(self; dim, keepdim, dtype)")
def nanmean(o: Ops[T], x: T, dim: Sequence[int] | None = None, keepdim: bool = False, dtype: int | None = None) -> T:
    """Of what is not NaN."""
    if o.is_float(x) is False:
        raise TypeError("nanmean(): expected input to have floating point or complex dtype")
    count = o.call("aten.sum.dim_IntList", o.call("aten.logical_not", o.call("aten.isnan", x)), dim, keepdim, None)
    return o.div(nansum(o, x, dim, keepdim, dtype), count)


def _every(o: Ops[T], name: str, x: T, dims: Sequence[int] | None, keepdim: bool) -> T:
    rank = o.rank(x)
    axes = range(rank) if dims is None else sorted({normalise_dim(d, rank) for d in dims})
    if dims is not None and len(axes) != len(dims):
        raise ShapeError("a dim appears multiple times in the list of dims")
    found = x if o.known(x).dtype in (dtypes.bool_, dtypes.u8) else o.call("aten.ne.Scalar", x, 0)
    for axis in reversed(list(axes) if rank else []):
        found = o.call(f"aten.{name}.dim", found, axis, keepdim)
    return found if axes and rank else o.call("aten.clone", o.call(f"aten.{name}", x) if not rank else found, None)


@formula("all.dims(self; dim, keepdim)")
def all_dims(o: Ops[T], x: T, dim: Sequence[int] | None = None, keepdim: bool = False) -> T:
    if o.known(x).dtype is None:
        raise o.unknown()
    return _every(o, "all", x, dim, keepdim)


@formula("std_mean.correction(self; dim, correction, keepdim)", results=2)
def std_mean(o: Ops[T], x: T, dim: Sequence[int] | None = None, correction: Any = None, keepdim: bool = False) -> tuple[T, T]:
    if o.is_float(x) is False:
        raise TypeError("std_mean only support floating point and complex dtypes")
    axes = list(range(o.rank(x))) if not dim else dim
    return (
        o.call("aten.std.correction", x, dim, 1 if correction is None else correction, keepdim),
        o.call("aten.mean.dim", x, axes, keepdim, None),
    )


@formula("std_mean.dim(self; dim, unbiased, keepdim)", results=2)
def std_mean_dim(o: Ops[T], x: T, dim: Sequence[int] | None = None, unbiased: bool = True, keepdim: bool = False) -> tuple[T, T]:
    return std_mean(o, x, dim, int(unbiased), keepdim)


std_mean_whole = formula("std_mean(self; unbiased)", results=2)(lambda o, x, unbiased=True: std_mean(o, x, None, int(unbiased)))


# --- integrals ---------------------------------------------------------------------------------------------------------


def _halves(o: Ops[T], op: str, y: T, dim: int) -> T:
    """Sums of neighbours."""
    if o.known(y).dtype is dtypes.bool_:
        raise ShapeError(f"{op}: received a bool input for `x` or `y`, but bool is not supported")
    return o.add(*(o.call("aten.slice.Tensor", y, dim, *ends, 1) for ends in ((1, None), (0, -1))))


def _steps(o: Ops[T], op: str, y: T, x: T, dim: int) -> T:
    """How far apart the points are."""
    axis = normalise_dim(dim, o.rank(y))
    if o.known(x).dtype is dtypes.bool_:
        raise ShapeError(f"{op}: received a bool input for `x` or `y`, but bool is not supported")
    if o.rank(x) == 1:
        o.equal(x, 0, y, axis, f"{op}: There must be one `x` value for each sample point")
        x = o.call("aten.reshape", x, [-1, *[1] * (o.rank(y) - 1 - axis)])
    along = axis - o.rank(y)
    if o.rank(x) < -along:
        raise o.unknown()
    return o.sub(*(o.call("aten.slice.Tensor", x, along, *ends, 1) for ends in ((1, None), (0, -1))))


@formula("trapezoid.x(y, x; dim)", "trapz.x(y, x; dim)")
def trapezoid_x(o: Ops[T], y: T, x: T, dim: int = -1) -> T:
    """The trapezoid rule, between points x."""
    areas = o.mul(_halves(o, "trapezoid", y, dim), _steps(o, "trapezoid", y, x, dim))
    return o.div(o.call("aten.sum.dim_IntList", areas, [dim], False, None), 2.0)


@formula("trapezoid.dx(y; dx, dim)", "trapz.dx(y; dx, dim)")
def trapezoid_dx(o: Ops[T], y: T, dx: Any = 1, dim: int = -1) -> T:
    """Between points that are `dx` apart."""
    total = o.call("aten.sum.dim_IntList", _halves(o, "trapezoid", y, dim), [dim], False, None)
    return o.mul(o.div(total, 2.0), dx)


@formula("cumulative_trapezoid.x(y, x; dim)")
def cumulative_trapezoid_x(o: Ops[T], y: T, x: T, dim: int = -1) -> T:
    """From the first point to each of the others."""
    areas = o.mul(_halves(o, "cumulative_trapezoid", y, dim), _steps(o, "cumulative_trapezoid", y, x, dim))
    return o.div(o.call("aten.cumsum", areas, dim, None), 2.0)


@formula("cumulative_trapezoid.dx(y; dx, dim)")
def cumulative_trapezoid_dx(o: Ops[T], y: T, dx: Any = 1, dim: int = -1) -> T:
    return o.call("aten.cumsum", o.mul(_halves(o, "cumulative_trapezoid", y, dim), dx / 2.0), dim, None)
