"""Tier-0 kernels of activation functions, with torch's semantics. Formulas are those of PyTorch's documentation.

Where torch's own CPU code cancels (gelu's 1 + erf(x) and 1 + tanh(u) for negative x), the same function is computed in a
form that does not: the truth is what tiers are compared with.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tierup.dialect.kernels.apply import number, pointwise, typed
from tierup.dialect.kernels.casts import check_number
from tierup.dialect.kernels.elementary import SHIFTS, damped
from tierup.dialect.kernels.erf import erfc
from tierup.dialect.kernels.promotion import Accepts, Typing, plan

Array = Any


def _like(x: Array, value: Any) -> Any:
    """A Python number in x's dtype."""
    return number(value, x.dtype)


def _float(op: str) -> Typing:
    return Typing(op, accepts=Accepts.FLOAT)


@pointwise(Typing("relu", accepts=Accepts.NOT_BOOL))
def relu(x: Array) -> Array:
    """aten.relu: max(x, 0); NaN stays."""
    return np.maximum(x, _like(x, 0))


@pointwise(Typing("relu6", accepts=Accepts.NOT_BOOL))
def relu6(x: Array) -> Array:
    """aten.relu6: min(max(x, 0), 6)."""
    return np.minimum(np.maximum(x, _like(x, 0)), _like(x, 6))


@pointwise(_float("leaky_relu"))
def leaky_relu(x: Array, negative_slope: Any = 0.01) -> Array:
    """aten.leaky_relu: x where positive, else negative_slope*x."""
    return np.where(x > 0, x, x * _like(x, negative_slope))


def _elu(x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    """ATen/native/cpu/Elu.h."""
    negative = np.expm1(x * _like(x, input_scale)) * _like(x, alpha * scale)
    return np.where(x <= 0, negative, x * _like(x, scale))


@pointwise(_float("elu"))
def elu(x: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Array:
    """aten.elu: scale*x where positive, else scale*alpha*(exp(input_scale*x) - 1)."""
    return _elu(x, alpha, scale, input_scale)


@pointwise(_float("selu"))
def selu(x: Array) -> Array:
    """aten.selu: elu with the self-normalising constants of Klambauer et al. 2017."""
    return _elu(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0)


@pointwise(_float("celu"))
def celu(x: Array, alpha: Any = 1.0) -> Array:
    """aten.celu: x where positive, else alpha*(exp(x/alpha) - 1). ZeroDivisionError for alpha 0."""
    if alpha == 0:
        raise ZeroDivisionError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(x, alpha, 1.0, 1.0 / alpha)


_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


@pointwise(_float("gelu"))
def gelu(x: Array, approximate: str = "none") -> Array:
    """aten.gelu: x*Phi(x), or with approximate="tanh" Hendrycks and Gimpel's x/2*(1 + tanh(u)) = x*sigmoid(2u).

    ValueError for another `approximate`.
    """
    if approximate == "none":
        wide = x.astype(np.float64, copy=False)
        return (0.5 * wide * erfc(wide * -math.sqrt(0.5))).astype(x.dtype, copy=False)
    if approximate == "tanh":
        u = _like(x, 2 * _SQRT_2_OVER_PI) * (x + _like(x, 0.044715) * (x * x * x))
        return damped(x, u)
    raise ValueError("approximate argument must be either none or tanh.")


@pointwise(_float("silu"))
def silu(x: Array) -> Array:
    """aten.silu: x*sigmoid(x)."""
    return damped(x, x)


def _softplus(x: Array) -> Array:
    """log(1 + exp(x)) without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


@pointwise(_float("mish"))
def mish(x: Array) -> Array:
    """aten.mish: x*tanh(softplus(x)); far below 0, where that is x*exp(x), as x*sigmoid(x)."""
    return np.where(np.less(x, -2 * SHIFTS[x.dtype.itemsize]), damped(x, x), x * np.tanh(_softplus(x)))


@pointwise(_float("softplus"))
def softplus(x: Array, beta: Any = 1, threshold: Any = 20) -> Array:
    """aten.softplus: log(1 + exp(beta*x))/beta; x itself where beta*x > threshold."""
    scaled = x * _like(x, beta)
    return np.where(scaled > _like(x, threshold), x, np.log1p(np.exp(scaled)) / _like(x, beta))


@pointwise(_float("log_sigmoid"))
def log_sigmoid(x: Array) -> Array:
    """aten.log_sigmoid: log(sigmoid(x)) = min(x, 0) - log(1 + exp(-|x|))."""
    return np.minimum(x, _like(x, 0)) - np.log1p(np.exp(-np.abs(x)))


@pointwise(Typing("hardtanh", accepts=Accepts.NOT_BOOL))
def hardtanh(x: Array, min_val: Any = -1, max_val: Any = 1) -> Array:
    """aten.hardtanh: clamp(x, min_val, max_val) in x's own dtype. TypeError for uint8 with a negative limit."""
    if x.dtype == np.uint8 and (min_val < 0 or max_val < 0):
        raise TypeError("cannot do hardtanh on an unsigned type with negative limits")
    if x.dtype.kind != "f":
        min_val, max_val = int(min_val), int(max_val)
    return np.minimum(np.maximum(x, _like(x, min_val)), _like(x, max_val))


@pointwise(_float("hardsigmoid"))
def hardsigmoid(x: Array) -> Array:
    """aten.hardsigmoid: min(max(x + 3, 0), 6)/6."""
    return np.minimum(np.maximum(x + _like(x, 3), _like(x, 0)), _like(x, 6)) / _like(x, 6)


@pointwise(_float("hardswish"))
def hardswish(x: Array) -> Array:
    """aten.hardswish: x*min(max(x + 3, 0), 6)/6."""
    return x * np.minimum(np.maximum(x + _like(x, 3), _like(x, 0)), _like(x, 6)) / _like(x, 6)


@pointwise(_float("hardshrink"))
def hardshrink(x: Array, lambd: Any = 0.5) -> Array:
    """aten.hardshrink: 0 where -lambd <= x <= lambd, else x."""
    bound = _like(x, lambd)
    return np.where((x >= -bound) & (x <= bound), _like(x, 0), x)


@pointwise(_float("softshrink"))
def softshrink(x: Array, lambd: Any = 0.5) -> Array:
    """aten.softshrink: x moved by lambd towards 0, 0 in between; NaN stays. ValueError for a negative lambd."""
    if lambd < 0:
        raise ValueError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    bound = _like(x, lambd)
    return np.where(x > bound, x - bound, np.where(x < -bound, x + bound, x * _like(x, 0)))


THRESHOLD = Typing("threshold", accepts=Accepts.NOT_BOOL)


@typed(THRESHOLD)
def threshold(x: np.ndarray, threshold: Any, value: Any) -> np.ndarray:
    """aten.threshold: x where x > threshold (or NaN), else value; in x's own dtype. ValueError for numbers that it cannot hold."""
    dtype = plan(THRESHOLD, (x,)).result
    for limit in (threshold, value):
        check_number(limit, dtype)
    return _threshold(x, threshold, value)


@pointwise(THRESHOLD)
def _threshold(x: Array, threshold: Any, value: Any) -> Array:
    dtype = x.dtype
    limits = [number(v if dtype.kind == "f" else int(v), dtype) for v in (threshold, value)]
    return np.where(x <= limits[0], limits[1], x)
