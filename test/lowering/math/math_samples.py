"""Arguments to try functions on, and references that we did not write."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from benchmarks.math_functions import Function

NUMPY_NAMES = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh"}
FUNCTIONS = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "log", "log10",
    "log1p", "log2", "rsqrt", "sin", "sinh", "tan", "tanh",
)  # fmt: skip
EXTENDED = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant  # there is something to compare f64 with
SPECIALS = (0.0, 1.0, 2.0, 0.5, math.inf, math.nan, 1e-300, 5e-324, 1e-40, 1e-45, 3e38, 1.7e308, math.pi, 1e22, 88.9, 709.9, 103.97, 745.2)


def specials(dtype: np.dtype) -> np.ndarray:
    """Values at the edges, and their negatives."""
    info = np.finfo(dtype)
    edges = [info.max, info.tiny, info.smallest_subnormal, info.eps]
    with np.errstate(over="ignore"):
        positive = np.concatenate([np.array(SPECIALS), np.array(edges, np.float64)]).astype(dtype)
    return np.concatenate([positive, -positive])


def sweep(dtype: np.dtype, count: int = 6000) -> np.ndarray:
    """Special values, random bit patterns, and the ranges where functions change their way of computing."""
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2 ** (8 * dtype.itemsize), count, dtype=f"u{dtype.itemsize}").view(dtype)
    ranges = [rng.uniform(-limit, limit, count).astype(dtype) for limit in (1, 12, 110, 750)]
    near = [(1 + rng.standard_normal(count) * width).astype(dtype) for width in (1e-6, 0.1)]
    multiples = (np.arange(-count // 2, count // 2) * (np.pi / 4)).astype(dtype)
    return np.concatenate([specials(dtype), bits, *ranges, *near, -near[0], multiples])


def reference(name: str, x: np.ndarray) -> np.ndarray:
    """NumPy's function in the next wider format; the C library's erf and erfc, in f64, for f32 and f64 alike."""
    if name in ("erf", "erfc"):
        of: Callable[[float], float] = getattr(math, name)
        return np.array([of(float(v)) for v in x]).astype(np.longdouble)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64 if x.dtype.itemsize < 8 else np.longdouble)
        return 1 / np.sqrt(wide) if name == "rsqrt" else getattr(np, NUMPY_NAMES.get(name, name))(wide)


@cache
def compiled(name: str, dtype: str) -> Function:
    """The function of one operand, compiled once for all tests."""
    return Function(f"%r = math.{name} %x : {dtype}", dtype)
