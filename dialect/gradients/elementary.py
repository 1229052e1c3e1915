"""Functions of one number. What is captured is the result where the derivative is a function of it, as in PyTorch."""

from __future__ import annotations

import math

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.exp(self)", captures=("result",))
def exp(g: Backward) -> Gradients:
    return g.mul(g.grad, g.results[0])


@RULES.vjp("aten.log(self)", captures=("self",))
def log(g: Backward) -> Gradients:
    return g.div(g.grad, g.operands[0])


@RULES.vjp("aten.sqrt(self)", captures=("result",))
def sqrt(g: Backward) -> Gradients:
    return g.div(g.grad, g.mul(g.results[0], 2))


@RULES.vjp("aten.rsqrt(self)", captures=("result",))
def rsqrt(g: Backward) -> Gradients:
    y = g.results[0]
    return g.mul(g.mul(g.grad, g.mul(g.mul(y, y), y)), -0.5)


@RULES.vjp("aten.tanh(self)", captures=("result",))
def tanh(g: Backward) -> Gradients:
    y = g.results[0]
    return g.mul(g.grad, g.rsub(1, g.mul(y, y)))


@RULES.vjp("aten.sigmoid(self)", captures=("result",))
def sigmoid(g: Backward) -> Gradients:
    y = g.results[0]
    return g.mul(g.grad, g.mul(g.rsub(1, y), y))


@RULES.vjp("aten.sin(self)", captures=("self",))
def sin(g: Backward) -> Gradients:
    return g.mul(g.grad, g.call("aten.cos", g.operands[0]))


@RULES.vjp("aten.cos(self)", captures=("self",))
def cos(g: Backward) -> Gradients:
    return g.neg(g.mul(g.grad, g.call("aten.sin", g.operands[0])))


# --- exponentials and logarithms ---------------------------------------------------------------------------------------


@RULES.vjp("aten.exp2(self)", captures=("result",))
def exp2(g: Backward) -> Gradients:
    return g.mul(g.grad, g.mul(g.results[0], math.log(2)))


@RULES.vjp("aten.expm1(self)", "aten.special_expm1(self)", captures=("result",))
def expm1(g: Backward) -> Gradients:
    return g.mul(g.grad, g.add(g.results[0], 1))


@RULES.vjp("aten.log2(self)", captures=("self",))
def log2(g: Backward) -> Gradients:
    return g.div(g.grad, g.mul(g.operands[0], math.log(2)))


@RULES.vjp("aten.log10(self)", captures=("self",))
def log10(g: Backward) -> Gradients:
    return g.div(g.grad, g.mul(g.operands[0], math.log(10)))


@RULES.vjp("aten.log1p(self)", captures=("self",))
def log1p(g: Backward) -> Gradients:
    return g.div(g.grad, g.add(g.operands[0], 1))


@RULES.vjp("aten.logit(self, eps)", captures=("self", "eps"))
def logit(g: Backward) -> Gradients:
    """Outside of [0, 1] NaN; with `eps`, zero outside of [eps, 1 - eps]."""
    x = g.operands[0]
    if g.is_none(1):
        inside = g.call("aten.logical_and", g.compare("ge", x, 0), g.compare("le", x, 1))
        return g.where(inside, g.div(g.grad, g.mul(x, g.rsub(1, x))), math.nan)
    eps = g.number(1)
    inside = g.call("aten.logical_and", g.compare("ge", x, eps), g.compare("ge", g.rsub(1, x), eps))
    x = g.where(inside, x, 0.5)  # so that what is not chosen has no infinite derivative
    return g.where(inside, g.div(g.grad, g.mul(x, g.rsub(1, x))), 0.0)


@RULES.vjp("aten.erf(self)", captures=("self",))
def erf(g: Backward) -> Gradients:
    x = g.operands[0]
    return g.mul(g.grad, g.mul(g.call("aten.exp", g.neg(g.mul(x, x))), 2 / math.sqrt(math.pi)))


# --- trigonometric and hyperbolic functions, and their inverses --------------------------------------------------------


@RULES.vjp("aten.tan(self)", captures=("result",))
def tan(g: Backward) -> Gradients:
    y = g.results[0]
    return g.mul(g.grad, g.add(g.mul(y, y), 1))


@RULES.vjp("aten.sinh(self)", captures=("self",))
def sinh(g: Backward) -> Gradients:
    return g.mul(g.grad, g.call("aten.cosh", g.operands[0]))


@RULES.vjp("aten.cosh(self)", captures=("self",))
def cosh(g: Backward) -> Gradients:
    return g.mul(g.grad, g.call("aten.sinh", g.operands[0]))


@RULES.vjp("aten.asin(self)", captures=("self",))
def asin(g: Backward) -> Gradients:
    return g.mul(g.grad, g.call("aten.rsqrt", g.rsub(1, _square(g))))


@RULES.vjp("aten.acos(self)", captures=("self",))
def acos(g: Backward) -> Gradients:
    return g.neg(g.mul(g.grad, g.call("aten.rsqrt", g.rsub(1, _square(g)))))


@RULES.vjp("aten.atan(self)", captures=("self",))
def atan(g: Backward) -> Gradients:
    return g.div(g.grad, g.add(_square(g), 1))


@RULES.vjp("aten.asinh(self)", captures=("self",))
def asinh(g: Backward) -> Gradients:
    return g.mul(g.grad, g.call("aten.rsqrt", g.add(_square(g), 1)))


@RULES.vjp("aten.acosh(self)", captures=("self",))
def acosh(g: Backward) -> Gradients:
    return g.mul(g.grad, g.call("aten.rsqrt", g.sub(_square(g), 1)))


@RULES.vjp("aten.atanh(self)", captures=("self",))
def atanh(g: Backward) -> Gradients:
    return g.div(g.grad, g.rsub(1, _square(g)))


def _square(g: Backward) -> ir.Value:
    x = g.promoted(0)  # bools have no difference
    return g.mul(x, x)


# --- powers, signs, parts ----------------------------------------------------------------------------------------------


@RULES.vjp("aten.square(self)", captures=("self",))
def square(g: Backward) -> Gradients:
    return g.mul(g.grad, g.mul(g.operands[0], 2))


@RULES.vjp("aten.reciprocal(self)", captures=("result",))
def reciprocal(g: Backward) -> Gradients:
    y = g.results[0]
    return g.neg(g.mul(g.grad, g.mul(y, y)))


@RULES.vjp("aten.abs(self)", "aten.absolute(self)", captures=("self",))
def absolute(g: Backward) -> Gradients:
    """Zero at zero."""
    return g.mul(g.grad, g.call("aten.sgn", g.operands[0]))


@RULES.vjp("aten.frac(self)")
def frac(g: Backward) -> Gradients:
    return g.grad


@RULES.vjp("aten.deg2rad(self)")
def deg2rad(g: Backward) -> Gradients:
    return g.mul(g.grad, math.pi / 180)


@RULES.vjp("aten.rad2deg(self)")
def rad2deg(g: Backward) -> Gradients:
    return g.mul(g.grad, 180 / math.pi)
