"""Tier-0 kernels of tensors made from numbers, with torch's semantics: without a dtype, floats are float32.

`size` is a list of ints, `dtype` torch's ScalarType number or None; layout, device and pinning say nothing here. `empty` is
filled with zeros, so that a program gives the same result in every tier. Common errors: ValueError for a negative size or
a number that the dtype cannot hold, TypeError for a dtype that programs cannot hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.kernels.axes import HALVES, dtype_named, quiet
from tierup.dialect.kernels.casts import cast, check_number
from tierup.dialect.kernels.promotion import FLOAT_DEFAULT, SCALARS

Number = Any  # int, float or bool
_CONTIGUOUS = 0  # torch.contiguous_format, as in casts


def _dtype(dtype: int | None, default: np.dtype = FLOAT_DEFAULT.numpy) -> np.dtype:
    return default if dtype is None else dtype_named(dtype)


def _filled(size: Sequence[int], value: Number, dtype: np.dtype) -> np.ndarray:
    for d in size:
        if d < 0:
            raise ValueError(f"Trying to create tensor with negative dimension {d}: {list(size)}")
    if type(value) in (int, bool) and value in (0, 1):
        return np.zeros(size, dtype) if not value else np.ones(size, dtype)
    check_number(value, dtype)
    return np.full(size, cast(np.asarray(value), dtype), dtype)


def zeros(size: Sequence[int], dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.zeros, aten.empty.memory_format."""
    return _filled(size, 0, _dtype(dtype))


def ones(size: Sequence[int], dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.ones."""
    return _filled(size, 1, _dtype(dtype))


def full(size: Sequence[int], fill_value: Number, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.full: without a dtype, the number's own: bool, int64 or float32."""
    return _filled(size, fill_value, _dtype(dtype, SCALARS[type(fill_value)].numpy))


def _filled_like(x: np.ndarray, value: Number, dtype: int | None, rest: Sequence[Any]) -> np.ndarray:
    """Filled, and laid out as x is. `rest`: layout, device, pin_memory, memory_format."""
    if x.flags.c_contiguous or rest[3:] == (_CONTIGUOUS,):
        return _filled(x.shape, value, _dtype(dtype, x.dtype))
    return np.full_like(x, _filled((), value, _dtype(dtype, x.dtype)), dtype=_dtype(dtype, x.dtype))


def zeros_like(x: np.ndarray, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.zeros_like, aten.empty_like."""
    return _filled_like(x, 0, dtype, rest)


def ones_like(x: np.ndarray, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.ones_like."""
    return _filled_like(x, 1, dtype, rest)


def full_like(x: np.ndarray, fill_value: Number, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.full_like."""
    return _filled_like(x, fill_value, dtype, rest)


def new_zeros(x: np.ndarray, size: Sequence[int], dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.new_zeros, aten.new_empty: in x's dtype unless told."""
    return _filled(size, 0, _dtype(dtype, x.dtype))


def new_ones(x: np.ndarray, size: Sequence[int], dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.new_ones."""
    return _filled(size, 1, _dtype(dtype, x.dtype))


def new_full(x: np.ndarray, size: Sequence[int], fill_value: Number, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.new_full."""
    return _filled(size, fill_value, _dtype(dtype, x.dtype))


def arange_length(start: Number, end: Number, step: Number, integral: bool) -> int:
    """How many elements arange has. ValueError for step 0, a step away from `end`, or an infinite bound (ATen/native/RangeUtils.h)."""
    if step == 0:
        raise ValueError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise ValueError(f"unsupported range: {start} -> {end}")
    if (end < start) if step > 0 else (end > start):
        raise ValueError("upper bound and lower bound inconsistent with step sign")
    if integral:
        return -((end - start) // -step)
    return math.ceil((end - start) / step)


def arange(end: Number, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.arange: see arange_step."""
    return arange_step(0, end, 1, dtype)


def arange_start(start: Number, end: Number, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.arange.start: see arange_step."""
    return arange_step(start, end, 1, dtype)


def arange_step(start: Number, end: Number, step: Number = 1, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.arange.start_step: start, start + step, ... below end. int64 when all are ints, else float32, unless told.

    ValueError as in arange_length; TypeError for bool.
    """
    floats = any(type(v) is float for v in (start, end, step))
    target = _dtype(dtype, np.dtype(np.float32 if floats else np.int64))
    if target == np.bool_:
        raise TypeError("arange: not implemented for bool")
    if target == np.int64:
        start, end, step = int(start), int(end), int(step)
    count = arange_length(start, end, step, target == np.int64 or not floats)
    with quiet:
        if target.kind in "iu":
            return cast(np.arange(count, dtype=np.int64) * int(step) + int(start), target)
        return cast(np.arange(count, dtype=np.float64) * float(step) + float(start), target)


def linspace(start: Number, end: Number, steps: int, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.linspace: `steps` numbers from start to end, both included; the second half counted back from end
    (ATen/native/cpu/RangeFactoriesKernel.cpp).

    ValueError for negative steps, TypeError for bool.
    """
    target = _dtype(dtype)
    if steps < 0:
        raise ValueError("number of steps must be non-negative")
    if target == np.bool_ and steps > 1:
        raise TypeError("linspace: not implemented for bool")
    if target.kind in "iu":
        start, end = int(start), int(end)
    compute = np.dtype(np.float32) if target in HALVES or target == np.float32 else np.dtype(np.float64)
    first, last = compute.type(start), compute.type(end)
    if steps < 2:
        return cast(np.full(steps, first), target)
    with quiet:
        step = (last - first) / compute.type(steps - 1)
        index: np.ndarray = np.arange(steps).astype(compute)
        from_start, from_end = np.add(first, step * index), np.subtract(last, step * index[::-1])
        return cast(np.where(index < steps // 2, from_start, from_end), target)


def eye(n: int, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.eye: the n x n identity."""
    return eye_m(n, n, dtype)


def eye_m(n: int, m: int, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.eye.m: ones on the main diagonal of n x m zeros. ValueError for negative sizes."""
    for name, size in (("n", n), ("m", m)):
        if size < 0:
            raise ValueError(f"{name} must be greater or equal to 0, got {size}")
    return np.eye(n, m, dtype=_dtype(dtype))


def _flat(data: Any) -> list[Number]:
    return [x for item in data for x in _flat(item)] if isinstance(data, (list, tuple)) else [data]


def tensor(data: Any, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.tensor and aten.tensor.int, .float, .bool: from a number or a (nested) list of them. Without a dtype, float32 if any
    is a float, else int64, else bool; an empty list is float32. ValueError for a ragged list."""
    kinds = {type(v) for v in _flat(data)}
    default = next((SCALARS[k].numpy for k in (float, int, bool) if k in kinds), FLOAT_DEFAULT.numpy)
    target = _dtype(dtype, default)
    return cast(np.asarray(data, dtype=np.float64 if float in kinds else None), target) if kinds else np.asarray(data, dtype=target)


def scalar_tensor(value: Number, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """aten.scalar_tensor: a rank-0 tensor, float32 unless told."""
    return _filled((), value, _dtype(dtype))


def number_to_tensor(value: Number) -> np.ndarray:
    """prim.NumToTensor.Scalar: a rank-0 tensor of bool, int64 or float64."""
    return np.asarray(value, {bool: np.bool_, int: np.int64, float: np.float64}[type(value)])


def literal(value: np.ndarray) -> np.ndarray:
    """vtensor.literal, tensor.literal: a copy of the constant, which the caller may write."""
    return value.copy()
