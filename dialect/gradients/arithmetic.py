"""Sums, products, quotients, powers. Formulas: d(x/y) = dx/y - x/y^2 dy; d(x^e) = e x^(e-1) dx + x^e log(x) de."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.add.Tensor(self, other, alpha)", captures=("alpha",))
def add(g: Backward) -> Gradients:
    return g.sum_to(g.grad, 0), g.sum_to(g.mul(g.grad, g.number(2)), 1)


@RULES.vjp("aten.sub.Tensor(self, other, alpha)", captures=("alpha",))
def sub(g: Backward) -> Gradients:
    return g.sum_to(g.grad, 0), g.sum_to(g.neg(g.mul(g.grad, g.number(2))), 1)


@RULES.vjp("aten.add.Scalar(self, other, alpha)", "aten.sub.Scalar(self, other, alpha)")
def add_scalar(g: Backward) -> Gradients:
    """A number changes no floating dtype."""
    return g.grad


@RULES.vjp("aten.rsub.Scalar(self, other, alpha)", captures=("alpha",))
def rsub_scalar(g: Backward) -> Gradients:
    return g.neg(g.mul(g.grad, g.number(2)))


@RULES.vjp("aten.neg(self)")
def neg(g: Backward) -> Gradients:
    return g.neg(g.grad)


@RULES.vjp("aten.mul.Tensor(self, other)", captures=("self", "other"))
def mul(g: Backward) -> Gradients:
    x, y = g.operands[:2]
    return g.sum_to(g.mul(g.grad, y), 0), g.sum_to(g.mul(g.grad, x), 1)


@RULES.vjp("aten.mul.Scalar(self, other)", captures=("other",))
def mul_scalar(g: Backward) -> Gradients:
    return g.mul(g.grad, g.number(1))


@RULES.vjp("aten.div.Tensor(self, other)", captures=("self", "other"))
def div(g: Backward) -> Gradients:
    x, y = g.operands[:2]
    quotient = g.div(g.grad, y)
    return g.sum_to(quotient, 0), g.sum_to(g.neg(g.div(g.mul(quotient, x), y)), 1)


@RULES.vjp("aten.div.Scalar(self, other)", captures=("other",))
def div_scalar(g: Backward) -> Gradients:
    return g.div(g.grad, g.number(1))


@RULES.vjp("aten.pow.Tensor_Scalar(self, exponent)", captures=("self", "exponent"))
def pow_number(g: Backward) -> Gradients:
    exponent = g.number(1)
    if isinstance(exponent, ir.Value):  # a number that the run knows
        return g.cast_to(_of_base(g, g.operands[0], g.call("aten.scalar_tensor", exponent, g.dtype(g.operands[0]), None, None, None)), 0)
    if exponent == 0:
        return g.zeros(0)
    if exponent == 1:
        return g.grad
    x = g.operands[0]
    power = x if exponent == 2 else g.call("aten.pow.Tensor_Scalar", x, exponent - 1)
    return g.mul(g.grad, g.mul(power, exponent))


@RULES.vjp("aten.pow.Tensor_Tensor(self, exponent)", captures=("self", "exponent", "result"))
def pow_tensor(g: Backward) -> Gradients:
    x, exponent = g.promoted(0), g.promoted(1)
    return (
        g.sum_to(_of_base(g, x, exponent), 0) if g.wants(0) else None,
        g.sum_to(_of_exponent(g, x, exponent), 1) if g.wants(1) else None,
    )


@RULES.vjp("aten.pow.Scalar(self, exponent)", captures=("self", "exponent", "result"))
def pow_of_number(g: Backward) -> Gradients:
    exponent = g.operands[1]
    base = g.call("aten.scalar_tensor", g.number(0), g.dtype(exponent), None, None, None)
    return None, g.cast_to(_of_exponent(g, base, exponent), 1)


def _of_base(g: Backward, x: ir.Value, exponent: ir.Value) -> ir.Value:
    """Zero where the exponent is, also at x = 0, where x^(exponent-1) is not finite."""
    slope = g.mul(g.call("aten.pow.Tensor_Tensor", x, g.sub(exponent, 1)), exponent)
    return g.mul(g.grad, g.where(g.compare("eq", exponent, 0), 0.0, slope))


def _of_exponent(g: Backward, x: ir.Value, exponent: ir.Value) -> ir.Value:
    """Zero at x = 0 for exponents from 0 on, where log(x) is not finite."""
    flat = g.call("aten.logical_and", g.compare("eq", x, 0), g.compare("ge", exponent, 0))
    return g.mul(g.grad, g.where(flat, 0.0, g.mul(g.results[0], g.call("aten.log", x))))
