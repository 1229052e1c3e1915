"""Norms of channels: over groups of them within each sample, and over the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect.facts.dims import mod
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.ops.reductions.normalisation import Optional, first_of, normalised, parameter_fits, scaled, statistics_dtype
from tierup.dialect.optable.core import Infer, Kind, ShapeError, Tolerance
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.arrays import cast, in_rows, quiet, rounded, widened
from tierup.dialect.optable.operands import flag, given, integer, is_none, or_unknown, shape, whole

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradient, Gradients
    from tierup.dialect.ops.gradients.emitter import Operand

_op = partial(op, kind=Kind.NORMALISATION, tolerance=Tolerance(4.0, 1.0))


@or_unknown
def _channels_fit(ctx: Infer, op: str, x: Value, parameters: Sequence[Value]) -> Shape:
    of = shape(x)
    if len(of) < 2:
        raise IndexError(f"{op}: expected an input of rank 2 or more, but got one of rank {len(of)}")
    for parameter in parameters:
        parameter_fits(ctx, op, parameter, of[1:2])
    return of


@or_unknown
def _group_statistics(of: Shape, groups: Value) -> Shape:
    count = integer(groups)
    if count <= 0 or isinstance(rest := mod(of[1], count), int) and rest:
        raise ShapeError(f"group_norm: {of[1]} channels are not divisible by num_groups={count}")
    return (of[0], count)


def _grouped(ctx: Infer, x: Value, weight: Value, bias: Value, groups: Value) -> tuple[Tensor, Tensor, Tensor]:
    of = _channels_fit(ctx, "group_norm", x, (weight, bias))
    statistics = Tensor(statistics_dtype("group_norm", x, (weight, bias)), None if of is None else _group_statistics(of, groups))
    return whole(x), statistics, statistics


def _group_norm(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return _grouped(ctx, operands[0], given(operands, 2), given(operands, 3), operands[1])[0]


def _along_channels(parameter: Optional, rank: int) -> Optional:
    """A vector over dim 1, ready to broadcast."""
    return None if parameter is None else parameter.reshape((-1,) + (1,) * (rank - 2))


def _groups(x: np.ndarray, groups: int, weight: Optional, bias: Optional, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    statistics = native_group_norm.checked(x, weight, bias, 0, 0, 0, groups, eps)[1].dtype.numpy  # its sizes say nothing
    channels = x.shape[1]
    with quiet:
        size = int(np.prod(x.shape[2:], dtype=np.int64)) * (channels // groups)
        y, mean, rstd = normalised(x.reshape(x.shape[0], groups, size), (2,), eps)
        y = scaled(y.reshape(x.shape), _along_channels(weight, x.ndim), _along_channels(bias, x.ndim))
        return in_rows(rounded(y, x.dtype)), rounded(mean[..., 0], statistics), rounded(rstd[..., 0], statistics)


@_op(
    "aten.group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, "
    "bool cudnn_enabled=True) -> Tensor",
    infer=_group_norm,
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
    if not kept:  # of no elements a batch has no deviation, and the sum is 0
        rstd = g.call("aten.nan_to_num", g.call("aten.squeeze.dim", rstd, -1), 0.0, math.inf, -math.inf)
    return plain, g.mul(centred, rstd), grad


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


@_op(
    "aten.native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> (Tensor, "
    "Tensor, Tensor)",
    infer=_native_group_norm, results=3,
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
    statistics = Tensor(statistics_dtype("batch_norm", x, parameters), length)
    return whole(x), statistics, statistics


@_op(
    "aten.batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps, bool cudnn_enabled) -> Tensor",
    infer=first_of(_native_batch_norm),
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


@_op(
    "aten.native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    infer=_native_batch_norm, results=3,
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
    statistics = native_batch_norm.checked(x, weight, bias, running_mean, running_var, training)[1].dtype.numpy
    with quiet:
        if running_mean is None or running_var is None:
            axes = (0, *range(2, x.ndim))
            y, mean, rstd = normalised(x, axes, eps)
            saved = mean.reshape(-1), rstd.reshape(-1)
        else:
            compute = widened(x).dtype
            scale = np.reciprocal(np.sqrt(cast(running_var, compute) + compute.type(eps)))
            y = (widened(x) - _along_channels(cast(running_mean, compute), x.ndim)) * _along_channels(scale, x.ndim)
            saved = np.empty(0, statistics), np.empty(0, statistics)
        y = scaled(y, _along_channels(weight, x.ndim), _along_channels(bias, x.ndim))
        return rounded(y, x.dtype), rounded(saved[0], statistics), rounded(saved[1], statistics)


@native_batch_norm.vjp(reads=("input", "weight", "running_mean", "running_var", "eps", "result1", "result2"))
def _(g: Backward) -> Gradients:
    if g.constant("training"):
        return _batch(g, g.results[1:3], g.grads[1:])
    return _by_running_statistics(g)
