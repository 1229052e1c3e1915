"""Tier-0 kernels of comparisons, truth and bits, with torch's semantics. Comparisons are made in the common dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect.kernels import elementary
from tierup.dialect.kernels import pointwise as arithmetic
from tierup.dialect.kernels.apply import pointwise, typed
from tierup.dialect.kernels.casts import cast
from tierup.dialect.kernels.promotion import FLOAT_DEFAULT, Accepts, Gives, Kernel, Typing, plan

Array = Any


def _named(name: str, doc: str, typing: Typing, formula: Callable[..., Array]) -> Kernel:
    def body(*operands: Array) -> Array:
        return formula(*operands)

    body.__name__, body.__qualname__, body.__doc__ = name, name, doc
    return pointwise(typing)(body)


def _compare(name: str, ufunc: np.ufunc, symbol: str) -> Kernel:
    typing = Typing(name, promoting=2, gives=Gives.BOOL)
    return _named(name, f"aten.{name}: x {symbol} y, a bool; False with NaN, but != True.", typing, ufunc)


eq = _compare("eq", np.equal, "==")
ne = _compare("ne", np.not_equal, "!=")
lt = _compare("lt", np.less, "<")
le = _compare("le", np.less_equal, "<=")
gt = _compare("gt", np.greater, ">")
ge = _compare("ge", np.greater_equal, ">=")


def _logical(name: str, ufunc: np.ufunc, promoting: int) -> Kernel:
    typing = Typing(f"logical_{name}", promoting=promoting, gives=Gives.BOOL)
    return _named(f"logical_{name}", f"aten.logical_{name}: of truth values; anything but 0 is true, NaN included.", typing, ufunc)


logical_and = _logical("and", np.logical_and, 2)
logical_or = _logical("or", np.logical_or, 2)
logical_xor = _logical("xor", np.logical_xor, 2)
logical_not = _logical("not", np.logical_not, 1)


def _bitwise(name: str, ufunc: np.ufunc, promoting: int) -> Kernel:
    typing = Typing(f"bitwise_{name}", promoting=promoting, accepts=Accepts.INTEGRAL)
    return _named(f"bitwise_{name}", f"aten.bitwise_{name}: of integers or bools.", typing, ufunc)


bitwise_and = _bitwise("and", np.bitwise_and, 2)
bitwise_or = _bitwise("or", np.bitwise_or, 2)
bitwise_xor = _bitwise("xor", np.bitwise_xor, 2)
bitwise_not = _bitwise("not", np.invert, 1)


@pointwise(Typing("bitwise_left_shift", promoting=2, accepts=Accepts.INTEGER))
def left_shift(x: Array, y: Array) -> Array:
    """aten.bitwise_left_shift: x << y; 0 for y below 0 or at least the width."""
    return np.left_shift(x, y)


@pointwise(Typing("bitwise_right_shift", promoting=2, accepts=Accepts.INTEGER))
def right_shift(x: Array, y: Array) -> Array:
    """aten.bitwise_right_shift: x >> y, arithmetic; 0 or -1 for y below 0 or at least the width."""
    return np.right_shift(x, y)


def _classify(name: str, doc: str, of_float: Callable[[Array], Array], of_integer: bool) -> Kernel:
    def formula(x: Array) -> Array:
        return of_float(x) if x.dtype.kind == "f" else np.full(np.shape(x), of_integer)

    return _named(name, f"aten.{name}: {doc}", Typing(name, gives=Gives.BOOL), formula)


isnan = _classify("isnan", "NaN?", np.isnan, False)
isinf = _classify("isinf", "an infinity?", np.isinf, False)
isfinite = _classify("isfinite", "neither NaN nor an infinity?", np.isfinite, True)
isposinf = _classify("isposinf", "+infinity?", lambda x: x == np.inf, False)
isneginf = _classify("isneginf", "-infinity?", lambda x: x == -np.inf, False)


@pointwise(Typing("signbit", gives=Gives.BOOL))
def signbit(x: Array) -> Array:
    """aten.signbit: is the sign set? True for -0.0."""
    return np.signbit(x) if x.dtype.kind == "f" else np.less(x, 0)


ISCLOSE = Typing("isclose", promoting=2, gives=Gives.BOOL, same=True)


@typed(ISCLOSE)
def isclose(x: np.ndarray, y: np.ndarray, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> np.ndarray:
    """aten.isclose: x == y, or |x - y| <= atol + |rtol*y|, each step rounded to the dtype. ValueError for a negative tolerance."""
    types = plan(ISCLOSE, (x, y))
    if rtol < 0 or atol < 0:
        raise ValueError(f"rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}")
    close = eq(x, y)
    if equal_nan and types.compute.kind == "f":
        close = close | (isnan(x) & isnan(y))
    if not (rtol or atol):
        return np.asarray(close)
    other = y if types.compute.kind == "f" else cast(y, FLOAT_DEFAULT.numpy)
    allowed = arithmetic.add(elementary.abs_(arithmetic.mul(other, float(rtol))), float(atol))
    error = elementary.abs_(arithmetic.sub(x if x.dtype != np.bool_ else cast(x, other.dtype), other))
    return np.asarray(close | (isfinite(error) & le(error, allowed)))
