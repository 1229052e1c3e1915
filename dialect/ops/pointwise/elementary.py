"""Functions of one element: exponentials, logarithms, trigonometry, signs, rounding. Those that give floats make float32 of integers.

What a gradient keeps is the result where the derivative is a function of it, as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.ops.pointwise.elements import Element, Elements, Formula, Parameter
from tierup.dialect.ops.pointwise.elementwise import PointwiseOp, pointwise
from tierup.dialect.optable.core import GradientRule
from tierup.dialect.optable.kernels.promotion import Accepts, Gives

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward


def zero_gradient(g: Backward) -> ir.Value | None:
    """Of what is constant between its jumps, or overwritten. PyTorch's zeros go on as numbers do: to NaN at an infinite derivative."""
    return g.zeros(0) if g.is_of_pytorch else None


def refused_gradient(g: Backward) -> None:
    """The same, where PyTorch has not implemented it."""
    g.leave_to_pytorch("PyTorch has not implemented it: use torch.div with a rounding mode, or torch.where")


# --- floats of all dtypes: one function of `Elements` ------------------------------------------------------------------


def _of_float(
    *schemas: str, numpy: Callable[..., Any] | None = None, vjp: GradientRule, reads: tuple[str, ...] = ("self",),
    of_complex: Formula | None = None, **fields: Any,
) -> PointwiseOp:  # fmt: skip
    """The function that `Elements` has by the op's name; `of_complex`: of complex numbers, where native code has that, too."""
    name = schemas[0].partition("(")[0].rpartition(".")[2]

    def formula(m: Elements, x: Element) -> Element:
        return of_complex(m, x) if of_complex is not None and m.is_complex(x) else getattr(m, name)(x)

    formula.__name__ = name
    op = pointwise(*schemas, gives=Gives.FLOAT, numpy=numpy, native_complex=of_complex is not None, **fields)(formula)
    op.vjp(reads=reads)(vjp)
    return op


def _square_of(g: Backward) -> ir.Value:
    x = g.promoted("self")  # bools have no difference
    return g.mul(x, x)


def _complex_exp(m: Elements, x: Element) -> Element:
    """e^re (cos im + i sin im), by two factors where e^re alone overflows; where a part is not finite as C99 has it (G.6.3.1)."""
    re, im = m.real(x), m.imag(x)
    is_large = re > (88.0 if m.dtype(re) is dtypes.f32 else 709.0)
    size = m.exp(m.select(is_large, re * 0.5, re))
    rest = m.select(is_large, size, m.number(1, re))
    whole, turned = size * m.cos(im) * rest, m.select(m.equal(im, 0), im, size * m.sin(im) * rest)
    endless = m.equal(m.absolute(re), math.inf) & ~(m.absolute(im) < math.inf)
    vanishes = endless & (re < 0)
    whole = m.select(endless, m.select(vanishes, m.number(0, re), re), whole)
    return m.complex(whole, m.select(vanishes, m.copysign(m.number(0, re), im), turned))


_RESULT = ("result",)

exp = _of_float("aten.exp(Tensor self) -> Tensor", numpy=np.exp, reads=_RESULT, of_complex=_complex_exp,
                vjp=lambda g: g.mul(g.grad, g.results[0]))  # fmt: skip
exp2 = _of_float("aten.exp2(Tensor self) -> Tensor", numpy=np.exp2, reads=_RESULT,
                 vjp=lambda g: g.mul(g.grad, g.mul(g.results[0], math.log(2))))  # fmt: skip
expm1 = _of_float("aten.expm1(Tensor self) -> Tensor", "aten.special_expm1(Tensor self) -> Tensor", numpy=np.expm1, reads=_RESULT,
                  vjp=lambda g: g.mul(g.grad, g.add(g.results[0], 1)))  # fmt: skip
log = _of_float("aten.log(Tensor self) -> Tensor", numpy=np.log, vjp=lambda g: g.div(g.grad, g.operands[0]))
log2 = _of_float("aten.log2(Tensor self) -> Tensor", numpy=np.log2, vjp=lambda g: g.div(g.grad, g.mul(g.operands[0], math.log(2))))
log10 = _of_float("aten.log10(Tensor self) -> Tensor", numpy=np.log10, vjp=lambda g: g.div(g.grad, g.mul(g.operands[0], math.log(10))))
log1p = _of_float("aten.log1p(Tensor self) -> Tensor", numpy=np.log1p, vjp=lambda g: g.div(g.grad, g.add(g.operands[0], 1)))
sqrt = _of_float("aten.sqrt(Tensor self) -> Tensor", numpy=np.sqrt, reads=_RESULT, vjp=lambda g: g.div(g.grad, g.mul(g.results[0], 2)))
cbrt = _of_float("tierup.cbrt(Tensor self) -> Tensor", numpy=np.cbrt, reads=_RESULT,
                 vjp=lambda g: g.div(g.grad, g.mul(g.mul(g.results[0], g.results[0]), 3)))  # fmt: skip
erf = _of_float(
    "aten.erf(Tensor self) -> Tensor",
    vjp=lambda g: g.mul(g.grad, g.mul(g.call("aten.exp", g.neg(g.mul(g.operands[0], g.operands[0]))), 2 / math.sqrt(math.pi))),
)
erfc = _of_float(
    "aten.erfc(Tensor self) -> Tensor",
    vjp=lambda g: g.mul(g.grad, g.mul(g.call("aten.exp", g.neg(g.mul(g.operands[0], g.operands[0]))), -2 / math.sqrt(math.pi))),
)

sin = _of_float("aten.sin(Tensor self) -> Tensor", numpy=np.sin, vjp=lambda g: g.mul(g.grad, g.call("aten.cos", g.operands[0])))
cos = _of_float("aten.cos(Tensor self) -> Tensor", numpy=np.cos, vjp=lambda g: g.neg(g.mul(g.grad, g.call("aten.sin", g.operands[0]))))
tan = _of_float("aten.tan(Tensor self) -> Tensor", numpy=np.tan, reads=_RESULT,
                vjp=lambda g: g.mul(g.grad, g.add(g.mul(g.results[0], g.results[0]), 1)))  # fmt: skip
asin = _of_float("aten.asin(Tensor self) -> Tensor", numpy=np.arcsin,
                 vjp=lambda g: g.mul(g.grad, g.call("aten.rsqrt", g.rsub(1, _square_of(g)))))  # fmt: skip
acos = _of_float("aten.acos(Tensor self) -> Tensor", numpy=np.arccos,
                 vjp=lambda g: g.neg(g.mul(g.grad, g.call("aten.rsqrt", g.rsub(1, _square_of(g))))))  # fmt: skip
atan = _of_float("aten.atan(Tensor self) -> Tensor", numpy=np.arctan, vjp=lambda g: g.div(g.grad, g.add(_square_of(g), 1)))
sinh = _of_float("aten.sinh(Tensor self) -> Tensor", numpy=np.sinh, vjp=lambda g: g.mul(g.grad, g.call("aten.cosh", g.operands[0])))
cosh = _of_float("aten.cosh(Tensor self) -> Tensor", numpy=np.cosh, vjp=lambda g: g.mul(g.grad, g.call("aten.sinh", g.operands[0])))
tanh = _of_float("aten.tanh(Tensor self) -> Tensor", numpy=np.tanh, reads=_RESULT,
                 vjp=lambda g: g.mul(g.grad, g.rsub(1, g.mul(g.results[0], g.results[0]))))  # fmt: skip
asinh = _of_float("aten.asinh(Tensor self) -> Tensor", numpy=np.arcsinh,
                  vjp=lambda g: g.mul(g.grad, g.call("aten.rsqrt", g.add(_square_of(g), 1))))  # fmt: skip
acosh = _of_float("aten.acosh(Tensor self) -> Tensor", numpy=np.arccosh,
                  vjp=lambda g: g.mul(g.grad, g.call("aten.rsqrt", g.sub(_square_of(g), 1))))  # fmt: skip
atanh = _of_float("aten.atanh(Tensor self) -> Tensor", numpy=np.arctanh, vjp=lambda g: g.div(g.grad, g.rsub(1, _square_of(g))))


# --- floats: a few of these --------------------------------------------------------------------------------------------


rsqrt = pointwise("aten.rsqrt(Tensor self) -> Tensor", gives=Gives.FLOAT)(lambda m, x: 1.0 / m.sqrt(x))


@rsqrt.vjp(reads=_RESULT)
def _(g: Backward) -> ir.Value:
    y = g.results[0]
    return g.mul(g.mul(g.grad, g.mul(g.mul(y, y), y)), -0.5)


@pointwise("aten.reciprocal(Tensor self) -> Tensor", gives=Gives.FLOAT, numpy=np.reciprocal, native_complex=True)
def reciprocal(m: Elements, x: Element) -> Element:
    """1/x; of complex numbers by the larger part, as in NumPy's loop."""
    if not m.is_complex(x):
        return 1.0 / x
    re, im = m.real(x), m.imag(x)
    by_real = m.absolute(im) <= m.absolute(re)
    ratio = m.select(by_real, im, re) / m.select(by_real, re, im)
    scale = m.select(by_real, re + im * ratio, re * ratio + im)
    return m.complex(m.select(by_real, m.number(1, re), ratio) / scale, -m.select(by_real, ratio, m.number(1, re)) / scale)


@reciprocal.vjp(reads=_RESULT)
def _(g: Backward) -> ir.Value:
    y = g.results[0]
    return g.neg(g.mul(g.grad, g.mul(y, y)))


def _angle(schema: str, numpy: np.ufunc, factor: float) -> PointwiseOp:
    made = pointwise(schema, gives=Gives.FLOAT, numpy=numpy)(lambda m, x: x * factor)
    made.vjp()(lambda g: g.mul(g.grad, factor))
    return made


deg2rad = _angle("aten.deg2rad(Tensor self) -> Tensor", np.deg2rad, math.pi / 180)
rad2deg = _angle("aten.rad2deg(Tensor self) -> Tensor", np.rad2deg, 180 / math.pi)
# apart from these two, since NumPy gives another dtype of bfloat16: ml_dtypes has no loop for it
radians = _angle("tierup.radians(Tensor self) -> Tensor", np.radians, math.pi / 180)
degrees = _angle("tierup.degrees(Tensor self) -> Tensor", np.degrees, 180 / math.pi)


@pointwise("aten.sigmoid(Tensor self) -> Tensor", gives=Gives.FLOAT)
def sigmoid(m: Elements, x: Element) -> Element:
    """1/(1 + exp(-x)), without overflow and with full relative precision in both tails."""
    e = m.exp(-m.absolute(x))
    return m.select(x < 0, e, m.number(1, x)) / (1.0 + e)


@sigmoid.vjp(reads=_RESULT)
def _(g: Backward) -> ir.Value:
    y = g.results[0]
    return g.mul(g.grad, g.mul(g.rsub(1, y), y))


@pointwise("aten.logit(Tensor self, float? eps=None) -> Tensor", gives=Gives.FLOAT)
def logit(m: Elements, x: Element, eps: Parameter = None) -> Element:
    """log(x/(1 - x)), x first bounded by [eps, 1 - eps] when eps is given."""
    if eps is not None:
        bound = m.number(eps, x)
        x = m.minimum(m.maximum(x, bound), 1.0 - bound)
    return m.log(x / (1.0 - x))


@logit.vjp(reads=("self", "eps"))
def _(g: Backward) -> ir.Value:
    """Outside of [0, 1] NaN; with `eps`, zero outside of [eps, 1 - eps]."""
    x = g.operands[0]
    if g.is_none("eps"):
        inside = g.call("aten.logical_and", g.compare("ge", x, 0), g.compare("le", x, 1))
        return g.where(inside, g.div(g.grad, g.mul(x, g.rsub(1, x))), math.nan)
    eps = g.number("eps")
    inside = g.call("aten.logical_and", g.compare("ge", x, eps), g.compare("ge", g.rsub(1, x), eps))
    x = g.where(inside, x, 0.5)  # so that what is not chosen has no infinite derivative
    return g.where(inside, g.div(g.grad, g.mul(x, g.rsub(1, x))), 0.0)


# --- numbers of all dtypes ---------------------------------------------------------------------------------------------


@pointwise("aten.neg(Tensor self) -> Tensor", accepts=Accepts.NOT_BOOL, numpy=np.negative, exact=True, native_complex=True)
def neg(m: Elements, x: Element) -> Element:
    """-x; integers wrap."""
    return m.negative(x)


neg.vjp()(lambda g: g.neg(g.grad))


@pointwise(
    "aten.abs(Tensor self) -> Tensor", "aten.absolute(Tensor self) -> Tensor",
    accepts=Accepts.NOT_BOOL, gives=Gives.REAL, numpy=np.absolute, form="magnitude", native_complex=True,
    note="exact but of complex numbers",
)  # fmt: skip
def absolute(m: Elements, x: Element) -> Element:
    """|x|; the most negative integer stays."""
    return length(m, m.real(x), m.imag(x)) if m.is_complex(x) else m.absolute(x)


def length(m: Elements, x: Element, y: Element) -> Element:
    """sqrt(x**2 + y**2), which overflows only where the result does; infinite where an operand is, also beside NaN."""
    x, y = m.absolute(x), m.absolute(y)
    small, large = m.minimum(x, y), m.maximum(x, y)
    ratio = small / m.select(m.equal(large, 0), m.number(1, large), large)
    found = large * m.sqrt(1 + ratio * ratio)
    return m.select(m.equal(x, math.inf) | m.equal(y, math.inf), m.number(math.inf, x), found)


@absolute.vjp(reads=("self",))
def _(g: Backward) -> ir.Value:
    """Zero at zero."""
    return g.mul(g.grad, g.call("aten.sgn", g.operands[0]))


@pointwise(
    "aten.sign(Tensor self) -> Tensor", "aten.sgn(Tensor self) -> Tensor",
    numpy=np.sign, form="sign", exact=True, note="0 for NaN (NumPy's flavour: NaN)",
)  # fmt: skip
def sign(m: Elements, x: Element) -> Element:
    """-1, 0 or 1; 0 for NaN, as torch has it."""
    return x if m.is_bool(x) else m.cast(x > 0, m.dtype(x)) - m.cast(x < 0, m.dtype(x))


sign.vjp()(zero_gradient)


@pointwise("aten.square(Tensor self) -> Tensor", bool_as=dtypes.i64, numpy=np.square, native_complex=True)
def square(m: Elements, x: Element) -> Element:
    """x*x; int64 of bools."""
    return x * x


square.vjp(reads=("self",))(lambda g: g.mul(g.grad, g.mul(g.operands[0], 2)))


# --- rounding ----------------------------------------------------------------------------------------------------------


def _rounding(*schemas: str, function: str, **fields: Any) -> PointwiseOp:
    """A function of `Elements` that leaves integers as they are."""

    def formula(m: Elements, x: Element) -> Element:
        return getattr(m, function)(x) if m.is_float(x) else x

    formula.__name__ = schemas[0].removeprefix("aten.").partition("(")[0]
    op = pointwise(*schemas, accepts=Accepts.NOT_BOOL, exact=True, **fields)(formula)
    op.vjp()(zero_gradient)
    return op


floor = _rounding("aten.floor(Tensor self) -> Tensor", function="floor", numpy=np.floor)
ceil = _rounding("aten.ceil(Tensor self) -> Tensor", function="ceil", numpy=np.ceil)
trunc = _rounding("aten.trunc(Tensor self) -> Tensor", "aten.fix(Tensor self) -> Tensor", function="trunc", numpy=np.trunc)
round = _rounding("aten.round(Tensor self) -> Tensor", function="rint", numpy=np.round, form="rounded", note="ties to even")


@pointwise("aten.round.decimals(Tensor self, *, int decimals) -> Tensor", accepts=Accepts.FLOAT, numpy=np.round, form="rounded")
def round_decimals(m: Elements, x: Element, decimals: Parameter) -> Element:
    """x*10**decimals rounded half to even, and back."""
    if not m.is_number(decimals):
        raise NotImplementedError("the number of decimals is known at run time only")
    if not decimals:
        return m.rint(x)
    scale = m.number(10.0 ** abs(decimals), x)
    return m.rint(x * scale) / scale if decimals > 0 else m.rint(x / scale) * scale


round_decimals.vjp()(zero_gradient)


@pointwise("aten.frac(Tensor self) -> Tensor", accepts=Accepts.FLOAT, exact=True)
def frac(m: Elements, x: Element) -> Element:
    """x - trunc(x)."""
    return x - m.trunc(x)


frac.vjp()(lambda g: g.grad)
