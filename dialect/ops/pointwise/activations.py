"""Activation functions, by the formulas of PyTorch's documentation. In gradients, at kinks PyTorch's choice (docs/gradients.md).

Where torch's own CPU code cancels (gelu's 1 + erf(x) and 1 + tanh(u) for negative x), the same function is computed in a form that does
not: the truth is what tiers are compared with. A gradient computes a smooth part of an argument that is bounded where another part is
chosen: 0 times an infinite derivative is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.values import Tensor, Value
from tierup.dialect.ops.pointwise.elements import ARRAYS, Element, Elements, Parameter
from tierup.dialect.ops.pointwise.elementwise import fits, pointwise, torch_dtype
from tierup.dialect.optable.core import Infer, Kind, Layout, ShapeError
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.apply import kernel_of
from tierup.dialect.optable.kernels.promotion import Accepts, Typing

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward
    from tierup.dialect.ops.gradients.emitter import Operand

# --- in pieces ---------------------------------------------------------------------------------------------------------


@pointwise("aten.relu(Tensor self) -> Tensor", accepts=Accepts.NOT_BOOL, exact=True)
def relu(m: Elements, x: Element) -> Element:
    """max(x, 0); NaN stays."""
    return m.maximum(x, 0)


relu.vjp(reads=("result",))(lambda g: g.where(g.compare("gt", g.results[0], 0), g.grad, 0.0))

relu6 = pointwise("aten.relu6(Tensor self) -> Tensor", accepts=Accepts.NOT_BOOL, exact=True)(lambda m, x: m.minimum(m.maximum(x, 0), 6))
relu6.vjp(reads=("self",))(lambda g: _inside(g, 0, 6))


def _inside(g: Backward, low: Operand, high: Operand) -> ir.Value:
    """The gradient strictly between two bounds, zero on them."""
    x = g.operands[0]
    return g.where(g.call("aten.logical_or", g.compare("le", x, low), g.compare("ge", x, high)), 0.0, g.grad)


def _no_negative_limits_of_bytes(operands: Sequence[Any], dtype: DType | None) -> None:
    if dtype is dtypes.u8 and any(isinstance(v, (int, float)) and v < 0 for v in operands[1:3]):
        raise TypeError("cannot do hardtanh on an unsigned type with negative limits")


@pointwise(
    "aten.hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    accepts=Accepts.NOT_BOOL, check=_no_negative_limits_of_bytes, exact=True,
)  # fmt: skip
def hardtanh(m: Elements, x: Element, min_val: Parameter = -1, max_val: Parameter = 1) -> Element:
    """Bounds in x's own dtype."""
    return m.minimum(m.maximum(x, m.number(min_val, x)), m.number(max_val, x))


hardtanh.vjp(reads=("self", "min_val", "max_val"))(lambda g: _inside(g, g.number("min_val"), g.number("max_val")))


@pointwise("aten.hardsigmoid(Tensor self) -> Tensor", accepts=Accepts.FLOAT)
def hardsigmoid(m: Elements, x: Element) -> Element:
    return m.minimum(m.maximum(x + 3.0, 0.0), 6.0) / 6.0


@hardsigmoid.vjp(reads=("self",))
def _(g: Backward) -> ir.Value:
    x = g.operands[0]
    inside = g.call("aten.logical_and", g.compare("gt", x, -3), g.compare("lt", x, 3))
    return g.where(inside, g.div(g.grad, 6), 0.0)


@pointwise("aten.hardswish(Tensor self) -> Tensor", accepts=Accepts.FLOAT)
def hardswish(m: Elements, x: Element) -> Element:
    return x * m.minimum(m.maximum(x + 3.0, 0.0), 6.0) / 6.0


@hardswish.vjp(reads=("self",))
def _(g: Backward) -> ir.Value:
    """Zero at -3, one at 3."""
    x = g.operands[0]
    middle = g.mul(g.grad, g.add(g.div(x, 3), 0.5))
    return g.where(g.compare("le", x, -3), 0.0, g.where(g.compare("lt", x, 3), middle, g.grad))


@pointwise("aten.hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", accepts=Accepts.FLOAT, exact=True)
def hardshrink(m: Elements, x: Element, lambd: Parameter = 0.5) -> Element:
    """0 where -lambd <= x <= lambd, else x."""
    bound = m.number(lambd, x)
    return m.select((x >= -bound) & (x <= bound), m.number(0, x), x)


def _no_negative_lambda(operands: Sequence[Any], dtype: DType | None) -> None:
    if len(operands) > 1 and isinstance(operands[1], (int, float)) and operands[1] < 0:
        raise ValueError(f"lambda must be greater or equal to 0, but found to be {operands[1]}.")


@pointwise("aten.softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", accepts=Accepts.FLOAT, check=_no_negative_lambda)
def softshrink(m: Elements, x: Element, lambd: Parameter = 0.5) -> Element:
    """x moved by lambd towards 0, 0 in between; NaN stays."""
    bound = m.number(lambd, x)
    return m.select(x > bound, x - bound, m.select(x < -bound, x + bound, x * 0.0))


def _shrunk(g: Backward) -> ir.Value:
    return g.where(g.compare("le", g.call("aten.abs", g.operands[0]), g.number("lambd")), 0.0, g.grad)


hardshrink.vjp(reads=("self", "lambd"))(_shrunk)
softshrink.vjp(reads=("self", "lambd"))(_shrunk)


@pointwise("aten.threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", accepts=Accepts.NOT_BOOL, check=fits(1, 2), exact=True)
def threshold(m: Elements, x: Element, threshold: Parameter, value: Parameter) -> Element:
    """x where x > threshold, or NaN, else value; in x's own dtype."""
    return m.select(x <= m.number(threshold, x), m.number(value, x), x)


threshold.vjp(reads=("self", "threshold"))(lambda g: g.where(g.compare("le", g.operands[0], g.number("threshold")), 0.0, g.grad))


@pointwise("aten.leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", accepts=Accepts.FLOAT)
def leaky_relu(m: Elements, x: Element, negative_slope: Parameter = 0.01) -> Element:
    return m.select(x > 0, x, x * m.number(negative_slope, x))


@leaky_relu.vjp(reads=("self", "negative_slope"))
def _(g: Backward) -> ir.Value:
    """The slope at zero is the negative one."""
    return g.where(g.compare("gt", g.operands[0], 0), g.grad, g.mul(g.grad, g.number("negative_slope")))


# --- a weight for each channel -----------------------------------------------------------------------------------------


_PRELU = Typing("prelu", accepts=Accepts.FLOAT, same=True, promoting=2)
_prelu = kernel_of(_PRELU, partial(lambda m, x, weight: m.select(x > 0, x, weight * x), ARRAYS))


def _infer_prelu(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, weight = operands
    dtype = torch_dtype(_PRELU, operands)
    if isinstance(x, Tensor) and isinstance(weight, Tensor) and weight.shape is not None:
        if len(weight.shape) > 1:
            raise ShapeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(weight.shape)}")
        if x.shape is not None and weight.shape and weight.shape[0] != 1:
            if not x.shape:
                raise ShapeError("prelu: Not allow zero-dim input tensor.")
            ctx.equal(weight.shape[0], x.shape[1] if len(x.shape) > 1 else 1, "prelu: weights and channels")
    return Tensor(dtype, x.shape if isinstance(x, Tensor) else None)


@op("aten.prelu(Tensor self, Tensor weight) -> Tensor", kind=Kind.POINTWISE, infer=_infer_prelu, note="weights run along dim 1")
def prelu(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """x where positive, else weight*x; the weights run along dim 1 (dim 0 of a vector).

    ValueError for a weight of rank above 1, or whose length is neither 1 nor the number of channels.
    """
    prelu.checked(x, weight)
    if weight.size != 1:
        weight = weight.reshape((-1,) + (1,) * (x.ndim - 2))
    return _prelu(x, weight.reshape(()) if weight.size == 1 else weight)


@prelu.vjp(reads=("self", "weight"))
def _(g: Backward) -> tuple[ir.Value, ir.Value]:
    """As leaky_relu. Weights run along dim 1: that is the last one while they are multiplied."""
    x, weight = g.operands[:2]
    channels = _has_channels(g)

    def swapped(value: ir.Value) -> ir.Value:
        return g.choose(channels, lambda: g.call("aten.transpose.int", value, 1, -1), lambda: value)

    inner, grad = swapped(x), swapped(g.grad)
    positive = g.compare("gt", inner, 0)
    return swapped(g.where(positive, grad, g.mul(grad, weight))), g.sum_to(g.where(positive, 0.0, g.mul(grad, inner)), "weight")


def _has_channels(g: Backward) -> bool | ir.Value:
    rank = g.rank("self")
    if rank is not None:
        return rank >= 2
    return g.call("aten.ge.int", g.call("aten.dim", g.like("self"), type_="!torch.int"), 2, type_="!torch.bool")


# --- exponential below zero --------------------------------------------------------------------------------------------

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946  # Klambauer et al. 2017


@pointwise("aten.elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", accepts=Accepts.FLOAT)
def elu(m: Elements, x: Element, alpha: Parameter = 1, scale: Parameter = 1, input_scale: Parameter = 1) -> Element:
    """scale*x where positive, else scale*alpha*(exp(input_scale*x) - 1). ATen/native/cpu/Elu.h."""
    below = m.expm1(x * m.number(input_scale, x)) * m.number(alpha * scale, x)
    return m.select(x <= 0, below, x * m.number(scale, x))


@elu.vjp(reads=("self", "alpha", "scale", "input_scale"))
def _(g: Backward) -> ir.Value:
    scale, input_scale = g.number("scale"), g.number("input_scale")
    below = g.mul(g.mul(_exp_below_zero(g, input_scale), g.number("alpha")), input_scale)
    return g.mul(g.mul(g.grad, scale), _one_above_zero(g, below))


selu = pointwise("aten.selu(Tensor self) -> Tensor", accepts=Accepts.FLOAT)(lambda m, x: elu.formula(m, x, _SELU_ALPHA, _SELU_SCALE))
selu.vjp(reads=("self",))(lambda g: g.mul(g.grad, g.mul(_one_above_zero(g, g.mul(_exp_below_zero(g, 1), _SELU_ALPHA)), _SELU_SCALE)))


def _no_alpha_of_zero(operands: Sequence[Any], dtype: DType | None) -> None:
    if len(operands) > 1 and isinstance(operands[1], (int, float)) and operands[1] == 0:
        raise ZeroDivisionError("ZeroDivisionError: alpha cannot be 0 for CELU")


@pointwise("aten.celu(Tensor self, Scalar alpha=1.) -> Tensor", accepts=Accepts.FLOAT, check=_no_alpha_of_zero)
def celu(m: Elements, x: Element, alpha: Parameter = 1.0) -> Element:
    """x where positive, else alpha*(exp(x/alpha) - 1)."""
    return elu.formula(m, x, alpha, 1.0, 1.0 / alpha)


celu.vjp(reads=("self", "alpha"))(lambda g: g.mul(g.grad, _one_above_zero(g, g.call("aten.exp", g.div(_below_zero(g), g.number("alpha"))))))


def _below_zero(g: Backward) -> ir.Value:
    x = g.operands[0]
    return g.where(g.compare("lt", x, 0), x, 0.0)


def _exp_below_zero(g: Backward, scale: Operand) -> ir.Value:
    return g.call("aten.exp", g.mul(_below_zero(g), scale))


def _one_above_zero(g: Backward, below: ir.Value) -> ir.Value:
    """At zero the slope from below."""
    return g.where(g.compare("le", g.operands[0], 0), below, 1.0)


# --- sigmoids ----------------------------------------------------------------------------------------------------------

_SHIFTS = {4: 32.0, 8: 256.0}  # by itemsize: u + shift is exact beyond twice the shift, and 1 + exp(-shift) is 1


def _damped(m: Elements, x: Element, u: Element, near: Callable[[Element], Element] | None = None) -> Element:
    """x * sigmoid(u). Where exp(u) is denormal the product need not be: there exp(u + shift) is taken, and exp(-shift) last. `near`: what
    else it is elsewhere, of exp(-|u|)."""
    shift, distance = _SHIFTS[m.dtype(x).itemsize], m.absolute(u)
    far = distance > 2 * shift
    e = m.exp(m.select(far, m.number(shift, x), 0.0) - distance)
    elsewhere = x * m.select(u < 0, e, m.number(1, x)) / (1.0 + e) if near is None else near(e)
    return m.select(far & (u < 0), x * e * math.exp(-shift), elsewhere)


@pointwise("aten.silu(Tensor self) -> Tensor", accepts=Accepts.FLOAT)
def silu(m: Elements, x: Element) -> Element:
    """x*sigmoid(x)."""
    return _damped(m, x, x)


@silu.vjp(reads=("self",))
def _(g: Backward) -> ir.Value:
    x = g.operands[0]
    return g.mul(g.grad, _damped_slope(g, x, x, None))


def _kind_of_gelu(operands: Sequence[Any], dtype: DType | None) -> None:
    if len(operands) > 1 and isinstance(operands[1], str) and operands[1] not in ("none", "tanh"):
        raise ValueError("approximate argument must be either none or tanh.")


@pointwise(
    'aten.gelu(Tensor self, *, str approximate="none") -> Tensor', accepts=Accepts.FLOAT, check=_kind_of_gelu,
    note="computed without the cancellation that x/2*(1 + erf) has for negative x",
)  # fmt: skip
def gelu(m: Elements, x: Element, approximate: str = "none") -> Element:
    """x*Phi(x), or with approximate="tanh" Hendrycks and Gimpel's x/2*(1 + tanh(u)) = x*sigmoid(2u)."""
    if approximate == "none":
        wide = m.cast(x, dtypes.f64)
        return m.cast(0.5 * wide * m.erfc(wide * -math.sqrt(0.5)), m.dtype(x))
    u = (x + 0.044715 * (x * x * x)) * (2 * math.sqrt(2 / math.pi))
    return _damped(m, x, u)


@gelu.vjp(reads=("self",))
def _(g: Backward) -> ir.Value:
    x = g.operands[0]
    kind = g.text("approximate")
    if kind == "tanh":  # x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3); beyond 30 all is 0 or 1, and x^3 no number of every dtype
        scale, x = 2 * math.sqrt(2 / math.pi), g.call("aten.clamp", x, -30, 30)
        square = g.mul(x, x)
        exponent = g.mul(g.mul(g.add(g.mul(square, 0.044715), 1), x), scale)
        return g.mul(g.grad, _damped_slope(g, x, exponent, g.mul(g.add(g.mul(square, 3 * 0.044715), 1), scale)))
    normal = g.mul(g.add(g.call("aten.erf", g.mul(x, math.sqrt(0.5))), 1), 0.5)
    density = g.mul(g.call("aten.exp", g.mul(g.mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
    return g.mul(g.grad, g.add(normal, g.mul(x, density)))


def _damped_slope(g: Backward, x: ir.Value, exponent: ir.Value, slope: ir.Value | None) -> ir.Value:
    """The derivative of x sigmoid(e), where that of e is `slope`; None: 1."""
    s = g.call("aten.sigmoid", exponent)
    bend = g.mul(x, g.mul(s, g.rsub(1, s)))
    return g.add(s, bend if slope is None else g.mul(bend, slope))


@pointwise("aten.mish(Tensor self) -> Tensor", accepts=Accepts.FLOAT)
def mish(m: Elements, x: Element) -> Element:
    """x*tanh(softplus(x)); far below 0, where that is x*exp(x), as x*sigmoid(x)."""
    return _damped(m, x, x, lambda e: x * m.tanh(m.maximum(x, 0.0) + m.log1p(e)))


@mish.vjp(reads=("self",))
def _(g: Backward) -> ir.Value:
    x = g.operands[0]
    t = g.call("aten.tanh", g.call("aten.softplus", x, 1, 20))
    bend = g.mul(g.mul(x, g.call("aten.sigmoid", x)), g.rsub(1, g.mul(t, t)))
    return g.mul(g.grad, g.add(t, bend))


@pointwise("aten.softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", accepts=Accepts.FLOAT)
def softplus(m: Elements, x: Element, beta: Parameter = 1, threshold: Parameter = 20) -> Element:
    """log(1 + exp(beta*x))/beta; x itself where beta*x > threshold."""
    beta = m.number(beta, x)
    scaled = x * beta
    return m.select(scaled > m.number(threshold, x), x, m.log1p(m.exp(scaled)) / beta)


@softplus.vjp(reads=("self", "beta", "threshold"))
def _(g: Backward) -> ir.Value:
    scaled = g.mul(g.operands[0], g.number("beta"))
    return g.where(g.compare("gt", scaled, g.number("threshold")), g.grad, g.mul(g.grad, g.call("aten.sigmoid", scaled)))


@pointwise("aten.log_sigmoid(Tensor self) -> Tensor", accepts=Accepts.FLOAT, layout=Layout.ROWS)
def log_sigmoid(m: Elements, x: Element) -> Element:
    """min(x, 0) - log(1 + exp(-|x|))."""
    return m.minimum(x, 0.0) - m.log1p(m.exp(-m.absolute(x)))


log_sigmoid.vjp(reads=("self",))(lambda g: g.mul(g.grad, g.call("aten.sigmoid", g.neg(g.operands[0]))))
