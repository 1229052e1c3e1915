"""Which function builds which op: `math.acos` is `acos` of the module that says so here, which is imported when it is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from tierup.lowering.building.arith import Scalar
from tierup.lowering.math.emit import Emit

_MODULES = {
    "inverse_trigonometric": "acos asin atan atan2",
    "hyperbolic": "acosh asinh atanh cosh sinh tanh",
    "root": "cbrt rsqrt",
    "trigonometric": "cos sin tan",
    "error_function": "erf erfc",
    "exponential": "exp exp2 expm1",
    "logarithm": "log log10 log1p log2",
    "power": "powf fpowi",
    "emit": "fma",
}
_MODULE = {f"math.{name}": module for module, names in _MODULES.items() for name in names.split()} | {"arith.remf": "remainder"}
UNFUSED = "math.fma"  # an instruction, but where the target has none
NAMES = frozenset(_MODULE) - {UNFUSED}


def build(name: str, e: Emit, operands: Sequence[Scalar]) -> Scalar:
    """Emits the function for a math op whose float operands and result are of `e`'s dtype."""
    function = getattr(import_module(f"tierup.lowering.math.{_MODULE[name]}"), name.partition(".")[2])
    built: Scalar = function(e, *operands)
    return built
