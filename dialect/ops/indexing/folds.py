"""What the methods `at` and `reduceat` of NumPy's ufuncs compute: elements combined in turn, where indices say.

The operands have the dtype that the ufunc computes in, which is that of the result: front ends convert before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.ops.indexing.by_tensors import NOT_BROADCASTABLE, Indices, check_put, for_each, key_of
from tierup.dialect.ops.pointwise.elements import Element, Elements
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, NO_RULE, Infer, Kind, Tolerance, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.operands import or_unknown

FIRST = "first"


@dataclass(frozen=True)
class Fold:
    """How a ufunc combines two elements. `start`: what changes nothing, where elements may be combined in any order: a number, FIRST where
    it is any of them; None for one that goes in order. Floats are added in NumPy's order up to 128 of them, beyond in another."""

    combine: Callable[[Elements, Element, Element], Element]
    start: float | str | None = None


FOLDS: dict[str, Fold] = {
    "add": Fold(lambda m, x, y: x + y, -0.0),
    "subtract": Fold(lambda m, x, y: x - y),
    "multiply": Fold(lambda m, x, y: m.product(x, y)),
    "maximum": Fold(lambda m, x, y: m.maximum(x, y), FIRST),
    "minimum": Fold(lambda m, x, y: m.minimum(x, y), FIRST),
    "fmax": Fold(lambda m, x, y: m.fmax(x, y), FIRST),
    "fmin": Fold(lambda m, x, y: m.fmin(x, y), FIRST),
    "bitwise_and": Fold(lambda m, x, y: x & y, FIRST),
    "bitwise_or": Fold(lambda m, x, y: x | y, FIRST),
    "bitwise_xor": Fold(lambda m, x, y: x ^ y, 0),
    "logical_and": Fold(lambda m, x, y: x & y, FIRST),  # of truth values, as the next two
    "logical_or": Fold(lambda m, x, y: x | y, FIRST),
    "logical_xor": Fold(lambda m, x, y: x ^ y, 0),
}
"""By the names of NumPy's ufuncs."""

_op = partial(op, kind=Kind.MOVEMENT, raises=True, on_device=False, no_gradient=NO_RULE)


def _at(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    check_put(ctx, *operands[:3])
    return read.whole(operands[0])


@_op("tierup.at(Tensor self, Tensor?[] indices, Tensor values, str ufunc) -> Tensor", infer=_at, puts=True, tolerance=EXACT)
def at(x: np.ndarray, indices: Indices, values: np.ndarray, ufunc: str) -> np.ndarray:
    """A copy of x after ufunc.at(x, indices, values), with every repeated index counted. IndexError, ValueError as NumPy's."""
    made, key = x.copy(order="K"), key_of(indices)
    with np.errstate(all="ignore"):
        getattr(np, ufunc).at(made, key, for_each(made, key, values, NOT_BROADCASTABLE))
    return made


def _reduced(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return Tensor(read.dtype_of(operands[0]), _parts(operands[0], operands[1], operands[2]))


@or_unknown
def _parts(x: Value, indices: Value, dim: Value) -> Shape:
    of = read.shape(x)
    axis = normalise_dim(read.integer(dim), len(of))
    return (*of[:axis], *read.shape(indices), *of[axis + 1 :])


@_op("tierup.reduceat(Tensor self, Tensor indices, int dim, str ufunc) -> Tensor", infer=_reduced, tolerance=Tolerance(4.0, 1.0))
def reduceat(x: np.ndarray, indices: np.ndarray, dim: int, ufunc: str) -> np.ndarray:
    """ufunc.reduceat(x, indices, dim), of a vector of int64 indices. IndexError for one outside."""
    with np.errstate(all="ignore"):
        found: Any = getattr(np, ufunc).reduceat(x, indices, axis=dim, dtype=x.dtype)
    return np.asarray(found)
