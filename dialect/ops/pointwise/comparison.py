"""Comparisons, truth and bits: made in the common dtype, exact in every tier, without a gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.base.dtypes import DType
from tierup.dialect.ops.pointwise import arithmetic, elementary
from tierup.dialect.ops.pointwise.elements import Element, Elements
from tierup.dialect.ops.pointwise.elementwise import pointwise, rule
from tierup.dialect.optable.core import EXACT, Kind
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.arrays import cast
from tierup.dialect.optable.kernels.promotion import FLOAT_DEFAULT, Accepts, Gives, Typing, plan

_truth = partial(pointwise, gives=Gives.BOOL, exact=True, no_gradient="truth values")
_bits = partial(pointwise, exact=True, no_gradient="bits of integers")

# --- relations ---------------------------------------------------------------------------------------------------------


_relation = partial(_truth, promoting=2, form="comparison", note="False with NaN; ne is True")


@_relation("aten.eq.Tensor(Tensor self, Tensor other) -> Tensor", "aten.eq.Scalar(Tensor self, Scalar other) -> Tensor", numpy=np.equal,
           native_complex=True)  # fmt: skip
def eq(m: Elements, x: Element, y: Element) -> Element:
    return m.equal(x, y)


@_relation("aten.ne.Tensor(Tensor self, Tensor other) -> Tensor", "aten.ne.Scalar(Tensor self, Scalar other) -> Tensor", numpy=np.not_equal,
           native_complex=True)  # fmt: skip
def ne(m: Elements, x: Element, y: Element) -> Element:
    return m.differ(x, y)


@_relation("aten.lt.Tensor(Tensor self, Tensor other) -> Tensor", "aten.lt.Scalar(Tensor self, Scalar other) -> Tensor", numpy=np.less)
def lt(m: Elements, x: Element, y: Element) -> Element:
    return x < y


@_relation(
    "aten.le.Tensor(Tensor self, Tensor other) -> Tensor", "aten.le.Scalar(Tensor self, Scalar other) -> Tensor", numpy=np.less_equal
)
def le(m: Elements, x: Element, y: Element) -> Element:
    return x <= y


@_relation("aten.gt.Tensor(Tensor self, Tensor other) -> Tensor", "aten.gt.Scalar(Tensor self, Scalar other) -> Tensor", numpy=np.greater)
def gt(m: Elements, x: Element, y: Element) -> Element:
    return x > y


@_relation(
    "aten.ge.Tensor(Tensor self, Tensor other) -> Tensor", "aten.ge.Scalar(Tensor self, Scalar other) -> Tensor", numpy=np.greater_equal
)
def ge(m: Elements, x: Element, y: Element) -> Element:
    return x >= y


def _no_negative_tolerances(operands: Sequence[Any], dtype: DType | None) -> None:
    for given in operands[2:4]:
        if isinstance(given, (int, float)) and given < 0:
            raise ValueError(f"rtol and atol must be greater than or equal to zero, but got {given}")


_ISCLOSE = Typing("isclose", promoting=2, gives=Gives.BOOL, same=True)


@op(
    "aten.isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
    kind=Kind.POINTWISE, infer=rule(_ISCLOSE, "pointwise.comparison:isclose.numpy_tier0", _no_negative_tolerances),
    tolerance=EXACT, differentiable=False, no_gradient="truth values",
)  # fmt: skip
def isclose(x: np.ndarray, y: np.ndarray, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> np.ndarray:
    """x == y, or |x - y| <= atol + |rtol*y|, each step rounded to the dtype. ValueError for a negative tolerance."""
    types = plan(_ISCLOSE, (x, y))
    _no_negative_tolerances((x, y, rtol, atol), None)
    close = eq(x, y)
    if equal_nan and types.compute.kind == "f":
        close = close | (isnan(x) & isnan(y))
    if not (rtol or atol):
        return np.asarray(close)
    other = y if types.compute.kind == "f" else cast(y, FLOAT_DEFAULT.numpy)
    allowed = arithmetic.add(elementary.absolute(arithmetic.mul(other, float(rtol))), float(atol))
    error = elementary.absolute(arithmetic.sub(x if x.dtype != np.bool_ else cast(x, other.dtype), other))
    return np.asarray(close | (isfinite(error) & le(error, allowed)))


isclose.under_numpy(form="none")(lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: np.asarray(np.isclose(x, y, rtol, atol, equal_nan)))


# --- truth: anything but 0 is true, NaN included -----------------------------------------------------------------------


@_truth("aten.logical_and(Tensor self, Tensor other) -> Tensor", promoting=2, numpy=np.logical_and, form="truths", native_complex=True)
def logical_and(m: Elements, x: Element, y: Element) -> Element:
    return m.differ(x, 0) & m.differ(y, 0)


@_truth("aten.logical_or(Tensor self, Tensor other) -> Tensor", promoting=2, numpy=np.logical_or, form="truths", native_complex=True)
def logical_or(m: Elements, x: Element, y: Element) -> Element:
    return m.differ(x, 0) | m.differ(y, 0)


@_truth("aten.logical_xor(Tensor self, Tensor other) -> Tensor", promoting=2, numpy=np.logical_xor, form="truths", native_complex=True)
def logical_xor(m: Elements, x: Element, y: Element) -> Element:
    return m.differ(x, 0) ^ m.differ(y, 0)


@_truth("aten.logical_not(Tensor self) -> Tensor", numpy=np.logical_not, form="as_is", native_complex=True)
def logical_not(m: Elements, x: Element) -> Element:
    return m.equal(x, 0)


# --- bits of integers and bools ----------------------------------------------------------------------------------------


@_bits(
    "aten.bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", "aten.bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor",
    "aten.__and__.Tensor(Tensor self, Tensor other) -> Tensor", "aten.__and__.Scalar(Tensor self, Scalar other) -> Tensor",
    promoting=2, accepts=Accepts.INTEGRAL, numpy=np.bitwise_and,
)  # fmt: skip
def bitwise_and(m: Elements, x: Element, y: Element) -> Element:
    return x & y


@_bits(
    "aten.bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", "aten.bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor",
    "aten.__or__.Tensor(Tensor self, Tensor other) -> Tensor", "aten.__or__.Scalar(Tensor self, Scalar other) -> Tensor",
    promoting=2, accepts=Accepts.INTEGRAL, numpy=np.bitwise_or,
)  # fmt: skip
def bitwise_or(m: Elements, x: Element, y: Element) -> Element:
    return x | y


@_bits(
    "aten.bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", "aten.bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor",
    "aten.__xor__.Tensor(Tensor self, Tensor other) -> Tensor", "aten.__xor__.Scalar(Tensor self, Scalar other) -> Tensor",
    promoting=2, accepts=Accepts.INTEGRAL, numpy=np.bitwise_xor,
)  # fmt: skip
def bitwise_xor(m: Elements, x: Element, y: Element) -> Element:
    return x ^ y


bitwise_not = _bits("aten.bitwise_not(Tensor self) -> Tensor", accepts=Accepts.INTEGRAL, numpy=np.invert, form="as_is")(lambda m, x: ~x)


@_bits(
    "aten.bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", "aten.__lshift__.Scalar(Tensor self, Scalar other) -> Tensor",
    promoting=2, accepts=Accepts.INTEGER, numpy=np.left_shift, note="0 for a shift below 0 or at least the width",
)  # fmt: skip
def bitwise_left_shift(m: Elements, x: Element, y: Element) -> Element:
    return m.left_shift(x, y)


@_bits(
    "aten.bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", "aten.__rshift__.Scalar(Tensor self, Scalar other) -> Tensor",
    promoting=2, accepts=Accepts.INTEGER, numpy=np.right_shift, note="0 or -1 for a shift below 0 or at least the width",
)  # fmt: skip
def bitwise_right_shift(m: Elements, x: Element, y: Element) -> Element:
    return m.right_shift(x, y)


# --- what a float is ---------------------------------------------------------------------------------------------------


@_truth("aten.isnan(Tensor self) -> Tensor", numpy=np.isnan, form="as_is", native_complex=True)
def isnan(m: Elements, x: Element) -> Element:
    return m.is_nan(x) if m.is_float(x) or m.is_complex(x) else m.differ(x, x)


@_truth("aten.isinf(Tensor self) -> Tensor", numpy=np.isinf, form="as_is", native_complex=True)
def isinf(m: Elements, x: Element) -> Element:
    if m.is_complex(x):
        return m.equal(m.absolute(m.real(x)), math.inf) | m.equal(m.absolute(m.imag(x)), math.inf)
    return m.equal(m.absolute(x), math.inf) if m.is_float(x) else m.differ(x, x)


@_truth("aten.isfinite(Tensor self) -> Tensor", numpy=np.isfinite, form="as_is", native_complex=True)
def isfinite(m: Elements, x: Element) -> Element:
    if m.is_complex(x):
        return (m.absolute(m.real(x)) < math.inf) & (m.absolute(m.imag(x)) < math.inf)
    return m.absolute(x) < math.inf if m.is_float(x) else m.equal(x, x)


@_truth("aten.isposinf(Tensor self) -> Tensor", numpy=np.isposinf, form="as_is")
def isposinf(m: Elements, x: Element) -> Element:
    return m.equal(x, math.inf) if m.is_float(x) else m.differ(x, x)


@_truth("aten.isneginf(Tensor self) -> Tensor", numpy=np.isneginf, form="as_is")
def isneginf(m: Elements, x: Element) -> Element:
    return m.equal(x, -math.inf) if m.is_float(x) else m.differ(x, x)


@_truth("aten.signbit(Tensor self) -> Tensor", numpy=np.signbit, form="as_is", note="True for -0.0")
def signbit(m: Elements, x: Element) -> Element:
    return m.copysign(m.number(1, x), x) < 0 if m.is_float(x) else x < 0
