"""torch's type promotion: which dtype an op over several operands computes in and gives.

Operands stand in three ranks of strength: tensors with dimensions, rank-0 tensors, Python numbers. A weaker one changes
the dtype only if its category (bool < int < float) is higher than that of all the stronger ones. Follows PyTorch's
"Tensor Attributes: type promotion" and ATen/native/TypeProperties.cpp; test/dialect/kernels compares with torch.result_type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import Category, DType
from tierup.dialect.base.records import dataclass

FLOAT_DEFAULT = dtypes.f32  # torch's default dtype: what ints become under a float op, and Python floats on their own
SCALARS: dict[type, DType] = {bool: dtypes.bool_, int: dtypes.i64, float: FLOAT_DEFAULT}


class Strength(Enum):
    """How much an operand says of the dtype that operands have in common: one of more dims beats others of its category."""

    DIMENSIONED = 0
    RANK_0 = 1
    NUMBER = 2  # a Python scalar


@cache
def promote(a: DType, b: DType) -> DType:
    """The smallest dtype that torch lets hold both: f16 with bf16 is f32, u8 with i8 is i16, int with float is the float. Raises TypeError
    for u16, u32 and u64 with what is no float."""
    if a is b:
        return a
    low, high = (a, b) if a.category <= b.category else (b, a)
    if not high.is_float and (a.of_numpy_alone or b.of_numpy_alone):
        raise TypeError(
            "Promotion for uint16, uint32, uint64 types is not supported, "
            f"attempted to promote {dtypes.scalar_type(a.numpy)} and {dtypes.scalar_type(b.numpy)}"
        )
    if low.category is not high.category:
        return dtypes.c128 if high.is_complex and low is dtypes.f64 else high
    if {a, b} == {dtypes.f16, dtypes.bf16}:
        return dtypes.f32
    if {a, b} == {dtypes.u8, dtypes.i8}:
        return dtypes.i16
    return a if a.itemsize > b.itemsize else b


def _combine(strong: DType | None, weak: DType | None) -> DType | None:
    if strong is None or weak is None:
        return strong or weak
    if strong.category >= weak.category and strong.category is not Category.BOOL:
        return strong
    return promote(strong, weak)


def result_type(operands: Iterable[tuple[DType, Strength]]) -> DType:
    """The common dtype of operands. Raises ValueError for none at all."""
    best: dict[Strength, DType] = {}
    for dtype, strength in operands:
        best[strength] = promote(best[strength], dtype) if strength in best else dtype
    result = _combine(best.get(Strength.DIMENSIONED), _combine(best.get(Strength.RANK_0), best.get(Strength.NUMBER)))
    if result is None:
        raise ValueError("no operand to take a dtype from")
    return result


class Accepts(Enum):
    """Which common dtypes an op takes; the others are a TypeError, as in torch."""

    ALL = "bool, integer and float"
    NOT_BOOL = "integer and float"
    FLOAT = "float"
    INTEGRAL = "bool and integer"
    INTEGER = "integer"


class Gives(Enum):
    """The result's dtype, seen from the operands' common dtype."""

    COMMON = "common"
    FLOAT = "float"  # the common dtype if it is a float, else float32
    BOOL = "bool"
    REAL = "real"  # the common dtype; of complex numbers what their parts are
    COMPLEX = "complex"  # the complex dtype whose parts hold the common dtype: complex64 of floats of at most 32 bits
    SELF = "self"  # operand 0's own dtype, which is also what is computed in


_CATEGORIES = {
    Accepts.ALL: frozenset(Category),
    Accepts.NOT_BOOL: frozenset(Category) - {Category.BOOL},
    Accepts.FLOAT: frozenset({Category.FLOAT}),
    Accepts.INTEGRAL: frozenset({Category.BOOL, Category.INT}),
    Accepts.INTEGER: frozenset({Category.INT}),
}


@dataclass(frozen=True)
class Typing:
    """How a pointwise op types its operands: the one statement that its kernel and its inference rule both read.

    `promoting`: how many leading operands (None skipped) have a say in the common dtype.
    `shaped`: how many leading operands are broadcast and converted; `promoting` unless told.
    `same`: the promoting operands must have one dtype between them (torch's lerp, isclose, heaviside).
    `bool_as`: the dtype that a bool common dtype is replaced by.
    `exact_second`: operand 1, if a number or of rank 0, is not first rounded to a float16 or bfloat16 common dtype.
    `scale`: the index of a factor `alpha`: it must suit the common dtype and is converted as operands are.
    `refuse`: gives the reason to refuse these operands, whatever their common dtype, or None.
    """

    op: str
    promoting: int = 1
    gives: Gives = Gives.COMMON
    accepts: Accepts = Accepts.ALL
    same: bool = False
    shaped: int | None = None
    bool_as: DType = dtypes.bool_
    exact_second: bool = False
    scale: int | None = None
    refuse: Callable[[tuple[tuple[DType, Strength], ...]], str | None] | None = None

    @property
    def operands(self) -> int:
        """How many leading operands are broadcast."""
        return self.promoting if self.shaped is None else self.shaped

    def types(self, operands: tuple[tuple[DType, Strength], ...]) -> tuple[DType, DType]:
        """(dtype computed in, dtype of the result). Raises TypeError for operands that torch refuses."""
        return _types(self, operands)


@cache
def _types(typing: Typing, operands: tuple[tuple[DType, Strength], ...]) -> tuple[DType, DType]:
    refusal = typing.refuse(operands) if typing.refuse else None
    if refusal:
        raise TypeError(f"{typing.op}: {refusal}")
    if typing.same:
        tensors = {d for d, s in operands if s is not Strength.NUMBER}
        if len(tensors) > 1:
            raise TypeError(f"{typing.op}: expected operands of one dtype, got {', '.join(sorted(d.name for d in tensors))}")
    common = operands[0][0] if typing.gives is Gives.SELF else result_type(operands)
    if common is dtypes.bool_:
        common = typing.bool_as
    if typing.gives is Gives.FLOAT and not common.is_float and not common.is_complex:
        common = FLOAT_DEFAULT
    if typing.gives is Gives.COMPLEX and not common.is_complex:
        common = dtypes.c64 if common.is_float and common.itemsize <= 4 else dtypes.c128
    if common.category not in _CATEGORIES[typing.accepts]:
        raise TypeError(f"{typing.op}: not implemented for {common.name}; it takes {typing.accepts.value} tensors")
    return common, dtypes.bool_ if typing.gives is Gives.BOOL else common.part if typing.gives is Gives.REAL else common


# --- over run-time values ------------------------------------------------------------------------------------------------


def strength_of(operand: Any) -> tuple[DType, Strength]:
    """An array's or Python number's part in promotion. Raises TypeError for a dtype that programs cannot hold."""
    if isinstance(operand, np.ndarray):
        dtype = dtypes.from_numpy(operand.dtype)
        if dtype is None:
            raise TypeError(f"arrays of dtype {operand.dtype} are not supported")
        return dtype, Strength.DIMENSIONED if operand.ndim else Strength.RANK_0
    return SCALARS[type(operand)], Strength.NUMBER


def common_dtype(*operands: Any) -> np.dtype:
    """torch.result_type of arrays and Python numbers, as a NumPy dtype."""
    return result_type(strength_of(x) for x in operands).numpy


@dataclass(frozen=True)
class Plan:
    """The dtypes of one call: what operands are converted to, what the formula computes in, what is given.

    float16 and bfloat16 are computed in float32 and rounded once (ATen/OpMathType.h).
    """

    common: np.dtype
    compute: np.dtype
    result: np.dtype
    exact_second: bool  # whether Typing.exact_second applies to this call's operand 1


@cache
def _plan(typing: Typing, key: tuple[Any, ...]) -> Plan:
    known: list[tuple[DType, Strength]] = []
    for part in key:
        if part is type(None):
            continue
        if isinstance(part, tuple):
            dtype = dtypes.from_numpy(part[0])
            if dtype is None:
                raise TypeError(f"{typing.op}: arrays of dtype {part[0]} are not supported")
            known.append((dtype, Strength.DIMENSIONED if part[1] else Strength.RANK_0))
        else:
            known.append((SCALARS[part], Strength.NUMBER))
    common, result = typing.types(tuple(known))
    compute = dtypes.f32 if common in (dtypes.f16, dtypes.bf16) else common
    exact = typing.exact_second and compute is not common and known[1][1] is not Strength.DIMENSIONED
    return Plan(common.numpy, compute.numpy, result.numpy, exact)


def plan(typing: Typing, operands: tuple[Any, ...]) -> Plan:
    """The dtypes for these operands; TypeError for ones that the op refuses."""
    return _plan(typing, tuple([(x.dtype, x.ndim > 0) if isinstance(x, np.ndarray) else type(x) for x in operands[: typing.promoting]]))


def check_scale(factor: Any, common: DType | None, op: str) -> None:
    """Raises TypeError for a float `alpha` with integers and for a bool one with anything but bools, as torch does."""
    if common is None:
        return
    if type(factor) is float and not common.is_float:
        raise TypeError(f"{op}: for integral operands alpha must not be a float")
    if type(factor) is bool and common.category is not Category.BOOL:
        raise TypeError(f"{op}: a bool alpha is for bool operands only")


Kernel = Callable[..., np.ndarray]
