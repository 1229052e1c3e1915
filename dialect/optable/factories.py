"""Tensors made from sizes and numbers. Under NumPy's promotion a float without a dtype is float64, under torch's float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.dialect.inference import dims
from tierup.dialect.inference.dims import Dim
from tierup.dialect.ir.values import Bool, Float, Int, List, NoneValue, Shape, Tensor, Value
from tierup.dialect.kernels.casts import check_number
from tierup.dialect.kernels.factories import arange_length
from tierup.dialect.kernels.promotion import FLOAT_DEFAULT, SCALARS
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Infer, InferRule, Kind, Op, Promotion, ShapeError, Tolerance

NONE = NoneValue()
_number = read.or_unknown(read.number)
_sizes = read.or_unknown(read.sizes)
_size = read.or_unknown(read.size)


def _at(operands: Sequence[Value], index: int) -> Value:
    return operands[index] if index < len(operands) else NONE


def _float_default(ctx: Infer) -> DType:
    return dtypes.f64 if ctx.promotion is Promotion.NUMPY else FLOAT_DEFAULT


def _dtype(value: Value, default: DType | None) -> DType | None:
    """The dtype operand's, else the default; None when not known. Raises TypeError for one that programs cannot hold."""
    try:
        return read.dtype_argument(value) or default
    except read.Unknown:
        return None


def _shape(ctx: Infer, value: Value) -> Shape | None:
    sizes = _sizes(value)
    if sizes is None and isinstance(value, List) and value.items is not None and all(isinstance(i, Int) for i in value.items):
        sizes = tuple(ctx.fresh() if i.value is None else i.value for i in value.items if isinstance(i, Int))  # for the run to say
    for d in sizes or ():
        if isinstance(d, int) and d < 0:
            raise ShapeError(f"Trying to create tensor with negative dimension {d}: {[str(s) for s in sizes or ()]}")
    return sizes


def _kind(ctx: Infer, value: Value) -> DType | None:
    """The dtype that a number has on its own; None when not known whether it is an int or a float."""
    if isinstance(value, Float):
        return _float_default(ctx)
    return SCALARS[bool] if isinstance(value, Bool) else SCALARS[int] if isinstance(value, Int) else None


def _check_fits(ctx: Infer, value: Value, dtype: DType | None) -> None:
    """A known number that the dtype cannot hold is an error for every run."""
    number = _number(value) if isinstance(value, (Int, Float)) else None
    if dtype is None or number is None:
        return
    try:
        if ctx.promotion is Promotion.TORCH:
            check_number(number, dtype.numpy)
        elif isinstance(number, int):
            np.full((), number, dtype.numpy)
    except (ValueError, OverflowError) as e:
        raise ShapeError(str(e)) from e


def _sized(dtype_index: int) -> InferRule:
    """zeros, ones, empty: operand 0 has the sizes."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        return Tensor(_dtype(_at(operands, dtype_index), _float_default(ctx)), _shape(ctx, operands[0]))

    return infer


def _full(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    dtype = _dtype(_at(operands, 2), _kind(ctx, operands[1]))
    _check_fits(ctx, operands[1], dtype)
    return Tensor(dtype, _shape(ctx, operands[0]))


def _like(dtype_index: int, fill_index: int | None = None) -> InferRule:
    """zeros_like and its kin: operand 0 has the sizes, and the dtype unless told."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        x = operands[0]
        dtype = _dtype(_at(operands, dtype_index), read.dtype_of(x))
        if fill_index is not None:
            _check_fits(ctx, operands[fill_index], dtype)
        return Tensor(dtype, x.shape if isinstance(x, Tensor) else None)

    return infer


def _new(dtype_index: int, fill_index: int | None = None) -> InferRule:
    """new_zeros and its kin: operand 0 has the dtype unless told, operand 1 the sizes."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        dtype = _dtype(_at(operands, dtype_index), read.dtype_of(operands[0]))
        if fill_index is not None:
            _check_fits(ctx, operands[fill_index], dtype)
        return Tensor(dtype, _shape(ctx, operands[1]))

    return infer


def _arange_dtype(ctx: Infer, numbers: Sequence[Value], dtype: Value) -> DType | None:
    kinds = [_kind(ctx, v) for v in numbers]
    floats = any(k is not None and k.is_float for k in kinds)
    default = _float_default(ctx) if floats else dtypes.i64 if None not in kinds else None
    found = _dtype(dtype, default)
    if found is dtypes.bool_ and ctx.promotion is Promotion.TORCH:
        raise TypeError("arange: not implemented for bool")
    return found


def _arange_size(ctx: Infer, bounds: tuple[Value, Value, Value], dtype: DType | None) -> Dim:
    """The length: known for known numbers, symbolic for an int range of step 1 from 0, else of the run."""
    start, end, step = (_number(v) for v in bounds)
    if start is not None and end is not None and step is not None:
        if ctx.promotion is Promotion.NUMPY:
            return _numpy_arange_size(start, end, step)
        integral = dtype is dtypes.i64 or not any(isinstance(v, Float) for v in bounds)
        if dtype is dtypes.i64:
            start, end, step = int(start), int(end), int(step)
        try:
            return arange_length(start, end, step, integral)
        except ValueError as e:
            raise ShapeError(str(e)) from e
    low, high = _size(bounds[0]), _size(bounds[1])
    if step == 1 and low == 0 and high is not None and not isinstance(high, int):
        return high  # a symbol is a size: never negative
    return ctx.fresh()


def _numpy_arange_size(start: float, end: float, step: float) -> int:
    """ceil((end - start) / step), not below 0. ZeroDivisionError for step 0, as np.arange."""
    if step == 0:
        raise ZeroDivisionError("division by zero")
    if all(isinstance(v, int) for v in (start, end, step)):
        return len(range(int(start), int(end), int(step)))
    length = (end - start) / step
    if length != length or length in (float("inf"), float("-inf")):
        raise ShapeError("arange: cannot compute length")
    return max(-int(-length // 1), 0)


def _arange(arguments: int) -> InferRule:
    """arange(end), (start, end) or (start, end, step), then the dtype."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        start = operands[0] if arguments > 1 else Int(0)
        end = operands[min(arguments - 1, 1)]
        step = operands[2] if arguments == 3 else Int(1)
        dtype = _arange_dtype(ctx, operands[:arguments], _at(operands, arguments))
        return Tensor(dtype, (_arange_size(ctx, (start, end, step), dtype),))

    return infer


def _linspace(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    dtype = _dtype(_at(operands, 3), _float_default(ctx))
    steps = _size(operands[2])
    if dtype is dtypes.bool_ and steps is not None and dims.at_least(steps, 2) and ctx.promotion is Promotion.TORCH:
        raise TypeError("linspace: not implemented for bool")
    if isinstance(steps, int) and steps < 0:
        raise ShapeError("number of steps must be non-negative")
    return Tensor(dtype, (ctx.fresh() if steps is None else steps,))


def _eye(sizes: int) -> InferRule:
    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        found = [_size(v) for v in operands[:sizes]]
        for name, d in zip("nm", found, strict=False):
            if isinstance(d, int) and d < 0:
                raise ShapeError(f"{name} must be greater or equal to 0, got {d}")
        n, m = (ctx.fresh() if d is None else d for d in (found[0], found[-1]))
        return Tensor(_dtype(_at(operands, sizes), _float_default(ctx)), (n, n if sizes == 1 else m))

    return infer


def _leaves(value: Value) -> list[Value]:
    return [leaf for item in read.items(value) for leaf in _leaves(item)] if isinstance(value, List) else [value]


def _nested_shape(value: Value) -> Shape:
    if not isinstance(value, List):
        return ()
    items = read.items(value)
    shapes = {_nested_shape(i) for i in items}
    if len(shapes) > 1:
        raise ShapeError("tensor: the lists do not all have one length")
    return (len(items), *(shapes.pop() if shapes else ()))


def _tensor(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    data = operands[0]
    try:
        kinds = [_kind(ctx, leaf) for leaf in _leaves(data)]
        shape: Shape | None = _nested_shape(data)
    except read.Unknown:
        return Tensor(_dtype(_at(operands, 1), None), None)
    if any(k is not None and k.is_float for k in kinds) or not kinds:
        default: DType | None = _float_default(ctx)
    else:
        default = None if None in kinds else dtypes.i64 if dtypes.i64 in kinds else dtypes.bool_
    return Tensor(_dtype(_at(operands, 1), default), shape)


def _scalar_tensor(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    default = _kind(ctx, operands[0]) if ctx.promotion is Promotion.NUMPY else FLOAT_DEFAULT
    dtype = _dtype(_at(operands, 1), default)
    _check_fits(ctx, operands[0], dtype)
    return Tensor(dtype, ())


def _number_to_tensor(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    kind = _kind(ctx, operands[0])
    return Tensor(dtypes.f64 if kind is not None and kind.is_float else kind, ())


def _literal(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    value = operands[0] if operands else Tensor()
    return value if isinstance(value, Tensor) else Tensor()


def _row(
    name: str, function: str, infer: InferRule, numpy: str | None = None, exact: bool = True, note: str = "", native: bool = True
) -> Op:
    tolerance = EXACT if exact else Tolerance()
    kernel = f"factories.{function}"
    return Op(name, Kind.FACTORY, kernel, infer, numpy=numpy, tolerance=tolerance, note=note, native=native, differentiable=False)


def _numpy(name: str, function: str, infer: InferRule, **fields: object) -> Op:
    return _row(name, function, infer, f"numpy_factories.{function}", **fields)  # type: ignore[arg-type]  # Op's fields


_EMPTY = "filled with zeros, so that every tier gives the same result"
_STEP = "float32 and halves are computed in float64, then rounded"
ROWS = [
    _numpy("aten.zeros", "zeros", _sized(1)),
    _numpy("aten.ones", "ones", _sized(1)),
    _numpy("aten.empty.memory_format", "zeros", _sized(1), note=_EMPTY),
    _numpy("aten.full", "full", _full),
    _row("aten.zeros_like", "zeros_like", _like(1)),
    _row("aten.ones_like", "ones_like", _like(1)),
    _row("aten.empty_like", "zeros_like", _like(1), note=_EMPTY),
    _numpy("aten.full_like", "full_like", _like(2, fill_index=1)),
    replace(_row("aten.zero", "zeros_like", _like(1)), differentiable=True),  # in PyTorch a copy that is overwritten
    _row("aten.new_zeros", "new_zeros", _new(2)),
    _row("aten.new_ones", "new_ones", _new(2)),
    _row("aten.new_empty", "new_zeros", _new(2), note=_EMPTY),
    _numpy("aten.new_full", "new_full", _new(3, fill_index=2)),
    _numpy("aten.arange", "arange", _arange(1), exact=False, note=_STEP),
    _numpy("aten.arange.start", "arange_start", _arange(2), exact=False, note=_STEP),
    _numpy("aten.arange.start_step", "arange_step", _arange(3), exact=False, note=_STEP),
    _numpy("aten.linspace", "linspace", _linspace, exact=False, note="the second half is counted back from the end"),
    _numpy("aten.eye", "eye", _eye(1)),
    _numpy("aten.eye.m", "eye_m", _eye(2)),
    *(_numpy(f"aten.tensor{kind}", "tensor", _tensor) for kind in ("", ".int", ".float", ".bool")),
    _numpy("aten.scalar_tensor", "scalar_tensor", _scalar_tensor, note="float32 even for an int, unless told"),
    _row("prim.NumToTensor.Scalar", "number_to_tensor", _number_to_tensor),
    _row("vtensor.literal", "literal", _literal),
    _row("tensor.literal", "literal", _literal, native=False),
]
