"""Variances, deviations, norms and logsumexp. PyTorch's formulas, with the denominators that are zero made infinite: at a deviation or norm
of 0 the gradient is 0, and so is the second one (PyTorch's is NaN there) but for orders whose slope at 0 is infinite."""

from __future__ import annotations

import math

from tierup.dialect.gradients.core import Backward, Gradient, Gradients, Rules
from tierup.dialect.gradients.reduced import count, dims_of
from tierup.dialect.gradients.shapes import keepdims
from tierup.dialect.mlir import ir

RULES = Rules()

Dims = list[int] | None

# --- variances and deviations ------------------------------------------------------------------------------------------


@RULES.vjp("aten.var(self, unbiased)", captures=("self",))
def var(g: Backward) -> Gradients:
    return _of_variance(g, g.grad, None, int(g.constant(1)), True)


@RULES.vjp("aten.var.dim(self, dim, unbiased, keepdim)", captures=("self",))
def var_dim(g: Backward) -> Gradients:
    return _of_variance(g, g.grad, dims_of(g, 1), int(g.constant(2)), bool(g.constant(3)))


@RULES.vjp("aten.var.correction(self, dim, correction, keepdim)", captures=("self",))
def var_correction(g: Backward) -> Gradients:
    return _of_variance(g, g.grad, dims_of(g, 1), _correction(g), bool(g.constant(3)))


@RULES.vjp("aten.std(self, unbiased)", captures=("self", "result"))
def std(g: Backward) -> Gradients:
    return _of_variance(g, _through_root(g), None, int(g.constant(1)), True)


@RULES.vjp("aten.std.dim(self, dim, unbiased, keepdim)", captures=("self", "result"))
def std_dim(g: Backward) -> Gradients:
    return _of_variance(g, _through_root(g), dims_of(g, 1), int(g.constant(2)), bool(g.constant(3)))


@RULES.vjp("aten.std.correction(self, dim, correction, keepdim)", captures=("self", "result"))
def std_correction(g: Backward) -> Gradients:
    return _of_variance(g, _through_root(g), dims_of(g, 1), _correction(g), bool(g.constant(3)))


@RULES.vjp("aten.var_mean(self, unbiased)", captures=("self",))
def var_mean(g: Backward) -> Gradients:
    return _of_both(g, None, int(g.constant(1)), True)


@RULES.vjp("aten.var_mean.dim(self, dim, unbiased, keepdim)", captures=("self",))
def var_mean_dim(g: Backward) -> Gradients:
    return _of_both(g, dims_of(g, 1), int(g.constant(2)), bool(g.constant(3)))


@RULES.vjp("aten.var_mean.correction(self, dim, correction, keepdim)", captures=("self",))
def var_mean_correction(g: Backward) -> Gradients:
    return _of_both(g, dims_of(g, 1), _correction(g), bool(g.constant(3)))


def _correction(g: Backward) -> int | float:
    found = 1 if g.is_none(2) else g.constant(2)
    return int(found) if found == int(found) else found


def _of_variance(g: Backward, gradient: ir.Value, dims: Dims, correction: int | float, kept: bool) -> ir.Value:
    """2 (x - mean) / (n - correction); where that divisor is not positive, as the variance itself does: by zero."""
    x = g.promoted(0)  # which may be of ints or bools on the path taken
    centred = g.sub(x, g.call("aten.mean.dim", x, dims, True, None))
    scaled = g.div(g.mul(gradient, 2), _freedom(g, count(g, dims), correction))
    return g.cast_to(g.mul(centred, keepdims(g, scaled, dims, kept)), 0)


def _freedom(g: Backward, n: int | ir.Value, correction: int | float) -> int | float | ir.Value:
    if isinstance(n, int):
        return max(0, n - correction)
    if isinstance(correction, int):
        return g.call("prim.max.int", g.call("aten.sub.int", n, correction, type_="!torch.int"), 0, type_="!torch.int")
    free = g.call("aten.sub.float", g.call("aten.Float.Scalar", n, type_="!torch.float"), correction, type_="!torch.float")
    positive = g.call("aten.Int.bool", g.call("aten.gt.float", free, 0.0, type_="!torch.bool"), type_="!torch.int")
    return g.call("aten.mul.float_int", free, positive, type_="!torch.float")


def _through_root(g: Backward) -> ir.Value:
    return g.div(g.grad, g.mul(nonzero(g, g.results[0]), 2))


def nonzero(g: Backward, value: ir.Value) -> ir.Value:
    """A denominator: infinite where it is zero, so that the quotient, and what it passes on, is zero there."""
    return g.where(g.compare("eq", value, 0), math.inf, value)


def _of_both(g: Backward, dims: Dims, correction: int | float, kept: bool) -> Gradient:
    of_variance, of_mean = g.grads
    parts = []
    if isinstance(of_variance, ir.Value):
        parts.append(_of_variance(g, of_variance, dims, correction, kept))
    if isinstance(of_mean, ir.Value):
        parts.append(g.cast_to(g.expand(keepdims(g, g.div(of_mean, count(g, dims)), dims, kept), g.operand_size(0)), 0))
    return parts[0] if len(parts) == 1 else g.add(*parts)


# --- logsumexp ---------------------------------------------------------------------------------------------------------


@RULES.vjp("aten.logsumexp(self, dim, keepdim)", captures=("self", "result"))
def logsumexp(g: Backward) -> Gradients:
    dims, kept = dims_of(g, 1), bool(g.constant(2))
    softmax = g.call("aten.exp", g.sub(g.operands[0], keepdims(g, g.results[0], dims, kept)))
    return g.cast_to(g.mul(softmax, keepdims(g, g.grad, dims, kept)), 0)


# --- norms -------------------------------------------------------------------------------------------------------------


@RULES.vjp("aten.linalg_vector_norm(self, ord, dim, keepdim, dtype)", captures=("self", "result"))
def linalg_vector_norm(g: Backward) -> Gradients:
    return _of_norm(g, g.constant(1), dims_of(g, 2), bool(g.constant(3)))


@RULES.vjp("aten.norm.Scalar(self, p)", captures=("self", "result"))
def norm(g: Backward) -> Gradients:
    return _of_norm(g, g.constant(1), None, True)


@RULES.vjp("aten.norm.ScalarOpt_dim(self, p, dim, keepdim)", captures=("self", "result"))
def norm_dims(g: Backward) -> Gradients:
    return _of_norm(g, 2 if g.is_none(1) else g.constant(1), dims_of(g, 2), bool(g.constant(3)))


@RULES.vjp("aten.frobenius_norm.dim(self, dim, keepdim)", captures=("self", "result"))
def frobenius_norm(g: Backward) -> Gradients:
    return _of_norm(g, 2, dims_of(g, 1), bool(g.constant(2)))


def _of_norm(g: Backward, p: int | float, dims: Dims, kept: bool) -> ir.Value:
    """(|x| / norm)^(p-1) sign(x), zero where the norm is; elements that tie for an infinite order share."""
    if p == 0:
        return g.zeros(0)
    x, gradient = g.promoted(0), keepdims(g, g.grad, dims, kept)
    if p == 1:
        return g.cast_to(g.mul(g.call("aten.sgn", x), gradient), 0)
    value = keepdims(g, g.results[0], dims, kept)
    if math.isinf(p):
        magnitude = g.call("aten.abs", x)
        mask = g.call("aten.logical_or", g.compare("eq", magnitude, value), g.compare("ne", x, x))
        share = g.div(gradient, g.call("aten.sum.dim_IntList", mask, dims, True, None))
        return g.cast_to(g.mul(g.call("aten.sgn", x), g.mul(mask, share)), 0)
    if p == 2:
        return g.cast_to(g.mul(x, g.div(gradient, nonzero(g, value))), 0)
    magnitude = g.call("aten.abs", x)
    if p < 1:  # nothing at 0, where the slope is infinite
        slope = g.mul(g.call("aten.sgn", x), g.call("aten.pow.Tensor_Scalar", nonzero(g, magnitude), p - 1))
        return g.cast_to(g.mul(slope, g.mul(gradient, g.call("aten.pow.Tensor_Scalar", value, 1 - p))), 0)
    if p < 2:  # 0 to the power p - 2 is not finite
        slope = g.mul(g.call("aten.sgn", x), g.call("aten.pow.Tensor_Scalar", magnitude, p - 1))
    else:
        slope = g.mul(x, g.call("aten.pow.Tensor_Scalar", magnitude, p - 2))
    return g.cast_to(g.mul(slope, g.div(gradient, g.call("aten.pow.Tensor_Scalar", nonzero(g, value), p - 1))), 0)
