"""Which function builds which math op."""

from __future__ import annotations

from typing import Callable

from tierup.lowering.math import exponential, hyperbolic
from tierup.lowering.math.emit import Emit, Float

Unary = Callable[[Emit, Float], Float]
Binary = Callable[[Emit, Float, Float], Float]

UNARY: dict[str, Unary] = {
    "math.exp": exponential.exp,
    "math.exp2": exponential.exp2,
    "math.expm1": exponential.expm1,
    "math.tanh": hyperbolic.tanh,
}
BINARY: dict[str, Binary] = {}
