"""Functions of one operand: the formulas of dialect/kernels/elementary.py on scalars. Names in `math.` are expanded to vector
code later (lowering/math)."""

from __future__ import annotations

import math
from collections.abc import Callable

from tierup.dialect.kernels.elementary import SHIFTS
from tierup.lowering.arith import Scalar, absolute, constant, maximum, minimum, select
from tierup.lowering.pointwise.formula import Formula, Parameter


def _math(name: str) -> Formula:
    return lambda x: x.call(f"math.{name}")


_MATH = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh", "sqrt", "erf",
)  # fmt: skip


def logistic(x: Scalar) -> Scalar:
    """1/(1 + exp(-x)), without overflow and with full relative precision in both tails."""
    e = (-absolute(x)).call("math.exp")
    return select(x < 0, e, constant(1.0, x.dtype)) / (1.0 + e)


def damped(x: Scalar, u: Scalar) -> Scalar:
    """x * logistic(u), as tier 0's `damped`."""
    shift, distance = SHIFTS[x.dtype.itemsize], absolute(u)
    far = distance > 2 * shift
    e = (select(far, constant(shift, x.dtype), 0.0) - distance).call("math.exp")
    near = x * select(u < 0, e, constant(1.0, x.dtype)) / (1.0 + e)
    return select(far & (u < 0), x * e * math.exp(-shift), near)


def logit(x: Scalar, eps: Parameter = None) -> Scalar:
    if eps is not None:
        bound = x.like(eps)
        x = minimum(maximum(x, bound), 1.0 - bound)
    return (x / (1.0 - x)).call("math.log")


def sign(x: Scalar) -> Scalar:
    """0 for NaN, as torch has it."""
    if x.is_bool:
        return x
    return (x > 0).cast(x.dtype) - (x < 0).cast(x.dtype)


def _rounding(name: str) -> Formula:
    return lambda x: x.call(f"math.{name}") if x.is_float else x


def round_decimals(x: Scalar, decimals: Parameter) -> Scalar:
    if isinstance(decimals, Scalar):
        raise NotImplementedError("the number of decimals is known at run time only")
    if not decimals:
        return x.call("math.roundeven")
    scale = 10.0 ** abs(decimals)
    return (x * scale).call("math.roundeven") / scale if decimals > 0 else (x / scale).call("math.roundeven") * scale


def frac(x: Scalar) -> Scalar:
    return x - x.call("math.trunc")


def _erfc(x: Scalar) -> Scalar:
    return x.call("math.erfc")


_ABS: Callable[[Scalar], Scalar] = absolute

FORMULAS: dict[str, Formula] = {
    **{f"aten.{name}": _math(name) for name in _MATH},
    "aten.special_expm1": _math("expm1"),
    "aten.erfc": _erfc,
    "aten.rsqrt": lambda x: 1.0 / x.call("math.sqrt"),
    "aten.reciprocal": lambda x: 1.0 / x,
    "aten.deg2rad": lambda x: x * (math.pi / 180),
    "aten.rad2deg": lambda x: x * (180 / math.pi),
    "aten.sigmoid": logistic,
    "aten.logit": logit,
    "aten.neg": lambda x: -x,
    "aten.abs": _ABS,
    "aten.absolute": _ABS,
    "aten.sign": sign,
    "aten.sgn": sign,
    "aten.square": lambda x: x * x,
    **{f"aten.{name}": _rounding(name) for name in ("floor", "ceil", "trunc")},
    "aten.fix": _rounding("trunc"),
    "aten.round": _rounding("roundeven"),
    "aten.round.decimals": round_decimals,
    "aten.frac": frac,
    "aten.positive": lambda x: x,
}

