"""Tier-0 kernels of powers, with torch's semantics: integer powers wrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect.kernels.apply import pointwise, typed
from tierup.dialect.kernels.promotion import Accepts, Typing, plan

Array = Any


def _integer_power(x: Array, y: Array) -> Array:
    """Powers that wrap; a negative exponent gives 0, but 1 for base 1 and +-1 for base -1."""
    negative = np.less(y, 0)
    if not np.any(negative):
        return np.power(x, y)
    one = np.ones((), np.asarray(x).dtype)
    minus = np.where(np.bitwise_and(y, one) == one, -one, one)
    inverse = np.where(np.equal(x, 1), one, np.where(np.equal(x, -one), minus, np.zeros_like(one)))
    return np.where(negative, inverse, np.power(x, np.where(negative, np.zeros_like(one), y)))


def _float_power(x: Array, y: Array) -> Array:
    """C's pow. Of a single exponent 0.5 np.power makes a root, which gives -0.0 for -0.0 and NaN for -inf."""
    return np.power(x, y) if np.size(y) != 1 else np.float_power(x, y).astype(y.dtype)


@pointwise(Typing("pow", accepts=Accepts.NOT_BOOL, promoting=2))
def pow_tensor(x: Array, y: Array) -> Array:
    """aten.pow.Tensor_Tensor. Integers: powers wrap; for a negative exponent see _integer_power."""
    return _float_power(x, y) if np.asarray(x).dtype.kind == "f" else _integer_power(x, y)


POWER = Typing("pow", promoting=2)


@typed(POWER)
def pow_scalar(x: np.ndarray, exponent: Any) -> np.ndarray:
    """aten.pow.Tensor_Scalar. As in torch, exponent 0.5 is sqrt (NaN for -inf) and integers refuse negative exponents (ValueError)."""
    if exponent < 0 and plan(POWER, (x, exponent)).compute.kind != "f":
        raise ValueError("Integers to negative integer powers are not allowed.")
    return _pow_scalar(x, exponent)


@pointwise(POWER)
def _pow_scalar(x: Array, exponent: Array) -> Array:
    kind = x.dtype.kind
    if kind == "b":
        return np.logical_or(x, ~exponent)
    special = _SPECIAL_POWERS.get(float(exponent)) if kind == "f" else None
    return np.power(x, exponent) if special is None else special(x)


_SPECIAL_POWERS: dict[float, Callable[[Array], Array]] = {
    0.5: np.sqrt,
    2.0: np.square,
    3.0: lambda x: x * x * x,
    -0.5: lambda x: 1 / np.sqrt(x),
    -1.0: lambda x: 1 / x,
    -2.0: lambda x: 1 / (x * x),
}  # ATen/native/cpu/PowKernel.cpp: pow_tensor_scalar_optimized_kernel


@pointwise(Typing("pow", accepts=Accepts.NOT_BOOL, promoting=2))
def pow_base(base: Array, y: Array) -> Array:
    """aten.pow.Scalar: a number to the power of each element."""
    kind = np.asarray(y).dtype.kind
    if base == 1:
        return np.ones_like(y)
    return _float_power(base, y) if kind == "f" else _integer_power(base, y)
