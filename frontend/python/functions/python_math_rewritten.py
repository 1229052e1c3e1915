"""Functions of Python's `math`, written as programs can follow: CPython's are in C, in terms of its objects.

They are Python that programs translate, as those of numpy_rewritten.py are, and give CPython's bits: where a rounding could be seen its
algorithm is here, step by step (Modules/mathmodule.c). Ints are Python's; native code leaves to tier 0 what 64 bits do not hold.
An exception whose message is an f-string hands the call to Python.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect.ops.scalars.libm import c_copysign, c_exponent, c_fmod, c_isqrt, c_ldexp, c_nextafter, c_remainder
from tierup.frontend.python.functions.python_math import real
from tierup.frontend.python.functions.python_math_rewritten_gamma import OF_GAMMA, TOO_LARGE
from tierup.frontend.python.operations.scalars import python_says

_OUTSIDE = python_says(lambda: math.fmod(1.0, 0.0))
_LARGEST = 2**63 - 1
_TOO_MANY = python_says(lambda: math.factorial(_LARGEST + 1))
_NO_INT = python_says(lambda: math.ldexp(1.0, 1.0))  # type: ignore[arg-type]  # what it says of one
_BY_FMA = sys.version_info >= (3, 12)  # hypot and dist: how they square


# --- ints ----------------------------------------------------------------------------------------------------------------


def gcd(*integers: Any) -> Any:
    """Euclid's algorithm; 0 of nothing."""
    found = 0
    for one in integers:
        other = abs(operator.index(one))
        while other:
            found, other = other, found % other
    return found


def lcm(*integers: Any) -> Any:
    """1 of nothing; 0 where one is 0."""
    found = 1
    for one in integers:
        other = abs(operator.index(one))
        common = math.gcd(found, other)
        found = found // common * other if common else 0
    return found


def factorial(n: Any, /) -> Any:
    """The product of 1 to n."""
    n = operator.index(n)
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    if n > _LARGEST:
        raise OverflowError(_TOO_MANY)
    found = 1
    for i in range(2, n + 1):
        found = found * i
    return found


def comb(n: Any, k: Any, /) -> Any:
    """How many sets of k there are of n: each product is a whole number of times what it is divided by."""
    n, k = operator.index(n), operator.index(k)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    found = 1 if k <= n else 0
    for i in range(min(k, n - k)):
        found = found * (n - i) // (i + 1)
    return found


def perm(n: Any, k: Any = None, /) -> Any:
    """How many orders of k there are of n."""
    if k is None:
        return math.factorial(n)
    n, k = operator.index(n), operator.index(k)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    found = 1 if k <= n else 0
    for i in range(k if k <= n else 0):
        found = found * (n - i)
    return found


def isqrt(n: Any, /) -> Any:
    """The root, rounded down."""
    n = operator.index(n)
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    return c_isqrt(n)


# --- floats --------------------------------------------------------------------------------------------------------------


def copysign(x: Any, y: Any, /) -> Any:
    """x with the sign of y."""
    return c_copysign(real(x), real(y))


def _defined(found: float, x: float, y: float) -> float:
    """What was found of two numbers. ValueError for a NaN that neither of them is."""
    if found != found and x == x and y == y:
        raise ValueError(_OUTSIDE)
    return found


def fmod(x: Any, y: Any, /) -> Any:
    """The remainder with the sign of x."""
    x, y = real(x), real(y)
    return _defined(c_fmod(x, y), x, y)


def remainder(x: Any, y: Any, /) -> Any:
    """The remainder that is nearest to zero."""
    x, y = real(x), real(y)
    return _defined(c_remainder(x, y), x, y)


def frexp(x: Any, /) -> Any:
    """A number from 1/2 to 1, and the power of two by which it is multiplied."""
    x = real(x)
    exponent = c_exponent(x)
    return c_ldexp(x, -exponent), exponent


def ldexp(x: Any, i: Any, /) -> Any:
    """x times a power of two."""
    x = real(x)
    if not isinstance(i, int):
        raise TypeError(_NO_INT)
    found = c_ldexp(x, i)
    if math.isinf(found) and math.isfinite(x):
        raise OverflowError(TOO_LARGE)
    return found


def modf(x: Any, /) -> Any:
    """The fraction and the whole part, both with the sign of x."""
    x = real(x)
    if math.isinf(x):
        return c_copysign(0.0, x), x
    fraction = c_fmod(x, 1.0)
    return fraction, c_copysign(x - fraction, x)


def nextafter(x: Any, y: Any, /, *, steps: Any = None) -> Any:
    """The float next to x on the way to y."""
    if steps is not None:
        raise ValueError(f"{steps}")
    return c_nextafter(real(x), real(y))


def ulp(x: Any, /) -> Any:
    """How far it is to the next float that is larger in magnitude; of the largest, from the one before."""
    x = abs(real(x))
    if math.isinf(x):
        return x
    above = c_nextafter(x, math.inf)
    return x - c_nextafter(x, -math.inf) if math.isinf(above) else above - x


def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    """Whether two numbers differ by no more than a part of the larger one, or no more than that."""
    a, b, rel_tol, abs_tol = real(a), real(b), real(rel_tol), real(abs_tol)
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    apart = abs(b - a)
    near = apart <= abs(rel_tol * b) or apart <= abs(rel_tol * a) or apart <= abs_tol
    return a == b or (near and not math.isinf(a) and not math.isinf(b))


# --- lengths -------------------------------------------------------------------------------------------------------------


def hypot(*coordinates: Any) -> Any:
    """The length of a vector."""
    return length_of([abs(real(c)) for c in coordinates], len(coordinates))


def dist(p: Any, q: Any, /) -> Any:
    """The distance of two points: tuples, lists, arrays of rank 1."""
    if isinstance(p, np.ndarray) or isinstance(q, np.ndarray):
        p, q = np.asarray(p).astype(np.float64), np.asarray(q).astype(np.float64)
        if p.ndim != 1 or q.ndim != 1:
            raise TypeError(f"{p.ndim}")
        if len(p) != len(q):
            raise ValueError("both points must have the same number of dimensions")
        return length_of(np.abs(p - q), len(p))
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return length_of([abs(real(a) - real(b)) for a, b in zip(p, q, strict=True)], len(p))


def length_of(sizes: Any, count: int) -> Any:
    """The root of the sum of squares, of numbers without a sign. They are scaled by a power of two; what squaring and adding round away is
    added up beside, and the root is corrected by what its own square is off."""
    largest, is_nan = 0.0, False
    for x in sizes:
        x = real(x)
        is_nan = is_nan or x != x
        largest = x if x > largest else largest
    if math.isinf(largest):
        return largest
    if is_nan:
        return math.nan
    if largest == 0.0 or count <= 1:
        return largest
    return _scaled(sizes, largest) if c_exponent(largest) >= -1023 else _of_tiny(sizes, largest)


def _scaled(sizes: Any, largest: float) -> Any:
    scale = c_ldexp(1.0, -c_exponent(largest))
    total, lost, lost_of_products, lost_of_lows = 1.0, 0.0, 0.0, 0.0
    for x in sizes:
        total, lost, lost_of_products, lost_of_lows = _plus_square(real(x) * scale, 1.0, total, lost, lost_of_products, lost_of_lows)
    root = math.sqrt(total - 1.0 + _together(lost, lost_of_products, lost_of_lows))
    total, lost, lost_of_products, lost_of_lows = _plus_square(root, -1.0, total, lost, lost_of_products, lost_of_lows)
    return (root + (total - 1.0 + _together(lost, lost_of_products, lost_of_lows)) / (2.0 * root)) / scale


def _halves(x: float) -> tuple[float, float]:
    """Two floats of half as many bits (Veltkamp's splitting)."""
    t = x * 134217729.0
    high = t - (t - x)
    return high, x - high


if _BY_FMA:
    _TINIEST = sys.float_info.min

    def _plus_square(x: float, sign: float, total: float, lost: float, of_products: float, of_lows: float) -> Any:
        """A square as two floats (Dekker's product, which gives what one by fma does), and what is lost when it is added."""
        high, low = _halves(x)
        square = x * x
        rest = ((high * high - square) + 2.0 * high * low) + low * low
        after = total + sign * square
        return after, lost + ((total - after) + sign * square), of_products + sign * rest, of_lows

    def _together(lost: float, of_products: float, of_lows: float) -> float:
        return of_products + lost

    def _of_tiny(sizes: Any, largest: float) -> Any:
        return _TINIEST * _scaled([x / _TINIEST for x in sizes], largest / _TINIEST)

else:

    def _plus_square(x: float, sign: float, total: float, lost: float, of_products: float, of_lows: float) -> Any:
        """A square as a sum of three, added one by one; all of its last part is taken for lost, but where the root is checked."""
        high, low = _halves(x)
        part = sign * high * high
        after = total + part
        lost = lost + ((total - after) + part)
        part = sign * 2.0 * high * low
        last = after + part
        of_products = of_products + ((after - last) + part)
        part = sign * low * low
        if sign > 0.0:
            return last, lost, of_products, of_lows + part
        after = last + part
        return after, lost, of_products, of_lows + ((last - after) + part)

    def _together(lost: float, of_products: float, of_lows: float) -> float:
        return lost + of_products + of_lows

    def _of_tiny(sizes: Any, largest: float) -> Any:
        total, lost = 1.0, 0.0
        for x in sizes:
            part = real(x) / largest
            part = part * part
            after = total + part
            lost = lost + ((total - after) + part)
            total = after
        return largest * math.sqrt(total - 1.0 + lost)


# --- sums ----------------------------------------------------------------------------------------------------------------

_MOST_PARTS = 64  # floats whose bits do not overlap: no more than 2098 bits / 53


def fsum(seq: Any, /) -> Any:
    """Of an array, or what makes one: the sum, rounded once. It is kept as floats whose bits do not overlap (J. R. Shewchuk, Adaptive
    Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates, 1997)."""
    seq = np.asarray(seq)
    if seq.ndim != 1 or seq.dtype.kind not in "biuf":
        raise TypeError(f"{seq.ndim}")
    seq, parts = seq.astype(np.float64), np.zeros(_MOST_PARTS)
    n, special, infinite = 0, 0.0, 0.0
    for i in range(len(seq)):
        x = real(seq[i])
        if not math.isfinite(x):
            special = special + x
            if math.isinf(x):
                infinite = infinite + x
            n, x = 0, 0.0
        kept = 0
        for k in range(n):
            y = real(parts[k])
            larger, smaller = (y, x) if abs(x) < abs(y) else (x, y)
            x = larger + smaller
            low = smaller - (x - larger)
            if low != 0.0:
                parts[kept] = low
                kept = kept + 1
        n = kept
        if not math.isfinite(x):
            raise OverflowError("intermediate overflow in fsum")
        if x != 0.0:
            parts[n] = x
            n = n + 1
    if special != 0.0:
        if infinite != infinite:
            raise ValueError("-inf + inf in fsum")
        return special
    return _rounded_once(parts, n)


def _rounded_once(parts: Any, n: int) -> Any:
    high, low = 0.0, 0.0
    if n > 0:
        n = n - 1
        high = real(parts[n])
    while n > 0 and low == 0.0:
        n = n - 1
        x, y = high, real(parts[n])
        high = x + y
        low = y - (high - x)
    if n > 0:  # half way between two floats, but for what is behind
        below = real(parts[n - 1])
        if (low < 0.0 and below < 0.0) or (low > 0.0 and below > 0.0):
            y = low * 2.0
            x = high + y
            high = x if y == x - high else high
    return high


_HERE = (gcd, lcm, factorial, comb, perm, isqrt, copysign, fmod, remainder, frexp, ldexp, modf, nextafter, ulp, isclose, hypot, dist, fsum)
REWRITTEN_MATH: dict[Any, Callable[..., Any]] = {**{getattr(math, f.__name__): f for f in _HERE}, **OF_GAMMA}
