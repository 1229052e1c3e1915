"""Softmax, layer norm and its kin: dialect/ops/reductions/normalisation.py as loops, the halves in f32."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from tierup.dialect.base.dtypes import DType
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import Scalar, select
from tierup.lowering.ops.call import Call, Lowering, axes_of
from tierup.lowering.ops.movement.shape import reshaped
from tierup.lowering.ops.pointwise.context import NotHandled, widened
from tierup.lowering.ops.reductions.extremes import extreme
from tierup.lowering.ops.reductions.sums import mean, shaped, total
from tierup.lowering.ops.tensors import Operand, Tensor, empty, kept_axes, mapped, pointwise, whole


def _softmax(logarithm: bool, c: Call) -> Tensor:
    x, target = c.tensor(0), c.dtype()
    dtype = widened(target)
    axes = axes_of(c.ints(1), x.rank)
    if 0 in x.sizes:
        return x.cast(target)
    kept = kept_axes(x.rank, axes)
    wide = x if x.dtype is dtype else mapped(x, dtype, lambda v: v.cast(target))
    operands = [whole(wide), (extreme(wide, axes, True), kept)]
    if logarithm:
        shifted = pointwise(x.lengths, operands, dtype, lambda v, m: v - m)
        summed = total(shifted, axes, dtype, lambda v: v.call("math.exp"))
        return pointwise(x.lengths, [whole(shifted), (summed, kept)], target, lambda v, s: v - s.call("math.log"))
    powers = pointwise(x.lengths, operands, dtype, lambda v, m: (v - m).call("math.exp"))
    return pointwise(x.lengths, [whole(powers), (total(powers, axes, dtype), kept)], target, lambda e, s: e / s)


def _safe_softmax(c: Call) -> Tensor:
    """softmax, but zeros for a row whose every element is -inf."""
    x, made = c.tensor(0), _softmax(False, c)
    if 0 in x.sizes:
        return made
    axes = axes_of(c.ints(1), x.rank)
    operands = [whole(made), (extreme(x, axes, True), kept_axes(x.rank, axes))]
    return pointwise(x.lengths, operands, made.dtype, lambda v, m: select(m.equals(-math.inf), 0.0, v))


def _inverse_root(x: Tensor, dtype: DType, eps: float) -> Tensor:
    return mapped(x, dtype, lambda v: 1.0 / (v.cast(dtype) + eps).call("math.sqrt"))


def _standardised(x: Tensor, axes: Sequence[int], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean), mean and 1/sqrt(variance + eps), in the widened dtype; the last two without the reduced axes."""
    dtype = widened(x.dtype)
    center = mean(x, axes, dtype)
    deviation = pointwise(x.lengths, [whole(x), (center, kept_axes(x.rank, axes))], dtype, lambda v, m: v.cast(dtype) - m)
    return deviation, center, _inverse_root(mean(deviation, axes, dtype, lambda v: v * v), dtype, eps)


def _finished(like: Tensor, value: Tensor, scale: Operand | None, weight: Operand | None, bias: Operand | None) -> Tensor:
    """value * scale * weight + bias, as far as they are there, rounded to the dtype of `like`."""
    factors, terms = ([p for p in some if p is not None] for some in ((scale, weight), (bias,)))

    def body(v: Scalar, *rest: Scalar) -> Scalar:
        for factor in rest[: len(factors)]:
            v = v * factor
        for term in rest[len(factors) :]:
            v = v + term
        return v

    return pointwise(like.lengths, [whole(value), *factors, *terms], like.dtype, body)


def _epsilon(c: Call, i: int) -> float:
    eps = c.known(i)
    if not isinstance(eps, (int, float)):
        raise NotHandled
    return float(eps)


def _along(c: Call, i: int, axes: Sequence[int]) -> Operand | None:
    """A parameter of some axes; None where there is none."""
    parameter = c.optional_tensor(i)
    return None if parameter is None else (parameter, axes)


def _layer_norm(c: Call) -> list[Tensor]:
    x, sizes, eps = c.tensor(0), c.ints(1), _epsilon(c, 4)
    if sizes is None:
        raise NotHandled
    axes = list(range(x.rank - len(sizes), x.rank))
    deviation, center, scale = _standardised(x, axes, eps)
    made = _finished(x, deviation, (scale, kept_axes(x.rank, axes)), _along(c, 2, axes), _along(c, 3, axes))
    if len(c.op.results) == 1:
        return [made]
    return [made, shaped(center, c.dtype(1), x, axes, True), shaped(scale, c.dtype(2), x, axes, True)]


def _rms_norm(c: Call) -> Tensor:
    x, sizes, given = c.tensor(0), c.ints(1), c.known(3)
    if sizes is None or isinstance(given, str):
        raise NotHandled
    dtype = widened(x.dtype)
    eps = float(np.finfo(dtype.numpy).eps) if given is None else float(given)
    axes = list(range(x.rank - len(sizes), x.rank))
    square = mean(x, axes, dtype, lambda v: v.cast(dtype) * v.cast(dtype))
    scale = _inverse_root(square, dtype, eps), kept_axes(x.rank, axes)
    return _finished(x, x.cast(dtype), scale, _along(c, 2, axes), None)


def _batch_norm(c: Call) -> list[Tensor]:
    """Over (N, C, *): with the batch's own statistics, or with running ones, which are read only."""
    x, eps, training = c.tensor(0), _epsilon(c, 7), c.known(5)
    running_mean, running_var = c.optional_tensor(3), c.optional_tensor(4)
    channel = [1]
    if running_mean is None or running_var is None:
        axes = [0, *range(2, x.rank)]
        deviation, center, scale = _standardised(x, axes, eps)
    elif training:
        raise NotHandled  # tier 0 raises
    else:
        dtype = widened(x.dtype)
        center = running_mean
        scale = _inverse_root(running_var, dtype, eps)
        deviation = pointwise(x.lengths, [whole(x), (center, channel)], dtype, lambda v, m: v.cast(dtype) - m.cast(dtype))
    made = _finished(x, deviation, (scale, channel), _along(c, 1, channel), _along(c, 2, channel))
    if len(c.op.results) == 1:
        return [made]
    if running_mean is not None:
        return [made, *(empty([0], c.dtype(i)) for i in (1, 2))]
    return [made, center.cast(c.dtype(1)), scale.cast(c.dtype(2))]


def _group_norm(c: Call, groups: int, weight: int, bias: int, eps: int) -> list[Tensor]:
    """Operands by position. Each of the groups of channels, and all that follows, is standardised."""
    x, count = c.tensor(0), c.integer(groups)
    channels = x.sizes[1]
    if channels is None or channels % count:
        raise NotHandled
    grouped = reshaped(x, [x.length(0), count, sizes.product([channels // count, *x.lengths[2:]])])
    deviation, center, scale = _standardised(grouped, [2], _epsilon(c, eps))
    flat = pointwise(grouped.lengths, [whole(deviation), (scale, [0, 1])], deviation.dtype, lambda v, r: v * r)
    one = _finished(x, reshaped(flat, x.lengths), None, _along(c, weight, [1]), _along(c, bias, [1]))
    return [one] if len(c.op.results) == 1 else [one, center.cast(c.dtype(1)), scale.cast(c.dtype(2))]


LOWERINGS: dict[str, Lowering] = {
    "aten.softmax.int": partial(_softmax, False),
    "aten._softmax": partial(_softmax, False),
    "aten._safe_softmax": _safe_softmax,
    "aten.log_softmax.int": partial(_softmax, True),
    "aten._log_softmax": partial(_softmax, True),
    "aten.layer_norm": _layer_norm,
    "aten.native_layer_norm": _layer_norm,
    "aten.rms_norm": _rms_norm,
    "aten.batch_norm": _batch_norm,
    "aten.native_batch_norm": _batch_norm,
    "aten.group_norm": lambda c: _group_norm(c, 1, 2, 3, 4),
    "aten.native_group_norm": lambda c: _group_norm(c, 6, 1, 2, 7),
}

