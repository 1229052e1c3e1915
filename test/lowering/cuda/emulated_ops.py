"""What one thread does: ops of arith and math as Python functions of one value each, as their dialects define them.

Integers are Python's, signed, kept to their width; i1 is 0 or 1; floats are NumPy's scalars, so that each op rounds to its type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from emulated_memory import DTYPES, Fault

Number = Any


def wrap(value: int, bits: int) -> int:
    """The value of the low bits, signed; of one bit, unsigned."""
    if bits == 1:
        return value & 1
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def _divided(a: int, b: int) -> int:
    """Rounded towards zero."""
    if b == 0:
        raise Fault("an integer is divided by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _nonzero(b: int) -> int:
    if b == 0:
        raise Fault("an integer is divided by zero")
    return b


def _shift(function: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    def shifted(a: int, b: int, bits: int) -> int:
        if not 0 <= b < bits:
            raise Fault(f"a shift of {bits} bits by {b}")
        return function(a, b)

    return shifted


def _unsigned(a: int, bits: int) -> int:
    return a & ((1 << bits) - 1)


# (a, b, bits) -> a number that `wrap` brings to its width
INTEGER: dict[str, Callable[[int, int, int], int]] = {
    "arith.addi": lambda a, b, _: a + b,
    "arith.subi": lambda a, b, _: a - b,
    "arith.muli": lambda a, b, _: a * b,
    "arith.divsi": lambda a, b, _: _divided(a, b),
    "arith.remsi": lambda a, b, _: a - b * _divided(a, b),
    "arith.floordivsi": lambda a, b, _: a // _nonzero(b),
    "arith.ceildivsi": lambda a, b, _: -(-a // _nonzero(b)),
    "arith.divui": lambda a, b, w: _unsigned(a, w) // _nonzero(_unsigned(b, w)),
    "arith.remui": lambda a, b, w: _unsigned(a, w) % _nonzero(_unsigned(b, w)),
    "arith.ceildivui": lambda a, b, w: -(-_unsigned(a, w) // _nonzero(_unsigned(b, w))),
    "arith.andi": lambda a, b, _: a & b,
    "arith.ori": lambda a, b, _: a | b,
    "arith.xori": lambda a, b, _: a ^ b,
    "arith.minsi": lambda a, b, _: min(a, b),
    "arith.maxsi": lambda a, b, _: max(a, b),
    "arith.minui": lambda a, b, w: min(_unsigned(a, w), _unsigned(b, w)),
    "arith.maxui": lambda a, b, w: max(_unsigned(a, w), _unsigned(b, w)),
    "arith.shli": _shift(lambda a, b: a << b),
    "arith.shrsi": _shift(lambda a, b: a >> b),
    "arith.shrui": lambda a, b, w: _shift(lambda x, y: x >> y)(_unsigned(a, w), b, w),
}

# (a, bits), as above
INTEGER_OF_ONE: dict[str, Callable[[int, int], int]] = {
    "math.absi": lambda a, _: abs(a),
    "math.ctpop": lambda a, w: _unsigned(a, w).bit_count(),
    "math.ctlz": lambda a, w: w - _unsigned(a, w).bit_length(),
    "math.cttz": lambda a, w: w if not a else (a & -a).bit_length() - 1,
}

SIGNED = (
    lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b,
)  # fmt: skip


def compare_integers(predicate: int, a: int, b: int, bits: int) -> int:
    """arith.cmpi: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge."""
    if predicate >= len(SIGNED):
        return int(SIGNED[predicate - 4](_unsigned(a, bits), _unsigned(b, bits)))
    if bits == 1 and predicate > 1:
        a, b = -a, -b
    return int(SIGNED[predicate](a, b))


def compare_floats(predicate: int, a: Number, b: Number) -> int:
    """arith.cmpf: false, oeq, ogt, oge, olt, ole, one, ord, ueq, ugt, uge, ult, ule, une, uno, true."""
    if predicate in (0, 15):
        return int(predicate == 15)
    unordered = bool(a != a or b != b)
    if predicate in (7, 14):
        return int(unordered == (predicate == 14))
    ordered = (a == b, a > b, a >= b, a < b, a <= b, a != b)
    return int(unordered if unordered and predicate > 7 else not unordered and ordered[(predicate - 1) % 7])


def _greatest(a: Number, b: Number) -> Number:
    if a != a or b != b:
        return a if a != a else b
    if a == b:
        return b if np.signbit(a) else a
    return max(b, a)


def _least(a: Number, b: Number) -> Number:
    return -_greatest(-a, -b)


def _number(function: Callable[[Number, Number], Number]) -> Callable[[Number, Number], Number]:
    """NaN is missing data."""
    return lambda a, b: b if a != a else a if b != b else function(a, b)


FLOAT: dict[str, Callable[..., Number]] = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": lambda a, b: a / b,
    "arith.remf": lambda a, b: np.fmod(a, b),
    "arith.negf": lambda a: -a,
    "arith.maximumf": _greatest,
    "arith.minimumf": _least,
    "arith.maxnumf": _number(_greatest),
    "arith.minnumf": _number(_least),
    "math.absf": lambda a: abs(a),
    "math.sqrt": np.sqrt,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
    "math.round": lambda a: np.copysign(np.floor(abs(a) + type(a)(0.5)), a),
    "math.copysign": np.copysign,
}

# what MLIR's conversion calls NVIDIA's libdevice for, which rounds to within a few units in the last place
LIBDEVICE: dict[str, Callable[..., Any]] = {
    "math.exp": np.exp, "math.exp2": np.exp2, "math.expm1": np.expm1, "math.log": np.log, "math.log2": np.log2, "math.log10": np.log10,
    "math.log1p": np.log1p, "math.sin": np.sin, "math.cos": np.cos, "math.tan": np.tan, "math.tanh": np.tanh, "math.sinh": np.sinh,
    "math.cosh": np.cosh, "math.asin": np.arcsin, "math.acos": np.arccos, "math.atan": np.arctan, "math.atan2": np.arctan2,
    "math.asinh": np.arcsinh, "math.acosh": np.arccosh, "math.atanh": np.arctanh, "math.powf": np.power, "math.cbrt": np.cbrt,
    "math.rsqrt": lambda a: 1 / np.sqrt(a), "math.erf": np.vectorize(math.erf), "math.erfc": np.vectorize(math.erfc),
}  # fmt: skip


def libdevice(name: str, *given: Number) -> Number:
    """In double precision, then rounded."""
    return type(given[0])(LIBDEVICE[name](*[np.float64(v) for v in given]))


def fma(a: Number, b: Number, c: Number) -> Number:
    """a * b + c rounded once: exact products of narrow types in a wider one; of doubles by T. Dekker's and D. Knuth's error terms."""
    if not isinstance(a, np.float64):
        return type(a)(np.float64(a) * np.float64(b) + np.float64(c))
    product = a * b
    if not np.isfinite(product) or abs(a) > 1e150 or abs(b) > 1e150 or not np.isfinite(c):
        return product + c

    def split(x: np.float64) -> tuple[np.float64, np.float64]:
        scaled = x * np.float64(134217729.0)
        high = scaled - (scaled - x)
        return high, x - high

    (ah, al), (bh, bl) = split(a), split(b)
    low = ((ah * bh - product) + ah * bl + al * bh) + al * bl
    total = product + c
    back = total - product
    return total + (((product - (total - back)) + (c - back)) + low)


def to_integer(a: Number, bits: int, *, signed: bool = True) -> int:
    """As the device converts: towards zero, to the nearest that the type has; 0 of NaN."""
    if a != a:
        return 0
    least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if a >= most:
        return most
    return least if a <= least else int(a)


def to_float(a: int, type_: str, bits: int, *, signed: bool = True) -> Number:
    """Rounded once, to nearest even."""
    exact = np.int64(a if bits > 1 or not signed else -a) if signed else np.uint64(_unsigned(a, bits))
    return exact.astype(np.float64 if type_ == "f64" else np.float32).astype(DTYPES[type_])


def bitcast(a: Number, source: str, target: str) -> Number:
    found = np.array([a], DTYPES[source]).view(DTYPES[target])[0]
    return int(found) if target.startswith("i") else found
