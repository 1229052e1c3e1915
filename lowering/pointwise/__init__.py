"""The native bodies of pointwise ops, family by family: what `tierup-lower-pointwise` puts into loops.

A formula is given its operands as tier 0's kernel is: the leading ones as `Scalar`s in the dtype that is computed in, the
others as they came, Python values when they are constants of the program, `Scalar`s (i64, f64, bool) when not. It returns a
Scalar of any dtype, which is then converted to the result's. Which dtype is computed in, the kernel's own `Typing` says.
"""

from __future__ import annotations

from functools import cache

from tierup.dialect import dtypes, optable
from tierup.dialect.kernels.apply import typing_of
from tierup.dialect.kernels.promotion import Strength, Typing
from tierup.lowering.arith import Scalar
from tierup.lowering.pointwise import activations, arithmetic, comparison, elementary, selection
from tierup.lowering.pointwise.context import Context
from tierup.lowering.pointwise.formula import Formula, Parameter, Recipe

_FAMILIES = (arithmetic, comparison, elementary, activations)
_ALSO_KNOWN = {"aten.pow.Tensor_Scalar": 1}  # operands that the formula wants once more as they came


@cache
def formulas() -> dict[str, Formula]:
    """The formulas of ops that are typed by promotion, by op name (`aten.add.Tensor`)."""
    return {name: formula for family in _FAMILIES for name, formula in family.FORMULAS.items()}


@cache
def recipes() -> dict[str, Recipe]:
    """The recipes of ops that type their operands in ways of their own."""
    return {**selection.RECIPES, **arithmetic.RECIPES, **comparison.RECIPES}


def handles(name: str) -> bool:
    """Whether an op has a native body here."""
    return name in recipes() or name in formulas()


def reads(name: str, i: int) -> bool:
    """Whether an op reads the elements of tensor operand i, and not only its dtype."""
    return i == 0 or name not in selection.FIRST_ONLY


def recipe(name: str, candidates: tuple[tuple[dtypes.DType, Strength] | None, ...]) -> Recipe:
    """How to compute an op whose operands take these parts in promotion. Raises TypeError for operands that the op refuses."""
    if name in recipes():
        return recipes()[name]
    row = optable.lookup(name)
    assert row is not None, name  # every formula is a row's
    typing: Typing = typing_of(row.kernel)
    common, _ = typing.types(tuple(c for c in candidates[: typing.promoting] if c is not None))

    def run(c: Context) -> Scalar:
        count = typing.operands
        operands = [c.computed(i, common, typing.exact_second) for i in range(min(count, len(c)))]
        rest = [c.parameter(i) for i in range(count, len(c))]
        if typing.scale is not None and len(c) > typing.scale and not _is_one(c.parameter(typing.scale)):
            rest[typing.scale - count] = c.computed(typing.scale, common)
        if name in _ALSO_KNOWN and not isinstance(c.parameter(_ALSO_KNOWN[name]), Scalar):
            rest.append(c.parameter(_ALSO_KNOWN[name]))
        return formulas()[name](*operands, *rest)

    return run


def _is_one(factor: Parameter) -> bool:
    return type(factor) is int and factor == 1
