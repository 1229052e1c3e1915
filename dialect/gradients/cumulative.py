"""Products and running sums. A product's gradient is the product of the others: what is divided out where no factor is zero, else
multiplied up without it, so that zeros, one or several, and second derivatives at them are right. The first factor of a product says its
sizes: both arms name them alike, by the operand, and no size is for the run to say."""

from __future__ import annotations

from tierup.dialect import dtypes
from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.gradients.shapes import keepdims
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.cumsum(self, dim, dtype)")
def cumsum(g: Backward) -> Gradients:
    """Each element went into all sums from its own on."""
    return _back(g, _from_the_end(g, g.grad, int(g.constant(1))))


@RULES.vjp("aten.cumprod(self, dim, dtype)", captures=("self", "result"))
def cumprod(g: Backward) -> Gradients:
    x, dim = g.promoted(0), int(g.constant(1))
    return _back(g, g.choose(
        _has_zero(g, x),
        lambda: _of_running_product(g, x, dim),
        lambda: g.div(_from_the_end(g, g.mul(g.results[0], g.grad), dim), x),
    ))  # fmt: skip


@RULES.vjp("aten.prod(self, dtype)", captures=("self", "result"))
def prod(g: Backward) -> Gradients:
    x = g.promoted(0)

    def multiplied() -> ir.Value:
        return g.call("aten.reshape", g.mul(_others(g, g.call("aten.reshape", x, [-1])), g.grad), g.operand_size(0))

    return g.cast_to(g.choose(_has_zero(g, x), multiplied, lambda: g.div(g.mul(g.results[0], g.grad), x)), 0)


@RULES.vjp("aten.prod.dim_int(self, dim, keepdim, dtype)", captures=("self", "result"))
def prod_dim(g: Backward) -> Gradients:
    x, dim, kept = g.promoted(0), int(g.constant(1)), bool(g.constant(2))
    if g.rank(0) == 0:
        return g.cast_to(g.grad, 0)
    gradient, result = keepdims(g, g.grad, [dim], kept), keepdims(g, g.results[0], [dim], kept)

    def multiplied() -> ir.Value:
        return g.mul(_last(g, _others(g, _last(g, x, dim)), dim), gradient)

    return g.cast_to(g.choose(_has_zero(g, x), multiplied, lambda: g.div(g.mul(result, gradient), x)), 0)


def _back(g: Backward, gradient: ir.Value) -> ir.Value:
    """In the operand's sizes and dtype: NumPy makes a vector of a running sum of rank 0."""
    if not g.same_shape(gradient, g.like(0)) and (g.rank(0) or 0) == 0:
        gradient = g.call("aten.reshape", gradient, g.operand_size(0))
    return g.cast_to(gradient, 0)


def _has_zero(g: Backward, x: ir.Value) -> ir.Value:
    return g.call("aten.Bool.Tensor", g.call("aten.any", g.compare("eq", x, 0)), type_="!torch.bool")


def _from_the_end(g: Backward, x: ir.Value, dim: int) -> ir.Value:
    """Running sums that start at the end."""
    return g.call("aten.flip", g.call("aten.cumsum", g.call("aten.flip", x, [dim]), dim, None), [dim])


def _last(g: Backward, x: ir.Value, dim: int) -> ir.Value:
    """A dim as the last one, or where it was."""
    return x if dim == -1 else g.call("aten.transpose.int", x, dim, -1)


def _places(g: Backward, x: ir.Value) -> ir.Value:
    """0, 1, 2, ... along the last dim."""
    return g.call("aten.arange", g.size_of(x, -1), dtypes.i64.code, None, None, None)


def _others(g: Backward, x: ir.Value) -> ir.Value:
    """Along the last dim, of which there is one element at least: the product of all elements but that one."""
    first = g.compare("eq", _places(g, x), 0)

    def before(v: ir.Value) -> ir.Value:
        return g.call("aten.cumprod", g.where(first, 1.0, g.call("aten.roll", v, [1], [-1])), -1, None)

    behind = g.call("aten.flip", before(g.call("aten.flip", x, [-1])), [-1])
    return g.mul(before(x), behind)


def _of_running_product(g: Backward, x: ir.Value, dim: int) -> ir.Value:
    """With zeros: sum over i >= j of g[i] times the product of x[k], k <= i, k != j, for all pairs i, j at once."""
    if g.rank(0) == 0:
        return g.grad
    rows, gradient = _last(g, x, dim), _last(g, g.grad, dim)
    places = _places(g, rows)
    of, factor = places, g.call("aten.unsqueeze", places, -1)  # [j, i] or [j, k]
    without = g.where(g.compare("eq", of, factor), 1.0, g.call("aten.unsqueeze", rows, -2))  # [..., j, k]: x[k], 1 where k is j
    products = g.where(g.compare("ge", of, factor), g.call("aten.cumprod", without, -1, None), 0.0)
    return _last(g, g.call("aten.sum.dim_IntList", g.mul(products, g.call("aten.unsqueeze", gradient, -2)), [-1], False, None), dim)
