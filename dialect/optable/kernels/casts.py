"""The one conversion that all of tier 0 uses under torch's rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tierup.dialect.base.dtypes import largest, scalar_type
from tierup.dialect.optable.kernels import overlap
from tierup.dialect.optable.kernels.axes import HALVES, is_float

_SMALL = (np.dtype(np.uint8), np.dtype(np.int8), np.dtype(np.int16))
_F32, _I64 = np.dtype(np.float32), np.dtype(np.int64)


def cast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """x in `dtype`, itself when it has it. Values as torch converts them: to float16 and bfloat16 by way of float32, float
    to a small integer by way of int64 (so -1.0 to uint8 is 255), NaN to bool True, integers wrap."""
    return x if x.dtype == dtype else _converted(x, dtype)


@np.errstate(all="ignore")
def _converted(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    source = x.dtype
    if 0 in x.strides:
        x = overlap.copy(x)
    if dtype in HALVES:
        return x.astype(_F32, copy=False).astype(dtype)
    if source in HALVES:
        x = x.astype(_F32)
        source = _F32
    if source.kind == "f" and dtype in _SMALL:
        x = x.astype(_I64)
    return x.astype(dtype, copy=False)


def check_number(value: Any, dtype: np.dtype) -> None:
    """Raises ValueError for a Python number that torch refuses to fill `dtype` with: too large (integers may be negative for
    unsigned, and wrap), or NaN for an integer. c10/util/TypeCast.h, `overflows`."""
    if type(value) not in (int, float) or dtype == np.bool_:
        return
    if dtype.kind == "c":
        dtype = np.zeros((), dtype).real.dtype
    if is_float(dtype):
        fits = value != value or abs(value) == math.inf or abs(value) <= largest(dtype)
    elif type(value) is float:
        info = np.iinfo(dtype)
        fits = info.min <= value <= info.max  # False for NaN
    else:
        info = np.iinfo(dtype)
        fits = (-info.max if info.min == 0 else info.min) <= value <= info.max
    if not fits:
        raise ValueError(f"value {value} cannot be converted to type {scalar_type(dtype)} without overflow")
