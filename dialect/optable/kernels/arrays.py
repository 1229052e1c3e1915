"""What kernels share: which axes they run over, in which precision they accumulate, and the one conversion under torch's rules.

torch accumulates float16 and bfloat16 in float32 and rounds once at the end (ATen/OpMathType.h); so do the kernels here.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import largest, scalar_type
from tierup.dialect.optable.core import normalise_dim
from tierup.dialect.optable.kernels import overlap

HALVES = (dtypes.f16.numpy, dtypes.bf16.numpy)
Number = int | float | bool


class _Quiet(threading.local):
    """`with quiet:` computes without floating-point warnings: torch raises none. May be nested, in every thread."""

    def __init__(self) -> None:
        self._entered: list[np.errstate] = []

    def __enter__(self) -> None:
        state = np.errstate(all="ignore")  # an instance can be entered only once
        state.__enter__()
        self._entered.append(state)

    def __exit__(self, *exception: Any) -> None:
        self._entered.pop().__exit__(*exception)


quiet = _Quiet()


def in_rows(x: object) -> np.ndarray:
    """x as an array with its last dim innermost, as PyTorch makes most results where NumPy follows the operands: `view` asks for it."""
    return np.asarray(x, order="C")


def axes_of(dims: Sequence[int] | int | None, rank: int) -> tuple[int, ...]:
    """The axes that a reduction runs over, front first. None and [] mean all of them.

    Raises IndexError for a dim out of range, ValueError for one named twice.
    """
    if dims is None:
        return tuple(range(rank))
    named = [dims] if isinstance(dims, int) else list(dims)
    axes = distinct_axes(named, rank)
    return axes if axes else tuple(range(rank))


def distinct_axes(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """Dims counted from the front, sorted; () for rank 0. Raises IndexError, or ValueError for a dim named twice."""
    axes: set[int] = set()
    for dim in dims:
        axis = normalise_dim(dim, rank)
        if axis in axes:
            raise ValueError(f"dim {axis} appears multiple times in the list of dims")
        axes.add(axis)
    return tuple(sorted(axes)) if rank else ()


def count(shape: Sequence[int], axes: Sequence[int]) -> int:
    """How many elements one result element is reduced from."""
    return math.prod(shape[axis] for axis in axes)


def accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype that sums of `dtype` are kept in: float32 for the halves, else itself."""
    return dtypes.f32.numpy if dtype in HALVES else dtype


def accumulated_dtype(x: np.ndarray, dtype: int | None) -> np.dtype:
    """What sums and products are made in and give: the dtype asked for by torch's number, else int64 for bools and integers."""
    if dtype is not None:
        return dtype_named(dtype)
    return x.dtype if is_float(x.dtype) or x.dtype.kind == "c" else np.dtype(np.int64)


def widened(x: np.ndarray) -> np.ndarray:
    """x, in float32 when it is float16 or bfloat16. Order and value of every element are kept."""
    return x.astype(np.float32) if x.dtype in HALVES else x


def rounded(x: object, dtype: np.dtype) -> np.ndarray:
    """x as an array (rank 0 for a NumPy scalar) of `dtype`."""
    return np.asarray(x).astype(dtype, copy=False)


def dtype_named(code: int) -> np.dtype:
    """The NumPy dtype of torch's ScalarType number, also of one that only NumPy computes in. Raises TypeError where there is none."""
    if code not in dtypes.NUMPY_BY_CODE:
        raise TypeError(f"dtype with torch's number {code} is not supported")
    return dtypes.NUMPY_BY_CODE[code]


def is_float(dtype: np.dtype) -> bool:
    """Whether dtype is one of the program's float types (bfloat16 is none of NumPy's own)."""
    known = dtypes.from_numpy(dtype)
    return known is not None and known.is_float


# --- conversion --------------------------------------------------------------------------------------------------------


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


def element(value: Number, dtype: np.dtype) -> np.generic:
    """`value` as an element of dtype; fractions are cut off, negative integers wrap in unsigned types. ValueError where torch
    says that it overflows (`check_number`)."""
    check_number(value, dtype)
    exact = np.asarray(value, np.float64) if is_float(dtype) or dtype == np.bool_ else np.asarray(int(value), np.int64)
    found: Any = cast(exact, dtype)[()]
    made: np.generic = found
    return made
