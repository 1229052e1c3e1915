"""Activation functions: the formulas of dialect/kernels/activations.py on scalars."""

from __future__ import annotations

import math

from tierup.dialect import dtypes
from tierup.dialect.kernels.elementary import SHIFTS
from tierup.lowering.arith import Scalar, absolute, constant, maximum, minimum, select
from tierup.lowering.pointwise.elementary import damped
from tierup.lowering.pointwise.formula import Formula, Parameter


def relu6(x: Scalar) -> Scalar:
    return minimum(maximum(x, 0), 6)


def leaky_relu(x: Scalar, negative_slope: Parameter = 0.01) -> Scalar:
    return select(x > 0, x, x * negative_slope)


def elu(x: Scalar, alpha: Parameter = 1, scale: Parameter = 1, input_scale: Parameter = 1) -> Scalar:
    """ATen/native/cpu/Elu.h."""
    negative = (x * input_scale).call("math.expm1") * (alpha * scale)
    return select(x <= 0, negative, x * scale)


def selu(x: Scalar) -> Scalar:
    """The self-normalising constants of Klambauer et al. 2017."""
    return elu(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0)


def celu(x: Scalar, alpha: Parameter = 1.0) -> Scalar:
    return elu(x, alpha, 1.0, 1.0 / alpha)


def gelu(x: Scalar, approximate: str = "none") -> Scalar:
    """x*Phi(x), or x*sigmoid(2u): the forms that do not cancel for negative x."""
    if approximate == "none":
        wide = x.cast(dtypes.f64)
        return (0.5 * wide * (wide * -math.sqrt(0.5)).call("math.erfc")).cast(x.dtype)
    u = (x + 0.044715 * (x * x * x)) * (2 * math.sqrt(2 / math.pi))
    return damped(x, u)


def silu(x: Scalar) -> Scalar:
    return damped(x, x)


def _log1p_exp_minus_abs(x: Scalar) -> Scalar:
    return (-absolute(x)).call("math.exp").call("math.log1p")


def mish(x: Scalar) -> Scalar:
    """x*tanh(softplus(x)), with one exp for both branches of tier 0's formula."""
    shift, distance = SHIFTS[x.dtype.itemsize], absolute(x)
    far = distance > 2 * shift
    e = (select(far, constant(shift, x.dtype), 0.0) - distance).call("math.exp")
    near = x * (maximum(x, 0.0) + e.call("math.log1p")).call("math.tanh")
    return select(far & (x < 0), x * e * math.exp(-shift), near)


def softplus(x: Scalar, beta: Parameter = 1, threshold: Parameter = 20) -> Scalar:
    scaled = x * beta
    return select(scaled > threshold, x, scaled.call("math.exp").call("math.log1p") / beta)


def log_sigmoid(x: Scalar) -> Scalar:
    return minimum(x, 0.0) - _log1p_exp_minus_abs(x)


def hardtanh(x: Scalar, min_val: Parameter = -1, max_val: Parameter = 1) -> Scalar:
    if not x.is_float:
        min_val, max_val = (v.cast(dtypes.i64) if isinstance(v, Scalar) else int(v) for v in (min_val, max_val))
    return minimum(maximum(x, min_val), max_val)


def _six_part(x: Scalar) -> Scalar:
    return minimum(maximum(x + 3.0, 0.0), 6.0)


def hardshrink(x: Scalar, lambd: Parameter = 0.5) -> Scalar:
    bound = x.like(lambd)
    return select((x >= -bound) & (x <= bound), constant(0.0, x.dtype), x)


def softshrink(x: Scalar, lambd: Parameter = 0.5) -> Scalar:
    bound = x.like(lambd)
    return select(x > bound, x - bound, select(x < -bound, x + bound, x * 0.0))


def threshold(x: Scalar, threshold: Parameter, value: Parameter) -> Scalar:
    return select(x <= threshold, x.like(value), x)


FORMULAS: dict[str, Formula] = {
    "aten.relu": lambda x: maximum(x, 0),
    "aten.relu6": relu6,
    "aten.leaky_relu": leaky_relu,
    "aten.elu": elu,
    "aten.selu": selu,
    "aten.celu": celu,
    "aten.gelu": gelu,
    "aten.silu": silu,
    "aten.mish": mish,
    "aten.softplus": softplus,
    "aten.log_sigmoid": log_sigmoid,
    "aten.hardtanh": hardtanh,
    "aten.hardsigmoid": lambda x: _six_part(x) / 6.0,
    "aten.hardswish": lambda x: x * _six_part(x) / 6.0,
    "aten.hardshrink": hardshrink,
    "aten.softshrink": softshrink,
    "aten.threshold": threshold,
}
