"""NumPy's products."""

from __future__ import annotations

import ast
from collections.abc import Callable
from collections.abc import Sequence as Operands
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tierup.dialect.base.exceptions import unanswerable
from tierup.dialect.mlir import ir
from tierup.frontend.python.building.frame import Frame, WillRaise
from tierup.frontend.python.building.table import constant, function, method
from tierup.frontend.python.building.values import FALSE, Array, Const, Sequence, Value
from tierup.frontend.python.functions.numpy_shape import flat, known_rank
from tierup.frontend.python.operations import array_operators, arrays
from tierup.frontend.python.operations.arrays import as_array
from tierup.frontend.python.operations.complex_arrays import conjugated, is_complex
from tierup.frontend.python.operations.scalars import raise_if


@function(np.matmul)
def matmul(frame: Frame, node: ast.AST, x1: Value, x2: Value) -> Value:
    return array_operators.matmul(frame, node, x1, x2)


@method("dot")
def dot_method(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    if isinstance(a, Array) and a.rank == 0 and a.decays is True:
        raise WillRaise(unanswerable(AttributeError)("NumPy's scalars have no attribute 'dot'"))
    return dot(frame, node, a, b)


@function(np.dot)
def dot(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """Up to rank 2, matmul; with a scalar (an array of its own dtype), a product; a third dimension means another thing than in matmul."""
    x, y = as_array(frame, node, a), as_array(frame, node, b)
    if x.rank == 0 or y.rank == 0:
        dtype = None if x.dtype is None or y.dtype is None else np.promote_types(x.dtype, y.dtype)
        rank = None if x.rank is None or y.rank is None else max(x.rank, y.rank)
        return Array(frame.em.numpy("aten.dot", [x.ssa, y.ssa], ranks=(x.rank, y.rank)), rank, 0, dtype)
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
                raise_if(frame, wrong, "ValueUnanswerable", "np.dot here takes arrays of rank 1 and 2; use @ for others")
    return array_operators.matmul(frame, node, x, y, np.dot)


@function(np.inner)
def inner(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """The sum of products over the last axes."""
    x, y = as_array(frame, node, a), as_array(frame, node, b)
    if x.rank == 0 or y.rank == 0:
        raise frame.error(node, "np.inner of a number", "write a * b")  # which lies as BLAS leaves it, or as a product
    if x.rank == 1 and y.rank == 1:
        return dot(frame, node, x, y)
    ranks = [known_rank(frame, node, v, "np.inner") for v in (x, y)]
    labels: list[list[Any]] = [[(side, i) for i in range(rank)] for side, rank in enumerate(ranks)]
    labels[1][-1] = labels[0][-1]
    return contracted(frame, (x, y), labels, [*labels[0][:-1], *labels[1][:-1]], "ValueError")


@function(np.vdot)
def vdot(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """Both flattened. Of one product, too, a sum, which is 0.0 where np.dot's is -0.0."""
    em, x = frame.em, flat(frame, as_array(frame, node, a))
    y = em.numpy("aten.reshape", [as_array(frame, node, b).ssa, em.int_list([arrays.size(frame, x, 0).ssa])])
    return array_operators.matmul(frame, node, conjugated(frame, x) if is_complex(frame, node, x) else x, Array(y, 1))


@function(np.outer)
def outer(frame: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """Both flattened; every product of an element of each."""
    em = frame.em
    x, y = flat(frame, as_array(frame, node, a)), flat(frame, as_array(frame, node, b))
    column = Array(em.numpy("aten.unsqueeze", [x.ssa, em.int(1)]), 2, dtype=x.dtype)
    row = Array(em.numpy("aten.unsqueeze", [y.ssa, em.int(0)]), 2, dtype=y.dtype)
    return array_operators.binary(frame, node, ast.Mult, column, row)


TWO = Const(2)


@function(np.tensordot)
def tensordot(frame: Frame, node: ast.AST, a: Value, b: Value, axes: Value = TWO) -> Value:
    """NumPy's own way: one product of matrices, of arrays with the axes that are summed over moved together."""
    x, y = as_array(frame, node, a), as_array(frame, node, b)
    ranks = [known_rank(frame, node, v, "np.tensordot") for v in (x, y)]
    given = _known_axes(frame, node, axes)
    count = given if isinstance(given, int) else None
    pairs = (range(ranks[0] - count, ranks[0]), range(count)) if count is not None else [[v] if isinstance(v, int) else v for v in given]  # type: ignore[union-attr]  # not an int
    if len(pairs[0]) != len(pairs[1]):
        raise WillRaise(ValueError("shape-mismatch for sum"))
    try:
        summed = [list(normalize_axis_tuple(tuple(of), rank)) for of, rank in zip(pairs, ranks, strict=True)]
    except (TypeError, ValueError) as e:
        raise WillRaise(IndexError("tuple index out of range") if isinstance(e, np.exceptions.AxisError) else e) from e
    labels = [[(side, i) for i in range(rank)] for side, rank in enumerate(ranks)]
    for i, j in zip(*summed, strict=True):
        labels[1][j] = labels[0][i]
    kept = [v for v in (*labels[0], *labels[1]) if not (v in labels[0] and v in labels[1])]
    return replace(contracted(frame, (x, y), labels, kept, "ValueError"), decays=False)


def _known_axes(frame: Frame, node: ast.AST, axes: Value) -> int | list[int | list[int]]:
    if not isinstance(axes, Sequence):
        return int(constant(frame, node, axes, "`axes`"))
    numbers: Callable[[Sequence], list[int]] = lambda of: [constant(frame, node, v, "`axes`") for v in of.items]
    return [numbers(a) if isinstance(a, Sequence) else constant(frame, node, a, "`axes`") for a in axes.items]


@function(np.einsum)
def einsum(frame: Frame, node: ast.AST, subscripts: Value, *operands: Value, optimize: Value = FALSE) -> Value:
    """Of one array or two, by letters: sums, then one product of matrices."""
    text = constant(frame, node, subscripts, "the subscripts of np.einsum")
    if not isinstance(text, str):
        raise frame.error(node, "np.einsum by lists of axes", "write the subscripts as a text")
    inputs, _, output = text.replace(" ", "").partition("->")
    labels = [list(part) for part in inputs.split(",")]
    if "->" not in text:
        output = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
    if not 1 <= len(operands) <= 2 or "." in text or any(len(set(of)) < len(of) for of in labels) or not set(output) <= set(inputs):
        raise frame.error(node, f"np.einsum({text!r})", "write it with @, np.diagonal and sums")
    arrays_ = [as_array(frame, node, v) for v in operands]
    for x, of in zip(arrays_, labels, strict=True):
        if known_rank(frame, node, x, "np.einsum") != len(of):
            raise frame.error(node, f"np.einsum({text!r}) of an array of rank {x.rank}", "a letter for each axis")
    return contracted(frame, arrays_, labels, list(output), "ValueUnanswerable", "aten.matmul")  # a size of 1 may stand for another


def contracted(
    frame: Frame, operands: Operands[Array], labels: Operands[list[Any]], output: list[Any], differing: str, by: str = "aten.dot"
) -> Array:
    """The sum of products over all labels that the output lacks, of one or two arrays whose axes have labels, each at most once.
    `differing`: what is raised where sizes of one label differ; `by`: the product of matrices."""
    em = frame.em
    summed = [[k for k in of if k not in output and all(k not in other for other in labels if other is not of)] for of in labels]
    parts: list[Array] = []
    left: list[list[Any]] = []
    for x, of, over in zip(operands, labels, summed, strict=True):
        if over:
            dims = em.ints(*(of.index(k) for k in over))
            dtype = em.numpy("prim.dtype", [x.ssa], em.types.int)
            x = Array(em.numpy("aten.sum.dim_IntList", [x.ssa, dims, em.bool(False), dtype]), len(of) - len(over), dtype=x.dtype)
        parts.append(x)
        left.append([k for k in of if k not in over])
    if len(parts) == 1:
        return _ordered(frame, parts[0], left[0], output)
    both = [k for k in left[0] if k in left[1]]
    batch, inner_ = [k for k in both if k in output], [k for k in both if k not in output]
    rows, columns = ([k for k in of if k not in both] for of in left)
    sizes: dict[Any, ir.Value] = {}
    for x, of in zip(parts, left, strict=True):
        for i, k in enumerate(of):
            length = arrays.size(frame, x, i).ssa
            if k in sizes:
                raise_if(frame, em.scalar("aten.ne.int", [sizes[k], length], em.types.bool), differing, "shape-mismatch for sum")
            sizes[k] = length
    first = _grouped(frame, _ordered(frame, parts[0], left[0], [*batch, *rows, *inner_]), sizes, batch, rows, inner_)
    second = _grouped(frame, _ordered(frame, parts[1], left[1], [*batch, *inner_, *columns]), sizes, batch, inner_, columns)
    product = em.numpy(by, [first, second], ranks=(len(batch) + 2,) * 2)
    whole = [*batch, *rows, *columns]
    apart = Array(em.numpy("aten.reshape", [product, em.int_list([sizes[k] for k in whole])]), len(whole))
    return _ordered(frame, apart, whole, output)


def _ordered(frame: Frame, x: Array, labels: list[Any], output: list[Any]) -> Array:
    if labels == output:
        return x
    return Array(frame.em.numpy("aten.permute", [x.ssa, frame.em.ints(*(labels.index(k) for k in output))]), len(output), dtype=x.dtype)


def _grouped(frame: Frame, x: Array, sizes: dict[Any, ir.Value], batch: list[Any], *groups: list[Any]) -> ir.Value:
    """With one axis for each group behind the batch's."""
    em = frame.em
    lengths = [reduce(lambda a, b: em.scalar("aten.mul.int", [a, b], em.types.int), [sizes[k] for k in g], em.int(1)) for g in groups]
    return em.numpy("aten.reshape", [x.ssa, em.int_list([*(sizes[k] for k in batch), *lengths])])
