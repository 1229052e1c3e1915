"""Sums, products, powers, angles, sums with products: of two or three operands, promoted to their common dtype.

In gradients, where operands have other dtypes than the result, the derivative is that at the promoted operands.
d(x^e) = e x^(e-1) dx + x^e log(x) de.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base.dtypes import Category, DType
from tierup.dialect.ops.pointwise.elementary import length, refused_gradient
from tierup.dialect.ops.pointwise.elements import Element, Elements, Parameter
from tierup.dialect.ops.pointwise.elementwise import pointwise
from tierup.dialect.optable.kernels.promotion import Accepts, Gives, Strength

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_Parts = tuple[tuple[DType, Strength], ...]


def _scaled(x: Element, factor: Parameter) -> Element:
    return x if type(factor) is int and factor == 1 else x * factor


# --- sums and products -------------------------------------------------------------------------------------------------


def _add(x: Any, y: Any, alpha: Any = 1) -> Any:
    return np.add(x, y if alpha == 1 else np.multiply(y, alpha))


def _subtract(x: Any, y: Any, alpha: Any = 1) -> Any:
    return np.subtract(x, y if alpha == 1 else np.multiply(y, alpha))


def _no_bools(operands: _Parts) -> str | None:
    bools = any(d.category is Category.BOOL for d, _ in operands)
    return "bool operands are not supported; use logical_xor or logical_not" if bools else None


@pointwise(
    "aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten.add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    promoting=2, scale=2, numpy=_add, form="sum", native_complex=True,
)  # fmt: skip
def add(m: Elements, x: Element, y: Element, alpha: Parameter = 1) -> Element:
    """x + alpha*y. Bools: logical or."""
    return x + _scaled(y, alpha)


add.vjp("Tensor", reads=("alpha",))(lambda g: (g.sum_to(g.grad, "self"), g.sum_to(g.mul(g.grad, g.number("alpha")), "other")))


@pointwise(
    "aten.sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten.sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    promoting=2, scale=2, refuse=_no_bools, numpy=_subtract, form="difference", native_complex=True,
)  # fmt: skip
def sub(m: Elements, x: Element, y: Element, alpha: Parameter = 1) -> Element:
    """x - alpha*y."""
    return x - _scaled(y, alpha)


sub.vjp("Tensor", reads=("alpha",))(lambda g: (g.sum_to(g.grad, "self"), g.sum_to(g.neg(g.mul(g.grad, g.number("alpha"))), "other")))


def _as_it_is(g: Backward) -> ir.Value:
    """A number changes no floating dtype."""
    return g.grad


add.vjp("Scalar")(_as_it_is)
sub.vjp("Scalar")(_as_it_is)


@pointwise(
    "aten.rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    promoting=2, scale=2, refuse=_no_bools, numpy=lambda x, y, alpha=1: _subtract(y, x, alpha), form="difference",
    native_complex=True,
)  # fmt: skip
def rsub(m: Elements, x: Element, y: Element, alpha: Parameter = 1) -> Element:
    """y - alpha*x."""
    return y - _scaled(x, alpha)


rsub.vjp(reads=("alpha",))(lambda g: g.neg(g.mul(g.grad, g.number("alpha"))))


@pointwise(
    "aten.mul.Tensor(Tensor self, Tensor other) -> Tensor", "aten.mul.Scalar(Tensor self, Scalar other) -> Tensor",
    promoting=2, exact_second=True, numpy=np.multiply, native_complex=True,
)  # fmt: skip
def mul(m: Elements, x: Element, y: Element) -> Element:
    """x * y. Bools: logical and."""
    return m.product(x, y)


@mul.under_numpy(form="binary")
def _(*operands: Any) -> np.ndarray:
    """Of NumPy's scalars the operator, which rounds products of complex numbers as its scalars do."""
    x, y = _scalars(*operands)
    return np.asarray(x * y)


@mul.vjp("Tensor", reads=("self", "other"))
def _(g: Backward) -> Gradients:
    x, y = g.operands[:2]
    return g.sum_to(g.mul(g.grad, y), "self"), g.sum_to(g.mul(g.grad, x), "other")


mul.vjp("Scalar", reads=("other",))(lambda g: g.mul(g.grad, g.number("other")))


@pointwise("aten.addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", promoting=3, accepts=Accepts.NOT_BOOL)
def addcmul(m: Elements, x: Element, a: Element, b: Element, value: Parameter = 1) -> Element:
    """x + value*a*b; for integers, torch takes the integer part of value."""
    return x + a * m.number(value, x) * b


@addcmul.vjp(reads=("tensor1", "tensor2", "value"))
def _(g: Backward) -> Gradients:
    a, b = g.operands[1:3]
    scaled = g.mul(g.grad, g.number("value"))
    return g.sum_to(g.grad, "self"), g.sum_to(g.mul(scaled, b), "tensor1"), g.sum_to(g.mul(scaled, a), "tensor2")


@pointwise(
    "aten.lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    "aten.lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    promoting=2, shaped=3, accepts=Accepts.FLOAT, same=True,
)  # fmt: skip
def lerp(m: Elements, start: Element, end: Element, weight: Element) -> Element:
    """start + weight*(end - start), from the nearer end (ATen/native/Lerp.h)."""
    return m.select(m.absolute(weight) < 0.5, start + weight * (end - start), end - (end - start) * (1.0 - weight))


@lerp.vjp("Scalar", reads=("weight",))
def _(g: Backward) -> Gradients:
    weight: Any = g.number("weight")
    if g.is_known("weight"):
        rest = 1 - weight
    else:
        weight = g.call("aten.scalar_tensor", weight, g.dtype(g.grad), None, None, None)
        rest = g.rsub(1, weight)
    return g.sum_to(g.mul(g.grad, rest), "self"), g.sum_to(g.mul(g.grad, weight), "end")


@lerp.vjp("Tensor", reads=("self", "end", "weight"))
def _(g: Backward) -> Gradients:
    start, end, weight = g.operands[:3]
    return (
        g.sum_to(g.mul(g.grad, g.rsub(1, weight)), "self"),
        g.sum_to(g.mul(g.grad, weight), "end"),
        g.sum_to(g.mul(g.grad, g.sub(end, start)), "weight"),
    )


# --- powers ------------------------------------------------------------------------------------------------------------


def _power(x: Any, y: Any) -> Any:
    """The operator, not np.power: NumPy's ** takes shortcuts for exponents such as 2 and 0.5."""
    x, y = _scalars(x, y)
    return x**y


def _scalars(*operands: Any) -> Sequence[Any]:
    """Operands as NumPy's scalars where they are that and complex: their operators round otherwise than those of arrays."""
    is_scalar = all(not isinstance(v, np.ndarray) or not v.ndim for v in operands)
    if not is_scalar or not any(isinstance(v, np.ndarray) and v.dtype.kind == "c" for v in operands):
        return operands
    return [v[()] if isinstance(v, np.ndarray) else v for v in operands]


_NEGATIVE_POWER = "integers with a negative exponent: 0, or +-1 for base +-1 (NumPy's flavour: ValueError)"
_SPECIAL_POWERS: dict[float, Callable[[Elements, Element], Element]] = {
    0.5: lambda m, x: m.sqrt(x),
    2.0: lambda m, x: x * x,
    3.0: lambda m, x: x * x * x,
    -0.5: lambda m, x: 1.0 / m.sqrt(x),
    -1.0: lambda m, x: 1.0 / x,
    -2.0: lambda m, x: 1.0 / (x * x),
}  # ATen/native/cpu/PowKernel.cpp: pow_tensor_scalar_optimized_kernel


@pointwise(
    "aten.pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", promoting=2, accepts=Accepts.NOT_BOOL, numpy=_power, form="power",
    raises=True, note=_NEGATIVE_POWER,
)  # fmt: skip
def pow_tensor(m: Elements, x: Element, y: Element) -> Element:
    """Powers of integers wrap."""
    return m.power(x, y) if m.is_float(x) else m.integer_power(x, y)


@pow_tensor.vjp(reads=("self", "exponent", "result"))
def _(g: Backward) -> Gradients:
    x, exponent = g.promoted("self"), g.promoted("exponent")
    return (
        g.sum_to(_of_base(g, x, exponent), "self") if g.wants("self") else None,
        g.sum_to(_of_exponent(g, x, exponent), "exponent") if g.wants("exponent") else None,
    )


def _of_base(g: Backward, x: ir.Value, exponent: ir.Value) -> ir.Value:
    """Zero where the exponent is, also at x = 0, where x^(exponent-1) is not finite."""
    slope = g.mul(g.call("aten.pow.Tensor_Tensor", x, g.sub(exponent, 1)), exponent)
    return g.mul(g.grad, g.where(g.compare("eq", exponent, 0), 0.0, slope))


def _of_exponent(g: Backward, x: ir.Value, exponent: ir.Value) -> ir.Value:
    """Zero at x = 0 for exponents from 0 on, where log(x) is not finite."""
    flat = g.call("aten.logical_and", g.compare("eq", x, 0), g.compare("ge", exponent, 0))
    return g.mul(g.grad, g.where(flat, 0.0, g.mul(g.results[0], g.call("aten.log", x))))


def _no_negative_powers_of_integers(operands: Sequence[Any], dtype: DType | None) -> None:
    if dtype is not None and not dtype.is_float and isinstance(operands[1], (int, float)) and operands[1] < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")


@pointwise(
    "aten.pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", promoting=2, check=_no_negative_powers_of_integers, as_it_came=1,
    numpy=_power, form="power", note="0.5 is sqrt: NaN for -inf, -0.0 for -0.0", native_complex=True,
)  # fmt: skip
def pow_scalar(m: Elements, x: Element, exponent: Element, as_it_came: Parameter) -> Element:
    """As in torch, exponent 0.5 is sqrt and integers refuse negative exponents."""
    if m.is_bool(x):
        return x | ~exponent
    known = float(as_it_came) if m.is_number(as_it_came) else None
    if m.is_complex(x):  # by 2, all that numpy_rules lets through
        return m.product(x, x)
    if not m.is_float(x):
        return m.integer_power(x, exponent) if known is None else m.whole_power(x, int(as_it_came))
    if known in _SPECIAL_POWERS:
        return _SPECIAL_POWERS[known](m, x)
    general = m.power(x, exponent)
    if known is None:
        for value, formula in _SPECIAL_POWERS.items():
            general = m.select(m.equal(exponent, value), formula(m, x), general)
    return general


@pow_scalar.vjp(reads=("self", "exponent"))
def _(g: Backward) -> Gradients:
    exponent: Any = g.number("exponent")
    x = g.operands[0]
    if not g.is_known("exponent"):
        return g.cast_to(_of_base(g, x, g.call("aten.scalar_tensor", exponent, g.dtype(x), None, None, None)), "self")
    if exponent == 0:
        return g.zeros("self")
    if exponent == 1:
        return g.grad
    power = x if exponent == 2 else g.call("aten.pow.Tensor_Scalar", x, exponent - 1)
    return g.mul(g.grad, g.mul(power, exponent))


@pointwise(
    "aten.pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    promoting=2,
    accepts=Accepts.NOT_BOOL,
    numpy=_power,
    form="power",
    raises=True,
    note=_NEGATIVE_POWER,
)
def pow_base(m: Elements, base: Element, y: Element) -> Element:
    """A number to the power of each element."""
    if not m.is_float(y):
        return m.integer_power(base, y)
    return m.select(m.equal(base, 1), m.number(1, y), m.power(base, y))


@pow_base.vjp(reads=("self", "exponent", "result"))
def _(g: Backward) -> Gradients:
    exponent = g.operands[1]
    base = g.call("aten.scalar_tensor", g.number("self"), g.dtype(exponent), None, None, None)
    return None, g.cast_to(_of_exponent(g, base, exponent), "exponent")


# --- angles, signs, logarithms -----------------------------------------------------------------------------------------


@pointwise("aten.atan2(Tensor self, Tensor other) -> Tensor", promoting=2, gives=Gives.FLOAT, numpy=np.arctan2)
def atan2(m: Elements, y: Element, x: Element) -> Element:
    """The angle of (x, y)."""
    return m.atan2(y, x)


@atan2.vjp(reads=("self", "other"))
def _(g: Backward) -> Gradients:
    """Zero at the origin."""
    y, x = g.promoted("self"), g.promoted("other")
    norm = g.add(g.mul(y, y), g.mul(x, x))
    scaled = g.div(g.grad, g.where(g.compare("eq", norm, 0), 1.0, norm))
    return g.sum_to(g.mul(scaled, x), "self"), g.sum_to(g.neg(g.mul(scaled, y)), "other")


@pointwise("aten.hypot(Tensor self, Tensor other) -> Tensor", promoting=2, accepts=Accepts.FLOAT, numpy=np.hypot)
def hypot(m: Elements, x: Element, y: Element) -> Element:
    """sqrt(x**2 + y**2), which overflows only where the result does; infinite where an operand is, also beside NaN."""
    return length(m, x, y)


@hypot.vjp(reads=("self", "other", "result"))
def _(g: Backward) -> Gradients:
    """x / hypot(x, y), NaN at the origin, as in PyTorch."""
    scaled = g.div(g.grad, g.results[0])
    return g.sum_to(g.mul(scaled, g.promoted("self")), "self"), g.sum_to(g.mul(scaled, g.promoted("other")), "other")


@pointwise("aten.copysign.Tensor(Tensor self, Tensor other) -> Tensor", promoting=2, gives=Gives.FLOAT, numpy=np.copysign, exact=True)
def copysign(m: Elements, x: Element, y: Element) -> Element:
    """|x| with y's sign."""
    return m.copysign(x, y)


@copysign.vjp(reads=("self", "result"))
def _(g: Backward) -> Gradients:
    """Zero at zero; of the second operand only the sign is taken."""
    x = g.operands[0]
    turned = g.call("aten.logical_xor", g.call("aten.signbit", x), g.call("aten.signbit", g.results[0]))
    return g.sum_to(g.where(g.compare("eq", x, 0), 0.0, g.where(turned, g.neg(g.grad), g.grad)), "self")


@pointwise(
    "tierup.gcd(Tensor self, Tensor other) -> Tensor", promoting=2, accepts=Accepts.INTEGER, numpy=np.gcd, exact=True, on_device=False,
    no_gradient="of ints",
)  # fmt: skip
def gcd(m: Elements, x: Element, y: Element) -> Element:
    """The greatest number that divides both."""
    return m.gcd(x, y)


@pointwise(
    "tierup.lcm(Tensor self, Tensor other) -> Tensor", promoting=2, accepts=Accepts.INTEGER, numpy=np.lcm, exact=True, on_device=False,
    no_gradient="of ints",
)  # fmt: skip
def lcm(m: Elements, x: Element, y: Element) -> Element:
    """The least number that both divide; it wraps."""
    common = m.gcd(x, y)
    of_one = m.select(m.equal(common, m.number(0, x)), m.number(1, x), common)
    return m.trunc_quotient(m.absolute(x), of_one) * m.absolute(y)


@pointwise("aten.heaviside(Tensor self, Tensor values) -> Tensor", promoting=2, same=True, numpy=np.heaviside, form="heaviside", exact=True)
def heaviside(m: Elements, x: Element, values: Element) -> Element:
    """0 below zero and for NaN, `values` at zero, 1 above. PyTorch refuses its gradient, which is zero."""
    return m.select(m.equal(x, 0), values, m.cast(x > 0, m.dtype(x)))


heaviside.vjp()(refused_gradient)


@pointwise("aten.xlogy.Tensor(Tensor self, Tensor other) -> Tensor", promoting=2, gives=Gives.FLOAT)
def xlogy(m: Elements, x: Element, y: Element) -> Element:
    """x*log(y); 0 where x is 0 and y is not NaN."""
    return m.select(m.is_nan(y), y, m.select(m.equal(x, 0), m.number(0, x), x * m.log(y)))


@xlogy.vjp(reads=("self", "other"))
def _(g: Backward) -> Gradients:
    """Zero for x = 0 where log(y) is not finite."""
    x, y = g.operands[0], g.promoted("other")
    flat = g.call("aten.logical_and", g.compare("eq", x, 0), g.compare("le", y, 0))
    slope = g.call("aten.log", g.where(flat, 1.0, y))
    return g.sum_to(g.mul(g.grad, slope), "self"), g.sum_to(g.div(g.mul(g.grad, x), y), "other")


@pointwise("aten.logaddexp(Tensor self, Tensor other) -> Tensor", promoting=2, accepts=Accepts.FLOAT, numpy=np.logaddexp)
def logaddexp(m: Elements, x: Element, y: Element) -> Element:
    """log(exp(x) + exp(y))."""
    return m.logaddexp(x, y)


logaddexp.vjp(reads=("self", "other"))(lambda g: _shares(g, 1))


@pointwise("aten.logaddexp2(Tensor self, Tensor other) -> Tensor", promoting=2, accepts=Accepts.FLOAT, numpy=np.logaddexp2)
def logaddexp2(m: Elements, x: Element, y: Element) -> Element:
    """log2(2**x + 2**y)."""
    return m.logaddexp2(x, y)


logaddexp2.vjp(reads=("self", "other"))(lambda g: _shares(g, math.log(2)))


def _shares(g: Backward, scale: float) -> Gradients:
    """e^(s x) / (e^(s x) + e^(s y)) is a sigmoid."""
    difference = g.mul(g.sub(g.promoted("self"), g.promoted("other")), scale)
    x_share, y_share = g.call("aten.sigmoid", difference), g.call("aten.sigmoid", g.neg(difference))
    return g.sum_to(g.mul(g.grad, x_share), "self"), g.sum_to(g.mul(g.grad, y_share), "other")
