"""Tier-0 kernels of arithmetic, bounds and selection, element by element, with torch's semantics.

Formulas see operands in the dtype they are computed in (see apply.py). Integers wrap. Common errors: TypeError for dtypes
that torch refuses, ValueError for shapes that do not broadcast.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tierup.dialect.dtypes import Category, DType
from tierup.dialect.kernels.apply import number, pointwise, typed
from tierup.dialect.kernels.axes import HALVES, is_float
from tierup.dialect.kernels.casts import cast, check_number
from tierup.dialect.kernels.promotion import Accepts, Gives, Strength, Typing, common_dtype, plan

Array = Any  # ndarray, or NumPy scalar for a Python number

def _scaled(x: Array, factor: Any) -> Array:
    return x if type(factor) is int else np.multiply(x, factor)


def _no_bools(operands: tuple[tuple[DType, Strength], ...]) -> str | None:
    bools = any(d.category is Category.BOOL for d, _ in operands)
    return "bool operands are not supported; use logical_xor or logical_not" if bools else None


@pointwise(Typing("add", scale=2, promoting=2))
def add(x: Array, y: Array, alpha: Any = 1) -> Array:
    """aten.add: x + alpha*y. Bools: logical or."""
    return np.add(x, _scaled(y, alpha))


@pointwise(Typing("sub", scale=2, refuse=_no_bools, promoting=2))
def sub(x: Array, y: Array, alpha: Any = 1) -> Array:
    """aten.sub: x - alpha*y."""
    return np.subtract(x, _scaled(y, alpha))


@pointwise(Typing("rsub", scale=2, refuse=_no_bools, promoting=2))
def rsub(x: Array, y: Array, alpha: Any = 1) -> Array:
    """aten.rsub: y - alpha*x."""
    return np.subtract(y, _scaled(x, alpha))


@pointwise(Typing("mul", exact_second=True, promoting=2))
def mul(x: Array, y: Array) -> Array:
    """aten.mul: x * y. Bools: logical and."""
    return np.multiply(x, y)


@pointwise(Typing("maximum", promoting=2))
def maximum(x: Array, y: Array) -> Array:
    """aten.maximum: the larger one; NaN when either is."""
    return np.maximum(x, y)


@pointwise(Typing("minimum", promoting=2))
def minimum(x: Array, y: Array) -> Array:
    """aten.minimum: the smaller one; NaN when either is."""
    return np.minimum(x, y)


@pointwise(Typing("fmax", promoting=2))
def fmax(x: Array, y: Array) -> Array:
    """aten.fmax: the larger one; NaN only when both are."""
    return np.fmax(x, y)


@pointwise(Typing("fmin", promoting=2))
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


@pointwise(Typing("clamp_min", accepts=Accepts.NOT_BOOL, promoting=2))
def clamp_min(x: Array, low: Array) -> Array:
    """aten.clamp_min."""
    return np.maximum(x, low)


@pointwise(Typing("clamp_max", accepts=Accepts.NOT_BOOL, promoting=2))
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
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.dtype == y.dtype:
        return np.where(condition, x, y)
    dtype = common_dtype(x, y)
    if dtype not in HALVES:  # torch converts a number to these by way of float64: too large is infinite
        for value in (x, y):
            check_number(value, dtype)
    return np.where(condition, *(cast(np.asarray(v), dtype) for v in (x, y)))


@pointwise(Typing("atan2", gives=Gives.FLOAT, promoting=2))
def atan2(y: Array, x: Array) -> Array:
    """aten.atan2: the angle of (x, y)."""
    return np.arctan2(y, x)


@pointwise(Typing("copysign", gives=Gives.FLOAT, promoting=2))
def copysign(x: Array, y: Array) -> Array:
    """aten.copysign: |x| with y's sign."""
    return np.copysign(x, y)


@pointwise(Typing("heaviside", same=True, promoting=2))
def heaviside(x: Array, values: Array) -> Array:
    """aten.heaviside: 0 below zero and for NaN, `values` at zero, 1 above."""
    return np.where(np.equal(x, 0), values, np.greater(x, 0).astype(x.dtype))


@pointwise(Typing("xlogy", gives=Gives.FLOAT, promoting=2))
def xlogy(x: Array, y: Array) -> Array:
    """aten.xlogy: x*log(y); 0 where x is 0 and y is not NaN."""
    return np.where(np.isnan(y), np.asarray(y), np.where(np.equal(x, 0), np.zeros((), np.asarray(x).dtype), x * np.log(y)))


@pointwise(Typing("logaddexp", accepts=Accepts.FLOAT, promoting=2))
def logaddexp(x: Array, y: Array) -> Array:
    """aten.logaddexp: log(exp(x) + exp(y))."""
    return np.logaddexp(x, y)


@pointwise(Typing("logaddexp2", accepts=Accepts.FLOAT, promoting=2))
def logaddexp2(x: Array, y: Array) -> Array:
    """aten.logaddexp2: log2(2**x + 2**y)."""
    return np.logaddexp2(x, y)


PRELU = Typing("prelu", accepts=Accepts.FLOAT, same=True, promoting=2)


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
            raise ValueError(f"prelu: {weight.size} weights for {channels} channels")
        weight = weight.reshape((-1,) + (1,) * (x.ndim - 2))
    return _prelu(x, weight.reshape(()) if weight.size == 1 else weight)


@pointwise(PRELU)
def _prelu(x: Array, weight: Array) -> Array:
    return np.where(np.greater(x, 0), x, weight * x)


def fill(x: np.ndarray, value: Any) -> np.ndarray:
    """aten.fill: x's shape, layout and dtype, every element `value` (a number or rank-0 tensor)."""
    if np.ndim(value):
        raise ValueError(f"fill only supports 0-dimension value tensor but got tensor with {np.ndim(value)} dimensions")
    check_number(value, x.dtype)
    return np.full_like(x, cast(np.asarray(value), x.dtype))


def nan_to_num(x: np.ndarray, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> np.ndarray:
    """aten.nan_to_num: NaN becomes `nan` (0), infinities the dtype's extremes or what is told. Integers stay."""
    if not is_float(x.dtype):
        return x.copy()
    largest = float(ml_dtypes.finfo(x.dtype).max)
    values = (0.0 if nan is None else nan, largest if posinf is None else posinf, -largest if neginf is None else neginf)
    zero, high, low = (cast(np.asarray(v), x.dtype) for v in values)
    return np.where(np.isnan(x), zero, np.where(x == np.inf, high, np.where(x == -np.inf, low, x)))
