"""Norms over the last dims, and what all norms share: (x - mean) * rstd * weight + bias, with the biased variance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.optable.core import Infer, InferRule, Kind, Layout, ShapeError, Tolerance
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.arrays import cast, in_rows, quiet, rounded, widened
from tierup.dialect.optable.operands import dtype_of, given, is_none, or_unknown, shape, sizes, whole

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradient, Gradients

Optional = np.ndarray | None

_op = partial(op, kind=Kind.NORMALISATION, tolerance=Tolerance(4.0, 1.0))


# --- what they share -----------------------------------------------------------------------------------------------------


def statistics_dtype(op: str, x: Value, parameters: Sequence[Value]) -> DType | None:
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
def parameter_fits(ctx: Infer, op: str, parameter: Value, wanted: Shape) -> None:
    if not is_none(parameter):
        _fits(ctx, f"{op}: a parameter's shape does not fit", shape(parameter), wanted)


def first_of(rule: InferRule) -> InferRule:
    """Of several results."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Value:
        results = rule(ctx, operands)
        assert isinstance(results, tuple)
        return results[0]

    return infer


def normalised(x: np.ndarray, axes: tuple[int, ...], eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x - mean) * rstd in x's own precision (the halves in float32), mean, and rstd = 1 / sqrt(variance + eps)."""
    wide = in_rows(widened(x))
    n = wide.dtype.type(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    mean = np.add.reduce(wide, axis=axes, keepdims=True) / n
    deviation = wide - mean
    variance = np.add.reduce(np.square(deviation), axis=axes, keepdims=True) / n
    rstd = np.reciprocal(np.sqrt(variance + wide.dtype.type(eps)))
    return np.multiply(deviation, rstd, out=deviation), mean, rstd


def scaled(y: np.ndarray, weight: Optional, bias: Optional) -> np.ndarray:
    """y * weight + bias, in place; parameters already of a shape that broadcasts to y's."""
    if weight is not None:
        y *= cast(weight, y.dtype)
    if bias is not None:
        y += cast(bias, y.dtype)
    return y


# --- over the last dims ---------------------------------------------------------------------------------------------------


@or_unknown
def _layer_statistics(ctx: Infer, op: str, x: Value, normalized: Value, parameters: Sequence[Value]) -> Shape:
    """The shape of means and deviations."""
    wanted = sizes(normalized)
    if not wanted:
        raise ShapeError(f"{op}: Expected normalized_shape to be at least 1-dimensional, but got normalized_shape = []")
    for parameter in parameters:
        parameter_fits(ctx, op, parameter, wanted)
    of = shape(x)
    _fits(ctx, f"{op}: input's last sizes are not normalized_shape", of[-len(wanted) :], wanted)
    return (*of[: -len(wanted)], *(1,) * len(wanted))


def _layer_norm(ctx: Infer, operands: Sequence[Value]) -> tuple[Tensor, Tensor, Tensor]:
    x, normalized, weight, bias = operands[0], operands[1], given(operands, 2), given(operands, 3)
    statistics = Tensor(
        statistics_dtype("layer_norm", x, (weight, bias)), _layer_statistics(ctx, "layer_norm", x, normalized, (weight, bias))
    )
    return whole(x), statistics, statistics


@_op(
    "aten.layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, "
    "bool cudnn_enable=True) -> Tensor",
    infer=first_of(_layer_norm), layout=Layout.ROWS,
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
    """dx, of g w and of the gradients of mean and rstd, each None where there is none. `dims`: those that are normalised over."""
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


@_op(
    "aten.native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    infer=_layer_norm, results=3, layout=Layout.ROWS,
)  # fmt: skip
def native_layer_norm(
    x: np.ndarray, normalized_shape: Sequence[int], weight: Optional, bias: Optional, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(normalised x * weight + bias, means, reciprocal deviations), the last two with sizes 1 for the
    normalised dims and in float32 when a half comes with float32 parameters."""
    statistics = native_layer_norm.checked(x, normalized_shape, weight, bias)[1].dtype.numpy
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    with quiet:
        y, mean, rstd = normalised(x, axes, eps)
        return rounded(scaled(y, weight, bias), x.dtype), rounded(mean, statistics), rounded(rstd, statistics)


native_layer_norm.vjp(reads=("input", "weight", "result1", "result2"))(lambda g: _layer(g, g.results[1:3], g.grads[1:]))


def _rms_norm(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, weight = operands[0], given(operands, 2)
    statistics_dtype("rms_norm", x, (weight,))
    _layer_statistics(ctx, "rms_norm", x, operands[1], (weight,))
    return whole(x)


@_op("aten.rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor", infer=_rms_norm)
def rms_norm(x: np.ndarray, normalized_shape: Sequence[int], weight: Optional = None, eps: float | None = None) -> np.ndarray:
    """x / sqrt(mean(x**2) + eps) * weight over the last dims; eps None is the epsilon of the dtype computed in."""
    rms_norm.checked(x, normalized_shape, weight)
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    with quiet:
        wide = in_rows(widened(x))
        n = wide.dtype.type(np.prod([x.shape[a] for a in axes], dtype=np.int64))
        square = np.add.reduce(np.square(wide), axis=axes, keepdims=True) / n
        least = wide.dtype.type(np.finfo(wide.dtype).eps if eps is None else eps)
        return rounded(scaled(wide * np.reciprocal(np.sqrt(square + least)), weight, None), x.dtype)


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
