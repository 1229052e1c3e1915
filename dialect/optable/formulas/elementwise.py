"""Losses of elements: distances, margins, and distributions."""

from __future__ import annotations

import math

from tierup.dialect.optable.core import ShapeError
from tierup.dialect.optable.formulas.core import Ops, T, as_dtype_of, formula, reduced

# --- distances ---------------------------------------------------------------------------------------------------------


@formula("mse_loss(self, target; reduction)")
def mse_loss(o: Ops[T], x: T, target: T, reduction: int = 1) -> T:
    return reduced(o, o.call("aten.square", o.sub(x, target)), reduction, integers="mse_loss")


@formula("l1_loss(self, target; reduction)")
def l1_loss(o: Ops[T], x: T, target: T, reduction: int = 1) -> T:
    return reduced(o, o.call("aten.abs", o.sub(x, target)), reduction)


@formula("smooth_l1_loss(self, target; reduction, beta)")
def smooth_l1_loss(o: Ops[T], x: T, target: T, reduction: int = 1, beta: float = 1.0) -> T:
    if beta < 0:
        raise ShapeError("smooth_l1_loss does not support negative values for beta.")
    distance = o.call("aten.abs", o.sub(x, target))
    if o.is_float(distance) is False:
        raise TypeError("smooth_l1_loss is not implemented for integers")
    if beta != 0:
        near = o.div(o.mul(o.call("aten.square", distance), 0.5), beta)
        distance = o.where(o.call("aten.lt.Scalar", distance, beta), near, o.sub(distance, 0.5 * beta))
    return reduced(o, distance, reduction)


@formula("huber_loss(self, target; reduction, delta)")
def huber_loss(o: Ops[T], x: T, target: T, reduction: int = 1, delta: float = 1.0) -> T:
    """Of the dtype of its input."""
    if delta <= 0:
        raise ShapeError("huber_loss does not support non-positive values for delta.")
    distance = o.call("aten.abs", o.sub(x, target))
    near = o.mul(o.call("aten.square", distance), 0.5)
    each = o.where(o.call("aten.lt.Scalar", distance, delta), near, o.mul(o.sub(distance, 0.5 * delta), delta))
    return reduced(o, as_dtype_of(o, "huber_loss", each, x), reduction)


# --- margins -----------------------------------------------------------------------------------------------------------


@formula("soft_margin_loss(self, target; reduction)")
def soft_margin_loss(o: Ops[T], x: T, target: T, reduction: int = 1) -> T:
    """log(1 + exp(-target x)), of the dtype and sizes of its input."""
    o.no_gradient_of(target, "target")
    each = o.call("aten.log1p", o.call("aten.exp", o.mul(o.neg(target), x)))
    o.same_sizes(each, x, "soft_margin_loss: the target does not broadcast to the input")
    return reduced(o, as_dtype_of(o, "soft_margin_loss", each, x), reduction)


@formula("hinge_embedding_loss(self, target; margin, reduction)", looked_at=(1,))
def hinge_embedding_loss(o: Ops[T], x: T, target: T, margin: float = 1.0, reduction: int = 1) -> T:
    near = o.where(o.call("aten.ne.Scalar", target, 1), o.call("aten.clamp_min", o.rsub(margin, x), 0), 0)
    far = o.where(o.call("aten.ne.Scalar", target, -1), x, 0)
    return reduced(o, o.add(near, far), reduction)


@formula("margin_ranking_loss(input1, input2, target; margin, reduction)")
def margin_ranking_loss(o: Ops[T], x: T, y: T, target: T, margin: float = 0.0, reduction: int = 1) -> T:
    each = o.call("aten.clamp_min", o.add(o.mul(o.neg(target), o.sub(x, y)), margin), 0)
    return reduced(o, each, reduction, integers="margin_ranking_loss")


# --- distributions -----------------------------------------------------------------------------------------------------


@formula("kl_div(self, target; reduction, log_target)")
def kl_div(o: Ops[T], x: T, target: T, reduction: int = 1, log_target: bool = False) -> T:
    """Of an input of logarithms; the mean is that of all elements, as in PyTorch."""
    if o.is_float(x) is False or o.is_float(target) is False:
        raise TypeError("kl_div: Integral inputs not supported.")
    if log_target:
        each = o.mul(o.call("aten.exp", target), o.sub(target, x))
    else:
        each = o.sub(o.call("aten.xlogy.Tensor", target, target), o.mul(target, x))
    return reduced(o, each, reduction)


@formula("poisson_nll_loss(input, target; log_input, full, eps, reduction)")
def poisson_nll_loss(o: Ops[T], x: T, target: T, log_input: bool, full: bool, eps: float, reduction: int) -> T:
    if log_input:
        each = o.sub(o.call("aten.exp", x), o.mul(target, x))
    else:
        each = o.sub(x, o.mul(target, o.call("aten.log", o.add(x, eps))))
    if full:  # Stirling's approximation of log(target!)
        rest = o.mul(o.call("aten.log", o.mul(target, 2 * math.pi)), 0.5)
        stirling = o.add(o.sub(o.mul(target, o.call("aten.log", target)), target), rest)
        each = o.add(each, o.where(o.call("aten.gt.Scalar", target, 1), stirling, 0.0))
    return reduced(o, each, reduction, integers="poisson_nll_loss")


@formula("binary_cross_entropy(self, target, weight; reduction)", raises=True)
def binary_cross_entropy(o: Ops[T], x: T, target: T, weight: T | None = None, reduction: int = 1) -> T:
    """Logarithms are bounded by -100. ValueError for an input outside of [0, 1]."""
    dtypes_ = [o.known(v).dtype for v in (x, target)]
    if None not in dtypes_ and dtypes_[0] is not dtypes_[1]:
        raise TypeError(f"binary_cross_entropy: Found dtype {dtypes_[1]} but expected {dtypes_[0]}")
    if o.is_float(x) is False:
        raise TypeError("binary_cross_entropy is not implemented for integers")
    o.same_sizes(x, target, "binary_cross_entropy: the target's sizes are not the input's")
    inside = o.call("aten.logical_and", o.call("aten.ge.Scalar", x, 0), o.call("aten.le.Scalar", x, 1))
    o.check(inside, "all elements of input should be between 0 and 1")
    failure = o.mul(o.sub(target, 1), o.call("aten.clamp_min", o.call("aten.log1p", o.neg(x)), -100))
    each = o.sub(failure, o.mul(target, o.call("aten.clamp_min", o.call("aten.log", x), -100)))
    return reduced(o, _weighted(o, "binary_cross_entropy", each, weight, x), reduction)


@formula("binary_cross_entropy_with_logits(self, target, weight, pos_weight; reduction)")
def binary_cross_entropy_with_logits(
    o: Ops[T], x: T, target: T, weight: T | None = None, pos_weight: T | None = None, reduction: int = 1
) -> T:
    """Of the dtype and sizes of its target."""
    if o.is_float(x) is False:
        raise TypeError("binary_cross_entropy_with_logits is not implemented for integers")
    log = o.call("aten.log_sigmoid", x)
    if pos_weight is not None:
        o.no_gradient_of(pos_weight, "pos_weight")
        log = o.mul(o.add(o.mul(o.sub(pos_weight, 1), target), 1), log)
    each = o.sub(o.mul(o.rsub(1, target), x), log)
    return reduced(o, _weighted(o, "binary_cross_entropy_with_logits", each, weight, target), reduction)


def _weighted(o: Ops[T], op: str, each: T, weight: T | None, like: T) -> T:
    if weight is not None:
        o.no_gradient_of(weight, "weight")
        each = o.mul(each, weight)
    o.same_sizes(each, like, f"{op}: an operand does not broadcast to the sizes of the result")
    return as_dtype_of(o, op, each, like)
