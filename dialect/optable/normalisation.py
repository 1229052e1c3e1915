"""Softmax and the norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.dialect.inference.dims import mod
from tierup.dialect.ir.values import Shape, Tensor, Value
from tierup.dialect.kernels.axes import HALVES, axis_of, dtype_named, in_rows, is_float, name_of, quiet, rounded, row_major, widened
from tierup.dialect.kernels.casts import cast
from tierup.dialect.optable.core import Infer, InferRule, Kind, ShapeError, Tolerance, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.operands import dtype_argument, dtype_of, flag, given, integer, is_none, or_unknown, shape, sizes, whole

if TYPE_CHECKING:
    from tierup.dialect.gradients.core import Backward, Gradient, Gradients
    from tierup.dialect.gradients.emitter import Operand
    from tierup.dialect.mlir import ir


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


def _shifted(op: str, x: np.ndarray, dim: int, dtype: int | None) -> tuple[np.ndarray, tuple[int, ...], np.dtype]:
    """x less its maxima along dim, in float32 for the halves; the axes; the result's dtype."""
    target = x.dtype if dtype is None else dtype_named(dtype)
    axis = axis_of(dim, x.ndim)
    if not is_float(target):
        raise TypeError(f'"{op}" not implemented for {name_of(target)!r}')
    axes = (axis,) if x.ndim else ()
    wide = widened(cast(x, target))
    if not wide.size:
        return wide.copy(), axes, target
    return np.asarray(wide - np.maximum.reduce(wide, axis=axes, keepdims=True)), axes, target


@op(
    "aten.softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    kind=Kind.NORMALISATION, infer=_softmax, tolerance=Tolerance(4.0, 1.0),
)  # fmt: skip
def softmax(x: np.ndarray, dim: int, dtype: int | None = None) -> np.ndarray:
    """Exp(x - max) / sum(exp(x - max)) along dim. x is converted to `dtype` first."""
    with quiet:
        shifted, axes, target = _shifted("softmax", x, dim, dtype)
        e = np.exp(shifted, out=shifted)
        e /= np.add.reduce(e, axis=axes, keepdims=True)
        return in_rows(rounded(e, target))


def _along(g: Backward, x: ir.Value) -> ir.Value:
    """Sums along the op's dim, of which 1 is left."""
    return g.call("aten.sum.dim_IntList", x, [int(g.constant(1))], True, None)


@softmax.vjp(reads=("result",))
def _softmax_gradient(g: Backward) -> Gradients:
    y = g.results[0]
    return g.cast_to(g.mul(y, g.sub(g.grad, _along(g, g.mul(g.grad, y)))), "self")


@or_unknown
def _refuse_half_to_float(value: Value) -> None:
    if flag(value):
        raise TypeError("softmax with half to float conversion is not supported on CPU")


def _softmax_internal(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    _refuse_half_to_float(operands[2])
    return _softmax(ctx, operands[:2])


def _refuse_half_to_float_of_arrays(half_to_float: bool) -> None:
    if half_to_float:
        raise TypeError("softmax with half to float conversion is not supported on CPU")


@op(
    "aten._softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    kind=Kind.NORMALISATION, infer=_softmax_internal, tolerance=Tolerance(4.0, 1.0),
)  # fmt: skip
def softmax_internal(x: np.ndarray, dim: int, half_to_float: bool) -> np.ndarray:
    _refuse_half_to_float_of_arrays(half_to_float)
    return softmax(x, dim)


softmax_internal.vjp(reads=("result",))(_softmax_gradient)


@op(
    "aten._safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    kind=Kind.NORMALISATION, infer=_softmax, tolerance=Tolerance(4.0, 1.0),
)  # fmt: skip
def safe_softmax(x: np.ndarray, dim: int, dtype: int | None = None) -> np.ndarray:
    """Softmax, but zeros for a row whose every element is -inf."""
    result = softmax(x, dim, dtype)
    axes = (axis_of(dim, x.ndim),) if x.ndim else ()
    return np.where(np.logical_and.reduce(np.isneginf(widened(x)), axis=axes, keepdims=True), result.dtype.type(0), result)


safe_softmax.vjp(reads=("result",))(_softmax_gradient)


@op(
    "aten.log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    kind=Kind.NORMALISATION, infer=_softmax, tolerance=Tolerance(4.0, 1.0),
)  # fmt: skip
def log_softmax(x: np.ndarray, dim: int, dtype: int | None = None) -> np.ndarray:
    """x - max - log(sum(exp(x - max))) along dim. x is converted to `dtype` first."""
    with quiet:
        shifted, axes, target = _shifted("log_softmax", x, dim, dtype)
        shifted -= np.log(np.add.reduce(np.exp(shifted), axis=axes, keepdims=True))
        return in_rows(rounded(shifted, target))


@log_softmax.vjp(reads=("result",))
def _log_softmax_gradient(g: Backward) -> Gradients:
    return g.cast_to(g.sub(g.grad, g.mul(g.call("aten.exp", g.results[0]), _along(g, g.grad))), "self")


@op(
    "aten._log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    kind=Kind.NORMALISATION, infer=_softmax_internal, tolerance=Tolerance(4.0, 1.0),
)  # fmt: skip
def log_softmax_internal(x: np.ndarray, dim: int, half_to_float: bool) -> np.ndarray:
    _refuse_half_to_float_of_arrays(half_to_float)
    return log_softmax(x, dim)


log_softmax_internal.vjp(reads=("result",))(_log_softmax_gradient)


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
def _parameter_fits(ctx: Infer, op: str, parameter: Value, wanted: Shape) -> None:
    if not is_none(parameter):
        _fits(ctx, f"{op}: a parameter's shape does not fit", shape(parameter), wanted)


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


def _layer_norm(ctx: Infer, operands: Sequence[Value]) -> tuple[Tensor, Tensor, Tensor]:
    x, normalized, weight, bias = operands[0], operands[1], given(operands, 2), given(operands, 3)
    statistics = Tensor(
        _statistics_dtype("layer_norm", x, (weight, bias)), _layer_statistics(ctx, "layer_norm", x, normalized, (weight, bias))
    )
    return whole(x), statistics, statistics


def _first(rule: InferRule) -> InferRule:
    def infer(ctx: Infer, operands: Sequence[Value]) -> Value:
        results = rule(ctx, operands)
        assert isinstance(results, tuple)
        return results[0]

    return infer


Optional = np.ndarray | None


@op(
    "aten.layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, "
    "bool cudnn_enable=True) -> Tensor",
    kind=Kind.NORMALISATION, infer=_first(_layer_norm), tolerance=Tolerance(4.0, 1.0),
)  # fmt: skip
def layer_norm(
    x: np.ndarray, normalized_shape: Sequence[int], weight: Optional = None, bias: Optional = None, eps: float = 1e-5, cudnn: bool = True
) -> np.ndarray:
    """Over the last dims, with the biased variance."""
    return native_layer_norm(x, normalized_shape, weight, bias, eps)[0]


def _last_dims(g: Backward) -> list[int]:
    """The dims that are normalised over, from the end."""
    found = g.written_items(g.like(1))
    if found is None:
        raise g.no_gradient("the number of its normalized sizes is not known: make the list where it is used")
    return list(range(-len(found), 0))


def _mean(g: Backward, x: ir.Value, dims: Sequence[int]) -> ir.Value:
    return g.call("aten.mean.dim", x, list(dims), True, None)


def _of_input(
    g: Backward, normal: ir.Value, rstd: ir.Value, dims: Sequence[int], scaled: ir.Value | None, statistics: Sequence[Gradient]
) -> ir.Value:
    """Dx, of g w and of the gradients of mean and rstd, each None where there is none. `dims`: those that are normalised over."""
    parts: list[ir.Value] = []
    if scaled is not None:
        centred = g.sub(scaled, _mean(g, scaled, dims))
        parts.append(g.mul(g.sub(centred, g.mul(normal, _mean(g, g.mul(scaled, normal), dims))), rstd))
    of_mean, of_rstd = statistics
    count = g.size_of(normal, dims[0])
    for d in dims[1:]:
        count = g.call("aten.mul.int", count, g.size_of(normal, d), type_="!torch.int")
    if g.is_value(of_mean):
        parts.append(g.expand(g.div(of_mean, count), g.size(normal)))
    if g.is_value(of_rstd):
        parts.append(g.mul(normal, g.neg(g.div(g.mul(of_rstd, g.mul(rstd, rstd)), count))))
    found = parts[0]
    for part in parts[1:]:
        found = g.add(found, part)
    return found


def _layer(g: Backward, statistics: Sequence[ir.Value], grads: Sequence[Gradient]) -> Gradients:
    (mean, rstd), grad = statistics, g.grads[0]
    normal = g.mul(g.sub(g.operands[0], mean), rstd)
    of_weight = of_bias = scaled = None
    if g.is_value(grad):
        of_weight = None if g.is_none(2) else g.sum_to(g.mul(grad, normal), 2)
        of_bias = None if g.is_none(3) else g.sum_to(grad, 3)
        scaled = grad if g.is_none(2) else g.mul(grad, g.operands[2])
    return g.cast_to(_of_input(g, normal, rstd, _last_dims(g), scaled, grads), 0), None, of_weight, of_bias


@layer_norm.vjp(reads=("input", "weight", "eps"))
def _(g: Backward) -> Gradients:
    x, sizes = g.operands[0], g.like("normalized_shape")
    found = g.several("aten.native_layer_norm", x, sizes, None, None, g.number("eps"), types=["!torch.vtensor"] * 3)
    return _layer(g, found[1:], (None, None))


_F32 = np.dtype(np.float32)


def _statistics_dtype_of_arrays(op: str, x: np.ndarray, *parameters: Optional) -> np.dtype:
    """The dtype of means and reciprocal deviations: x's, or float32 when a half is normalised with float32 parameters.

    TypeError for any other mix, and for integers.
    """
    if not is_float(x.dtype):
        raise TypeError(f'"{op}" not implemented for {name_of(x.dtype)!r}')
    others = {p.dtype for p in parameters if p is not None}
    if others <= {x.dtype}:
        return x.dtype
    if x.dtype in HALVES and others == {_F32}:
        return _F32
    raise TypeError(f"{op}: expected parameters of the input's dtype {name_of(x.dtype)} (or all Float for a half input)")


def _normalised(x: np.ndarray, axes: tuple[int, ...], eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x - mean) * rstd in x's own precision (the halves in float32), mean, and rstd = 1 / sqrt(variance + eps)."""
    wide = row_major(widened(x))
    n = wide.dtype.type(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    mean = np.add.reduce(wide, axis=axes, keepdims=True) / n
    deviation = wide - mean
    variance = np.add.reduce(np.square(deviation), axis=axes, keepdims=True) / n
    rstd = np.reciprocal(np.sqrt(variance + wide.dtype.type(eps)))
    return np.multiply(deviation, rstd, out=deviation), mean, rstd


def _scaled(y: np.ndarray, weight: Optional, bias: Optional) -> np.ndarray:
    """y * weight + bias, in place; parameters already of a shape that broadcasts to y's."""
    if weight is not None:
        y *= cast(weight, y.dtype)
    if bias is not None:
        y += cast(bias, y.dtype)
    return y


def _check_layer(op: str, x: np.ndarray, normalized_shape: Sequence[int], *parameters: tuple[str, Optional]) -> tuple[int, ...]:
    """The axes that are normalised over."""
    wanted = tuple(normalized_shape)
    if not wanted:
        raise ValueError(f"{op}: Expected normalized_shape to be at least 1-dimensional, but got normalized_shape = []")
    for name, parameter in parameters:
        if parameter is not None and parameter.shape != wanted:
            raise ValueError(
                f"{op}: Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(parameter.shape)} "
                f"and normalized_shape = {list(wanted)}"
            )
    if x.shape[-len(wanted) :] != wanted:
        raise ValueError(
            f"{op}: Given normalized_shape={list(wanted)}, expected input with shape [*, {', '.join(map(str, wanted))}], "
            f"but got input of size{list(x.shape)}"
        )
    return tuple(range(x.ndim - len(wanted), x.ndim))


@op(
    "aten.native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    kind=Kind.NORMALISATION, infer=_layer_norm, results=3, tolerance=Tolerance(4.0, 1.0),
)  # fmt: skip
def native_layer_norm(
    x: np.ndarray, normalized_shape: Sequence[int], weight: Optional, bias: Optional, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Aten.native_layer_norm: (normalised x * weight + bias, means, reciprocal deviations), the last two with sizes 1 for the
    normalised dims and in float32 when a half comes with float32 parameters."""
    axes = _check_layer("layer_norm", x, normalized_shape, ("weight", weight), ("bias", bias))
    statistics = _statistics_dtype_of_arrays("layer_norm", x, weight, bias)
    with quiet:
        y, mean, rstd = _normalised(x, axes, eps)
        return rounded(_scaled(y, weight, bias), x.dtype), rounded(mean, statistics), rounded(rstd, statistics)


@native_layer_norm.vjp(reads=("input", "weight", "result1", "result2"))
def _(g: Backward) -> Gradients:
    return _layer(g, g.results[1:3], g.grads[1:])


def _rms_norm(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, weight = operands[0], given(operands, 2)
    _statistics_dtype("rms_norm", x, (weight,))
    _layer_statistics(ctx, "rms_norm", x, operands[1], (weight,))
    return whole(x)


@op(
    "aten.rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    kind=Kind.NORMALISATION, infer=_rms_norm, tolerance=Tolerance(4.0, 1.0),
)  # fmt: skip
def rms_norm(x: np.ndarray, normalized_shape: Sequence[int], weight: Optional = None, eps: float | None = None) -> np.ndarray:
    """x / sqrt(mean(x**2) + eps) * weight over the last dims; eps None is the epsilon of the dtype computed in."""
    axes = _check_layer("rms_norm", x, normalized_shape, ("weight", weight))
    _statistics_dtype_of_arrays("rms_norm", x, weight)
    with quiet:
        wide = row_major(widened(x))
        n = wide.dtype.type(np.prod([x.shape[a] for a in axes], dtype=np.int64))
        square = np.add.reduce(np.square(wide), axis=axes, keepdims=True) / n
        least = wide.dtype.type(np.finfo(wide.dtype).eps if eps is None else eps)
        return rounded(_scaled(wide * np.reciprocal(np.sqrt(square + least)), weight, None), x.dtype)


def _plus_eps(g: Backward, x: ir.Value) -> ir.Value:
    """None is the epsilon of the dtype that is computed in."""
    if not g.is_none(3):
        return g.add(x, g.number(3))
    dtype = g.tensor(g.like(0)).dtype
    double: bool | ir.Value = dtype is dtypes.f64
    if dtype is None:
        double = g.call("aten.eq.int", g.dtype(g.like(0)), dtypes.f64.code, type_="!torch.bool")
    return g.choose(double, lambda: g.add(x, float(np.finfo(np.float64).eps)), lambda: g.add(x, float(np.finfo(np.float32).eps)))


@rms_norm.vjp(reads=("input", "weight"))
def _(g: Backward) -> Gradients:
    """The same without a mean; 1 / sqrt(mean(x^2) + eps) is computed again."""
    dims, x = _last_dims(g), g.operands[0]
    r = g.call("aten.rsqrt", _plus_eps(g, _mean(g, g.mul(x, x), dims)))
    normal = g.mul(x, r)
    scaled = g.grad if g.is_none("weight") else g.mul(g.grad, g.operands[2])
    found = g.mul(g.sub(scaled, g.mul(normal, _mean(g, g.mul(scaled, normal), dims))), r)
    return g.cast_to(found, 0), None, None if g.is_none("weight") else g.sum_to(g.mul(g.grad, normal), "weight")


@or_unknown
def _channels_fit(ctx: Infer, op: str, x: Value, parameters: Sequence[Value]) -> Shape:
    of = shape(x)
    if len(of) < 2:
        raise IndexError(f"{op}: expected an input of rank 2 or more, but got one of rank {len(of)}")
    for parameter in parameters:
        _parameter_fits(ctx, op, parameter, of[1:2])
    return of


@or_unknown
def _group_statistics(of: Shape, groups: Value) -> Shape:
    count = integer(groups)
    if count <= 0 or isinstance(rest := mod(of[1], count), int) and rest:
        raise ShapeError(f"group_norm: {of[1]} channels are not divisible by num_groups={count}")
    return (of[0], count)


def _grouped(ctx: Infer, x: Value, weight: Value, bias: Value, groups: Value) -> tuple[Tensor, Tensor, Tensor]:
    of = _channels_fit(ctx, "group_norm", x, (weight, bias))
    statistics = Tensor(_statistics_dtype("group_norm", x, (weight, bias)), None if of is None else _group_statistics(of, groups))
    return whole(x), statistics, statistics


def _group_norm(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return _grouped(ctx, operands[0], given(operands, 2), given(operands, 3), operands[1])[0]


def _channels(op: str, x: np.ndarray, *parameters: tuple[str, Optional]) -> int:
    """The number of channels (dim 1); parameters must be vectors of that length."""
    channels = x.shape[1]
    for name, parameter in parameters:
        if parameter is not None and parameter.shape != (channels,):
            raise ValueError(
                f"{op}: Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(parameter.shape)} and input of shape {list(x.shape)}"
            )
    return channels


def _along_channels(parameter: Optional, rank: int) -> Optional:
    """A vector over dim 1, ready to broadcast."""
    return None if parameter is None else parameter.reshape((-1,) + (1,) * (rank - 2))


def _groups(x: np.ndarray, groups: int, weight: Optional, bias: Optional, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if x.ndim < 2:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-max(x.ndim, 1)}, {max(x.ndim, 1) - 1}], but got 1)")
    channels = _channels("group_norm", x, ("weight", weight), ("bias", bias))
    if groups <= 0 or channels % groups:
        raise ValueError(
            f"group_norm: Expected number of channels in input to be divisible by num_groups, but got input of shape {list(x.shape)} "
            f"and num_groups={groups}"
        )
    statistics = _statistics_dtype_of_arrays("group_norm", x, weight, bias)
    with quiet:
        size = int(np.prod(x.shape[2:], dtype=np.int64)) * (channels // groups)
        y, mean, rstd = _normalised(x.reshape(x.shape[0], groups, size), (2,), eps)
        y = _scaled(y.reshape(x.shape), _along_channels(weight, x.ndim), _along_channels(bias, x.ndim))
        return in_rows(rounded(y, x.dtype)), rounded(mean[..., 0], statistics), rounded(rstd[..., 0], statistics)


@op(
    "aten.group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, "
    "bool cudnn_enabled=True) -> Tensor",
    kind=Kind.NORMALISATION, infer=_group_norm, tolerance=Tolerance(4.0, 1.0),
)  # fmt: skip
def group_norm(
    x: np.ndarray, groups: int, weight: Optional = None, bias: Optional = None, eps: float = 1e-5, cudnn: bool = True
) -> np.ndarray:
    """x (N, C, *) normalised over each of `groups` equal runs of channels, and all that follows."""
    return _groups(x, groups, weight, bias, eps)[0]


def _value(gradient: Gradient) -> ir.Value | None:
    return None if gradient is None or isinstance(gradient, Sequence) else gradient


def _over(g: Backward, count: ir.Value, x: ir.Value | None) -> ir.Value | None:
    return None if x is None else g.div(x, count)


def _sums(
    g: Backward, shape: list[ir.Value], mean: ir.Value, rstd: ir.Value, dims: list[int]
) -> tuple[ir.Value | None, ir.Value | None, ir.Value | None]:
    """Sum(g) and sum(g n) over dims, of which those behind the channels stay with size 1, and g; all as samples x channels x places."""
    if g.grads[0] is None:
        return None, None, None
    kept = dims == [2]
    grad, x = g.call("aten.reshape", g.grad, shape), g.call("aten.reshape", g.operands[0], shape)
    plain = g.call("aten.sum.dim_IntList", grad, dims, kept, None)
    centred = g.call("aten.sum.dim_IntList", g.mul(grad, g.sub(x, mean)), dims, kept, None)
    return plain, g.mul(centred, rstd if kept else g.call("aten.squeeze.dim", rstd, -1)), grad


def _line(
    g: Backward, mean: ir.Value, rstd: ir.Value, slopes: Sequence[ir.Value | None], of_mean: ir.Value | None, of_rstd: ir.Value | None
) -> tuple[ir.Value | None, ir.Value, ir.Value]:
    """Dx as a g w + b x + c: one pass over g and x. `slopes`: mean(g w) and mean(g w n), of which g may be None; `of_mean`, `of_rstd`: the
    gradients of the statistics, each over how many elements they are of."""
    square = g.mul(rstd, rstd)
    factors = [v for v in (slopes[1], None if of_rstd is None else g.mul(of_rstd, rstd)) if v is not None]
    b = g.zeros_like(mean) if not factors else g.neg(g.mul(factors[0] if len(factors) == 1 else g.add(*factors), square))
    c = g.neg(g.mul(b, mean))
    if slopes[0] is not None:
        c = g.sub(c, g.mul(rstd, slopes[0]))
    return (None if slopes[0] is None else rstd), b, c if of_mean is None else g.add(c, of_mean)


def _sizes(g: Backward) -> list[ir.Value]:
    """Samples, channels, and places per channel: of no elements, 0."""
    samples, channels = (g.size_of(g.like(0), d) for d in (0, 1))
    rows = g.call("prim.max.int", g.call("aten.mul.int", samples, channels, type_="!torch.int"), 1, type_="!torch.int")
    return [samples, channels, g.call("aten.floordiv.int", g.call("aten.numel", g.like(0), type_="!torch.int"), rows, type_="!torch.int")]


def _groups_gradient(
    g: Backward, groups: Operand, parameters: tuple[int, int], statistics: Sequence[ir.Value], grads: Sequence[Gradient]
) -> Gradients:
    """As samples x channels x places; what a group has is as many channels times places."""
    samples, channels, places = shape = _sizes(g)
    per_group = g.call("aten.floordiv.int", channels, groups, type_="!torch.int")
    count = g.call("aten.mul.int", per_group, places, type_="!torch.int")

    def summed(x: ir.Value) -> ir.Value:
        """Of what each channel has, samples x channels x 1, over its group: samples x groups x 1."""
        return g.call("aten.sum.dim_IntList", g.call("aten.reshape", x, [samples, groups, per_group]), [-1], True, None)

    def spread(x: ir.Value) -> ir.Value:
        """What is the same for a group, for each of its channels."""
        each = g.call("aten.expand", x, [samples, groups, per_group], False)
        return g.call("aten.reshape", each, [samples, channels, 1])

    weight, bias = parameters
    mean, rstd, of_mean, of_rstd = (None if v is None else g.call("aten.unsqueeze", v, -1) for v in (*statistics, *map(_value, grads)))
    assert mean is not None and rstd is not None
    sums, x = _sums(g, shape, spread(mean), spread(rstd), [2]), g.call("aten.reshape", g.operands[0], shape)
    w = None if g.is_none(weight) else g.call("aten.unsqueeze", g.operands[weight], -1)
    slopes = [None if v is None else g.div(summed(v if w is None else g.mul(v, w)), count) for v in sums[:2]]
    a, b, c = _line(g, mean, rstd, slopes, _over(g, count, of_mean), _over(g, count, of_rstd))
    found = g.add(g.mul(x, spread(b)), spread(c))
    if a is not None and sums[2] is not None:
        scaled = spread(a) if w is None else g.mul(spread(a), w)
        found = g.add(g.mul(sums[2], scaled), found)
    each: list[Gradient] = [g.cast_to(g.call("aten.reshape", found, g.operand_size(0)), 0), None, None, None]
    each[weight], each[bias] = (
        None if v is None or g.is_none(i) else g.cast_to(g.call("aten.sum.dim_IntList", v, [0, 2], False, None), i)
        for v, i in ((sums[1], weight), (sums[0], bias))
    )
    return tuple(each)


@group_norm.vjp(reads=("input", "num_groups", "weight", "eps"))
def _(g: Backward) -> Gradients:
    groups = g.number("num_groups")
    operands = (g.operands[0], None, None, *_sizes(g), groups, g.number("eps"))
    found = g.several("aten.native_group_norm", *operands, types=["!torch.vtensor"] * 3)
    return _groups_gradient(g, groups, (2, 3), found[1:], (None, None))


def _native_group_norm(ctx: Infer, operands: Sequence[Value]) -> tuple[Tensor, Tensor, Tensor]:
    return _grouped(ctx, operands[0], operands[1], operands[2], operands[6])


@op(
    "aten.native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> (Tensor, "
    "Tensor, Tensor)",
    kind=Kind.NORMALISATION, infer=_native_group_norm, results=3, tolerance=Tolerance(4.0, 1.0),
)  # fmt: skip
def native_group_norm(
    x: np.ndarray, weight: Optional, bias: Optional, n: int, c: int, hxw: int, groups: int, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Aten.native_group_norm: (result, means (N, groups), reciprocal deviations (N, groups))."""
    return _groups(x, groups, weight, bias, eps)


@native_group_norm.vjp(reads=("input", "weight", "group", "result1", "result2"))
def _(g: Backward) -> Gradients:
    return _groups_gradient(g, g.number("group"), (1, 2), g.results[1:3], g.grads[1:])


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


@op(
    "aten.batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps, bool cudnn_enabled) -> Tensor",
    kind=Kind.NORMALISATION, infer=_first(_native_batch_norm), tolerance=Tolerance(4.0, 1.0),
    note="training takes no running statistics: it would write them",
)  # fmt: skip
def batch_norm(
    x: np.ndarray, weight: Optional, bias: Optional, running_mean: Optional, running_var: Optional, training: bool, momentum: float,
    eps: float, cudnn: bool = True,
) -> np.ndarray:  # fmt: skip
    """See native_batch_norm."""
    return native_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def _batch(g: Backward, statistics: Sequence[ir.Value], grads: Sequence[Gradient]) -> Gradients:
    """As samples x channels x places."""
    shape = _sizes(g)
    count = g.call("aten.mul.int", shape[0], shape[2], type_="!torch.int")
    mean, rstd, of_mean, of_rstd = (None if v is None else g.call("aten.unsqueeze", v, -1) for v in (*statistics, *map(_value, grads)))
    assert mean is not None and rstd is not None
    of_bias, of_weight, grad = _sums(g, shape, mean, rstd, [0, 2])
    slopes = []
    for v in (of_bias, of_weight):
        scaled = v if v is None or g.is_none(1) else g.mul(v, g.operands[1])
        slopes.append(_over(g, count, None if scaled is None else g.call("aten.unsqueeze", scaled, -1)))
    a, b, c = _line(g, mean, rstd, slopes, _over(g, count, of_mean), _over(g, count, of_rstd))
    found = g.add(g.mul(g.call("aten.reshape", g.operands[0], shape), b), c)
    if a is not None and grad is not None:
        scaled = a if g.is_none(1) else g.mul(a, g.call("aten.unsqueeze", g.operands[1], -1))
        found = g.add(g.mul(grad, scaled), found)
    weight, bias = (None if v is None or g.is_none(i) else g.cast_to(v, i) for v, i in ((of_weight, 1), (of_bias, 2)))
    return g.cast_to(g.call("aten.reshape", found, g.operand_size(0)), 0), weight, bias


def _over_channels(g: Backward, x: ir.Value) -> ir.Value:
    """Sums for each channel of samples x channels x places."""
    return g.call("aten.sum.dim_IntList", x, [0, 2], False, None)


def _along_channels_gradient(
    g: Backward, shape: list[ir.Value], normal: ir.Value, parameters: tuple[int, int]
) -> tuple[ir.Value | None, ir.Value | None, ir.Value | None]:
    """g w, dw and db, of samples x channels x places; `parameters`: which operands weight and bias are."""
    if g.grads[0] is None:
        return None, None, None
    grad, (weight, bias) = g.call("aten.reshape", g.grad, shape), parameters
    scaled = grad if g.is_none(weight) else g.mul(grad, g.call("aten.unsqueeze", g.operands[weight], -1))
    of_weight = None if g.is_none(weight) else g.cast_to(_over_channels(g, g.mul(grad, normal)), weight)
    return scaled, of_weight, None if g.is_none(bias) else g.cast_to(_over_channels(g, grad), bias)


def _refuse_of_running(g: Backward) -> None:
    if g.wants("running_mean") or g.wants("running_var"):
        g.leave_to_pytorch("PyTorch refuses one of its running statistics: pass them detached")


def _by_running_statistics(g: Backward) -> Gradients:
    """They are operands like others, but in PyTorch, which refuses their gradients."""
    _refuse_of_running(g)
    if g.grads[0] is None:
        return None  # the other results are empty
    shape = _sizes(g)
    rstd = g.call("aten.unsqueeze", g.call("aten.rsqrt", g.add(g.operands[4], g.number(7))), -1)
    normal = g.mul(g.sub(g.call("aten.reshape", g.operands[0], shape), g.call("aten.unsqueeze", g.operands[3], -1)), rstd)
    scaled, of_weight, of_bias = _along_channels_gradient(g, shape, normal, (1, 2))
    assert scaled is not None
    found = g.mul(scaled, rstd)
    of_mean = g.neg(_over_channels(g, found))
    of_variance = g.mul(_over_channels(g, g.mul(g.mul(found, normal), rstd)), -0.5)
    of_input = g.cast_to(g.call("aten.reshape", found, g.operand_size(0)), 0)
    return of_input, of_weight, of_bias, g.cast_to(of_mean, 3), g.cast_to(of_variance, 4)


@batch_norm.vjp(reads=("input", "weight", "running_mean", "running_var", "eps"))
def _(g: Backward) -> Gradients:
    if not g.constant("training"):
        return _by_running_statistics(g)
    _refuse_of_running(g)
    operands = (g.operands[0], None, None, None, None, True, 0.0, g.number("eps"))
    return _batch(g, g.several("aten.native_batch_norm", *operands, types=["!torch.vtensor"] * 3)[1:], (None, None))


@op(
    "aten.native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    kind=Kind.NORMALISATION, infer=_native_batch_norm, results=3, tolerance=Tolerance(4.0, 1.0),
    note="training takes no running statistics: it would write them",
)  # fmt: skip
def native_batch_norm(
    x: np.ndarray,
    weight: Optional,
    bias: Optional,
    running_mean: Optional,
    running_var: Optional,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Aten.native_batch_norm over (N, C, *): (result, batch means, batch reciprocal deviations), the last two empty in evaluation.

    Training with running statistics would write them, which this op's row does not say: a TypeError; pass None, and update
    them in the program.
    """
    parameters = (("weight", weight), ("bias", bias), ("running_mean", running_mean), ("running_var", running_var))
    if training and (running_mean is not None or running_var is not None):
        raise TypeError("batch_norm: training with running statistics writes them; pass None for both and update them in the program")
    if not training and (running_mean is None or running_var is None):
        raise ValueError("batch_norm: running_mean and running_var must be defined in evaluation mode")
    if x.ndim < 2:
        raise ValueError(f"batch_norm: expected an input of rank 2 or more, but got one of rank {x.ndim}")
    _channels("batch_norm", x, *parameters)
    statistics = _statistics_dtype_of_arrays("batch_norm", x, weight, bias, running_mean, running_var)
    with quiet:
        if running_mean is None or running_var is None:
            axes = (0, *range(2, x.ndim))
            y, mean, rstd = _normalised(x, axes, eps)
            saved = mean.reshape(-1), rstd.reshape(-1)
        else:
            compute = widened(x).dtype
            scale = np.reciprocal(np.sqrt(cast(running_var, compute) + compute.type(eps)))
            y = (widened(x) - _along_channels(cast(running_mean, compute), x.ndim)) * _along_channels(scale, x.ndim)
            saved = np.empty(0, statistics), np.empty(0, statistics)
        y = _scaled(y, _along_channels(weight, x.ndim), _along_channels(bias, x.ndim))
        return rounded(y, x.dtype), rounded(saved[0], statistics), rounded(saved[1], statistics)


@native_batch_norm.vjp(reads=("input", "weight", "running_mean", "running_var", "eps", "result1", "result2"))
def _(g: Backward) -> Gradients:
    if g.constant("training"):
        return _batch(g, g.results[1:3], g.grads[1:])
    return _by_running_statistics(g)
