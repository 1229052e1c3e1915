"""Arithmetic on Python numbers as Python does it: ints do not wrap, division by zero raises; int(), float() and bool() of arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

add, sub, mul, neg, absolute = operator.add, operator.sub, operator.mul, operator.neg, abs
div, floordiv, remainder = operator.truediv, operator.floordiv, operator.mod
sqrt, log = math.sqrt, math.log
item_int, item_float, item_bool = int, float, bool  # aten.Int.Tensor, ...: TypeError or ValueError of NumPy for arrays that are no number


def power(a: Any, b: Any) -> float:
    """a**b as a float. ValueError where Python gives a complex number."""
    result = float(a) ** float(b)
    if isinstance(result, complex):
        raise ValueError(f"{a} ** {b} is complex: complex numbers are not supported")
    return result
