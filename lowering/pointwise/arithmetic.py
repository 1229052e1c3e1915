"""Arithmetic, bounds and selection: the formulas of dialect/kernels/pointwise.py on scalars.

Divisors of integers are made safe here, so that no division traps; that a zero one is reported is insert_bounds_checks' work.
"""

from __future__ import annotations

import math

from tierup.lowering.arith import Operand, Scalar, constant, isnan, maximum, minimum, select
from tierup.lowering.pointwise.context import Context
from tierup.lowering.pointwise.formula import Formula, Parameter, Recipe


def _scaled(x: Scalar, factor: Parameter) -> Scalar:
    return x if type(factor) is int and factor == 1 else x * factor


def add(x: Scalar, y: Scalar, alpha: Parameter = 1) -> Scalar:
    return x + _scaled(y, alpha)


def sub(x: Scalar, y: Scalar, alpha: Parameter = 1) -> Scalar:
    return x - _scaled(y, alpha)


def rsub(x: Scalar, y: Scalar, alpha: Parameter = 1) -> Scalar:
    return y - _scaled(x, alpha)


def mul(x: Scalar, y: Scalar) -> Scalar:
    return x * y


def div(x: Scalar, y: Scalar) -> Scalar:
    return x / y


def _safe(x: Scalar, y: Scalar) -> Scalar:
    """A divisor that never traps: 1 for 0, and for -1 under the most negative number, where 1 gives the wrapped quotient
    and the right remainder."""
    bad = y.equals(0)
    if x.signed:
        bad = bad | (x.equals(-(1 << (x.dtype.itemsize * 8 - 1))) & y.equals(-1))
    return select(bad, 1, y)


def _fmod(x: Scalar, y: Scalar) -> Scalar:
    if x.is_float:
        return x.call("arith.remf", y)
    return x.call("arith.remsi" if x.signed else "arith.remui", _safe(x, y))


def _differ_in_sign(left: Scalar, y: Scalar) -> Scalar:
    """left != 0 and its sign is not y's."""
    return left.differs(0) & ((y < 0) ^ (left < 0))


def remainder(x: Scalar, y: Scalar) -> Scalar:
    left = _fmod(x, y)
    if not x.is_float and not x.signed:
        return left
    return select(_differ_in_sign(left, y), left + y, left)


def floor_quotient(x: Scalar, y: Scalar) -> Scalar:
    """c10::div_floor_floating, as tier 0's `floor_quotient`."""
    if not x.is_float:
        if not x.signed:
            return x.call("arith.divui", _safe(x, y))
        safe = _safe(x, y)
        quotient = x.call("arith.divsi", safe)
        return select(_differ_in_sign(x - quotient * safe, safe), quotient - 1, quotient)
    left = _fmod(x, y)
    quotient = (x - left) / y
    quotient = select(_differ_in_sign(left, y), quotient - 1, quotient)
    floored = quotient.call("math.floor")
    floored = select(quotient - floored > 0.5, floored + 1, floored)
    signed_zero = constant(0.0, x.dtype).call("math.copysign", x / y)
    return select(y.equals(0), x / y, select(quotient.differs(0), floored, signed_zero))


def _trunc_quotient(x: Scalar, y: Scalar) -> Scalar:
    if x.is_float:
        return (x / y).call("math.trunc")
    return x.call("arith.divsi" if x.signed else "arith.divui", _safe(x, y))


def div_mode(c: Context) -> Scalar:
    """The result's dtype is the common one, or the float that true division gives."""
    x, y, mode = c.computed(0, c.result, True), c.computed(1, c.result, True), c.parameter(2)
    assert x is not None and y is not None
    if mode is None:
        return x / y
    return floor_quotient(x, y) if mode == "floor" else _trunc_quotient(x, y)


def pow_tensor(x: Scalar, y: Scalar) -> Scalar:
    return x.call("math.powf", y) if x.is_float else _integer_power(x, y)


def _integer_power(x: Scalar, y: Scalar) -> Scalar:
    """Square and multiply over the bits of y, wrapping; a negative exponent gives 0, but 1 for base 1 and +-1 for base -1."""
    result, base = constant(1, x.dtype), x
    bits = x.dtype.itemsize * 8 - (1 if x.signed else 0)
    for bit in range(min(bits, 63)):
        used = (y & (1 << bit)).differs(0)
        result = select(used, result * base, result)
        base = base * base
    if not x.signed:
        return result
    odd = (y & 1).differs(0)
    inverse = select(x.equals(1), constant(1, x.dtype), select(x.equals(-1), select(odd, constant(-1, x.dtype), 1), 0))
    return select(y < 0, inverse, result)


def _power_by(x: Scalar, exponent: int) -> Scalar:
    """x to a known power of at least 0, wrapping."""
    result, base = None, x
    while exponent:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return constant(1, x.dtype) if result is None else result


def pow_scalar(x: Scalar, exponent: Scalar, known: Parameter = None) -> Scalar:
    """`known` is the exponent when it is a constant."""
    if x.is_bool:
        return x | ~exponent
    if not x.is_float:
        return _power_by(x, int(known)) if known is not None else _integer_power(x, exponent)
    special = _SPECIAL_POWERS.get(float(known)) if known is not None else None
    if special is not None:
        return special(x)
    general = x.call("math.powf", exponent)
    if known is not None:
        return general
    for value, formula in _SPECIAL_POWERS.items():  # tier 0 takes these for a run-time exponent too
        general = select(exponent.equals(value), formula(x), general)
    return general


_SPECIAL_POWERS = {
    0.5: lambda x: x.call("math.sqrt"),
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
    -0.5: lambda x: 1.0 / x.call("math.sqrt"),
    -1.0: lambda x: 1.0 / x,
    -2.0: lambda x: 1.0 / (x * x),
}


def pow_base(base: Scalar, y: Scalar) -> Scalar:
    if not y.is_float:
        return _integer_power(base, y)
    return select(base.equals(1), constant(1.0, y.dtype), base.call("math.powf", y))


def fmax(x: Scalar, y: Scalar) -> Scalar:
    return select(isnan(x), y, select(isnan(y), x, maximum(x, y))) if x.is_float else maximum(x, y)


def fmin(x: Scalar, y: Scalar) -> Scalar:
    return select(isnan(x), y, select(isnan(y), x, minimum(x, y))) if x.is_float else minimum(x, y)


def clamp(x: Scalar, low: Operand | None = None, high: Operand | None = None) -> Scalar:
    if low is not None:
        x = maximum(x, low)
    return x if high is None else minimum(x, high)


def clamp_max(x: Scalar, high: Operand) -> Scalar:
    return minimum(x, high)


def lerp(start: Scalar, end: Scalar, weight: Scalar) -> Scalar:
    near = weight.call("math.absf") < 0.5
    return select(near, start + weight * (end - start), end - (end - start) * (1.0 - weight))


def _whole(value: Parameter, x: Scalar) -> Parameter:
    """torch takes the integer part of a factor of integers."""
    if x.is_float:
        return value
    return value.cast(x.dtype) if isinstance(value, Scalar) else int(value)


def addcmul(x: Scalar, a: Scalar, c: Scalar, value: Parameter = 1) -> Scalar:
    return x + a * _whole(value, x) * c


def addcdiv(x: Scalar, a: Scalar, c: Scalar, value: Parameter = 1) -> Scalar:
    return x + a * value / c


def atan2(y: Scalar, x: Scalar) -> Scalar:
    return y.call("math.atan2", x)


def copysign(x: Scalar, y: Scalar) -> Scalar:
    return x.call("math.copysign", y)


def heaviside(x: Scalar, values: Scalar) -> Scalar:
    return select(x.equals(0), values, select(x > 0, constant(1, x.dtype), 0))  # NaN: 0


def xlogy(x: Scalar, y: Scalar) -> Scalar:
    return select(isnan(y), y, select(x.equals(0), constant(0.0, x.dtype), x * y.call("math.log")))


def _logaddexp(x: Scalar, y: Scalar, exp: str, log1p_scale: float) -> Scalar:
    """max + log(1 + exp(-|x - y|)); equal operands, infinities among them, give x + log 2 (npy_logaddexp)."""
    difference = x - y
    tail = (-difference.call("math.absf")).call(exp).call("math.log1p") * log1p_scale
    larger = select(difference > 0, x, y) + tail
    return select(x.equals(y), x + constant(math.log(2) * log1p_scale, x.dtype), select(isnan(difference), difference, larger))


def logaddexp(x: Scalar, y: Scalar) -> Scalar:
    return _logaddexp(x, y, "math.exp", 1.0)


def logaddexp2(x: Scalar, y: Scalar) -> Scalar:
    return _logaddexp(x, y, "math.exp2", 1 / math.log(2))


FORMULAS: dict[str, Formula] = {
    **{f"aten.add.{k}": add for k in ("Tensor", "Scalar")},
    **{f"aten.sub.{k}": sub for k in ("Tensor", "Scalar")},
    "aten.rsub.Scalar": rsub,
    **{f"aten.mul.{k}": mul for k in ("Tensor", "Scalar")},
    **{f"aten.div.{k}": div for k in ("Tensor", "Scalar")},
    **{f"aten.floor_divide{k}": floor_quotient for k in ("", ".Scalar")},
    **{f"aten.remainder.{k}": remainder for k in ("Tensor", "Scalar")},
    **{f"aten.fmod.{k}": _fmod for k in ("Tensor", "Scalar")},
    "aten.pow.Tensor_Tensor": pow_tensor,
    "aten.pow.Tensor_Scalar": pow_scalar,
    "aten.pow.Scalar": pow_base,
    "aten.maximum": maximum,
    "aten.minimum": minimum,
    "aten.fmax": fmax,
    "aten.fmin": fmin,
    "aten.clamp": clamp,
    "aten.clamp.Tensor": clamp,
    **{f"aten.clamp_min{k}": maximum for k in ("", ".Tensor")},
    **{f"aten.clamp_max{k}": clamp_max for k in ("", ".Tensor")},
    **{f"aten.lerp.{k}": lerp for k in ("Tensor", "Scalar")},
    "aten.addcmul": addcmul,
    "aten.addcdiv": addcdiv,
    "aten.atan2": atan2,
    "aten.copysign.Tensor": copysign,
    "aten.heaviside": heaviside,
    "aten.xlogy.Tensor": xlogy,
    "aten.logaddexp": logaddexp,
    "aten.logaddexp2": logaddexp2,
}

RECIPES: dict[str, Recipe] = {f"aten.div.{k}_mode": div_mode for k in ("Tensor", "Scalar")}
