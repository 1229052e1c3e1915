"""Tier-0 kernels of arithmetic, bounds and selection, element by element, with torch's semantics.

Formulas see operands in the dtype they are computed in (see apply.py). Integers wrap. Common errors: TypeError for dtypes
that torch refuses, ValueError for shapes that do not broadcast.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.dtypes import Category, DType
from tierup.dialect.kernels.apply import number, pointwise, typed
from tierup.dialect.kernels.axes import HALVES, is_float, quiet
from tierup.dialect.kernels.casts import cast, check_number
from tierup.dialect.kernels.promotion import Accepts, Gives, Strength, Typing, common_dtype, plan

Array = Any  # ndarray, or NumPy scalar for a Python number

_BINARY = {"promoting": 2}


def _scaled(x: Array, factor: Any) -> Array:
    return x if type(factor) is int else np.multiply(x, factor)


def _no_bools(operands: tuple[tuple[DType, Strength], ...]) -> str | None:
    bools = any(d.category is Category.BOOL for d, _ in operands)
    return "bool operands are not supported; use logical_xor or logical_not" if bools else None


@pointwise(Typing("add", scale=2, **_BINARY))
def add(x: Array, y: Array, alpha: Any = 1) -> Array:
    """aten.add: x + alpha*y. Bools: logical or."""
    return np.add(x, _scaled(y, alpha))


@pointwise(Typing("sub", scale=2, refuse=_no_bools, **_BINARY))
def sub(x: Array, y: Array, alpha: Any = 1) -> Array:
    """aten.sub: x - alpha*y."""
    return np.subtract(x, _scaled(y, alpha))


@pointwise(Typing("rsub", scale=2, refuse=_no_bools, **_BINARY))
def rsub(x: Array, y: Array, alpha: Any = 1) -> Array:
    """aten.rsub: y - alpha*x."""
    return np.subtract(y, _scaled(x, alpha))


@pointwise(Typing("mul", exact_second=True, **_BINARY))
def mul(x: Array, y: Array) -> Array:
    """aten.mul: x * y. Bools: logical and."""
    return np.multiply(x, y)


@pointwise(Typing("div", gives=Gives.FLOAT, exact_second=True, **_BINARY))
def div(x: Array, y: Array) -> Array:
    """aten.div: x / y, a float even for integers."""
    return np.true_divide(x, y)


def _refuse_zero(y: Array) -> None:
    if np.any(np.equal(y, 0)):
        raise ZeroDivisionError("integer division or modulo by zero")


def _needs_divisor(x: Array, y: Array) -> None:
    """ZeroDivisionError when integers are divided by a zero that some element meets."""
    if np.asarray(y).dtype.kind in "iu" and np.size(x):
        _refuse_zero(y)


def _floor_quotient(x: Array, y: Array) -> Array:
    """c10::div_floor_floating: the quotient of x - fmod(x, y), so that it fits the remainder; x / 0 as IEEE has it."""
    if np.asarray(x).dtype.kind != "f":
        _needs_divisor(x, y)
        return np.floor_divide(x, y)
    remainder = np.fmod(x, y)
    quotient = np.true_divide(np.subtract(x, remainder), y)
    quotient = np.where((remainder != 0) & ((y < 0) != (remainder < 0)), quotient - 1, quotient)
    floored = np.floor(quotient)
    floored = np.where(quotient - floored > 0.5, floored + 1, floored)
    result = np.where(quotient != 0, floored, np.copysign(np.zeros((), floored.dtype), np.true_divide(x, y)))
    return np.where(np.equal(y, 0), np.true_divide(x, y), result)


def _trunc_quotient(x: Array, y: Array) -> Array:
    if np.asarray(x).dtype.kind == "f":
        return np.trunc(np.true_divide(x, y))
    _needs_divisor(x, y)
    quotient = np.floor_divide(x, y)
    inexact = np.not_equal(np.multiply(quotient, y), x)
    return np.add(quotient, np.logical_and(inexact, np.less(x, 0) != np.less(y, 0)).astype(quotient.dtype), dtype=quotient.dtype)


@pointwise(Typing("floor_divide", exact_second=True, accepts=Accepts.NOT_BOOL, **_BINARY))
def floor_divide(x: Array, y: Array) -> Array:
    """aten.floor_divide: the floor of x / y. Integers: ZeroDivisionError for a zero divisor."""
    return _floor_quotient(x, y)


@pointwise(Typing("div", accepts=Accepts.NOT_BOOL, exact_second=True, **_BINARY))
def _div_floor(x: Array, y: Array) -> Array:
    return _floor_quotient(x, y)


@pointwise(Typing("div", accepts=Accepts.NOT_BOOL, exact_second=True, **_BINARY))
def _div_trunc(x: Array, y: Array) -> Array:
    return _trunc_quotient(x, y)


_ROUNDED_DIVISION = {None: div, "floor": _div_floor, "trunc": _div_trunc}


def div_mode(x: Any, y: Any, rounding_mode: str | None = None) -> np.ndarray:
    """aten.div.Tensor_mode: true division, floor or trunc. Integers: ZeroDivisionError for a zero divisor. ValueError for another mode."""
    if rounding_mode not in _ROUNDED_DIVISION:
        raise ValueError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    return _ROUNDED_DIVISION[rounding_mode](x, y)


@pointwise(Typing("remainder", accepts=Accepts.NOT_BOOL, **_BINARY))
def remainder(x: Array, y: Array) -> Array:
    """aten.remainder: x - y*floor(x/y), with y's sign. Integers: ZeroDivisionError for a zero divisor."""
    if np.asarray(x).dtype.kind != "f":
        _needs_divisor(x, y)
        return np.remainder(x, y)
    left = np.fmod(x, y)
    return np.where((left != 0) & ((y < 0) != (left < 0)), left + y, left)


@pointwise(Typing("fmod", accepts=Accepts.NOT_BOOL, **_BINARY))
def fmod(x: Array, y: Array) -> Array:
    """aten.fmod: x - y*trunc(x/y), with x's sign. Integers: ZeroDivisionError for a zero divisor."""
    _needs_divisor(x, y)
    return np.fmod(x, y)


def _integer_power(x: Array, y: Array) -> Array:
    """Powers that wrap; a negative exponent gives 0, but 1 for base 1 and +-1 for base -1."""
    negative = np.less(y, 0)
    if not np.any(negative):
        return np.power(x, y)
    one = np.ones((), np.asarray(x).dtype)
    minus = np.where(np.bitwise_and(y, one) == one, -one, one)
    inverse = np.where(np.equal(x, 1), one, np.where(np.equal(x, -one), minus, np.zeros_like(one)))
    return np.where(negative, inverse, np.power(x, np.where(negative, np.zeros_like(one), y)))


@pointwise(Typing("pow", accepts=Accepts.NOT_BOOL, **_BINARY))
def pow_tensor(x: Array, y: Array) -> Array:
    """aten.pow.Tensor_Tensor. Integers: powers wrap; for a negative exponent see _integer_power."""
    return np.power(x, y) if np.asarray(x).dtype.kind == "f" else _integer_power(x, y)


POWER = Typing("pow", **_BINARY)


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


_SPECIAL_POWERS = {
    0.5: np.sqrt,
    2.0: np.square,
    3.0: lambda x: x * x * x,
    -0.5: lambda x: 1 / np.sqrt(x),
    -1.0: lambda x: 1 / x,
    -2.0: lambda x: 1 / (x * x),
}  # ATen/native/cpu/PowKernel.cpp: pow_tensor_scalar_optimized_kernel


@pointwise(Typing("pow", accepts=Accepts.NOT_BOOL, **_BINARY))
def pow_base(base: Array, y: Array) -> Array:
    """aten.pow.Scalar: a number to the power of each element."""
    kind = np.asarray(y).dtype.kind
    if base == 1:
        return np.ones_like(y)
    return np.power(base, y) if kind == "f" else _integer_power(base, y)


@pointwise(Typing("maximum", **_BINARY))
def maximum(x: Array, y: Array) -> Array:
    """aten.maximum: the larger one; NaN when either is."""
    return np.maximum(x, y)


@pointwise(Typing("minimum", **_BINARY))
def minimum(x: Array, y: Array) -> Array:
    """aten.minimum: the smaller one; NaN when either is."""
    return np.minimum(x, y)


@pointwise(Typing("fmax", **_BINARY))
def fmax(x: Array, y: Array) -> Array:
    """aten.fmax: the larger one; NaN only when both are."""
    return np.fmax(x, y)


@pointwise(Typing("fmin", **_BINARY))
def fmin(x: Array, y: Array) -> Array:
    """aten.fmin: the smaller one; NaN only when both are."""
    return np.fmin(x, y)


def _bounded(x: Array, low: Array, high: Array, op: str = "clamp") -> Array:
    if low is None and high is None:
        raise ValueError(f"torch.{op}: At least one of 'min' or 'max' must not be None")
    if low is not None:
        x = np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


CLAMP = Typing("clamp", promoting=3, accepts=Accepts.NOT_BOOL)


@pointwise(CLAMP)
def _clamp(x: Array, low: Array = None, high: Array = None) -> Array:
    return _bounded(x, low, high)


@typed(CLAMP)
def clamp(x: np.ndarray, low: Any = None, high: Any = None) -> np.ndarray:
    """aten.clamp: bounds that are numbers or None; high wins where low > high; a NaN bound gives NaN.

    ValueError when both are None or a bound does not fit the common dtype.
    """
    dtype = plan(CLAMP, (x, low, high)).result
    for bound in (low, high):
        check_number(bound, dtype)
    return _clamp(x, low, high)


def _three_bools(operands: tuple[tuple[DType, Strength], ...]) -> str | None:
    bools = len(operands) == 3 and all(d.category is Category.BOOL for d, _ in operands)
    return "not implemented for bool with two bounds" if bools else None


@pointwise(Typing("clamp", promoting=3, refuse=_three_bools))
def clamp_tensor(x: Array, low: Array = None, high: Array = None) -> Array:
    """aten.clamp.Tensor: bounds that are tensors or None, broadcast; NaN where any of the three is."""
    return _bounded(x, low, high)


@pointwise(Typing("clamp_min", accepts=Accepts.NOT_BOOL, **_BINARY))
def clamp_min(x: Array, low: Array) -> Array:
    """aten.clamp_min."""
    return np.maximum(x, low)


@pointwise(Typing("clamp_max", accepts=Accepts.NOT_BOOL, **_BINARY))
def clamp_max(x: Array, high: Array) -> Array:
    """aten.clamp_max."""
    return np.minimum(x, high)


@pointwise(Typing("lerp", promoting=2, shaped=3, accepts=Accepts.FLOAT, same=True))
def lerp(start: Array, end: Array, weight: Array) -> Array:
    """aten.lerp: start + weight*(end - start), from the nearer end (ATen/native/Lerp.h)."""
    return np.where(np.abs(weight) < 0.5, start + weight * (end - start), end - (end - start) * (1 - weight))


@pointwise(Typing("addcmul", promoting=3, accepts=Accepts.NOT_BOOL))
def addcmul(x: Array, a: Array, b: Array, value: Any = 1) -> Array:
    """aten.addcmul: x + value*a*b; for integers, torch takes the integer part of value."""
    dtype = np.asarray(x).dtype
    return np.add(x, np.multiply(np.multiply(a, number(value if dtype.kind == "f" else int(value), dtype)), b))


def _integer_quotient(operands: tuple[tuple[DType, Strength], ...]) -> str | None:
    integers = all(not d.is_float for d, _ in operands[1:])
    return "integer division with addcdiv is not supported; use div and add" if integers else None


@pointwise(Typing("addcdiv", promoting=3, accepts=Accepts.FLOAT, refuse=_integer_quotient))
def addcdiv(x: Array, a: Array, b: Array, value: Any = 1) -> Array:
    """aten.addcdiv: x + value*a/b. TypeError when a and b are both integers."""
    return np.add(x, np.true_divide(np.multiply(a, number(value, np.asarray(a).dtype)), b))


def where(condition: np.ndarray, x: Any, y: Any) -> np.ndarray:
    """aten.where: x where condition, else y, in their common dtype. TypeError unless the condition is bool."""
    if condition.dtype != np.bool_:
        raise TypeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}")
    dtype = common_dtype(x, y)
    if dtype not in HALVES:  # torch converts a number to these by way of float64: too large is infinite
        for value in (x, y):
            check_number(value, dtype)
    with quiet:
        return np.where(condition, *(cast(np.asarray(v), dtype) for v in (x, y)))


@pointwise(Typing("atan2", gives=Gives.FLOAT, **_BINARY))
def atan2(y: Array, x: Array) -> Array:
    """aten.atan2: the angle of (x, y)."""
    return np.arctan2(y, x)


@pointwise(Typing("copysign", gives=Gives.FLOAT, **_BINARY))
def copysign(x: Array, y: Array) -> Array:
    """aten.copysign: |x| with y's sign."""
    return np.copysign(x, y)


@pointwise(Typing("heaviside", same=True, **_BINARY))
def heaviside(x: Array, values: Array) -> Array:
    """aten.heaviside: 0 below zero and for NaN, `values` at zero, 1 above."""
    return np.where(np.equal(x, 0), values, np.greater(x, 0).astype(x.dtype))


@pointwise(Typing("xlogy", gives=Gives.FLOAT, **_BINARY))
def xlogy(x: Array, y: Array) -> Array:
    """aten.xlogy: x*log(y); 0 where x is 0 and y is not NaN."""
    return np.where(np.isnan(y), np.asarray(y), np.where(np.equal(x, 0), np.zeros((), np.asarray(x).dtype), x * np.log(y)))


@pointwise(Typing("logaddexp", accepts=Accepts.FLOAT, **_BINARY))
def logaddexp(x: Array, y: Array) -> Array:
    """aten.logaddexp: log(exp(x) + exp(y))."""
    return np.logaddexp(x, y)


@pointwise(Typing("logaddexp2", accepts=Accepts.FLOAT, **_BINARY))
def logaddexp2(x: Array, y: Array) -> Array:
    """aten.logaddexp2: log2(2**x + 2**y)."""
    return np.logaddexp2(x, y)


PRELU = Typing("prelu", accepts=Accepts.FLOAT, same=True, **_BINARY)


@typed(PRELU)
def prelu(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """aten.prelu: x where positive, else weight*x; the weights run along dim 1 (dim 0 of a vector). Float dtypes.

    ValueError for a weight of rank above 1, or whose length is neither 1 nor the number of channels.
    """
    plan(PRELU, (x, weight))
    if weight.ndim > 1:
        raise ValueError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.size != 1:
        channels = x.shape[1] if x.ndim > 1 else 1
        if not x.ndim:
            raise ValueError("prelu: Not allow zero-dim input tensor.")
        if weight.size != channels:
            raise ValueError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.size} and channel size = {channels}.")
        weight = weight.reshape((-1,) + (1,) * (x.ndim - 2))
    return _prelu(x, weight.reshape(()) if weight.size == 1 else weight)


@pointwise(PRELU)
def _prelu(x: Array, weight: Array) -> Array:
    return np.where(np.greater(x, 0), x, weight * x)


def fill(x: np.ndarray, value: Any) -> np.ndarray:
    """aten.fill: x's shape and dtype, every element `value` (a number or rank-0 tensor)."""
    if np.ndim(value):
        raise ValueError(f"fill only supports 0-dimension value tensor but got tensor with {np.ndim(value)} dimensions")
    check_number(value, x.dtype)
    return np.full(x.shape, cast(np.asarray(value), x.dtype), x.dtype)


def nan_to_num(x: np.ndarray, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> np.ndarray:
    """aten.nan_to_num: NaN becomes `nan` (0), infinities the dtype's extremes or what is told. Integers stay."""
    if not is_float(x.dtype):
        return x.copy()
    largest = float(ml_dtypes.finfo(x.dtype).max)
    values = (0.0 if nan is None else nan, largest if posinf is None else posinf, -largest if neginf is None else neginf)
    with quiet:
        number, high, low = (cast(np.asarray(v), x.dtype) for v in values)
        return np.where(np.isnan(x), number, np.where(x == np.inf, high, np.where(x == -np.inf, low, x)))
