"""Elementwise functions that are a few other ones."""

from __future__ import annotations

import math
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import Kind
from tierup.dialect.optable.formulas.core import Ops, T, formula

_POINTWISE = Kind.POINTWISE


max_other = formula("max.other(self, other; )", kind=_POINTWISE)(lambda o, x, y: o.call("aten.maximum", x, y))
min_other = formula("min.other(self, other; )", kind=_POINTWISE)(lambda o, x, y: o.call("aten.minimum", x, y))


def _floating(o: Ops[T], x: T) -> T:
    """Integers as the default dtype."""
    if o.is_float(x) is None:
        raise o.unknown()
    return x if o.is_float(x) else o.call("aten.to.dtype", x, dtypes.f32.code, False, False, None)


@formula("special_entr(self; )", kind=_POINTWISE)
def special_entr(o: Ops[T], x: T) -> T:
    """-x log(x): 0 at 0, minus infinity below; NaN stays."""
    x = _floating(o, x)
    found = o.where(o.call("aten.lt.Scalar", x, 0), -math.inf, o.neg(o.call("aten.xlogy.Tensor", x, x)))
    return o.where(o.call("aten.isnan", x), x, found)


@formula("special_xlog1py(self, other; )", kind=_POINTWISE)
def special_xlog1py(o: Ops[T], x: T, y: T) -> T:
    """x log1p(y): 0 for x = 0, but NaN for a y that is NaN."""
    y = _floating(o, y)
    found = o.mul(x, o.call("aten.log1p", y))
    zero = o.call("aten.logical_and", o.call("aten.eq.Scalar", x, 0), o.call("aten.logical_not", o.call("aten.isnan", y)))
    return o.where(zero, 0.0, found)


@formula("sinc(self; )", kind=_POINTWISE)
def sinc(o: Ops[T], x: T) -> T:
    """sin(pi x) / (pi x): 1 at 0."""
    x = _floating(o, x)
    scaled = o.mul(x, math.pi)
    zero = o.call("aten.eq.Scalar", x, 0)
    return o.where(zero, 1.0, o.div(o.call("aten.sin", scaled), o.where(zero, 1.0, scaled)))


ldexp = formula("ldexp.Tensor(self, other; )", kind=_POINTWISE)(lambda o, x, exponent: o.mul(x, o.call("aten.pow.Scalar", 2.0, exponent)))


def _double(o: Ops[T], x: T) -> T:
    return o.call("aten.to.dtype", x, dtypes.f64.code, False, False, None)


@formula("float_power.Tensor_Tensor(self, exponent; )", kind=_POINTWISE)
def float_power(o: Ops[T], x: T, exponent: T) -> T:
    """In float64."""
    return o.call("aten.pow.Tensor_Tensor", _double(o, x), _double(o, exponent))


@formula("float_power.Tensor_Scalar(self; exponent)", kind=_POINTWISE)
def float_power_scalar(o: Ops[T], x: T, exponent: Any) -> T:
    return o.call("aten.pow.Tensor_Scalar", _double(o, x), exponent)
