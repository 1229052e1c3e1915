"""Tier-0 kernels of quotients and remainders, with torch's semantics: integers raise ZeroDivisionError for a zero divisor,
floats follow IEEE. The least integer divided by -1 wraps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tierup.dialect.kernels.apply import pointwise
from tierup.dialect.kernels.promotion import Accepts, Gives, Typing

Array = Any


@pointwise(Typing("div", gives=Gives.FLOAT, exact_second=True, promoting=2))
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


@pointwise(Typing("floor_divide", exact_second=True, accepts=Accepts.NOT_BOOL, promoting=2))
def floor_divide(x: Array, y: Array) -> Array:
    """aten.floor_divide: the floor of x / y. Integers: ZeroDivisionError for a zero divisor."""
    return _floor_quotient(x, y)


@pointwise(Typing("div", accepts=Accepts.NOT_BOOL, exact_second=True, promoting=2))
def _div_floor(x: Array, y: Array) -> Array:
    return _floor_quotient(x, y)


@pointwise(Typing("div", accepts=Accepts.NOT_BOOL, exact_second=True, promoting=2))
def _div_trunc(x: Array, y: Array) -> Array:
    return _trunc_quotient(x, y)


_ROUNDED_DIVISION = {None: div, "floor": _div_floor, "trunc": _div_trunc}


def div_mode(x: Any, y: Any, rounding_mode: str | None = None) -> np.ndarray:
    """aten.div.Tensor_mode: true division, floor or trunc. Integers: ZeroDivisionError for a zero divisor. ValueError for another mode."""
    if rounding_mode not in _ROUNDED_DIVISION:
        raise ValueError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    return _ROUNDED_DIVISION[rounding_mode](x, y)


@pointwise(Typing("remainder", accepts=Accepts.NOT_BOOL, promoting=2))
def remainder(x: Array, y: Array) -> Array:
    """aten.remainder: x - y*floor(x/y), with y's sign. Integers: ZeroDivisionError for a zero divisor."""
    if np.asarray(x).dtype.kind != "f":
        _needs_divisor(x, y)
        return np.remainder(x, y)
    left = np.fmod(x, y)
    return np.where((left != 0) & ((y < 0) != (left < 0)), left + y, left)


@pointwise(Typing("fmod", accepts=Accepts.NOT_BOOL, promoting=2))
def fmod(x: Array, y: Array) -> Array:
    """aten.fmod: x - y*trunc(x/y), with x's sign. Integers: ZeroDivisionError for a zero divisor."""
    _needs_divisor(x, y)
    return np.fmod(x, y)
