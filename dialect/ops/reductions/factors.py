"""What the gradients of products share: each factor's is the product of the others, which is divided out where no factor is zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tierup.dialect.base import dtypes

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward


def has_zero(g: Backward, x: ir.Value) -> ir.Value:
    """Whether an element of x is zero: a `!torch.bool`."""
    return g.call("aten.Bool.Tensor", g.call("aten.any", g.compare("eq", x, 0)), type_="!torch.bool")


def moved_last(g: Backward, x: ir.Value, dim: int) -> ir.Value:
    """x with dim and the last one exchanged: done twice it is x again."""
    return x if dim == -1 else g.call("aten.transpose.int", x, dim, -1)


def places(g: Backward, x: ir.Value) -> ir.Value:
    """0, 1, 2, ... along the last dim."""
    return g.call("aten.arange", g.size_of(x, -1), dtypes.i64.code, None, None, None)
