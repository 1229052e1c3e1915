"""Layer, group, batch and RMS norm: y = w (x - mean) rstd + b.

With n = (x - mean) rstd and h = g w, dx = rstd (h - mean(h) - n mean(h n)), dw = sum(g n), db = sum(g): from the means and deviations
that the `native_` forms give, which tierup-expose-statistics puts in the place of the others; where others stand all the same, they are
computed again. Means and deviations pass on gradients too, for second derivatives: dx = g_mean / N, and -g_rstd rstd^2 n / N.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.gradients.core import Backward, Gradient, Gradients, NoGradient, Rules
from tierup.dialect.gradients.emitter import Operand
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting import items_of, under_casts

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
    """The input as samples x groups x what a group has; for the parameters as samples x channels x places."""
    samples, channels, places = shape = _sizes(g)
    size = g.call("aten.mul.int", g.call("aten.floordiv.int", channels, groups, type_="!torch.int"), places, type_="!torch.int")
    grouped = [samples, groups, size]
    mean, rstd = (g.call("aten.unsqueeze", r, -1) for r in statistics)
    normal = g.mul(g.sub(g.call("aten.reshape", g.operands[0], grouped), mean), rstd)
    scaled, of_weight, of_bias = _along_channels(g, shape, g.call("aten.reshape", normal, shape), parameters)
    found = _of_input(g, normal, rstd, [-1], None if scaled is None else g.call("aten.reshape", scaled, grouped), _behind(g, grads))
    each: list[Gradient] = [g.cast_to(g.call("aten.reshape", found, g.operand_size(0)), 0), None, None, None]
    each[parameters[0]], each[parameters[1]] = of_weight, of_bias
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
    """The input as samples x channels x places."""
    shape = _sizes(g)
    mean, rstd = (g.call("aten.unsqueeze", r, -1) for r in statistics)
    normal = g.mul(g.sub(g.call("aten.reshape", g.operands[0], shape), mean), rstd)
    scaled, of_weight, of_bias = _along_channels(g, shape, normal, (1, 2))
    found = _of_input(g, normal, rstd, [0, 2], scaled, _behind(g, grads))
    return g.cast_to(g.call("aten.reshape", found, g.operand_size(0)), 0), of_weight, of_bias


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


def _behind(g: Backward, grads: Sequence[Gradient]) -> list[Gradient]:
    return [g.call("aten.unsqueeze", v, -1) if isinstance(v, ir.Value) else None for v in grads]


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
