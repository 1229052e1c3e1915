"""Arithmetic on Python numbers as Python does it: ints do not wrap, division by zero raises."""

from __future__ import annotations

import math
import operator
from typing import Any

add, sub, mul, neg, absolute = operator.add, operator.sub, operator.mul, operator.neg, abs
div, floordiv, remainder = operator.truediv, operator.floordiv, operator.mod
sqrt, log = math.sqrt, math.log


def power(a: Any, b: Any) -> float:
    """a**b as a float. ValueError where Python gives a complex number."""
    result = float(a) ** float(b)
    if isinstance(result, complex):
        raise ValueError(f"{a} ** {b} is complex: complex numbers are not supported")
    return result
