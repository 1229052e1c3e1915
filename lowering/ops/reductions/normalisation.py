"""Softmax, layer norm and its kin: dialect/optable/families/normalisation.py as loops, the halves in f32."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tierup.lowering.building import sizes
from tierup.lowering.building.arith import Scalar, select
from tierup.lowering.ops.call import Call, Lowering, axes_of
from tierup.lowering.ops.movement.shape import reshaped
from tierup.lowering.ops.pointwise.context import NotHandled
from tierup.lowering.ops.reductions.extremes import extreme
from tierup.lowering.ops.reductions.sums import mean, shaped, total
from tierup.lowering.ops.tensors import Operand, Tensor, empty, kept_axes, pointwise, widened


def _all(x: Tensor) -> Operand:
    return x, range(x.rank)


def _softmax(logarithm: bool, c: Call) -> list[Tensor]:
    x, target = c.tensor(0), c.dtype()
    dtype = widened(target)
    axes = axes_of(c.ints(1), x.rank)
    if any(size == 0 for size in x.sizes):
        return [pointwise(x, [_all(x)], target, lambda v: v)]
    kept = kept_axes(x.rank, axes)
    wide = x if x.dtype is dtype else pointwise(x, [_all(x)], dtype, lambda v: v.cast(target))
    largest = extreme(wide, axes, True)
    if logarithm:
        shifted = pointwise(wide, [_all(wide), (largest, kept)], dtype, lambda v, m: v - m)
        summed = total(shifted, axes, dtype, lambda v: v.call("math.exp"))
        return [pointwise(wide, [_all(shifted), (summed, kept)], target, lambda v, s: v - s.call("math.log"))]
    powers = pointwise(wide, [_all(wide), (largest, kept)], dtype, lambda v, m: (v - m).call("math.exp"))
    summed = total(powers, axes, dtype)
    return [pointwise(wide, [_all(powers), (summed, kept)], target, lambda e, s: e / s)]


def _safe_softmax(c: Call) -> list[Tensor]:
    """softmax, but zeros for a row whose every element is -inf."""
    x = c.tensor(0)
    (made,) = _softmax(False, c)
    if any(size == 0 for size in x.sizes):
        return [made]
    axes = axes_of(c.ints(1), x.rank)
    largest = extreme(x, axes, True)
    operands: list[Operand] = [_all(made), (largest, kept_axes(x.rank, axes))]
    return [pointwise(made, operands, made.dtype, lambda v, m: select(m.equals(-math.inf), 0.0, v))]


def _standardised(x: Tensor, axes: Sequence[int], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean), mean and 1/sqrt(variance + eps), in the widened dtype; the last two without the reduced axes."""
    dtype = widened(x.dtype)
    kept = kept_axes(x.rank, axes)
    center = mean(x, axes, dtype)
    deviation = pointwise(x, [_all(x), (center, kept)], dtype, lambda v, m: v.cast(dtype) - m)
    variance = mean(deviation, axes, dtype, lambda v: v * v)
    scale = pointwise(variance, [_all(variance)], dtype, lambda v: 1.0 / (v + eps).call("math.sqrt"))
    return deviation, center, scale


def _finished(like: Tensor, value: Tensor, scale: Operand, weight: Operand | None, bias: Operand | None) -> Tensor:
    """value * scale * weight + bias, rounded to the dtype of `like`."""
    parameters = [p for p in (weight, bias) if p is not None]

    def body(v: Scalar, r: Scalar, *rest: Scalar) -> Scalar:
        v, left = v * r, list(rest)
        if weight is not None:
            v = v * left.pop(0)
        return v + left.pop(0) if bias is not None else v

    return pointwise(like, [_all(value), scale, *parameters], like.dtype, body)


def _epsilon(c: Call, i: int) -> float:
    eps = c.known(i)
    if not isinstance(eps, (int, float)):
        raise NotHandled
    return float(eps)


def _along(parameter: Tensor | None, axes: Sequence[int]) -> Operand | None:
    return None if parameter is None else (parameter, axes)


def _layer_norm(c: Call) -> list[Tensor]:
    x, sizes, eps = c.tensor(0), c.ints(1), _epsilon(c, 4)
    if sizes is None:
        raise NotHandled
    axes = list(range(x.rank - len(sizes), x.rank))
    deviation, center, scale = _standardised(x, axes, eps)
    weight, bias = _along(c.optional_tensor(2), axes), _along(c.optional_tensor(3), axes)
    made = _finished(x, deviation, (scale, kept_axes(x.rank, axes)), weight, bias)
    if len(c.op.results) == 1:
        return [made]
    return [made, shaped(center, c.dtype(1), x, axes, True), shaped(scale, c.dtype(2), x, axes, True)]


def _rms_norm(c: Call) -> list[Tensor]:
    x, sizes, given = c.tensor(0), c.ints(1), c.known(3)
    if sizes is None or isinstance(given, str):
        raise NotHandled
    dtype = widened(x.dtype)
    eps = float(np.finfo(dtype.numpy).eps) if given is None else float(given)
    axes = list(range(x.rank - len(sizes), x.rank))
    square = mean(x, axes, dtype, lambda v: v.cast(dtype) * v.cast(dtype))
    scale = pointwise(square, [_all(square)], dtype, lambda v: 1.0 / (v + eps).call("math.sqrt"))
    wide = pointwise(x, [_all(x)], dtype, lambda v: v)
    return [_finished(x, wide, (scale, kept_axes(x.rank, axes)), _along(c.optional_tensor(2), axes), None)]


def _batch_norm(c: Call) -> list[Tensor]:
    """Over (N, C, *): with the batch's own statistics, or with running ones, which are read only."""
    x, eps, training = c.tensor(0), _epsilon(c, 7), c.known(5)
    weight, bias, running_mean, running_var = (c.optional_tensor(i) for i in (1, 2, 3, 4))
    channel = [1]
    if running_mean is None or running_var is None:
        axes = [0, *range(2, x.rank)]
        deviation, center, scale = _standardised(x, axes, eps)
    elif training:
        raise NotHandled  # tier 0 raises
    else:
        dtype = widened(x.dtype)
        center = running_mean
        scale = pointwise(running_var, [_all(running_var)], dtype, lambda v: 1.0 / (v.cast(dtype) + eps).call("math.sqrt"))
        deviation = pointwise(x, [_all(x), (center, channel)], dtype, lambda v, m: v.cast(dtype) - m.cast(dtype))
    made = _finished(x, deviation, (scale, channel), _along(weight, channel), _along(bias, channel))
    if len(c.op.results) == 1:
        return [made]
    if running_mean is not None:
        return [made, *(Tensor(empty((0,), [], c.dtype(i)), c.dtype(i), (0,)) for i in (1, 2))]
    return [made, *(shaped(t, c.dtype(i), x, [], False) for i, t in ((1, center), (2, scale)))]


def _group_norm(c: Call, groups: int, weight: int, bias: int, eps: int) -> list[Tensor]:
    """Operands by position. Each of the groups of channels, and all that follows, is standardised."""
    x, count = c.tensor(0), c.known(groups)
    channels = x.sizes[1]
    if type(count) is not int or channels is None or channels % count:
        raise NotHandled
    size = sizes.product([channels // count, *x.lengths[2:]])
    grouped = reshaped(x, (x.sizes[0], count, *sizes.known([size])), [x.length(0), count, size])
    deviation, center, scale = _standardised(grouped, [2], _epsilon(c, eps))
    flat = pointwise(grouped, [_all(deviation), (scale, [0, 1])], deviation.dtype, lambda v, r: v * r)
    back = reshaped(flat, x.sizes, x.lengths)
    scale_and_shift = (_along(c.optional_tensor(weight), [1]), _along(c.optional_tensor(bias), [1]))
    one = pointwise(x, [_all(back), *(p for p in scale_and_shift if p is not None)],
                    x.dtype, _affine(c.optional_tensor(weight) is not None, c.optional_tensor(bias) is not None))  # fmt: skip
    if len(c.op.results) == 1:
        return [one]
    return [one, shaped(center, c.dtype(1), grouped, [2], False), shaped(scale, c.dtype(2), grouped, [2], False)]


def _affine(weighted: bool, biased: bool) -> Callable[..., Scalar]:
    def body(v: Scalar, *rest: Scalar) -> Scalar:
        left = list(rest)
        if weighted:
            v = v * left.pop(0)
        return v + left.pop(0) if biased else v

    return body


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

