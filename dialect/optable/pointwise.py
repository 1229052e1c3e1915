"""Arithmetic, elementary functions, bounds, selection and activations, element by element."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.dialect.ir.values import Bool, Float, Int, NoneValue, Tensor, Value
from tierup.dialect.kernels.casts import check_number
from tierup.dialect.kernels.pointwise import PRELU
from tierup.dialect.kernels.promotion import check_scale
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Infer, InferRule, Kind, Op, Promotion, ShapeError
from tierup.dialect.optable.elementwise import broadcast, common_dtype, numpy_dtype, pointwise, rule, torch_dtype

_NEGATIVE_POWER = "integers with a negative exponent: 0, or +-1 for base +-1 (NumPy's flavour: ValueError)"
_ZERO = "ZeroDivisionError for integers and a zero divisor (NumPy's flavour: 0)"
_number = read.or_unknown(read.number)


def _arithmetic(name: str, function: str, module: str = "pointwise", **fields: object) -> Op:
    return pointwise(name, f"{module}.{function}", f"numpy_pointwise.{function}", **fields)  # type: ignore[arg-type]  # Op's fields


def _elementary(name: str, function: str | None = None, **fields: object) -> Op:
    function = function or name.removeprefix("aten.")
    return pointwise(name, f"elementary.{function}", f"numpy_pointwise.{function}", **fields)  # type: ignore[arg-type]  # Op's fields


def _activation(name: str, function: str | None = None, **fields: object) -> Op:
    return pointwise(name, f"activations.{function or name.removeprefix('aten.')}", **fields)  # type: ignore[arg-type]  # Op's fields


# --- what kernels refuse besides dtypes -----------------------------------------------------------------------------------


def _check_scale(op: str, index: int):  # noqa: ANN202 - a Check
    """alpha's kind: see kernels.promotion.check_scale."""

    def check(operands: Sequence[Value], dtype: DType | None) -> None:
        factor = operands[index] if index < len(operands) else NoneValue()
        stand_in = {Float: 2.0, Bool: True}.get(type(factor))
        if dtype is not None and stand_in is not None:
            check_scale(stand_in, dtype, op)

    return check


def _check_fits(value: Value, dtype: DType | None) -> None:
    """A known number that the dtype cannot hold is an error for every run."""
    if dtype is not None and isinstance(value, (Int, Float)):
        number = _number(value)
        if number is not None:
            try:
                check_number(number, dtype.numpy)
            except ValueError as e:
                raise ShapeError(str(e)) from e


def _check_clamp(operands: Sequence[Value], dtype: DType | None) -> None:
    if all(isinstance(v, NoneValue) for v in operands[1:3]):
        raise ShapeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    for bound in operands[1:3]:
        _check_fits(bound, dtype)


def _check_bound(operands: Sequence[Value], dtype: DType | None) -> None:
    _check_fits(operands[1], dtype)


def _check_threshold(operands: Sequence[Value], dtype: DType | None) -> None:
    for limit in operands[1:3]:
        _check_fits(limit, dtype)


def _check_power(operands: Sequence[Value], dtype: DType | None) -> None:
    exponent = _number(operands[1])
    if dtype is not None and not dtype.is_float and exponent is not None and exponent < 0:
        raise ShapeError("Integers to negative integer powers are not allowed.")


def _check_hardtanh(operands: Sequence[Value], dtype: DType | None) -> None:
    limits = [_number(v) for v in operands[1:3]]
    if dtype is dtypes.u8 and any(v is not None and v < 0 for v in limits):
        raise TypeError("cannot do hardtanh on an unsigned type with negative limits")


def _check_gelu(operands: Sequence[Value], dtype: DType | None) -> None:
    approximate = read.or_unknown(read.text)(operands[1]) if len(operands) > 1 else None
    if approximate not in (None, "none", "tanh"):
        raise ShapeError("approximate argument must be either none or tanh.")


def _check_celu(operands: Sequence[Value], dtype: DType | None) -> None:
    if len(operands) > 1 and _number(operands[1]) == 0:
        raise ZeroDivisionError("ZeroDivisionError: alpha cannot be 0 for CELU")


def _check_softshrink(operands: Sequence[Value], dtype: DType | None) -> None:
    lambd = _number(operands[1]) if len(operands) > 1 else None
    if lambd is not None and lambd < 0:
        raise ShapeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")


# --- rules of their own ----------------------------------------------------------------------------------------------------


def _div_mode_rule() -> InferRule:
    true_division, rounded = rule("division.div"), rule("division.floor_divide")

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        if ctx.promotion is Promotion.NUMPY:
            return Tensor(numpy_dtype("numpy_pointwise.div_mode", operands), broadcast(ctx, operands[:2]))
        if isinstance(operands[2], NoneValue):
            return true_division(ctx, operands)
        mode = read.or_unknown(read.text)(operands[2])
        if mode is None:
            return Tensor(None, broadcast(ctx, operands[:2]))
        if mode not in ("floor", "trunc"):
            raise ShapeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")
        return rounded(ctx, operands)

    return infer


def _rounded_division(name: str) -> Op:
    infer = _div_mode_rule()
    return Op(name, Kind.POINTWISE, "division.div_mode", infer, numpy="numpy_pointwise.div_mode", raises=True, note=_ZERO)


def _where(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    condition, *values = operands
    shape = broadcast(ctx, operands)
    if ctx.promotion is Promotion.NUMPY:
        return Tensor(numpy_dtype("numpy_pointwise.where", operands), shape)
    if read.dtype_of(condition) not in (None, dtypes.bool_):
        raise TypeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {read.dtype_of(condition)}")
    dtype = common_dtype(values)
    if dtype not in (dtypes.f16, dtypes.bf16):
        for value in values:
            _check_fits(value, dtype)
    return Tensor(dtype, shape)


def _prelu(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, weight = operands
    dtype = torch_dtype(PRELU, operands)
    if isinstance(x, Tensor) and isinstance(weight, Tensor) and weight.shape is not None:
        if len(weight.shape) > 1:
            raise ShapeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(weight.shape)}")
        if x.shape is not None and weight.shape and weight.shape[0] != 1:
            if not x.shape:
                raise ShapeError("prelu: Not allow zero-dim input tensor.")
            ctx.equal(weight.shape[0], x.shape[1] if len(x.shape) > 1 else 1, "prelu: weights and channels")
    return Tensor(dtype, x.shape if isinstance(x, Tensor) else None)


def _fill(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, value = operands
    if isinstance(value, Tensor) and value.shape:
        raise ShapeError(f"fill only supports 0-dimension value tensor but got tensor with {len(value.shape)} dimensions")
    if ctx.promotion is Promotion.NUMPY:
        numpy_dtype("numpy_pointwise.fill", operands)  # raises what it raises
    else:
        _check_fits(value, read.dtype_of(x))
    return x if isinstance(x, Tensor) else Tensor()


def _nan_to_num(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x = operands[0]
    return x if isinstance(x, Tensor) else Tensor()


def _selection(name: str, kernel: str, infer: InferRule, numpy: str | None = None, note: str = "") -> Op:
    return Op(name, Kind.POINTWISE, kernel, infer, numpy=numpy, tolerance=EXACT, note=note)


_WHERE = ("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
_FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sqrt", "reciprocal", "deg2rad", "rad2deg", "square",
)  # fmt: skip
_UNLIKE_NUMPY = ("rsqrt", "erf", "sigmoid", "logit")  # NumPy has no such function: torch's in both flavours

ROWS = [
    *(_arithmetic(f"aten.add.{k}", "add", check=_check_scale("add", 2)) for k in ("Tensor", "Scalar")),
    *(_arithmetic(f"aten.sub.{k}", "sub", check=_check_scale("sub", 2)) for k in ("Tensor", "Scalar")),
    _arithmetic("aten.rsub.Scalar", "rsub", check=_check_scale("rsub", 2)),
    *(_arithmetic(f"aten.mul.{k}", "mul") for k in ("Tensor", "Scalar")),
    *(_arithmetic(f"aten.div.{k}", "div", "division") for k in ("Tensor", "Scalar")),
    *(_rounded_division(f"aten.div.{k}_mode") for k in ("Tensor", "Scalar")),
    *(_arithmetic(n, "floor_divide", "division", raises=True, note=_ZERO) for n in ("aten.floor_divide", "aten.floor_divide.Scalar")),
    *(_arithmetic(f"aten.remainder.{k}", "remainder", "division", raises=True, note=_ZERO) for k in ("Tensor", "Scalar")),
    *(_arithmetic(f"aten.fmod.{k}", "fmod", "division", raises=True, note=_ZERO) for k in ("Tensor", "Scalar")),
    _arithmetic("aten.pow.Tensor_Tensor", "pow_tensor", "powers", raises=True, note=_NEGATIVE_POWER),
    _arithmetic("aten.pow.Tensor_Scalar", "pow_scalar", "powers", check=_check_power, note="0.5 is sqrt: NaN for -inf, -0.0 for -0.0"),
    _arithmetic("aten.pow.Scalar", "pow_base", "powers", raises=True, note=_NEGATIVE_POWER),
    *(_arithmetic(f"aten.{n}", n, exact=True, note="NaN when either is") for n in ("maximum", "minimum")),
    *(_arithmetic(f"aten.{n}", n, exact=True, note="NaN only when both are") for n in ("fmax", "fmin")),
    _arithmetic("aten.clamp", "clamp", check=_check_clamp, exact=True, note="high wins where low > high; a NaN bound gives NaN"),
    _arithmetic("aten.clamp.Tensor", "clamp_tensor", check=_check_clamp, exact=True),
    _arithmetic("aten.clamp_min", "clamp_min", check=_check_bound, exact=True),
    _arithmetic("aten.clamp_max", "clamp_max", check=_check_bound, exact=True),
    _arithmetic("aten.clamp_min.Tensor", "maximum", exact=True),
    _arithmetic("aten.clamp_max.Tensor", "minimum", exact=True),
    *(pointwise(f"aten.lerp.{k}", "pointwise.lerp") for k in ("Tensor", "Scalar")),
    pointwise("aten.addcmul", "pointwise.addcmul"),
    pointwise("aten.addcdiv", "pointwise.addcdiv"),
    *(_arithmetic(f"aten.{n}", n) for n in ("atan2", "logaddexp", "logaddexp2")),
    _arithmetic("aten.copysign.Tensor", "copysign", exact=True),
    _arithmetic("aten.heaviside", "heaviside", exact=True),
    pointwise("aten.xlogy.Tensor", "pointwise.xlogy"),
    *(_selection(n, "pointwise.where", _where, "numpy_pointwise.where") for n in _WHERE),
    *(_selection(n, "pointwise.fill", _fill, "numpy_pointwise.fill") for n in ("aten.fill.Scalar", "aten.fill.Tensor")),
    _selection("aten.nan_to_num", "pointwise.nan_to_num", _nan_to_num, "numpy_pointwise.nan_to_num"),
    Op("aten.prelu", Kind.POINTWISE, "pointwise.prelu", _prelu, note="weights run along dim 1"),
    *(_elementary(f"aten.{n}") for n in _FUNCTIONS),
    _elementary("aten.special_expm1", "expm1"),
    *(pointwise(f"aten.{n}", f"elementary.{n}") for n in _UNLIKE_NUMPY),
    _elementary("aten.neg", exact=True),
    *(_elementary(n, "abs_", exact=True) for n in ("aten.abs", "aten.absolute")),
    *(_elementary(n, "sign", exact=True, note="0 for NaN (NumPy's flavour: NaN)") for n in ("aten.sign", "aten.sgn")),
    *(_elementary(f"aten.{n}", exact=True) for n in ("floor", "ceil", "trunc")),
    _elementary("aten.fix", "trunc", exact=True),
    _elementary("aten.round", "round_", exact=True, note="ties to even"),
    _elementary("aten.round.decimals", "round_decimals"),
    pointwise("aten.frac", "elementary.frac", exact=True),
    *(_activation(f"aten.{n}", exact=True) for n in ("relu", "relu6", "hardshrink")),
    _activation("aten.threshold", check=_check_threshold, exact=True),
    *(_activation(f"aten.{n}") for n in ("leaky_relu", "elu", "selu", "silu", "mish", "softplus", "log_sigmoid")),
    *(_activation(f"aten.{n}") for n in ("hardsigmoid", "hardswish")),
    _activation("aten.hardtanh", check=_check_hardtanh, exact=True),
    _activation("aten.celu", check=_check_celu),
    _activation("aten.softshrink", check=_check_softshrink),
    _activation("aten.gelu", check=_check_gelu, note="computed without the cancellation that x/2*(1 + erf) has for negative x"),
]
