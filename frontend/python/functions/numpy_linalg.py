"""NumPy's products."""

from __future__ import annotations

import ast

import numpy as np

from tierup.frontend.python.building.frame import Frame, NeedsStatic, WillRaise
from tierup.frontend.python.building.table import function, method
from tierup.frontend.python.building.values import Array, Value
from tierup.frontend.python.functions.numpy_shape import flat
from tierup.frontend.python.operations import array_operators, arrays
from tierup.frontend.python.operations.arrays import as_array
from tierup.frontend.python.operations.scalars import raise_if


@function(np.matmul)
def matmul(frame: Frame, node: ast.AST, x1: Value, x2: Value) -> Value:
    return array_operators.matmul(frame, node, x1, x2)


@method("dot")
def dot_method(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    if isinstance(a, Array) and a.rank == 0 and a.decays is True:
        raise WillRaise(AttributeError("NumPy's scalars have no attribute 'dot'"))
    return dot(frame, node, a, b)


@function(np.dot)
def dot(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """Up to rank 2, matmul; with a scalar (an array of its own dtype), a product; a third dimension means another thing than in matmul."""
    x, y = as_array(frame, node, a), as_array(frame, node, b)
    if x.rank == 0 or y.rank == 0:
        return array_operators.binary(frame, node, ast.Mult, x, y)
    if x.rank == 1 and y.rank == 1:
        return Array(frame.em.numpy("aten.dot", [x.ssa, y.ssa]), 0)
    if (x.rank is not None and x.rank > 2) or (y.rank is not None and y.rank > 2):
        raise frame.error(node, "np.dot of arrays of rank 3 and more", "use @ (matmul), or reshape")
    em = frame.em
    for operand in (x, y):
        if operand.rank is None:
            rank = arrays.rank_ssa(frame, operand)
            for name, bound in (("gt", 2), ("lt", 1)):
                wrong = em.scalar(f"aten.{name}.int", [rank, em.int(bound)], em.types.bool)
                raise_if(frame, wrong, "ValueError", "np.dot here takes arrays of rank 1 and 2; use @ for others")
    return array_operators.matmul(frame, node, x, y, np.dot)


@function(np.inner)
def inner(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    x, y = as_array(frame, node, a), as_array(frame, node, b)
    if x.rank != 1 or y.rank != 1:
        raise frame.error(node, "np.inner of arrays that are not both known to be of rank 1", "write a @ b.T", NeedsStatic)
    return dot(frame, node, x, y)


@function(np.vdot)
def vdot(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    return dot(frame, node, flat(frame, as_array(frame, node, a)), flat(frame, as_array(frame, node, b)))


@function(np.outer)
def outer(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """Both flattened; every product of an element of each."""
    em = frame.em
    x, y = flat(frame, as_array(frame, node, a)), flat(frame, as_array(frame, node, b))
    column = Array(em.numpy("aten.unsqueeze", [x.ssa, em.int(1)]), 2, dtype=x.dtype)
    row = Array(em.numpy("aten.unsqueeze", [y.ssa, em.int(0)]), 2, dtype=y.dtype)
    return array_operators.binary(frame, node, ast.Mult, column, row)
