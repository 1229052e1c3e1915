"""Tier-0 kernels of conversions and copies, and the one conversion that all torch-flavoured kernels use."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from tierup.dialect.kernels.axes import HALVES, dtype_named, is_float, name_of
from tierup.dialect.kernels.overlap import same_strides

_CONTIGUOUS = 0  # torch's number of contiguous_format, the one MemoryFormat that asks for an order
_SMALL = (np.dtype(np.uint8), np.dtype(np.int8), np.dtype(np.int16))
_F32, _I64 = np.dtype(np.float32), np.dtype(np.int64)


def cast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """x in `dtype`, itself when it has it. Values as torch converts them: to float16 and bfloat16 by way of float32, float
    to a small integer by way of int64 (so -1.0 to uint8 is 255), NaN to bool True, integers wrap."""
    return x if x.dtype == dtype else _converted(x, dtype)


@np.errstate(all="ignore")
def _converted(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    source = x.dtype
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
    if is_float(dtype):
        fits = value != value or abs(value) == math.inf or abs(value) <= float(ml_dtypes.finfo(dtype).max)
    elif type(value) is float:
        info = np.iinfo(dtype)
        fits = info.min <= value <= info.max  # False for NaN
    else:
        info = np.iinfo(dtype)
        fits = (-info.max if info.min == 0 else info.min) <= value <= info.max
    if not fits:
        raise ValueError(f"value {value} cannot be converted to type {name_of(dtype)} without overflow")


def to_dtype(
    x: np.ndarray, dtype: int | None, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """aten.to.dtype: x itself when nothing changes and no copy is asked for."""
    return _convert(x, x.dtype if dtype is None else dtype_named(dtype), copy, memory_format)


def to_dtype_layout(
    x: np.ndarray, dtype: int | None = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """aten.to.dtype_layout: layout, device and pinning say nothing here."""
    return to_dtype(x, dtype, non_blocking, copy, memory_format)


def to_device(
    x: np.ndarray, device: Any, dtype: int, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """aten.to.device: there is one device."""
    return to_dtype(x, dtype, non_blocking, copy, memory_format)


def to_prim_device(x: np.ndarray, device: Any, dtype: int | None = None, non_blocking: bool = False, copy: bool = False) -> np.ndarray:
    """aten.to.prim_Device."""
    return to_dtype(x, dtype, non_blocking, copy)


def to_other(
    x: np.ndarray, other: np.ndarray, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """aten.to.other: x in other's dtype."""
    return _convert(x, other.dtype, copy, memory_format)


def type_as(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    """aten.type_as: x in other's dtype, itself when it has it."""
    return cast(x, other.dtype)


def to_copy(
    x: np.ndarray, dtype: int | None = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """aten._to_copy: always fresh."""
    return to_dtype(x, dtype, non_blocking, True, memory_format)


def convert_element_type(x: np.ndarray, dtype: int) -> np.ndarray:
    """prims.convert_element_type: always fresh."""
    return to_dtype(x, dtype, False, True)


def clone(x: np.ndarray, memory_format: int | None = None) -> np.ndarray:
    """aten.clone: a fresh copy; strides kept in order unless contiguous_format is asked for."""
    return x.copy(order="C" if memory_format == _CONTIGUOUS else "K")


def contiguous(x: np.ndarray, memory_format: int = _CONTIGUOUS) -> np.ndarray:
    """aten.contiguous: x itself when it is C-contiguous, else a C-contiguous copy."""
    return x if x.flags.c_contiguous else x.copy(order="C")


def view_of(x: np.ndarray) -> np.ndarray:
    """aten.detach, aten.alias, prims.view_of: another array over the same memory."""
    return x.view()


def copy(x: np.ndarray, source: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    """aten.copy: source broadcast to x's shape and converted to its dtype, fresh, and laid out as x is, so that what can be viewed of x can
    be viewed of it. ValueError when it does not broadcast."""
    result = same_strides(x)
    result[...] = np.broadcast_to(cast(source, x.dtype), x.shape)
    return result


def _convert(x: np.ndarray, dtype: np.dtype, copy: bool, memory_format: int | None) -> np.ndarray:
    result = cast(x, dtype)
    if result is x and copy:
        return clone(x, memory_format)
    return contiguous(result) if memory_format == _CONTIGUOUS else result
