"""Functions of two or three tensors: angles, remainders, logarithms of sums, interpolation, sums with products.

Where operands have other dtypes than the result, the derivative is that at the promoted operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tierup.dialect.gradients.arithmetic import div
from tierup.dialect.gradients.core import Backward, Gradients, NoGradient, Rules
from tierup.dialect.ir.rewriting import str_of, under_casts
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.atan2(self, other)", captures=("self", "other"))
def atan2(g: Backward) -> Gradients:
    """Zero at the origin."""
    y, x = g.promoted(0), g.promoted(1)
    norm = g.add(g.mul(y, y), g.mul(x, x))
    scaled = g.div(g.grad, g.where(g.compare("eq", norm, 0), 1.0, norm))
    return g.sum_to(g.mul(scaled, x), 0), g.sum_to(g.neg(g.mul(scaled, y)), 1)


@RULES.vjp("aten.logaddexp(self, other)", captures=("self", "other"))
def logaddexp(g: Backward) -> Gradients:
    return _shares(g, 1)


@RULES.vjp("aten.logaddexp2(self, other)", captures=("self", "other"))
def logaddexp2(g: Backward) -> Gradients:
    return _shares(g, math.log(2))


def _shares(g: Backward, scale: float) -> Gradients:
    """e^(s x) / (e^(s x) + e^(s y)) is a sigmoid."""
    difference = g.mul(g.sub(g.promoted(0), g.promoted(1)), scale)
    x_share, y_share = g.call("aten.sigmoid", difference), g.call("aten.sigmoid", g.neg(difference))
    return g.sum_to(g.mul(g.grad, x_share), 0), g.sum_to(g.mul(g.grad, y_share), 1)


@RULES.vjp("aten.xlogy.Tensor(self, other)", captures=("self", "other"))
def xlogy(g: Backward) -> Gradients:
    """Zero for x = 0 where log(y) is not finite."""
    x, y = g.operands[0], g.promoted(1)
    flat = g.call("aten.logical_and", g.compare("eq", x, 0), g.compare("le", y, 0))
    slope = g.call("aten.log", g.where(flat, 1.0, y))
    return g.sum_to(g.mul(g.grad, slope), 0), g.sum_to(g.div(g.mul(g.grad, x), y), 1)


# --- division with a remainder -----------------------------------------------------------------------------------------


@RULES.vjp("aten.fmod.Scalar(self, other)", "aten.remainder.Scalar(self, other)")
def remainder_of_number(g: Backward) -> Gradients:
    return g.grad


@RULES.vjp("aten.fmod.Tensor(self, other)", captures=("self", "other"))
def fmod(g: Backward) -> Gradients:
    return _remainder(g, lambda x, y: g.call("aten.trunc", g.div(x, y)))


@RULES.vjp("aten.remainder.Tensor(self, other)", captures=("self", "other"))
def remainder(g: Backward) -> Gradients:
    return _remainder(g, lambda x, y: g.call("aten.floor_divide", x, y))


def _remainder(g: Backward, quotient: Callable[[ir.Value, ir.Value], ir.Value]) -> Gradients:
    """r = x - q y with a q that is constant between its jumps."""
    if not g.wants(1):
        return g.sum_to(g.grad, 0), None
    x, y = g.promoted(0), g.promoted(1)
    if g.tensor(y).dtype is None:
        y = g.sub(y, 0.0)  # floats, where a path has ints: by 0 they have no quotient
    return g.sum_to(g.grad, 0), g.sum_to(g.neg(g.mul(g.grad, quotient(x, y))), 1)


@RULES.vjp("aten.div.Tensor_mode(self, other, rounding_mode)", captures=("self", "other"))
def div_mode(g: Backward) -> Gradients:
    return div(g) if _divides_truly(g) else None


@RULES.vjp("aten.div.Scalar_mode(self, other, rounding_mode)", captures=("other",))
def div_mode_number(g: Backward) -> Gradients:
    return g.div(g.grad, g.number(1)) if _divides_truly(g) else None


def _divides_truly(g: Backward) -> bool:
    """Else the quotient is rounded, and its gradient zero."""
    if g.is_none(2):
        return True
    if str_of(under_casts(g.like(2))) is None:
        raise NoGradient("its operand 'rounding_mode' is not a constant: write it as a string")
    return False


# --- interpolation, sums with products ---------------------------------------------------------------------------------


@RULES.vjp("aten.lerp.Scalar(self, end, weight)", captures=("weight",))
def lerp_number(g: Backward) -> Gradients:
    weight = g.number(2)
    if isinstance(weight, ir.Value):
        weight = g.call("aten.scalar_tensor", weight, g.dtype(g.grad), None, None, None)
        rest: ir.Value | float = g.rsub(1, weight)
    else:
        rest = 1 - weight
    return g.sum_to(g.mul(g.grad, rest), 0), g.sum_to(g.mul(g.grad, weight), 1)


@RULES.vjp("aten.lerp.Tensor(self, end, weight)", captures=("self", "end", "weight"))
def lerp(g: Backward) -> Gradients:
    start, end, weight = g.operands[:3]
    return (
        g.sum_to(g.mul(g.grad, g.rsub(1, weight)), 0),
        g.sum_to(g.mul(g.grad, weight), 1),
        g.sum_to(g.mul(g.grad, g.sub(end, start)), 2),
    )


@RULES.vjp("aten.addcmul(self, tensor1, tensor2, value)", captures=("tensor1", "tensor2", "value"))
def addcmul(g: Backward) -> Gradients:
    a, b = g.operands[1:3]
    scaled = g.mul(g.grad, g.number(3))
    return g.sum_to(g.grad, 0), g.sum_to(g.mul(scaled, b), 1), g.sum_to(g.mul(scaled, a), 2)


@RULES.vjp("aten.addcdiv(self, tensor1, tensor2, value)", captures=("tensor1", "tensor2", "value"))
def addcdiv(g: Backward) -> Gradients:
    a, b = g.operands[1:3]
    quotient = g.div(g.mul(g.grad, g.number(3)), b)
    return g.sum_to(g.grad, 0), g.sum_to(quotient, 1), g.sum_to(g.neg(g.div(g.mul(quotient, a), b)), 2)


@RULES.vjp("aten.copysign.Tensor(self, other)", captures=("self", "result"))
def copysign(g: Backward) -> Gradients:
    """Zero at zero; of the second operand only the sign is taken."""
    x = g.operands[0]
    turned = g.call("aten.logical_xor", g.call("aten.signbit", x), g.call("aten.signbit", g.results[0]))
    return g.sum_to(g.where(g.compare("eq", x, 0), 0.0, g.where(turned, g.neg(g.grad), g.grad)), 0)
