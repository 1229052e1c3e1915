"""What reductions and their kin share: which axes they run over, and in which precision they accumulate.

torch accumulates float16 and bfloat16 in float32 and rounds once at the end (ATen/OpMathType.h); so do the kernels here.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import normalise_dim

HALVES = (dtypes.f16.numpy, dtypes.bf16.numpy)


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


def in_rows(x: np.ndarray) -> np.ndarray:
    """A new array with its last dim innermost, as PyTorch makes it where NumPy follows the operands: `view` asks for it."""
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
    total = 1
    for axis in axes:
        total *= shape[axis]
    return total


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


def row_major(x: object) -> np.ndarray:
    """x as an array whose elements lie in the order of its dims, as PyTorch makes most results; NumPy's lie as the operands' do."""
    return np.asarray(x, order="C")


def dtype_named(code: int) -> np.dtype:
    """The NumPy dtype of torch's ScalarType number, also of one that only NumPy computes in. Raises TypeError where there is none."""
    if code not in dtypes.NUMPY_BY_CODE:
        raise TypeError(f"dtype with torch's number {code} is not supported")
    return dtypes.NUMPY_BY_CODE[code]


def is_float(dtype: np.dtype) -> bool:
    """Whether dtype is one of the program's float types (bfloat16 is none of NumPy's own)."""
    known = dtypes.from_numpy(dtype)
    return known is not None and known.is_float
