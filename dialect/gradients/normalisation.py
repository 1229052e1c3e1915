"""Layer, group, batch and RMS norm: y = w (x - mean) rstd + b.

With n = (x - mean) rstd and h = g w, dx = rstd (h - mean(h) - n mean(h n)), dw = sum(g n), db = sum(g): from the means and deviations
that the `native_` forms give, which tierup-expose-statistics puts in the place of the others; where others stand all the same, they are
computed again. Means and deviations pass on gradients too, for second derivatives: dx = g_mean / N, and -g_rstd rstd^2 n / N.

Where a mean is not that of rows, dx is written a g w + b x + c with numbers per channel, as in PyTorch's group_norm_kernel.cpp: then
nothing of the input's size is kept but the result. It rounds as much as the input itself does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.gradients.core import Backward, Gradient, Gradients, NoGradient, Rules
from tierup.dialect.gradients.emitter import Operand
from tierup.dialect.ir.rewriting import items_of, under_casts
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.native_layer_norm(input, normalized_shape, weight, bias, eps)", captures=("input", "weight", "result1", "result2"))
def native_layer_norm(g: Backward) -> Gradients:
    return _layer(g, g.results[1:3], g.grads[1:])


@RULES.vjp("aten.layer_norm(input, normalized_shape, weight, bias, eps, cudnn_enable)", captures=("input", "weight", "eps"))
def layer_norm(g: Backward) -> Gradients:
    found = g.several("aten.native_layer_norm", g.operands[0], g.like(1), None, None, g.number(4), types=["!torch.vtensor"] * 3)
    return _layer(g, found[1:], (None, None))


def _layer(g: Backward, statistics: Sequence[ir.Value], grads: Sequence[Gradient]) -> Gradients:
    (mean, rstd), grad = statistics, g.grads[0]
    normal = g.mul(g.sub(g.operands[0], mean), rstd)
    of_weight = of_bias = scaled = None
    if isinstance(grad, ir.Value):
        of_weight = None if g.is_none(2) else g.sum_to(g.mul(grad, normal), 2)
        of_bias = None if g.is_none(3) else g.sum_to(grad, 3)
        scaled = grad if g.is_none(2) else g.mul(grad, g.operands[2])
    return g.cast_to(_of_input(g, normal, rstd, _last_dims(g), scaled, grads), 0), None, of_weight, of_bias


@RULES.vjp("aten.rms_norm(input, normalized_shape, weight, eps)", captures=("input", "weight"))
def rms_norm(g: Backward) -> Gradients:
    """The same without a mean; 1 / sqrt(mean(x^2) + eps) is computed again."""
    dims, x = _last_dims(g), g.operands[0]
    r = g.call("aten.rsqrt", _plus_eps(g, _mean(g, g.mul(x, x), dims)))
    normal = g.mul(x, r)
    scaled = g.grad if g.is_none(2) else g.mul(g.grad, g.operands[2])
    found = g.mul(g.sub(scaled, g.mul(normal, _mean(g, g.mul(scaled, normal), dims))), r)
    return g.cast_to(found, 0), None, None if g.is_none(2) else g.sum_to(g.mul(g.grad, normal), 2)


def _plus_eps(g: Backward, x: ir.Value) -> ir.Value:
    """None is the epsilon of the dtype that is computed in."""
    if not g.is_none(3):
        return g.add(x, g.number(3))
    dtype = g.tensor(g.like(0)).dtype
    double: bool | ir.Value = dtype is dtypes.f64
    if dtype is None:
        double = g.call("aten.eq.int", g.dtype(g.like(0)), dtypes.f64.code, type_="!torch.bool")
    return g.choose(double, lambda: g.add(x, float(np.finfo(np.float64).eps)), lambda: g.add(x, float(np.finfo(np.float32).eps)))


@RULES.vjp(
    "aten.native_group_norm(input, weight, bias, N, C, HxW, group, eps)", captures=("input", "weight", "group", "result1", "result2")
)
def native_group_norm(g: Backward) -> Gradients:
    return _groups(g, g.number(6), (1, 2), g.results[1:3], g.grads[1:])


@RULES.vjp("aten.group_norm(input, num_groups, weight, bias, eps, cudnn_enabled)", captures=("input", "num_groups", "weight", "eps"))
def group_norm(g: Backward) -> Gradients:
    groups = g.number(1)
    operands = (g.operands[0], None, None, *_sizes(g), groups, g.number(4))
    found = g.several("aten.native_group_norm", *operands, types=["!torch.vtensor"] * 3)
    return _groups(g, groups, (2, 3), found[1:], (None, None))


def _groups(
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


@RULES.vjp(
    "aten.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)",
    captures=("input", "weight", "running_mean", "running_var", "eps", "result1", "result2"),
)
def native_batch_norm(g: Backward) -> Gradients:
    if g.constant(5):
        return _batch(g, g.results[1:3], g.grads[1:])
    return _by_running_statistics(g)


@RULES.vjp(
    "aten.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)",
    captures=("input", "weight", "running_mean", "running_var", "eps"),
)
def batch_norm(g: Backward) -> Gradients:
    if not g.constant(5):
        return _by_running_statistics(g)
    operands = (g.operands[0], None, None, None, None, True, 0.0, g.number(7))
    return _batch(g, g.several("aten.native_batch_norm", *operands, types=["!torch.vtensor"] * 3)[1:], (None, None))


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


def _value(gradient: Gradient) -> ir.Value | None:
    return gradient if isinstance(gradient, ir.Value) else None


def _over(g: Backward, count: ir.Value, x: ir.Value | None) -> ir.Value | None:
    return None if x is None else g.div(x, count)


def _sums(
    g: Backward, shape: list[ir.Value], mean: ir.Value, rstd: ir.Value, dims: list[int]
) -> tuple[ir.Value | None, ir.Value | None, ir.Value | None]:
    """sum(g) and sum(g n) over dims, of which those behind the channels stay with size 1, and g; all as samples x channels x places."""
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
    """dx as a g w + b x + c: one pass over g and x. `slopes`: mean(g w) and mean(g w n), of which g may be None; `of_mean`, `of_rstd`: the
    gradients of the statistics, each over how many elements they are of."""
    square = g.mul(rstd, rstd)
    factors = [v for v in (slopes[1], None if of_rstd is None else g.mul(of_rstd, rstd)) if v is not None]
    b = g.zeros_like(mean) if not factors else g.neg(g.mul(factors[0] if len(factors) == 1 else g.add(*factors), square))
    c = g.neg(g.mul(b, mean))
    if slopes[0] is not None:
        c = g.sub(c, g.mul(rstd, slopes[0]))
    return (None if slopes[0] is None else rstd), b, c if of_mean is None else g.add(c, of_mean)


def _by_running_statistics(g: Backward) -> Gradients:
    """They are operands like others. (PyTorch gives them no gradient, though the result depends on them.)"""
    if g.grads[0] is None:
        return None  # the other results are empty
    shape = _sizes(g)
    rstd = g.call("aten.unsqueeze", g.call("aten.rsqrt", g.add(g.operands[4], g.number(7))), -1)
    normal = g.mul(g.sub(g.call("aten.reshape", g.operands[0], shape), g.call("aten.unsqueeze", g.operands[3], -1)), rstd)
    scaled, of_weight, of_bias = _along_channels(g, shape, normal, (1, 2))
    assert scaled is not None
    found = g.mul(scaled, rstd)
    of_mean = g.neg(_over_channels(g, found))
    of_variance = g.mul(_over_channels(g, g.mul(g.mul(found, normal), rstd)), -0.5)
    of_input = g.cast_to(g.call("aten.reshape", found, g.operand_size(0)), 0)
    return of_input, of_weight, of_bias, g.cast_to(of_mean, 3), g.cast_to(of_variance, 4)


def _last_dims(g: Backward) -> list[int]:
    """The dims that are normalised over, from the end."""
    found = items_of(under_casts(g.like(1)))
    if found is None:
        raise NoGradient("the number of its normalized sizes is not known: make the list where it is used")
    return list(range(-len(found), 0))


def _mean(g: Backward, x: ir.Value, dims: Sequence[int]) -> ir.Value:
    return g.call("aten.mean.dim", x, list(dims), True, None)


def _over_channels(g: Backward, x: ir.Value) -> ir.Value:
    """Sums for each channel of samples x channels x places."""
    return g.call("aten.sum.dim_IntList", x, [0, 2], False, None)


def _sizes(g: Backward) -> list[ir.Value]:
    """Samples, channels, and places per channel: of no elements, 0."""
    samples, channels = (g.size_of(g.like(0), d) for d in (0, 1))
    rows = g.call("prim.max.int", g.call("aten.mul.int", samples, channels, type_="!torch.int"), 1, type_="!torch.int")
    return [samples, channels, g.call("aten.floordiv.int", g.call("aten.numel", g.like(0), type_="!torch.int"), rows, type_="!torch.int")]


def _along_channels(
    g: Backward, shape: list[ir.Value], normal: ir.Value, parameters: tuple[int, int]
) -> tuple[ir.Value | None, ir.Value | None, ir.Value | None]:
    """g w, dw and db, of samples x channels x places; `parameters`: which operands weight and bias are."""
    if g.grads[0] is None:
        return None, None, None
    grad, (weight, bias) = g.call("aten.reshape", g.grad, shape), parameters
    scaled = grad if g.is_none(weight) else g.mul(grad, g.call("aten.unsqueeze", g.operands[weight], -1))
    of_weight = None if g.is_none(weight) else g.cast_to(_over_channels(g, g.mul(grad, normal)), weight)
    return scaled, of_weight, None if g.is_none(bias) else g.cast_to(_over_channels(g, grad), bias)


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
    if isinstance(of_mean, ir.Value):
        parts.append(g.expand(g.div(of_mean, count), g.size(normal)))
    if isinstance(of_rstd, ir.Value):
        parts.append(g.mul(normal, g.neg(g.div(g.mul(of_rstd, g.mul(rstd, rstd)), count))))
    found = parts[0]
    for part in parts[1:]:
        found = g.add(found, part)
    return found
