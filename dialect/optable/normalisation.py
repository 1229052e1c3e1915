"""Softmax and the norms."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.dialect.inference.dims import mod
from tierup.dialect.ir.values import Shape, Tensor, Value
from tierup.dialect.optable.core import Infer, InferRule, Kind, Op, ShapeError, Tolerance, normalise_dim
from tierup.dialect.optable.operands import dtype_argument, dtype_of, flag, given, integer, is_none, or_unknown, shape, sizes, whole

# --- softmax -----------------------------------------------------------------------------------------------------------


@or_unknown
def _dim_exists(x: Value, dim: Value) -> None:
    normalise_dim(integer(dim), len(shape(x)))


@or_unknown
def _softmax_dtype(x: Value, asked: Value) -> DType | None:
    result = dtype_argument(asked) or dtype_of(x)
    if result is not None and not result.is_float:
        raise TypeError(f'"softmax" not implemented for {result.name!r}')
    return result


def _softmax(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x = operands[0]
    _dim_exists(x, operands[1])
    return Tensor(_softmax_dtype(x, given(operands, 2)), x.shape if isinstance(x, Tensor) else None)


@or_unknown
def _refuse_half_to_float(value: Value) -> None:
    if flag(value):
        raise TypeError("softmax with half to float conversion is not supported on CPU")


def _softmax_internal(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    _refuse_half_to_float(operands[2])
    return _softmax(ctx, operands[:2])


# --- norms -------------------------------------------------------------------------------------------------------------


def _statistics_dtype(op: str, x: Value, parameters: Sequence[Value]) -> DType | None:
    of = dtype_of(x)
    if of is None:
        return None
    if not of.is_float:
        raise TypeError(f'"{op}" not implemented for {of.name!r}')
    others = {dtype_of(p) for p in parameters if isinstance(p, Tensor)}
    if None in others:
        return None
    if others <= {of}:
        return of
    if of in (dtypes.f16, dtypes.bf16) and others == {dtypes.f32}:
        return dtypes.f32
    raise TypeError(f"{op}: expected parameters of the input's dtype {of.name} (or all f32 for a half input)")


def _fits(ctx: Infer, what: str, found: Shape, wanted: Shape) -> None:
    if len(found) != len(wanted):
        raise ShapeError(f"{what}: rank {len(found)}, not {len(wanted)}")
    for a, b in zip(found, wanted, strict=True):
        ctx.equal(a, b, what)


@or_unknown
def _layer_statistics(ctx: Infer, op: str, x: Value, normalized: Value, parameters: Sequence[Value]) -> Shape:
    """The shape of means and deviations."""
    wanted = sizes(normalized)
    if not wanted:
        raise ShapeError(f"{op}: Expected normalized_shape to be at least 1-dimensional, but got normalized_shape = []")
    for parameter in parameters:
        _parameter_fits(ctx, op, parameter, wanted)
    of = shape(x)
    _fits(ctx, f"{op}: input's last sizes are not normalized_shape", of[-len(wanted) :], wanted)
    return (*of[: -len(wanted)], *(1,) * len(wanted))


@or_unknown
def _parameter_fits(ctx: Infer, op: str, parameter: Value, wanted: Shape) -> None:
    if not is_none(parameter):
        _fits(ctx, f"{op}: a parameter's shape does not fit", shape(parameter), wanted)


def _layer_norm(ctx: Infer, operands: Sequence[Value]) -> tuple[Tensor, Tensor, Tensor]:
    x, normalized, weight, bias = operands[0], operands[1], given(operands, 2), given(operands, 3)
    statistics = Tensor(
        _statistics_dtype("layer_norm", x, (weight, bias)), _layer_statistics(ctx, "layer_norm", x, normalized, (weight, bias))
    )
    return whole(x), statistics, statistics


def _rms_norm(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, weight = operands[0], given(operands, 2)
    _statistics_dtype("rms_norm", x, (weight,))
    _layer_statistics(ctx, "rms_norm", x, operands[1], (weight,))
    return whole(x)


@or_unknown
def _channels_fit(ctx: Infer, op: str, x: Value, parameters: Sequence[Value]) -> Shape:
    of = shape(x)
    if len(of) < 2:
        raise IndexError(f"{op}: expected an input of rank 2 or more, but got one of rank {len(of)}")
    for parameter in parameters:
        _parameter_fits(ctx, op, parameter, of[1:2])
    return of


def _grouped(ctx: Infer, x: Value, weight: Value, bias: Value, groups: Value) -> tuple[Tensor, Tensor, Tensor]:
    of = _channels_fit(ctx, "group_norm", x, (weight, bias))
    statistics = Tensor(_statistics_dtype("group_norm", x, (weight, bias)), None if of is None else _group_statistics(of, groups))
    return whole(x), statistics, statistics


@or_unknown
def _group_statistics(of: Shape, groups: Value) -> Shape:
    count = integer(groups)
    if count <= 0 or isinstance(rest := mod(of[1], count), int) and rest:
        raise ShapeError(f"group_norm: {of[1]} channels are not divisible by num_groups={count}")
    return (of[0], count)


def _group_norm(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return _grouped(ctx, operands[0], given(operands, 2), given(operands, 3), operands[1])[0]


def _native_group_norm(ctx: Infer, operands: Sequence[Value]) -> tuple[Tensor, Tensor, Tensor]:
    return _grouped(ctx, operands[0], operands[1], operands[2], operands[6])


@or_unknown
def _is_training(running: Sequence[Value], training: Value) -> bool:
    """Whether batch statistics are used. Raises for what the kernel refuses."""
    if flag(training):
        if not all(is_none(r) for r in running):
            raise TypeError("batch_norm: training with running statistics writes them; pass None for both and update them in the program")
        return True
    if any(is_none(r) for r in running):
        raise ShapeError("batch_norm: running_mean and running_var must be defined in evaluation mode")
    return False


def _native_batch_norm(ctx: Infer, operands: Sequence[Value]) -> tuple[Tensor, Tensor, Tensor]:
    x, *parameters = operands[:5]
    training = _is_training(parameters[2:], operands[5])
    of = _channels_fit(ctx, "batch_norm", x, parameters)
    length = None if training is None or of is None else (of[1],) if training else (0,)
    statistics = Tensor(_statistics_dtype("batch_norm", x, parameters), length)
    return whole(x), statistics, statistics


def _first(rule: InferRule) -> InferRule:
    def infer(ctx: Infer, operands: Sequence[Value]) -> Value:
        results = rule(ctx, operands)
        assert isinstance(results, tuple)
        return results[0]

    return infer


_SUMMED = Tolerance(4.0, 1.0)


def _row(name: str, kernel: str, infer: InferRule, results: int = 1, note: str = "", native: bool = True) -> Op:
    return Op(f"aten.{name}", Kind.NORMALISATION, f"normalisation.{kernel}", infer, results, tolerance=_SUMMED, note=note, native=native)


ROWS = (
    _row("softmax.int", "softmax", _softmax),
    _row("_softmax", "softmax_internal", _softmax_internal),
    _row("_safe_softmax", "safe_softmax", _softmax),
    _row("log_softmax.int", "log_softmax", _softmax),
    _row("_log_softmax", "log_softmax_internal", _softmax_internal),
    _row("layer_norm", "layer_norm", _first(_layer_norm)),
    _row("native_layer_norm", "native_layer_norm", _layer_norm, 3),
    _row("rms_norm", "rms_norm", _rms_norm),
    _row("group_norm", "group_norm", _group_norm),
    _row("native_group_norm", "native_group_norm", _native_group_norm, 3),
    _row("batch_norm", "batch_norm", _first(_native_batch_norm), note="training takes no running statistics: it would write them"),
    _row("native_batch_norm", "native_batch_norm", _native_batch_norm, 3, "training takes no running statistics: it would write them"),
)
