"""The inference rule of pointwise ops: broadcast the shapes, type the operands as the kernel does.

Under torch's promotion the kernel's own `Typing` decides. Under NumPy's the kernel is NumPy, and so it is asked: run on one
element of each operand's dtype, it tells its result's dtype and raises what it would raise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tierup.dialect import dtypes, kernels
from tierup.dialect.dtypes import DType
from tierup.dialect.ir.values import Bool, Float, Int, List, NoneValue, Number, Shape, Str, Tensor, Value
from tierup.dialect.kernels.apply import typing_of
from tierup.dialect.kernels.promotion import SCALARS, Gives, Strength, Typing, result_type
from tierup.dialect.optable.core import EXACT, Infer, Kind, Op, Promotion, ShapeError, Tolerance

Candidate = tuple[DType, Strength]
Check = Callable[[Sequence[Value], "DType | None"], None]  # (operands, result dtype): raises where the kernel would


def candidates(value: Value) -> list[Candidate] | None:
    """What part a value may have in promotion; None when not known at all, [] for None, which has no part."""
    if isinstance(value, NoneValue):
        return []
    if isinstance(value, Tensor):
        if value.dtype is None:
            return None
        if value.shape is None:
            return [(value.dtype, Strength.DIMENSIONED), (value.dtype, Strength.RANK_0)]
        return [(value.dtype, Strength.DIMENSIONED if value.shape else Strength.RANK_0)]
    for kind, number in ((Bool, bool), (Int, int), (Float, float)):
        if isinstance(value, kind):
            return [(SCALARS[number], Strength.NUMBER)]
    if isinstance(value, Number):
        return [(SCALARS[int], Strength.NUMBER), (SCALARS[float], Strength.NUMBER)]
    return None


def _combinations(values: Sequence[Value]) -> list[tuple[Candidate, ...]] | None:
    found = [candidates(v) for v in values]
    known = [f for f in found if f is not None]
    if len(known) < len(found):
        return None
    return list(itertools.product(*(f for f in known if f)))


def torch_dtype(typing: Typing, values: Sequence[Value]) -> DType | None:
    """The result's dtype under torch's promotion, None when not known. Raises TypeError when torch refuses the operands."""
    options = _combinations(values)
    if options is None:
        return dtypes.bool_ if typing.gives is Gives.BOOL else None
    results: set[DType] = set()
    refusal: TypeError | None = None
    for option in options:
        try:
            results.add(typing.types(option)[1])
        except TypeError as e:
            refusal = e
    if not results and refusal is not None:
        raise refusal
    return results.pop() if len(results) == 1 else None


def common_dtype(values: Sequence[Value]) -> DType | None:
    """torch.result_type of abstract values, None when not known."""
    options = _combinations(values)
    results = {result_type(option) for option in options or ()}
    return results.pop() if len(results) == 1 else None


def _stand_in(value: Value) -> Any:
    """A hashable description of an operand for `_numpy_probe`; raises KeyError when its dtype is not known."""
    if isinstance(value, Tensor):
        if value.dtype is None:
            raise KeyError
        return value.dtype
    if isinstance(value, Int):
        return (int, value.value if isinstance(value.value, int) else 1)
    if isinstance(value, Float):
        return (float, 1.0 if value.value is None else value.value)
    if isinstance(value, Bool):
        return (bool, True if value.value is None else value.value)
    if isinstance(value, Str) and value.value is not None:
        return (str, value.value)
    if isinstance(value, NoneValue):
        return (type(None), None)
    if isinstance(value, List):
        return (list, None)
    raise KeyError


@lru_cache(maxsize=4096)
def _numpy_probe(kernel: str, described: tuple[Any, ...]) -> DType | None:
    operands = [np.ones(1, d.numpy) if isinstance(d, DType) else d[1] for d in described]
    try:
        with np.errstate(all="ignore"):
            result = kernels.resolve(kernel)(*operands)
    except (OverflowError, ValueError) as e:  # a number that the dtype cannot hold, a negative power of integers
        raise ShapeError(str(e)) from e
    return dtypes.from_numpy(result.dtype)


def numpy_dtype(kernel: str, values: Sequence[Value]) -> DType | None:
    """The dtype that a NumPy-flavoured kernel gives for such operands, None when not known. Raises what the kernel would, of a number of
    unknown kind where it would for all kinds."""
    results: set[DType | None] = set()
    refusal: TypeError | ShapeError | None = None
    for option in itertools.product(*([Int(), Float(), Bool()] if type(v) is Number else [v] for v in values)):
        try:
            results.add(_numpy_probe(kernel, tuple(_stand_in(v) for v in option)))
        except KeyError:
            return None
        except (TypeError, ShapeError) as e:
            refusal = e
    if not results and refusal is not None:
        raise refusal
    return results.pop() if len(results) == 1 else None


def broadcast(ctx: Infer, values: Sequence[Value]) -> Shape | None:
    """The broadcast shape of the tensors among the operands."""
    return ctx.broadcast([v.shape for v in values if isinstance(v, Tensor)])


Rule = Callable[[Infer, Sequence[Value]], Tensor]


def rule(kernel: str, numpy: str | None = None, check: Check | None = None) -> Rule:
    """The inference rule of a pointwise kernel. `check` raises for operands that it refuses for another reason than dtype."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        typing = typing_of(kernel)
        shape = broadcast(ctx, operands[: typing.operands])
        if ctx.promotion is Promotion.NUMPY and numpy is not None:
            return Tensor(numpy_dtype(numpy, operands), shape)
        dtype = torch_dtype(typing, operands[: typing.promoting])
        if check is not None:
            check(operands, dtype)
        return Tensor(dtype, shape)

    return infer


def pointwise(
    name: str, kernel: str, numpy: str | None = None, check: Check | None = None, exact: bool = False, raises: bool = False,
    native: bool = True, note: str = "", tolerance: Tolerance | None = None,
) -> Op:  # fmt: skip
    """A row for a pointwise kernel. `exact`: no rounding at all, or one that every tier does alike."""
    bound = tolerance or (EXACT if exact else Tolerance())
    infer = rule(kernel, numpy, check)
    return Op(name, Kind.POINTWISE, kernel, infer, numpy=numpy, raises=raises, native=native, note=note, tolerance=bound)
