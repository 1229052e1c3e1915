"""The logarithm of the gamma function and its derivatives, and the inverse of the error function, in float64 whatever the dtype.

Arguments come to where a series is quick by lgamma(x + 1) = log(x) + lgamma(x), below 0 by reflection (DLMF 5.5.1, 5.5.3, 5.15.5, 5.15.6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tierup.dialect.base import dtypes
from tierup.dialect.ops.pointwise.elements import Element, Elements
from tierup.dialect.ops.pointwise.elementwise import pointwise
from tierup.dialect.optable.kernels.promotion import Gives

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward

_EULER = 0.5772156649015329
_TERMS = 28  # beyond it they are below 4**-28


def _zeta_less_1(k: int) -> float:
    """zeta(k) - 1, for k of at least 2, by Euler and Maclaurin's formula from n = 64 on."""
    n = 64.0
    behind = n ** (1 - k) / (k - 1) + n**-k / 2 + k * n ** (-k - 1) / 12 - k * (k + 1) * (k + 2) * n ** (-k - 3) / 720
    behind += k * (k + 1) * (k + 2) * (k + 3) * (k + 4) * n ** (-k - 5) / 30240
    return math.fsum([*(float(i) ** -k for i in range(2, 64)), behind])


# lgamma(2 + z), |z| <= 1/2 (DLMF 5.7.3), without the factor z
_AROUND_2 = [1 - _EULER, *((-1) ** k * _zeta_less_1(k) / k for k in range(2, _TERMS))]
_STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156]  # of odd powers of 1/x (DLMF 5.11.1)
_OF_DIGAMMA = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12]  # of even ones (DLMF 5.11.2)
_OF_TRIGAMMA = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6]  # of odd ones from the third on (DLMF 5.15.8)


def _polynomial(x: Element, coefficients: Sequence[float]) -> Element:
    """From the constant on."""
    *rest, last = coefficients
    found = x * 0.0 + last
    for coefficient in reversed(rest):
        found = found * x + coefficient
    return found


def _in_double(m: Elements, x: Element, compute: Callable[[Elements, Element], Element]) -> Element:
    return m.cast(compute(m, m.cast(x, dtypes.f64)), m.dtype(x))


def _lgamma(m: Elements, x: Element) -> Element:
    size = m.absolute(x)
    small, tiny = size < 1.5, size < 0.5
    factor, base = m.number(1.0, x), size
    for i in range(1, 7):  # down to between 1.5 and 2.5, from at most 8
        above = size >= i + 1.5
        factor, base = m.select(above, factor * (size - i), factor), m.select(above, size - i, base)
    factor = m.select(small, m.select(tiny, size * (size + 1.0), size), factor)
    from_2 = m.select(small, m.select(tiny, size, size - 1.0), base - 2.0)
    logarithm = m.log(factor)
    near = from_2 * _polynomial(from_2, _AROUND_2) + m.select(small, -logarithm, logarithm)
    inverse = 1.0 / size
    far = (size - 0.5) * m.log(size) - size + 0.5 * math.log(2 * math.pi) + inverse * _polynomial(inverse * inverse, _STIRLING)
    found = m.select(size < 8.0, near, far)
    part = size - m.floor(size)
    sine = m.sin(math.pi * m.select(part > 0.5, 1.0 - part, part))
    found = m.select(x < 0, m.log(math.pi / (size * sine)) - found, found)
    return m.select(m.equal(size, math.inf), m.number(math.inf, x), m.select(m.is_nan(x), x, found))


def _raised(m: Elements, at: Element, term: Callable[[Element], Element]) -> tuple[Element, Element]:
    """By the recurrence, what stands at 10 or more in the place of `at`, where the series are good; and the sum of the terms on the way."""
    total, y = m.number(0.0, at), at
    for _ in range(10):
        low = y < 10.0
        total, y = m.select(low, total + term(y), total), m.select(low, y + 1.0, y)
    return total, y


def _digamma(m: Elements, x: Element) -> Element:
    at = m.select(x < 0, 1.0 - x, x)
    total, y = _raised(m, at, lambda y: -1.0 / y)
    inverse = 1.0 / y
    square = inverse * inverse
    found = m.log(y) - 0.5 * inverse - square * _polynomial(square, _OF_DIGAMMA) + total
    part = m.fmod(x, m.number(1.0, x))
    found = m.select(x < 0, found - math.pi / m.tan(math.pi * part), found)
    found = m.select((x < 0) & m.equal(part, 0), m.number(math.nan, x), found)
    found = m.select(m.equal(x, 0), m.copysign(m.number(math.inf, x), -x), found)
    return m.select(m.equal(x, math.inf), x, found)


def _trigamma(m: Elements, x: Element) -> Element:
    at = m.select(x < 0.5, 1.0 - x, x)
    total, y = _raised(m, at, lambda y: 1.0 / (y * y))
    inverse = 1.0 / y
    square = inverse * inverse
    found = inverse + 0.5 * square + square * inverse * _polynomial(square, _OF_TRIGAMMA) + total
    ratio = math.pi / m.sin(math.pi * m.fmod(x, m.number(1.0, x)))
    return m.select(x < 0.5, ratio * ratio - found, found)


def _erfinv(m: Elements, y: Element) -> Element:
    """By rational functions, of y in the middle and of sqrt(-log((1 - |y|) / 2)) outside, which are good for 1e-7, and Newton's steps."""
    size, square = m.absolute(y), y * y
    is_middle = size <= 0.7
    middle = size * _polynomial(square, [0.886226899, -1.645349621, 0.914624893, -0.140543331])
    middle = middle / _polynomial(square, [1.0, -2.118377725, 1.442710462, -0.329097515, 0.012229801])
    z = m.sqrt(-m.log((1.0 - size) * 0.5))
    outside = _polynomial(z, [-1.970840454, -1.624906493, 3.429567803, 1.641345311]) / _polynomial(z, [1.0, 3.5438892, 1.6370678])
    x = m.select(is_middle, middle, outside)
    for _ in range(3):
        missed = m.select(is_middle, m.erf(x) - size, (1.0 - size) - m.erfc(x))
        x = x - missed / (2 / math.sqrt(math.pi) * m.exp(-(x * x)))
    x = m.select(m.equal(size, 1.0), m.number(math.inf, y), m.select(size > 1.0, m.number(math.nan, y), x))
    return m.copysign(x, y)


@pointwise("aten.lgamma(Tensor self) -> Tensor", gives=Gives.FLOAT)
def lgamma(m: Elements, x: Element) -> Element:
    """log |gamma(x)|; infinite at 0 and the negative integers."""
    return _in_double(m, x, _lgamma)


@pointwise("aten.digamma(Tensor self) -> Tensor", gives=Gives.FLOAT)
def digamma(m: Elements, x: Element) -> Element:
    """The derivative of lgamma: NaN at the negative integers, infinite at 0."""
    return _in_double(m, x, _digamma)


@pointwise("tierup.trigamma(Tensor self) -> Tensor", gives=Gives.FLOAT)
def trigamma(m: Elements, x: Element) -> Element:
    """The derivative of digamma."""
    return _in_double(m, x, _trigamma)


@pointwise("aten.erfinv(Tensor self) -> Tensor", gives=Gives.FLOAT)
def erfinv(m: Elements, x: Element) -> Element:
    """What erf gives x of: NaN outside of [-1, 1]."""
    return _in_double(m, x, _erfinv)


lgamma.vjp(reads=("self",))(lambda g: g.mul(g.grad, g.call("aten.digamma", g.operands[0])))
digamma.vjp(reads=("self",))(lambda g: g.mul(g.grad, g.call("tierup.trigamma", g.operands[0])))


@erfinv.vjp(reads=("result",))
def _(g: Backward) -> ir.Value:
    y = g.results[0]
    return g.mul(g.grad, g.mul(g.call("aten.exp", g.mul(y, y)), math.sqrt(math.pi) / 2))


@trigamma.vjp(reads=("self",))
def _(g: Backward) -> ir.Value:
    raise g.no_gradient("there is no op for the second derivative of digamma")
