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

from tierup.dialect.facts.values import Float
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
    """`surely`: see above; None where Python raises of no float."""

    op: DefinedOp[float]
    function: Callable[..., float]
    surely: Interval | None


def _of(name: str, surely: Interval | None = None, operands: str = "float x", of: Callable[..., float] | None = None) -> DefinedOp[float]:
    function: Callable[..., float] = of or getattr(math, name)

    def tier0(*operands: float) -> float:
        return function(*operands)

    tier0.__name__, tier0.__doc__ = "power" if name == "pow" else name, f"math.{name}"
    fields: dict[str, Any] = {"differentiable": False, "on_device": False, "refuses_some": surely is not None}
    made: DefinedOp[float] = of_known(f"{PREFIX}{name}({operands}) -> float", otherwise=as_kind(Float), **fields)(tier0)
    LIBM[made.name] = Libm(made, getattr(math, name), surely)
    return made


def _pow(x: float, y: float) -> float:
    """As in C, which raises nothing: who asks for Python's exceptions looks at the operands and at the result."""
    try:
        return math.pow(x, y)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 and y % 2 == 1 else math.inf if x == 0 else math.nan
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf


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
power = _of("pow", operands="float x, float y", of=_pow)
