"""Which function builds which math op."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.mlir import ir
from tierup.lowering.math import error_function, exponential, hyperbolic, inverse_trigonometric, logarithm, power, root, trigonometric
from tierup.lowering.math.emit import Emit, Float

Unary = Callable[[Emit, Float], Float]
Binary = Callable[[Emit, Float, Float], Float]
WithInteger = Callable[[Emit, Float, ir.Value], Float]

UNARY: dict[str, Unary] = {
    "math.acos": inverse_trigonometric.acos,
    "math.acosh": hyperbolic.acosh,
    "math.asin": inverse_trigonometric.asin,
    "math.asinh": hyperbolic.asinh,
    "math.atan": inverse_trigonometric.atan,
    "math.atanh": hyperbolic.atanh,
    "math.cbrt": root.cbrt,
    "math.cos": trigonometric.cos,
    "math.cosh": hyperbolic.cosh,
    "math.erf": error_function.erf,
    "math.erfc": error_function.erfc,
    "math.exp": exponential.exp,
    "math.exp2": exponential.exp2,
    "math.expm1": exponential.expm1,
    "math.log": logarithm.log,
    "math.log10": logarithm.log10,
    "math.log1p": logarithm.log1p,
    "math.log2": logarithm.log2,
    "math.rsqrt": root.rsqrt,
    "math.sin": trigonometric.sin,
    "math.sinh": hyperbolic.sinh,
    "math.tan": trigonometric.tan,
    "math.tanh": hyperbolic.tanh,
}
BINARY: dict[str, Binary] = {
    "math.atan2": inverse_trigonometric.atan2,
    "math.powf": power.powf,
}
WITH_INTEGER: dict[str, WithInteger] = {
    "math.fpowi": power.fpowi,
}

NAMES = frozenset(UNARY) | frozenset(BINARY) | frozenset(WITH_INTEGER)


def build(name: str, e: Emit, operands: Sequence[ir.Value]) -> Float:
    """Emits the function for a math op whose float operands and result are of `e`'s type."""
    x = Float(e, operands[0])
    if name in UNARY:
        return UNARY[name](e, x)
    if name in BINARY:
        return BINARY[name](e, x, Float(e, operands[1]))
    return WITH_INTEGER[name](e, x, operands[1])
