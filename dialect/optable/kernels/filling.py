"""Python numbers that become elements of a tensor: padding, masked_fill, scatter, fill."""

from __future__ import annotations

from typing import Any

import numpy as np

from tierup.dialect.optable.kernels.axes import is_float
from tierup.dialect.optable.kernels.casts import cast, check_number

Number = int | float | bool


def element(value: Number, dtype: np.dtype) -> np.generic:
    """`value` as an element of dtype; fractions are cut off, negative integers wrap in unsigned types. ValueError where torch
    says that it overflows (casts.check_number)."""
    check_number(value, dtype)
    exact = np.asarray(value, np.float64) if is_float(dtype) or dtype == np.bool_ else np.asarray(int(value), np.int64)
    found: Any = cast(exact, dtype)[()]
    made: np.generic = found
    return made
