"""Which function builds which math op."""

from __future__ import annotations

from typing import Callable

from tierup.lowering.math import error_function, exponential, hyperbolic, logarithm, trigonometric
from tierup.lowering.math.emit import Emit, Float

Unary = Callable[[Emit, Float], Float]
Binary = Callable[[Emit, Float, Float], Float]

UNARY: dict[str, Unary] = {
    "math.cos": trigonometric.cos,
    "math.erf": error_function.erf,
    "math.erfc": error_function.erfc,
    "math.exp": exponential.exp,
    "math.exp2": exponential.exp2,
    "math.expm1": exponential.expm1,
    "math.log": logarithm.log,
    "math.log10": logarithm.log10,
    "math.log1p": logarithm.log1p,
    "math.log2": logarithm.log2,
    "math.sin": trigonometric.sin,
    "math.tan": trigonometric.tan,
    "math.tanh": hyperbolic.tanh,
}
BINARY: dict[str, Binary] = {}
