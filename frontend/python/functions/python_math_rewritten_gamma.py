"""`gamma` and `lgamma` of Python's `math`, by Lanczos' approximation as CPython has it. See python_math_rewritten.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tierup.dialect.ops.scalars.libm import c_fmod, c_power
from tierup.frontend.python.functions.python_math import real
from tierup.frontend.python.operations.scalars import python_says

TOO_LARGE = python_says(lambda: math.ldexp(1.0, 5000))
_NO_GAMMA = python_says(lambda: math.gamma(-1.0)).partition(", got ")[0]

_G = 6.024680040776729583740234375
_NUMERATOR = (
    23531376880.410759688572007674451636754734846804940, 42919803642.649098768957899047001988850926355848959,
    35711959237.355668049440185451547166705960488635843, 17921034426.037209699919755754458931112671403265390,
    6039542586.3520280050642916443072979210699388420708, 1439720407.3117216736632230727949123939715485786372,
    248874557.86205415651146038641322942321632125127801, 31426415.585400194380614231628318205362874684987640,
    2876370.6289353724412254090516208496135991145378768, 186056.26539522349504029498971604569928220784236328,
    8071.6720023658162106380029022722506138218516325024, 210.82427775157934587250973392071336271166969580291,
    2.5066282746310002701649081771338373386264310793408,
)  # fmt: skip
_DENOMINATOR = (0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0, 2637558.0, 357423.0, 32670.0, 1925.0, 66.0,
                1.0)  # fmt: skip
_LOG_PI = 1.144729885849400174143427351353058711647


def _lanczos(x: float) -> float:
    above, below = 0.0, 0.0
    if x < 5.0:
        for a, b in zip(_NUMERATOR[::-1], _DENOMINATOR[::-1], strict=True):
            above, below = above * x + a, below * x + b
    else:
        for a, b in zip(_NUMERATOR, _DENOMINATOR, strict=True):
            above, below = above / x + a, below / x + b
    return above / below


def _sin_pi(x: float) -> float:
    """sin(pi * x), of a number without a sign."""
    y = c_fmod(x, 2.0)
    n = int(2.0 * y + 0.5)
    if n == 0:
        return math.sin(math.pi * y)
    if n == 1:
        return math.cos(math.pi * (y - 0.5))
    if n == 2:
        return math.sin(math.pi * (1.0 - y))
    return -math.cos(math.pi * (y - 1.5)) if n == 3 else math.sin(math.pi * (y - 2.0))


def gamma(x: Any, /) -> Any:
    """Of whole numbers up to 23 the factorial of the one before."""
    x = real(x)
    if x != x or x == math.inf:
        return x
    size, is_whole = abs(x), c_fmod(x, 1.0) == 0.0
    if x <= 0.0 and (is_whole or size == math.inf):
        raise ValueError(_NO_GAMMA)
    if is_whole and x <= 23.0:
        found = 1.0
        for i in range(2, int(x)):
            found = found * i
        return found
    if size < 1e-20:
        found = 1.0 / x
    elif size > 200.0:
        found = 0.0 / -_sin_pi(size) if x < 0.0 else math.inf
    else:
        y = size + (_G - 0.5)
        z = (y - size) - (_G - 0.5) if size > _G - 0.5 else (y - (_G - 0.5)) - size
        z = z * _G / y
        root = c_power(y, size - 0.5 if size < 140.0 else size / 2.0 - 0.25)
        if x < 0.0:
            found = -math.pi / _sin_pi(size) / size * math.exp(y) / _lanczos(size)
            found = found - z * found
            found = found / root if size < 140.0 else found / root / root
        else:
            found = _lanczos(size) / math.exp(y)
            found = found + z * found
            found = found * root if size < 140.0 else found * root * root
    if math.isinf(found):
        raise OverflowError(TOO_LARGE)
    return found


def lgamma(x: Any, /) -> Any:
    """The logarithm of what gamma gives, without its sign."""
    x = real(x)
    if x != x or math.isinf(x):
        return abs(x)
    size = abs(x)
    if c_fmod(x, 1.0) == 0.0 and x <= 2.0:
        if x <= 0.0:
            raise ValueError(_NO_GAMMA)
        return 0.0
    if size < 1e-20:
        return -math.log(size)
    found = math.log(_lanczos(size)) - _G
    found = found + (size - 0.5) * (math.log(size + _G - 0.5) - 1.0)
    if x < 0.0:
        found = _LOG_PI - math.log(abs(_sin_pi(size))) - math.log(size) - found
    if math.isinf(found):
        raise OverflowError(TOO_LARGE)
    return found


OF_GAMMA: dict[Any, Callable[..., Any]] = {math.gamma: gamma, math.lgamma: lgamma}
