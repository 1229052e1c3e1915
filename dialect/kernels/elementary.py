"""Tier-0 kernels of functions of one tensor: signs, roots, exponentials, trigonometry, rounding. torch's semantics.

Floats are NumPy's, whose float32 and float64 loops are within 4 ulp of the truth; float16 and bfloat16 are computed in
float32 and rounded. Functions of the FLOAT kind give float32 for integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.kernels import erf as erf_module
from tierup.dialect.kernels.apply import pointwise
from tierup.dialect.kernels.promotion import Accepts, Gives, Kernel, Typing

Array = Any


def _of_float(name: str, formula: Callable[[Array], Array], doc: str) -> Kernel:
    """A function that gives a float: float32 for bool and integers."""

    def body(x: Array) -> Array:
        return formula(x)

    body.__name__, body.__qualname__, body.__doc__ = name, name, f"aten.{name}: {doc}"
    return pointwise(Typing(name, gives=Gives.FLOAT))(body)


exp = _of_float("exp", np.exp, "e**x.")
exp2 = _of_float("exp2", np.exp2, "2**x.")
expm1 = _of_float("expm1", np.expm1, "exp(x) - 1, exact near 0.")
log = _of_float("log", np.log, "the natural logarithm.")
log2 = _of_float("log2", np.log2, "the logarithm to base 2.")
log10 = _of_float("log10", np.log10, "the logarithm to base 10.")
log1p = _of_float("log1p", np.log1p, "log(1 + x), exact near 0.")
sin = _of_float("sin", np.sin, "sine of radians.")
cos = _of_float("cos", np.cos, "cosine of radians.")
tan = _of_float("tan", np.tan, "tangent of radians.")
asin = _of_float("asin", np.arcsin, "arc sine.")
acos = _of_float("acos", np.arccos, "arc cosine.")
atan = _of_float("atan", np.arctan, "arc tangent.")
sinh = _of_float("sinh", np.sinh, "hyperbolic sine.")
cosh = _of_float("cosh", np.cosh, "hyperbolic cosine.")
tanh = _of_float("tanh", np.tanh, "hyperbolic tangent.")
asinh = _of_float("asinh", np.arcsinh, "inverse hyperbolic sine.")
acosh = _of_float("acosh", np.arccosh, "inverse hyperbolic cosine.")
atanh = _of_float("atanh", np.arctanh, "inverse hyperbolic tangent.")
sqrt = _of_float("sqrt", np.sqrt, "the square root.")
rsqrt = _of_float("rsqrt", lambda x: 1 / np.sqrt(x), "1/sqrt(x).")
reciprocal = _of_float("reciprocal", lambda x: 1 / x, "1/x.")
erf = _of_float("erf", erf_module.erf, "the error function, see erf.py.")
deg2rad = _of_float("deg2rad", lambda x: x * np.asarray(x).dtype.type(np.pi / 180), "degrees to radians.")
rad2deg = _of_float("rad2deg", lambda x: x * np.asarray(x).dtype.type(180 / np.pi), "radians to degrees.")


def logistic(x: Array) -> Array:
    """1/(1 + exp(-x)), without overflow and with full relative precision in both tails."""
    e = np.exp(-np.abs(x))
    return np.where(np.less(x, 0), e, np.ones((), e.dtype)) / (1 + e)


def damped(x: Array, u: Array) -> Array:
    """x * logistic(u). Where exp(u) is denormal the product need not be: there exp(u + shift) is taken, and exp(-shift) last."""
    dtype = np.asarray(x).dtype
    shift, distance = dtype.type(SHIFTS[dtype.itemsize]), np.abs(u)
    far = distance > 2 * shift
    e = np.exp(np.where(far, shift, dtype.type(0)) - distance)
    near = x * np.where(np.less(u, 0), e, np.ones((), dtype)) / (1 + e)
    return np.where(far & np.less(u, 0), x * e * dtype.type(np.exp(-float(shift))), near)


SHIFTS = {4: 32.0, 8: 256.0}  # by itemsize: u + shift is exact beyond twice the shift, and 1 + exp(-shift) is 1


sigmoid = _of_float("sigmoid", logistic, "1/(1 + exp(-x)).")


@pointwise(Typing("logit", gives=Gives.FLOAT))
def logit(x: Array, eps: float | None = None) -> Array:
    """aten.logit: log(x/(1 - x)), x first clamped to [eps, 1 - eps] when eps is given."""
    if eps is not None:
        bound = np.asarray(x).dtype.type(eps)
        x = np.minimum(np.maximum(x, bound), 1 - bound)
    return np.log(x / (1 - x))


@pointwise(Typing("neg", accepts=Accepts.NOT_BOOL))
def neg(x: Array) -> Array:
    """aten.neg: -x; integers wrap."""
    return np.negative(x)


@pointwise(Typing("abs", accepts=Accepts.NOT_BOOL))
def abs_(x: Array) -> Array:
    """aten.abs: |x|; the most negative integer stays."""
    return np.absolute(x)


@pointwise(Typing("sign"))
def sign(x: Array) -> Array:
    """aten.sign, aten.sgn: -1, 0 or 1; 0 for NaN, as torch has it."""
    if x.dtype.kind == "b":
        return x.copy()
    return np.subtract(np.greater(x, 0).astype(x.dtype), np.less(x, 0).astype(x.dtype))


@pointwise(Typing("square", bool_as=dtypes.i64))
def square(x: Array) -> Array:
    """aten.square: x*x; bool gives int64."""
    return np.square(x)


def _rounding(name: str, formula: Callable[[Array], Array], doc: str) -> Kernel:
    @pointwise(Typing(name, accepts=Accepts.NOT_BOOL))
    def kernel(x: Array) -> Array:
        return formula(x) if x.dtype.kind == "f" else x.copy()

    kernel.__name__, kernel.__qualname__, kernel.__doc__ = name, name, f"aten.{name}: {doc} Integers stay."
    return kernel


floor = _rounding("floor", np.floor, "the largest integer not above x.")
ceil = _rounding("ceil", np.ceil, "the smallest integer not below x.")
trunc = _rounding("trunc", np.trunc, "the integer part.")
round_ = _rounding("round", np.rint, "the nearest integer, ties to even.")


@pointwise(Typing("round", accepts=Accepts.FLOAT))
def round_decimals(x: Array, decimals: int) -> Array:
    """aten.round.decimals: x*10**decimals rounded half to even, and back."""
    if not decimals:
        return np.rint(x)
    scale = x.dtype.type(10.0 ** abs(decimals))
    return np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale


@pointwise(Typing("frac", accepts=Accepts.FLOAT))
def frac(x: Array) -> Array:
    """aten.frac: x - trunc(x)."""
    return x - np.trunc(x)
