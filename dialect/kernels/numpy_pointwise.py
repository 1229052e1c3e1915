"""Pointwise kernels under NumPy's promotion: the function or operator that a user of NumPy writes, its dtype, value, warning
and exception. Either operand may be a Python number, which is weak (NEP 50). A row without a function here has torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Operand = Any  # ndarray or Python number


def as_array(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """`function`, giving a rank-0 array where NumPy gives a scalar."""

    def kernel(*operands: Operand) -> np.ndarray:
        return np.asarray(function(*operands))

    kernel.__name__, kernel.__qualname__, kernel.__doc__ = function.__name__, function.__name__, f"np.{function.__name__}."
    return kernel


def add(x: Operand, y: Operand, alpha: Any = 1) -> np.ndarray:
    """x + alpha*y."""
    return np.asarray(np.add(x, y if alpha == 1 else np.multiply(y, alpha)))


def sub(x: Operand, y: Operand, alpha: Any = 1) -> np.ndarray:
    """x - alpha*y."""
    return np.asarray(np.subtract(x, y if alpha == 1 else np.multiply(y, alpha)))


def rsub(x: Operand, y: Operand, alpha: Any = 1) -> np.ndarray:
    """y - alpha*x."""
    return sub(y, x, alpha)


mul, div = as_array(np.multiply), as_array(np.true_divide)
floor_divide, remainder, fmod = as_array(np.floor_divide), as_array(np.remainder), as_array(np.fmod)
maximum, minimum, fmax, fmin = as_array(np.maximum), as_array(np.minimum), as_array(np.fmax), as_array(np.fmin)
clamp_min, clamp_max = maximum, minimum
atan2, copysign, heaviside = as_array(np.arctan2), as_array(np.copysign), as_array(np.heaviside)
logaddexp, logaddexp2 = as_array(np.logaddexp), as_array(np.logaddexp2)


def _power(x: Operand, y: Operand) -> Any:
    """The operator, not np.power: NumPy's ** takes shortcuts for exponents such as 2 and 0.5."""
    return x**y


pow_tensor = pow_scalar = pow_base = as_array(_power)

exp, exp2, expm1 = as_array(np.exp), as_array(np.exp2), as_array(np.expm1)
log, log2, log10, log1p = as_array(np.log), as_array(np.log2), as_array(np.log10), as_array(np.log1p)
sin, cos, tan = as_array(np.sin), as_array(np.cos), as_array(np.tan)
asin, acos, atan = as_array(np.arcsin), as_array(np.arccos), as_array(np.arctan)
sinh, cosh, tanh = as_array(np.sinh), as_array(np.cosh), as_array(np.tanh)
asinh, acosh, atanh = as_array(np.arcsinh), as_array(np.arccosh), as_array(np.arctanh)
sqrt, square, reciprocal = as_array(np.sqrt), as_array(np.square), as_array(np.reciprocal)
deg2rad, rad2deg = as_array(np.deg2rad), as_array(np.rad2deg)
neg, abs_, sign = as_array(np.negative), as_array(np.absolute), as_array(np.sign)
floor, ceil, trunc = as_array(np.floor), as_array(np.ceil), as_array(np.trunc)
round_ = round_decimals = as_array(np.round)
clamp = clamp_tensor = as_array(np.clip)


def div_mode(x: Operand, y: Operand, rounding_mode: str | None = None) -> np.ndarray:
    """True division; its floor as np.floor_divide, or its integer part. ValueError for another mode."""
    if rounding_mode == "floor":
        return floor_divide(x, y)
    if rounding_mode not in (None, "trunc"):
        raise ValueError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    return div(x, y) if rounding_mode is None else trunc(div(x, y))


def nan_to_num(x: Operand, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> np.ndarray:
    """np.nan_to_num."""
    return np.asarray(np.nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf))


def where(condition: Operand, x: Operand, y: Operand) -> np.ndarray:
    """np.where of three operands."""
    return np.asarray(np.where(condition, x, y))


def fill(x: np.ndarray, value: Operand) -> np.ndarray:
    """x's shape, layout and dtype, every element `value` as an assignment converts it (numpy_inplace.fill_)."""
    result = np.empty_like(x)
    result[...] = value[()] if isinstance(value, np.ndarray) else value
    return result
