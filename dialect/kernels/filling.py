"""Python numbers that become elements of a tensor: padding, masked_fill, scatter, fill."""

from __future__ import annotations

import math

import numpy as np

from tierup.dialect.kernels.axes import is_float, name_of, quiet
from tierup.dialect.kernels.casts import cast

Number = int | float | bool


def element(value: Number, dtype: np.dtype) -> np.generic:
    """`value` as an element of dtype. ValueError where torch says that it overflows (c10/util/TypeCast.h): NaN and numbers out of
    range for integers (negative ones wrap in unsigned types), finite numbers out of range for floats. Fractions are cut off."""
    if dtype == np.bool_:
        return np.bool_(bool(value))
    if is_float(dtype):
        with quiet:
            result = cast(np.asarray(value, np.float64), dtype)
        if not math.isfinite(value) or np.isfinite(result.astype(np.float64)):
            return result[()]
    elif math.isfinite(value):
        whole = int(value)
        limits = np.iinfo(dtype)
        low = -int(limits.max) if limits.min == 0 else int(limits.min)
        if low <= whole <= int(limits.max):
            return np.asarray(whole, np.int64).astype(dtype)[()]
    raise ValueError(f"value cannot be converted to type {name_of(dtype)} without overflow")
