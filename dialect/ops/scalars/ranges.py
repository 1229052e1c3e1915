"""Tensors of evenly spaced numbers. Operands as in factories.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts import dims
from tierup.dialect.facts.dims import Dim
from tierup.dialect.facts.values import Float, Int, Tensor, Value
from tierup.dialect.ops.scalars.factories import HOW, Number, dtype_of_number, dtype_or, float_default, number_of, numpy_dtype, size_of
from tierup.dialect.optable.core import Infer, InferRule, Kind, Promotion, ShapeError
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.arrays import HALVES, cast, quiet

_op = partial(op, kind=Kind.FACTORY, differentiable=False)


def _arange_dtype(ctx: Infer, numbers: Sequence[Value], operands: Sequence[Value]) -> DType | None:
    kinds = [dtype_of_number(ctx, v) for v in numbers]
    floats = any(k is not None and k.is_float for k in kinds)
    found = dtype_or(operands, len(numbers), float_default(ctx) if floats else dtypes.i64 if None not in kinds else None)
    if found is dtypes.bool_ and ctx.promotion is Promotion.TORCH:
        raise TypeError("arange: not implemented for bool")
    return found


def _arange_length(start: Number, end: Number, step: Number, integral: bool) -> int:
    """How many elements there are. ShapeError for step 0, a step away from `end`, or an infinite bound (ATen/native/RangeUtils.h)."""
    if step == 0:
        raise ShapeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise ShapeError(f"unsupported range: {start} -> {end}")
    if (end < start) if step > 0 else (end > start):
        raise ShapeError("upper bound and lower bound inconsistent with step sign")
    return int(-((end - start) // -step)) if integral else math.ceil((end - start) / step)


def _numpy_arange_length(start: Number, end: Number, step: Number) -> int:
    """ceil((end - start) / step), not below 0; 1 where a step is so large that this is 0. ZeroDivisionError for step 0, as np.arange."""
    if step == 0:
        raise ZeroDivisionError("division by zero")
    if all(isinstance(v, int) for v in (start, end, step)):
        return len(range(int(start), int(end), int(step)))
    length = (end - start) / step
    if not math.isfinite(length):
        raise ShapeError("arange: cannot compute length")
    if length == 0 and start != end:
        return int((start < end) == (step > 0))
    return max(-int(-length // 1), 0)


def _arange_size(ctx: Infer, bounds: tuple[Value, Value, Value], dtype: DType | None) -> Dim:
    """The length: known for known numbers, symbolic for an int range of step 1 from 0, else of the run."""
    start, end, step = (number_of(v) for v in bounds)
    if start is not None and end is not None and step is not None:
        if ctx.promotion is Promotion.NUMPY:
            return _numpy_arange_length(start, end, step)
        if dtype is dtypes.i64:
            start, end, step = int(start), int(end), int(step)
        return _arange_length(start, end, step, dtype is dtypes.i64 or not any(isinstance(v, Float) for v in bounds))
    low, high = size_of(bounds[0]), size_of(bounds[1])
    if step == 1 and low == 0 and high is not None and not isinstance(high, int):
        return high  # a symbol is a size: never negative
    return ctx.fresh()


def _infer_arange(numbers: int) -> InferRule:
    """arange(end), (start, end) or (start, end, step), then the dtype."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        start = operands[0] if numbers > 1 else Int(0)
        end = operands[min(numbers - 1, 1)]
        step = operands[2] if numbers == 3 else Int(1)
        dtype = _arange_dtype(ctx, operands[:numbers], operands)
        return Tensor(dtype, (_arange_size(ctx, (start, end, step), dtype),))

    return infer


_ranged = partial(_op, note="float32 and halves are computed in float64, then rounded")


@_ranged(f"aten.arange(Scalar end, *, {HOW}) -> Tensor", infer=_infer_arange(1))
def arange(end: Number, dtype: int | None = None, *rest: Any) -> np.ndarray:
    return arange_step(0, end, 1, dtype)


arange.under_numpy(form="arange")(lambda end, dtype=None, *rest: np.arange(end, dtype=numpy_dtype(dtype)))


@_ranged(f"aten.arange.start(Scalar start, Scalar end, *, {HOW}) -> Tensor", infer=_infer_arange(2))
def arange_start(start: Number, end: Number, dtype: int | None = None, *rest: Any) -> np.ndarray:
    return arange_step(start, end, 1, dtype)


arange_start.under_numpy(form="arange")(lambda start, end, dtype=None, *rest: np.arange(start, end, dtype=numpy_dtype(dtype)))


@_ranged(f"aten.arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {HOW}) -> Tensor", infer=_infer_arange(3))
def arange_step(start: Number, end: Number, step: Number = 1, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """start, start + step, ... below end. int64 when all are ints, else float32, unless told. TypeError for bool."""
    made = arange_step.checked(start, end, step, dtype)
    target, (count,) = made.dtype.numpy, made.shape
    with quiet:
        if target.kind in "iu":
            return cast(np.arange(count, dtype=np.int64) * int(step) + int(start), target)
        return cast(np.arange(count, dtype=np.float64) * float(step) + float(start), target)


@arange_step.under_numpy(form="arange")
def _(start: Number, end: Number, step: Number = 1, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """ZeroDivisionError for step 0."""
    return np.arange(start, end, step, dtype=numpy_dtype(dtype))


def _infer_linspace(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    dtype, steps = dtype_or(operands, 3, float_default(ctx)), size_of(operands[2])
    if isinstance(steps, int) and steps < 0:
        raise ShapeError("number of steps must be non-negative")
    if dtype is dtypes.bool_ and steps is not None and dims.at_least(steps, 2) and ctx.promotion is Promotion.TORCH:
        raise TypeError("linspace: not implemented for bool")
    return Tensor(dtype, (ctx.fresh() if steps is None else steps,))


@_op(
    f"aten.linspace(Scalar start, Scalar end, int steps, *, {HOW}) -> Tensor", infer=_infer_linspace,
    note="the second half is counted back from the end",
)  # fmt: skip
def linspace(start: Number, end: Number, steps: int, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """`steps` numbers from start to end, both included (ATen/native/cpu/RangeFactoriesKernel.cpp)."""
    target = linspace.checked(start, end, steps, dtype).dtype.numpy
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


linspace.under_numpy(form="none")(lambda start, end, steps, dtype=None, *rest: np.linspace(start, end, steps, dtype=numpy_dtype(dtype)))
