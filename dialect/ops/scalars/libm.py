"""The functions of Python's `math` on floats that the C library computes. Native code calls the same ones (lowering/externals/libm.py), so
all tiers give the same bits.

Where Python raises ("math domain error", "math range error") tier 0 does. Native code leaves to it what lies outside of `surely`, an
interval in which Python surely does not raise; NaN lies in each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tierup.dialect.facts.values import Float, Int
from tierup.dialect.ops.scalars.numbers import as_kind, of_known
from tierup.dialect.optable.define import DefinedOp

_INFINITE, _LARGEST, _BELOW_ONE = math.inf, math.nextafter(math.inf, 0.0), math.nextafter(1.0, 0.0)
_EXPONENTS = -_INFINITE, 709.7  # of e; e**709.79 is infinite
_POSITIVE = math.nextafter(0.0, 1.0), _INFINITE
_FINITE = -_LARGEST, _LARGEST

Interval = tuple[float, float]
PREFIX = "tierup.math_"


@dataclass(frozen=True)
class Libm:
    """`function`: whose calls are the op; `symbol`: the C library's name for it. `surely`: see above; None where Python raises of none."""

    op: DefinedOp[float]
    function: Callable[..., float]
    symbol: str
    surely: Interval | None


def _of(
    name: str, surely: Interval | None = None, operands: str = "float x", of: Callable[..., float] | None = None, symbol: str = ""
) -> DefinedOp[float]:
    function: Callable[..., float] = of or getattr(math, name)

    def tier0(*operands: float) -> float:
        return function(*operands)

    tier0.__name__, tier0.__doc__ = name if of is None else function.__name__.removeprefix("c_"), f"math.{name}"
    fields: dict[str, Any] = {"differentiable": False, "on_device": False, "refuses_some": surely is not None}
    made: DefinedOp[float] = of_known(f"{PREFIX}{name}({operands}) -> float", otherwise=as_kind(Float), **fields)(tier0)
    LIBM[made.name] = Libm(made, function, symbol or name, surely)
    return made


# As in C, which raises nothing: who asks for Python's exceptions looks at the operands and at the result.


def c_power(x: float, y: float) -> float:
    """pow"""
    try:
        return math.pow(x, y)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 and y % 2 == 1 else math.inf if x == 0 else math.nan
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf


def _or_nan(of: Callable[[float, float], float]) -> Callable[[float, float], float]:
    def function(x: float, y: float) -> float:
        try:
            return of(x, y)
        except ValueError:
            return math.nan

    function.__name__ = f"c_{of.__name__}"
    return function


c_fmod, c_remainder = _or_nan(math.fmod), _or_nan(math.remainder)


def c_copysign(x: float, y: float) -> float:
    """copysign"""
    return math.copysign(x, y)


def c_nextafter(x: float, y: float) -> float:
    """nextafter"""
    return math.nextafter(x, y)


def c_ldexp(x: float, n: int) -> float:
    """x * 2**n"""
    try:
        return math.ldexp(x, n)
    except OverflowError:
        return math.copysign(math.inf, x)


def c_exponent(x: float) -> int:
    """The power of two that frexp gives; 0 for 0, infinities and NaN."""
    return math.frexp(x)[1]


def c_isqrt(n: int) -> int:
    """The root of what is not negative, rounded down."""
    return math.isqrt(n)


LIBM: dict[str, Libm] = {}
sin, cos, tan = (_of(name, _FINITE) for name in ("sin", "cos", "tan"))
asin, acos = (_of(name, (-1.0, 1.0)) for name in ("asin", "acos"))
atan = _of("atan")
sinh, cosh = (_of(name, (-709.7, 709.7)) for name in ("sinh", "cosh"))
tanh, asinh = (_of(name) for name in ("tanh", "asinh"))
acosh = _of("acosh", (1.0, _INFINITE))
atanh = _of("atanh", (-_BELOW_ONE, _BELOW_ONE))
exp, expm1 = (_of(name, _EXPONENTS) for name in ("exp", "expm1"))
exp2 = _of("exp2", (-_INFINITE, 1023.9))
log, log2, log10 = (_of(name, _POSITIVE) for name in ("log", "log2", "log10"))
log1p = _of("log1p", (-_BELOW_ONE, _INFINITE))
cbrt, erf, erfc = (_of(name) for name in ("cbrt", "erf", "erfc"))
atan2 = _of("atan2", operands="float y, float x")
power = _of("pow", operands="float x, float y", of=c_power)
fmod, remainder, copysign, nextafter = (
    _of(of.__name__.removeprefix("c_"), operands="float x, float y", of=of) for of in (c_fmod, c_remainder, c_copysign, c_nextafter)
)
ldexp = _of("ldexp", operands="float x, int n", of=c_ldexp, symbol="scalbln")


@of_known(f"{PREFIX}exponent(float x) -> int", otherwise=as_kind(Int), differentiable=False, on_device=False)
def exponent(x: float) -> int:
    return c_exponent(x)


@of_known(f"{PREFIX}isqrt(int n) -> int", otherwise=as_kind(Int), differentiable=False, on_device=False)
def isqrt(n: int) -> int:
    return c_isqrt(n)
