"""cbrt and rsqrt. sqrt is an instruction."""

from __future__ import annotations

from tierup.lowering.building.arith import Scalar, absolute
from tierup.lowering.math.double_word import two_product
from tierup.lowering.math.emit import Emit, in_f64
from tierup.lowering.math.logarithm import split


@in_f64
def cbrt(e: Emit, x: Scalar) -> Scalar:
    """Cube root; odd, keeps -0.0."""
    a = absolute(x)
    k, f = split(e, a)
    third = e.round_small(k * (1.0 / 3.0))
    rest = k - third * 3.0  # -1, 0 or 1
    m = f + 1.0
    v = m * e.select(rest > 0.0, 2.0, e.select(rest < 0.0, 0.5, 1.0))
    shift = e.select(rest > 0.0, 2.0 ** (1 / 3), e.select(rest < 0.0, 2.0 ** (-1 / 3), 1.0))
    y = e.horner(m, e.coefficients("cbrt")) * shift
    # relative error d of v / y**3 - 1 gives y * (1 + d/3 - d**2/9): from 2**-16 to 2**-46 (Newton's next term included)
    d = (v - y * y * y) / (y * y * y)
    y = e.mad(y, d * e.mad(d, -1.0 / 9.0, 1.0 / 3.0), y)
    if not e.narrow:
        square = two_product(e, y, y)
        cube = two_product(e, square.hi, y)
        residual = ((v - cube.hi) - cube.lo) - square.lo * y
        y = y + residual / (square.hi * 3.0)
    y = y * e.power_of_two(third)
    ordinary = (a > 0.0) & (a < float("inf"))
    return e.select(ordinary, e.copysign(y, x), x)


def rsqrt(e: Emit, x: Scalar) -> Scalar:
    """1 / sqrt(x): -inf at -0.0."""
    return 1.0 / x.call("math.sqrt")
