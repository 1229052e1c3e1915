"""Functions of one number. What is captured is the result where the derivative is a function of it, as in PyTorch."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules

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
