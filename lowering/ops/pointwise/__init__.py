"""The native bodies of pointwise ops: what `tierup-lower-ops` puts into loops.

An op that is defined by a formula (dialect/ops/pointwise) has that formula's; `selection` has those of ops that type their
operands in ways of their own.
"""

from __future__ import annotations

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.ops.pointwise.elementwise import PointwiseOp
from tierup.dialect.optable.kernels.promotion import Strength
from tierup.lowering.building.arith import Scalar
from tierup.lowering.ops.pointwise import selection
from tierup.lowering.ops.pointwise.context import Context, Parameter, Recipe
from tierup.lowering.ops.pointwise.elements import SCALARS, SCALARS_OF_RANK_0


def handles(name: str) -> bool:
    """Whether an op has a native body here."""
    return name in selection.RECIPES or isinstance(optable.lookup(name), PointwiseOp)


def reads(name: str, i: int) -> bool:
    """Whether an op reads the elements of tensor operand i, and not only its dtype."""
    return i == 0 or name not in selection.FIRST_ONLY


def recipe(name: str, candidates: tuple[tuple[dtypes.DType, Strength] | None, ...]) -> Recipe:
    """How to compute an op whose operands take these parts in promotion. Raises TypeError for operands that the op refuses."""
    if name in selection.RECIPES:
        return selection.RECIPES[name]
    op = optable.lookup(name)
    assert isinstance(op, PointwiseOp), name
    typing = op.typing
    common, _ = typing.types(tuple(c for c in candidates[: typing.promoting] if c is not None))

    def run(c: Context) -> Scalar:
        count = typing.operands
        operands = [c.computed(i, common, typing.exact_second) for i in range(min(count, len(c)))]
        rest = [c.parameter(i) for i in range(count, len(c))]
        if typing.scale is not None and len(c) > typing.scale and not _is_one(c.parameter(typing.scale)):
            rest[typing.scale - count] = c.computed(typing.scale, common)
        if op.as_it_came is not None:
            rest.append(c.parameter(op.as_it_came))
        made: Scalar = op.formula(SCALARS_OF_RANK_0 if len(c.rank_0) == len(c.tensors) else SCALARS, *operands, *rest)
        return made

    return run


def _is_one(factor: Parameter) -> bool:
    return type(factor) is int and factor == 1
