"""Activation functions. Formulas are the derivatives of those in kernels/activations.py; at kinks PyTorch's choice (docs/gradients.md).

A smooth part is computed of an argument that is bounded where another part is chosen: 0 times an infinite derivative is NaN.
"""

from __future__ import annotations

import math

from tierup.dialect.gradients.core import Backward, Gradients, NoGradient, Rules
from tierup.dialect.gradients.emitter import Operand
from tierup.dialect.ir.rewriting import str_of, under_casts
from tierup.dialect.mlir import ir

RULES = Rules()

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


# --- in pieces ---------------------------------------------------------------------------------------------------------


@RULES.vjp("aten.leaky_relu(self, negative_slope)", captures=("self", "negative_slope"))
def leaky_relu(g: Backward) -> Gradients:
    """The slope at zero is the negative one."""
    return g.where(g.compare("gt", g.operands[0], 0), g.grad, g.mul(g.grad, g.number(1)))


@RULES.vjp("aten.prelu(self, weight)", captures=("self", "weight"))
def prelu(g: Backward) -> Gradients:
    """As leaky_relu. Weights run along dim 1: that is the last one while they are multiplied."""
    x, weight = g.operands[:2]
    channels = _has_channels(g)

    def swapped(value: ir.Value) -> ir.Value:
        return g.choose(channels, lambda: g.call("aten.transpose.int", value, 1, -1), lambda: value)

    inner, grad = swapped(x), swapped(g.grad)
    positive = g.compare("gt", inner, 0)
    return swapped(g.where(positive, grad, g.mul(grad, weight))), g.sum_to(g.where(positive, 0.0, g.mul(grad, inner)), 1)


def _has_channels(g: Backward) -> bool | ir.Value:
    rank = g.rank(0)
    if rank is not None:
        return rank >= 2
    return g.call("aten.ge.int", g.call("aten.dim", g.like(0), type_="!torch.int"), 2, type_="!torch.bool")


@RULES.vjp("aten.threshold(self, threshold, value)", captures=("self", "threshold"))
def threshold(g: Backward) -> Gradients:
    return g.where(g.compare("le", g.operands[0], g.number(1)), 0.0, g.grad)


@RULES.vjp("aten.hardtanh(self, min_val, max_val)", captures=("self", "min_val", "max_val"))
def hardtanh(g: Backward) -> Gradients:
    return _inside(g, g.number(1), g.number(2))


@RULES.vjp("aten.relu6(self)", captures=("self",))
def relu6(g: Backward) -> Gradients:
    return _inside(g, 0, 6)


def _inside(g: Backward, low: Operand, high: Operand) -> ir.Value:
    """The gradient strictly between two bounds, zero on them."""
    x = g.operands[0]
    return g.where(g.call("aten.logical_or", g.compare("le", x, low), g.compare("ge", x, high)), 0.0, g.grad)


@RULES.vjp("aten.hardshrink(self, lambd)", "aten.softshrink(self, lambd)", captures=("self", "lambd"))
def shrink(g: Backward) -> Gradients:
    return g.where(g.compare("le", g.call("aten.abs", g.operands[0]), g.number(1)), 0.0, g.grad)


@RULES.vjp("aten.hardsigmoid(self)", captures=("self",))
def hardsigmoid(g: Backward) -> Gradients:
    x = g.operands[0]
    inside = g.call("aten.logical_and", g.compare("gt", x, -3), g.compare("lt", x, 3))
    return g.where(inside, g.div(g.grad, 6), 0.0)


@RULES.vjp("aten.hardswish(self)", captures=("self",))
def hardswish(g: Backward) -> Gradients:
    """Zero at -3, one at 3."""
    x = g.operands[0]
    middle = g.mul(g.grad, g.add(g.div(x, 3), 0.5))
    return g.where(g.compare("le", x, -3), 0.0, g.where(g.compare("lt", x, 3), middle, g.grad))


# --- exponential below zero --------------------------------------------------------------------------------------------


@RULES.vjp("aten.elu(self, alpha, scale, input_scale)", captures=("self", "alpha", "scale", "input_scale"))
def elu(g: Backward) -> Gradients:
    scale, input_scale = g.number(2), g.number(3)
    below = g.mul(g.mul(_exp_below_zero(g, input_scale), g.number(1)), input_scale)
    return g.mul(g.mul(g.grad, scale), _one_above_zero(g, below))


@RULES.vjp("aten.selu(self)", captures=("self",))
def selu(g: Backward) -> Gradients:
    return g.mul(g.grad, g.mul(_one_above_zero(g, g.mul(_exp_below_zero(g, 1), _SELU_ALPHA)), _SELU_SCALE))


@RULES.vjp("aten.celu(self, alpha)", captures=("self", "alpha"))
def celu(g: Backward) -> Gradients:
    return g.mul(g.grad, _one_above_zero(g, g.call("aten.exp", g.div(_below_zero(g), g.number(1)))))


def _below_zero(g: Backward) -> ir.Value:
    x = g.operands[0]
    return g.where(g.compare("lt", x, 0), x, 0.0)


def _exp_below_zero(g: Backward, scale: Operand) -> ir.Value:
    return g.call("aten.exp", g.mul(_below_zero(g), scale))


def _one_above_zero(g: Backward, below: ir.Value) -> ir.Value:
    """At zero the slope from below."""
    return g.where(g.compare("le", g.operands[0], 0), below, 1.0)


# --- sigmoids ----------------------------------------------------------------------------------------------------------


@RULES.vjp("aten.silu(self)", captures=("self",))
def silu(g: Backward) -> Gradients:
    x = g.operands[0]
    return g.mul(g.grad, _damped(g, x, x, None))


@RULES.vjp("aten.gelu(self, approximate)", captures=("self",))
def gelu(g: Backward) -> Gradients:
    x = g.operands[0]
    kind = str_of(under_casts(g.like(1)))
    if kind == "tanh":  # x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3); beyond 30 all is 0 or 1, and x^3 no number of every dtype
        scale, x = 2 * math.sqrt(2 / math.pi), g.call("aten.clamp", x, -30, 30)
        square = g.mul(x, x)
        exponent = g.mul(g.mul(g.add(g.mul(square, 0.044715), 1), x), scale)
        return g.mul(g.grad, _damped(g, x, exponent, g.mul(g.add(g.mul(square, 3 * 0.044715), 1), scale)))
    if kind != "none":
        raise NoGradient("its operand 'approximate' is not a constant: write it as a string, 'none' or 'tanh'")
    normal = g.mul(g.add(g.call("aten.erf", g.mul(x, math.sqrt(0.5))), 1), 0.5)
    density = g.mul(g.call("aten.exp", g.mul(g.mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
    return g.mul(g.grad, g.add(normal, g.mul(x, density)))


def _damped(g: Backward, x: ir.Value, exponent: ir.Value, slope: ir.Value | None) -> ir.Value:
    """The derivative of x sigmoid(e), where that of e is `slope`; None: 1."""
    s = g.call("aten.sigmoid", exponent)
    bend = g.mul(x, g.mul(s, g.rsub(1, s)))
    return g.add(s, bend if slope is None else g.mul(bend, slope))


@RULES.vjp("aten.mish(self)", captures=("self",))
def mish(g: Backward) -> Gradients:
    x = g.operands[0]
    t = g.call("aten.tanh", g.call("aten.softplus", x, 1, 20))
    bend = g.mul(g.mul(x, g.call("aten.sigmoid", x)), g.rsub(1, g.mul(t, t)))
    return g.mul(g.grad, g.add(t, bend))


@RULES.vjp("aten.softplus(self, beta, threshold)", captures=("self", "beta", "threshold"))
def softplus(g: Backward) -> Gradients:
    scaled = g.mul(g.operands[0], g.number(1))
    return g.where(g.compare("gt", scaled, g.number(2)), g.grad, g.mul(g.grad, g.call("aten.sigmoid", scaled)))


@RULES.vjp("aten.log_sigmoid(self)", captures=("self",))
def log_sigmoid(g: Backward) -> Gradients:
    return g.mul(g.grad, g.call("aten.sigmoid", g.neg(g.operands[0])))
