"""Tensors made from sizes and numbers. Under NumPy's rules a float without a dtype is float64, under torch's float32.

`dtype` is torch's ScalarType number or None; layout, device and pinning say nothing here. `empty` is zeros, so that every tier gives the
same result. ValueError for a negative size or a number that the dtype cannot hold, TypeError for a dtype that programs cannot hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.values import Bool, Float, Int, List, Shape, Tensor, Value
from tierup.dialect.ops.pointwise.elementary import zero_gradient
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, OF_COMPLEX, Infer, InferRule, Kind, Layout, Promotion, ShapeError, format_shape
from tierup.dialect.optable.define import DefinedOp, define, op, read_schema
from tierup.dialect.optable.kernels import overlap
from tierup.dialect.optable.kernels.arrays import cast, check_number, dtype_named
from tierup.dialect.optable.kernels.promotion import FLOAT_DEFAULT, SCALARS
from tierup.dialect.optable.operands import given

Number = Any  # int, float or bool
HOW = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_LIKE = f"{HOW}, MemoryFormat? memory_format=None"
_CONTIGUOUS = 0  # torch.contiguous_format
_EMPTY = "filled with zeros, so that every tier gives the same result"

_op = partial(op, kind=Kind.FACTORY, tolerance=EXACT, differentiable=False, **OF_COMPLEX)

number_of = read.or_unknown(read.number)
size_of = read.or_unknown(read.size)


def float_default(ctx: Infer) -> DType:
    return dtypes.f64 if ctx.promotion is Promotion.NUMPY else FLOAT_DEFAULT


def dtype_or(operands: Sequence[Value], i: int, default: DType | None) -> DType | None:
    """The dtype that operand i says, else the default; None when not known. Raises TypeError for one that programs cannot hold."""
    try:
        return read.dtype_argument(given(operands, i)) or default
    except read.Unknown:
        return None


def _shape(ctx: Infer, value: Value) -> Shape | None:
    sizes = read.or_unknown(read.sizes)(value)
    if sizes is None and isinstance(value, List) and value.items is not None and all(isinstance(i, Int) for i in value.items):
        sizes = tuple(ctx.fresh() if i.value is None else i.value for i in value.items if isinstance(i, Int))  # for the run to say
    for d in sizes or ():
        if isinstance(d, int) and d < 0:
            if ctx.promotion is Promotion.NUMPY:
                raise ShapeError("negative dimensions are not allowed")
            raise ShapeError(f"Trying to create tensor with negative dimension {d}: {format_shape(sizes)}")
    return sizes


def dtype_of_number(ctx: Infer, value: Value) -> DType | None:
    """The dtype that a number has on its own; None when not known whether it is an int or a float."""
    if isinstance(value, Float):
        return float_default(ctx)
    return SCALARS[bool] if isinstance(value, Bool) else SCALARS[int] if isinstance(value, Int) else None


def _check_fits(ctx: Infer, value: Value, dtype: DType | None) -> None:
    """A known number that the dtype cannot hold is an error for every run."""
    number = number_of(value) if isinstance(value, (Int, Float)) else None
    if dtype is None or number is None:
        return
    try:
        if ctx.promotion is Promotion.TORCH:
            check_number(number, dtype.numpy)
        elif isinstance(number, int):
            np.full((), number, dtype.numpy)
    except ValueError as e:
        raise ShapeError(str(e)) from e


def _filled(made: Tensor, value: Number, like: np.ndarray | None = None) -> np.ndarray:
    """The tensor of which the rule says dtype and sizes, each element `value`; of `like` the dtype, where programs cannot hold it."""
    dtype = like.dtype if made.dtype is None and like is not None else made.dtype.numpy  # type: ignore[union-attr]  # known of numbers
    sizes: Any = made.shape
    if type(value) in (int, bool) and value in (0, 1):
        return np.ones(sizes, dtype) if value else np.zeros(sizes, dtype)
    return np.full(sizes, cast(np.asarray(value), dtype), dtype)


def numpy_dtype(code: int | None, default: Any = None) -> Any:
    return default if code is None else dtype_named(code)


# --- of sizes ----------------------------------------------------------------------------------------------------------


def _filled_op(schema: str, infer: InferRule, fill: Number | None = None, *, numpy: bool = False, **fields: Any) -> DefinedOp[np.ndarray]:
    """The op whose tensors hold `fill` throughout, or its operand `fill_value`: of a `size`, or of the sizes and laid out as `self` is,
    whose dtype they have unless told. `numpy`: NumPy has the op, as np.full or np.full_like; OverflowError for an int that does not fit.
    """
    names = read_schema(schema)[1]
    at, size, is_like = names.index("dtype"), names.index("size") if "size" in names else None, names[0] == "self"

    def tier0(*operands: Any) -> np.ndarray:
        made, value = defined.checked(*operands[: at + 1]), operands[at - 1] if fill is None else fill
        if size is None:
            return _filled_like(made, operands[0], value, operands[at + 1 :])
        return _filled(made, value, operands[0] if is_like else None)

    def numpy_tier0(*operands: Any) -> np.ndarray:
        default = operands[0].dtype if is_like else None if fill is None else np.float64
        dtype = numpy_dtype(operands[at] if len(operands) > at else None, default)
        value = operands[at - 1] if fill is None else fill
        return np.full_like(operands[0], value, dtype) if size is None else np.full(operands[size], value, dtype)

    defined = define(schema, tier0, kind=Kind.FACTORY, infer=infer, tolerance=EXACT, differentiable=False, **OF_COMPLEX, **fields)
    if numpy:
        defined.under_numpy(form="factory")(numpy_tier0)
    return defined


def _sized(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return Tensor(dtype_or(operands, 1, float_default(ctx)), _shape(ctx, operands[0]))


def _infer_full(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    """Without a dtype the number's own: bool, int64 or float32."""
    dtype = dtype_or(operands, 2, dtype_of_number(ctx, operands[1]))
    _check_fits(ctx, operands[1], dtype)
    return Tensor(dtype, _shape(ctx, operands[0]))


zeros = _filled_op(f"aten.zeros(int[] size, *, {HOW}) -> Tensor", _sized, 0, numpy=True)
empty_memory_format = _filled_op(f"aten.empty.memory_format(int[] size, *, {_LIKE}) -> Tensor", _sized, 0, numpy=True, note=_EMPTY)
ones = _filled_op(f"aten.ones(int[] size, *, {HOW}) -> Tensor", _sized, 1, numpy=True)
full = _filled_op(f"aten.full(int[] size, Scalar fill_value, *, {HOW}) -> Tensor", _infer_full, numpy=True)


def _infer_eye(ctx: Infer, operands: Sequence[Value], sizes: int) -> Tensor:
    found = [size_of(v) for v in operands[:sizes]]
    for name, d in zip("nm", found, strict=False):
        if isinstance(d, int) and d < 0:
            raise ShapeError(f"{name} must be greater or equal to 0, got {d}")
    n, m = (ctx.fresh() if d is None else d for d in (found[0], found[-1]))
    return Tensor(dtype_or(operands, sizes, float_default(ctx)), (n, n if sizes == 1 else m))


@_op(f"aten.eye(int n, *, {HOW}) -> Tensor", infer=partial(_infer_eye, sizes=1))
def eye(n: int, dtype: int | None = None, *rest: Any) -> np.ndarray:
    return eye_m(n, n, dtype)


eye.under_numpy(form="factory")(lambda n, dtype=None, *rest: np.eye(n, dtype=numpy_dtype(dtype, np.float64)))


@_op(f"aten.eye.m(int n, int m, *, {HOW}) -> Tensor", infer=partial(_infer_eye, sizes=2))
def eye_m(n: int, m: int, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """Ones on the main diagonal of n x m zeros."""
    return np.eye(n, m, dtype=eye_m.checked(n, m, dtype).dtype.numpy)


eye_m.under_numpy(form="factory")(lambda n, m, dtype=None, *rest: np.eye(n, m, dtype=numpy_dtype(dtype, np.float64)))


# --- like another tensor -----------------------------------------------------------------------------------------------


def _like(ctx: Infer, operands: Sequence[Value], fill: bool = False) -> Tensor:
    """Operand 0 has the sizes, and the dtype unless told."""
    x = operands[0]
    dtype = dtype_or(operands, 1 + fill, read.dtype_of(x))
    if fill:
        _check_fits(ctx, operands[1], dtype)
    return Tensor(dtype, x.shape if isinstance(x, Tensor) else None)


def _filled_like(made: Tensor, x: np.ndarray, value: Number, rest: Sequence[Any]) -> np.ndarray:
    """Laid out as x is. `rest`: layout, device, pin_memory, memory_format."""
    if x.flags.c_contiguous or rest[3:] == (_CONTIGUOUS,):
        return _filled(made, value, x)
    one = _filled(Tensor(made.dtype, ()), value, x)
    result = overlap.empty_like(x, one.dtype)
    result[...] = one
    return result


zeros_like = _filled_op(f"aten.zeros_like(Tensor self, *, {_LIKE}) -> Tensor", _like, 0, numpy=True)
empty_like = _filled_op(f"aten.empty_like(Tensor self, *, {_LIKE}) -> Tensor", _like, 0, numpy=True, note=_EMPTY)
ones_like = _filled_op(f"aten.ones_like(Tensor self, *, {_LIKE}) -> Tensor", _like, 1, numpy=True)
full_like = _filled_op(f"aten.full_like(Tensor self, Scalar fill_value, *, {_LIKE}) -> Tensor", partial(_like, fill=True), numpy=True)


@op("aten.zero(Tensor self) -> Tensor", kind=Kind.FACTORY, infer=_like, tolerance=EXACT, **OF_COMPLEX)
def zero(x: np.ndarray) -> np.ndarray:
    """In PyTorch a copy that is overwritten, and so differentiable."""
    return zeros_like(x)


zero.vjp()(zero_gradient)


def _new(ctx: Infer, operands: Sequence[Value], fill: bool = False) -> Tensor:
    """Operand 0 has the dtype unless told, operand 1 the sizes."""
    dtype = dtype_or(operands, 2 + fill, read.dtype_of(operands[0]))
    if fill:
        _check_fits(ctx, operands[2], dtype)
    return Tensor(dtype, _shape(ctx, operands[1]))


new_zeros = _filled_op(f"aten.new_zeros(Tensor self, int[] size, *, {HOW}) -> Tensor", _new, 0, layout=Layout.ROWS)
new_empty = _filled_op(f"aten.new_empty(Tensor self, int[] size, *, {HOW}) -> Tensor", _new, 0, layout=Layout.ROWS, note=_EMPTY)
new_ones = _filled_op(f"aten.new_ones(Tensor self, int[] size, *, {HOW}) -> Tensor", _new, 1, layout=Layout.ROWS)
new_full = _filled_op(
    f"aten.new_full(Tensor self, int[] size, Scalar fill_value, *, {HOW}) -> Tensor", partial(_new, fill=True), numpy=True,
    layout=Layout.ROWS,
)  # fmt: skip


# --- of numbers --------------------------------------------------------------------------------------------------------


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


def _infer_tensor(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    data = operands[0]
    try:
        kinds = [dtype_of_number(ctx, leaf) for leaf in _leaves(data)]
        shape: Shape | None = _nested_shape(data)
    except read.Unknown:
        return Tensor(dtype_or(operands, 1, None), None)
    if any(k is not None and k.is_float for k in kinds) or not kinds:
        default: DType | None = float_default(ctx)
    else:
        default = None if None in kinds else dtypes.i64 if dtypes.i64 in kinds else dtypes.bool_
    return Tensor(dtype_or(operands, 1, default), shape)


@_op(
    "aten.tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
    "aten.tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
    "aten.tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
    "aten.tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
    infer=_infer_tensor,
)  # fmt: skip
def tensor(data: Any, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """From a number or a (nested) list of them. Without a dtype, float32 if any is a float, else int64, else bool; an empty list is
    float32. ValueError for a ragged list."""
    target = tensor.checked(data, dtype).dtype.numpy
    wide = np.asarray(data)
    return cast(wide, target) if wide.size else wide.astype(target)


tensor.under_numpy(form="factory")(lambda data, dtype=None, *rest: np.array(data, dtype=numpy_dtype(dtype)))


def _infer_scalar_tensor(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    dtype = dtype_or(operands, 1, dtype_of_number(ctx, operands[0]) if ctx.promotion is Promotion.NUMPY else FLOAT_DEFAULT)
    _check_fits(ctx, operands[0], dtype)
    return Tensor(dtype, ())


@_op(f"aten.scalar_tensor(Scalar s, *, {HOW}) -> Tensor", infer=_infer_scalar_tensor, note="float32 even for an int, unless told")
def scalar_tensor(value: Number, dtype: int | None = None, *rest: Any) -> np.ndarray:
    return _filled(scalar_tensor.checked(value, dtype), value)


@scalar_tensor.under_numpy(form="factory")
def _(value: Number, dtype: int | None = None, *rest: Any) -> np.ndarray:
    """int64, float64 or bool unless told."""
    return np.array(value, dtype=numpy_dtype(dtype))


def _infer_number(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    kind = dtype_of_number(ctx, operands[0])
    return Tensor(dtypes.f64 if kind is not None and kind.is_float else kind, ())


@_op("prim.NumToTensor.Scalar(Scalar a) -> Tensor", infer=_infer_number)
def number_to_tensor(value: Number) -> np.ndarray:
    """A rank-0 tensor of bool, int64 or float64."""
    return np.asarray(value, number_to_tensor.checked(value).dtype.numpy)


def _infer_literal(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    value = operands[0] if operands else Tensor()
    return value if isinstance(value, Tensor) else Tensor()


@_op("vtensor.literal(Tensor value) -> Tensor", infer=_infer_literal)
def literal(value: np.ndarray) -> np.ndarray:
    """A copy of the constant, which the caller may write."""
    return value.copy()


@_op("tensor.literal(Tensor value) -> Tensor", infer=_infer_literal, native=False)
def mutable_literal(value: np.ndarray) -> np.ndarray:
    return literal(value)
