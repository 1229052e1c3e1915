"""Products. A product's gradient is the product of the others: what is divided out where no factor is zero, else
multiplied up without it, so that zeros, one or several, and second derivatives at them are right. The first factor of a product says its
sizes: both arms name them alike, by the operand, and no size is for the run to say."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.gradients.shapes import keepdims
from tierup.dialect.mlir import ir
from tierup.dialect.optable.factors import has_zero, moved_last, places

RULES = Rules()


@RULES.vjp("aten.prod(self, dtype)", captures=("self", "result"))
def prod(g: Backward) -> Gradients:
    x = g.promoted(0)

    def multiplied() -> ir.Value:
        return g.call("aten.reshape", g.mul(_others(g, g.call("aten.reshape", x, [-1])), g.grad), g.operand_size(0))

    return g.cast_to(g.choose(has_zero(g, x), multiplied, lambda: g.div(g.mul(g.results[0], g.grad), x)), 0)


@RULES.vjp("aten.prod.dim_int(self, dim, keepdim, dtype)", captures=("self", "result"))
def prod_dim(g: Backward) -> Gradients:
    x, dim, kept = g.promoted(0), int(g.constant(1)), bool(g.constant(2))
    if g.rank(0) == 0:
        return g.cast_to(g.grad, 0)
    gradient, result = keepdims(g, g.grad, [dim], kept), keepdims(g, g.results[0], [dim], kept)

    def multiplied() -> ir.Value:
        return g.mul(moved_last(g, _others(g, moved_last(g, x, dim)), dim), gradient)

    return g.cast_to(g.choose(has_zero(g, x), multiplied, lambda: g.div(g.mul(result, gradient), x)), 0)


def _others(g: Backward, x: ir.Value) -> ir.Value:
    """Along the last dim, of which there is one element at least: the product of all elements but that one."""
    first = g.compare("eq", places(g, x), 0)

    def before(v: ir.Value) -> ir.Value:
        return g.call("aten.cumprod", g.where(first, 1.0, g.call("aten.roll", v, [1], [-1])), -1, None)

    behind = g.call("aten.flip", before(g.call("aten.flip", x, [-1])), [-1])
    return g.mul(before(x), behind)
