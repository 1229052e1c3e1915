"""Quotients and remainders. Integers: ZeroDivisionError for a divisor of zero under torch's rules, 0 under NumPy's; the least integer
divided by -1 wraps. d(x/y) = dx/y - x/y^2 dy; a rounded quotient is constant between its jumps, and so is its gradient zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.values import NoneValue, Tensor, Value
from tierup.dialect.ops.pointwise.elementary import refused_gradient
from tierup.dialect.ops.pointwise.elements import ARRAYS, Element, Elements, Parameter
from tierup.dialect.ops.pointwise.elementwise import broadcast, numpy_dtype, pointwise, rule
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import Infer, Kind, Promotion, ShapeError
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.apply import kernel_of
from tierup.dialect.optable.kernels.promotion import Accepts, Gives, Strength, Typing

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_ZERO = "ZeroDivisionError for integers and a zero divisor (NumPy's flavour: 0)"


@pointwise(
    "aten.div.Tensor(Tensor self, Tensor other) -> Tensor", "aten.div.Scalar(Tensor self, Scalar other) -> Tensor",
    promoting=2, gives=Gives.FLOAT, exact_second=True, numpy=np.true_divide, native_complex=True,
)  # fmt: skip
def div(m: Elements, x: Element, y: Element) -> Element:
    """x / y, a float even for integers."""
    return x / y


def _quotient(g: Backward) -> Gradients:
    x, y = g.operands[:2]
    quotient = g.div(g.grad, y)
    return g.sum_to(quotient, "self"), g.sum_to(g.neg(g.div(g.mul(quotient, x), y)), "other")


def _quotient_by_number(g: Backward) -> Gradients:
    return g.div(g.grad, g.number("other"))


div.vjp("Tensor", reads=("self", "other"))(_quotient)
div.vjp("Scalar", reads=("other",))(_quotient_by_number)


# --- rounded -----------------------------------------------------------------------------------------------------------


def _differ_in_sign(m: Elements, remainder: Element, y: Element) -> Element:
    """The remainder is not 0, and its sign is not y's."""
    return m.differ(remainder, 0) & ((y < 0) ^ (remainder < 0))


@pointwise(
    "aten.floor_divide(Tensor self, Tensor other) -> Tensor", "aten.floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
    promoting=2, accepts=Accepts.NOT_BOOL, exact_second=True, numpy=np.floor_divide, form="division", raises=True, note=_ZERO,
)  # fmt: skip
def floor_divide(m: Elements, x: Element, y: Element) -> Element:
    """The floor of x / y. Of floats the quotient of x - fmod(x, y), so that it fits the remainder (c10::div_floor_floating); x / 0 as
    IEEE has it."""
    if not m.is_float(x):
        return m.floor_quotient(x, y)
    remainder = m.fmod(x, y)
    quotient = (x - remainder) / y
    quotient = m.select(_differ_in_sign(m, remainder, y), quotient - 1.0, quotient)
    floored = m.floor(quotient)
    floored = m.select(quotient - floored > 0.5, floored + 1.0, floored)
    signed_zero = m.copysign(m.number(0, x), x / y)
    return m.select(m.equal(y, 0), x / y, m.select(m.differ(quotient, 0), floored, signed_zero))


floor_divide.vjp()(refused_gradient)


# --- by mode: a string that says how the quotient is rounded -----------------------------------------------------------

_TRUNC = Typing("div", promoting=2, accepts=Accepts.NOT_BOOL, exact_second=True)
_trunc = kernel_of(_TRUNC, lambda x, y: trunc_quotient(ARRAYS, x, y))


def trunc_quotient(m: Elements, x: Element, y: Element) -> Element:
    """x / y rounded towards 0."""
    return m.trunc(x / y) if m.is_float(x) else m.trunc_quotient(x, y)


def _infer_mode(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    if ctx.promotion is Promotion.NUMPY:
        return Tensor(numpy_dtype("pointwise.division:div_mode.numpy_tier0", operands), broadcast(ctx, operands[:2]))
    if isinstance(operands[2], NoneValue):
        return div.infer(ctx, operands[:2])  # type: ignore[return-value]  # one result
    mode = read.or_unknown(read.text)(operands[2])
    if mode is None:
        return Tensor(None, broadcast(ctx, operands[:2]))
    if mode not in ("floor", "trunc"):
        raise ShapeError(_no_mode(mode))
    return rule(_TRUNC, None)(ctx, operands)


def _no_mode(mode: str) -> str:
    return f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"


@op(
    "aten.div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    "aten.div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    kind=Kind.POINTWISE, infer=_infer_mode, raises=True, note=_ZERO,
)  # fmt: skip
def div_mode(x: Any, y: Any, rounding_mode: str | None = None) -> np.ndarray:
    """True division, its floor or its integer part. ValueError for another mode."""
    modes: dict[str | None, Callable[..., np.ndarray]] = {None: div.tier0, "floor": floor_divide.tier0, "trunc": _trunc}
    if rounding_mode not in modes:
        raise ValueError(_no_mode(rounding_mode or ""))
    return modes[rounding_mode](x, y)


@div_mode.under_numpy(form="division_mode")
def _(x: Any, y: Any, rounding_mode: str | None = None) -> np.ndarray:
    if rounding_mode not in (None, "floor", "trunc"):
        raise ValueError(_no_mode(rounding_mode))
    if rounding_mode == "floor":
        return np.asarray(np.floor_divide(x, y))
    return np.asarray(np.true_divide(x, y) if rounding_mode is None else np.trunc(np.true_divide(x, y)))


div_mode.vjp("Tensor_mode", reads=("self", "other"))(lambda g: _quotient(g) if _divides_truly(g) else None)
div_mode.vjp("Scalar_mode", reads=("other",))(lambda g: _quotient_by_number(g) if _divides_truly(g) else None)


def _divides_truly(g: Backward) -> bool:
    return g.is_none("rounding_mode") or not g.text("rounding_mode")


# --- remainders --------------------------------------------------------------------------------------------------------


@pointwise(
    "aten.remainder.Tensor(Tensor self, Tensor other) -> Tensor", "aten.remainder.Scalar(Tensor self, Scalar other) -> Tensor",
    promoting=2, accepts=Accepts.NOT_BOOL, numpy=np.remainder, form="division", raises=True, note=_ZERO,
)  # fmt: skip
def remainder(m: Elements, x: Element, y: Element) -> Element:
    """x - y*floor(x/y), with y's sign."""
    if not m.is_float(x):
        return m.floor_remainder(x, y)
    left = m.fmod(x, y)
    return m.select(_differ_in_sign(m, left, y), left + y, left)


@pointwise(
    "aten.fmod.Tensor(Tensor self, Tensor other) -> Tensor", "aten.fmod.Scalar(Tensor self, Scalar other) -> Tensor",
    promoting=2, accepts=Accepts.NOT_BOOL, numpy=np.fmod, form="division", raises=True, note=_ZERO,
)  # fmt: skip
def fmod(m: Elements, x: Element, y: Element) -> Element:
    """x - y*trunc(x/y), with x's sign."""
    return m.fmod(x, y)


def _gradient(g: Backward, quotient: Callable[[ir.Value, ir.Value], ir.Value]) -> Gradients:
    """r = x - q y with a q that is constant between its jumps."""
    if not g.wants("other"):
        return g.sum_to(g.grad, "self"), None
    x, y = g.promoted("self"), g.promoted("other")
    if g.tensor(y).dtype is None:
        y = g.sub(y, 0.0)  # floats, where a path has ints: by 0 they have no quotient
    return g.sum_to(g.grad, "self"), g.sum_to(g.neg(g.mul(g.grad, quotient(x, y))), "other")


remainder.vjp("Tensor", reads=("self", "other"))(lambda g: _gradient(g, lambda x, y: g.call("aten.floor_divide", x, y)))

fmod.vjp("Tensor", reads=("self", "other"))(lambda g: _gradient(g, lambda x, y: g.call("aten.trunc", g.div(x, y))))


@remainder.vjp("Scalar")
@fmod.vjp("Scalar")
def _(g: Backward) -> Gradients:
    return g.grad


# --- a quotient added --------------------------------------------------------------------------------------------------


def _no_integer_quotient(operands: tuple[tuple[DType, Strength], ...]) -> str | None:
    integers = all(not d.is_float for d, _ in operands[1:])
    return "integer division with addcdiv is not supported; use div and add" if integers else None


@pointwise(
    "aten.addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    promoting=3, accepts=Accepts.FLOAT, refuse=_no_integer_quotient,
)  # fmt: skip
def addcdiv(m: Elements, x: Element, a: Element, b: Element, value: Parameter = 1) -> Element:
    """x + value*a/b. TypeError when a and b are both integers."""
    return x + a * m.number(value, x) / b


@addcdiv.vjp(reads=("tensor1", "tensor2", "value"))
def _(g: Backward) -> Gradients:
    a, b = g.operands[1:3]
    quotient = g.div(g.mul(g.grad, g.number("value")), b)
    return g.sum_to(g.grad, "self"), g.sum_to(quotient, "tensor1"), g.sum_to(g.neg(g.div(g.mul(quotient, a), b)), "tensor2")
