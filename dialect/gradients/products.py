"""Products of matrices: d(AB) = dA B + A dB. Operands of other dtypes (NumPy's rules) are promoted first, as the product did."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp("aten.mm(self, mat2)", captures=("self", "mat2"))
def mm(g: Backward) -> Gradients:
    return g.cast_to(_mm(g, g.grad, _t(g, g.promoted(1))), 0), g.cast_to(_mm(g, _t(g, g.promoted(0)), g.grad), 1)


@RULES.vjp("aten.bmm(self, mat2)", captures=("self", "mat2"))
def bmm(g: Backward) -> Gradients:
    x, y = g.promoted(0), g.promoted(1)
    return g.cast_to(g.call("aten.bmm", g.grad, _swap(g, y)), 0), g.cast_to(g.call("aten.bmm", _swap(g, x), g.grad), 1)


@RULES.vjp("aten.addmm(self, mat1, mat2, beta, alpha)", captures=("mat1", "mat2", "beta", "alpha"))
def addmm(g: Backward) -> Gradients:
    scaled = g.mul(g.grad, g.number(4))
    return g.sum_to(g.mul(g.grad, g.number(3)), 0), _mm(g, scaled, _t(g, g.operands[2])), _mm(g, _t(g, g.operands[1]), scaled)


@RULES.vjp("aten.baddbmm(self, batch1, batch2, beta, alpha)", captures=("batch1", "batch2", "beta", "alpha"))
def baddbmm(g: Backward) -> Gradients:
    scaled = g.mul(g.grad, g.number(4))
    x, y = g.operands[1:3]
    return g.sum_to(g.mul(g.grad, g.number(3)), 0), g.call("aten.bmm", scaled, _swap(g, y)), g.call("aten.bmm", _swap(g, x), scaled)


@RULES.vjp("aten.dot(self, tensor)", captures=("self", "tensor"))
def dot(g: Backward) -> Gradients:
    return g.cast_to(g.mul(g.promoted(1), g.grad), 0), g.cast_to(g.mul(g.promoted(0), g.grad), 1)


@RULES.vjp("aten.mv(self, vec)", captures=("self", "vec"))
def mv(g: Backward) -> Gradients:
    outer = g.call("aten.outer", g.grad, g.promoted(1))
    return g.cast_to(outer, 0), g.cast_to(g.call("aten.mv", _t(g, g.promoted(0)), g.grad), 1)


@RULES.vjp("aten.outer(self, vec2)", captures=("self", "vec2"))
def outer(g: Backward) -> Gradients:
    return g.cast_to(g.call("aten.mv", g.grad, g.promoted(1)), 0), g.cast_to(g.call("aten.mv", _t(g, g.grad), g.promoted(0)), 1)


@RULES.vjp("aten.linear(input, weight, bias)", captures=("input", "weight"))
def linear(g: Backward) -> Gradients:
    """A weight of rank 1 is one row, and the result has no dim for it."""
    x, weight = g.operands[:2]
    bias = None if g.is_none(2) else g.sum_to(g.grad, 2)
    if g.rank(0) == g.rank(1) == 2:
        return _mm(g, g.grad, weight), _mm(g, _t(g, g.grad), x), bias
    vector = _is_vector(g, 1)

    def of_input() -> ir.Value:
        return g.mul(g.call("aten.unsqueeze", g.grad, -1), weight)

    def of_vector() -> ir.Value:
        return g.sum_to(g.mul(g.call("aten.unsqueeze", g.grad, -1), x), 1)

    def of_matrix() -> ir.Value:
        rows = [g.call("aten.reshape", v, [-1, g.size_of(weight, dim)]) for v, dim in ((g.grad, 0), (x, 1))]
        return _mm(g, _t(g, rows[0]), rows[1])

    return g.choose(vector, of_input, lambda: g.call("aten.matmul", g.grad, weight)), g.choose(vector, of_vector, of_matrix), bias


@RULES.vjp("aten.matmul(self, other)", captures=("self", "other"))
def matmul(g: Backward) -> Gradients:
    """A vector on the left is a row, one on the right a column; what the product broadcast is summed."""
    if g.rank(0) == g.rank(1) == 2:
        return mm(g)
    row, column = _is_vector(g, 0), _is_vector(g, 1)
    x, y = g.promoted(0), g.promoted(1)
    left = g.choose(row, lambda: g.call("aten.unsqueeze", x, 0), lambda: x)
    right = g.choose(column, lambda: g.call("aten.unsqueeze", y, 1), lambda: y)
    widened = g.choose(column, lambda: g.call("aten.unsqueeze", g.grad, -1), lambda: g.grad)
    grad = g.choose(row, lambda: g.call("aten.unsqueeze", widened, -2), lambda: widened)
    of_right = g.call("aten.matmul", _swap(g, left), grad)
    return (
        g.sum_to(g.call("aten.matmul", grad, _swap(g, right)), 0),
        g.sum_to(g.choose(column, lambda: g.call("aten.squeeze.dim", of_right, -1), lambda: of_right), 1),
    )


def _is_vector(g: Backward, i: int) -> bool | ir.Value:
    rank = g.rank(i)
    if rank is not None:
        return rank == 1
    return g.call("aten.eq.int", g.call("aten.dim", g.like(i), type_="!torch.int"), 1, type_="!torch.bool")


def _mm(g: Backward, x: ir.Value, y: ir.Value) -> ir.Value:
    return g.call("aten.mm", x, y)


def _t(g: Backward, x: ir.Value) -> ir.Value:
    return g.call("aten.t", x)


def _swap(g: Backward, x: ir.Value) -> ir.Value:
    return g.call("aten.transpose.int", x, -2, -1)
