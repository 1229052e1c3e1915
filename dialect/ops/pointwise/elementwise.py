"""How a pointwise op is defined, and its inference rule: broadcast the shapes, type the operands as tier 0 does.

Under torch's promotion the op's own `Typing` decides. Under NumPy's the kernel is NumPy, and so it is asked: run on one
element of each operand's dtype, it tells its result's dtype and raises what it would raise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.values import Bool, Float, Int, List, NoneValue, Number, Shape, Str, Tensor, Value
from tierup.dialect.ops.pointwise.elements import ARRAYS, Formula
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import EXACT, OF_RULES, Infer, Kind, Layout, Promotion, ShapeError, Tolerance
from tierup.dialect.optable.define import DefinedOp, Kernel, place_of, read_schema
from tierup.dialect.optable.kernels.apply import kernel_of
from tierup.dialect.optable.kernels.arrays import check_number, in_rows
from tierup.dialect.optable.kernels.promotion import SCALARS, Gives, Strength, Typing, check_scale, plan, result_type

Candidate = tuple[DType, Strength]
Check = Callable[[Sequence[Any], "DType | None"], None]
"""(operands, dtype of the result where it is known): raises for numbers that the op refuses. Tensors are arrays or types;
numbers that are not known are `Value`s."""


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
    except ValueError as e:  # a negative power of integers
        raise ShapeError(str(e)) from e
    return dtypes.from_numpy(result.dtype)


def numpy_dtype(kernel: str, values: Sequence[Value]) -> DType | None:
    """The dtype that a NumPy-flavoured kernel gives for such operands, None when not known. Raises what the kernel would, of a number of
    unknown kind where it would for all kinds."""
    results: set[DType | None] = set()
    refusal: Exception | None = None
    choices: list[list[Value]] = [[Int(), Float(), Bool()] if type(v) is Number else [v] for v in values]
    for option in itertools.product(*choices):
        try:
            results.add(_numpy_probe(kernel, tuple(_stand_in(v) for v in option)))
        except KeyError:
            return None
        except OF_RULES as e:
            refusal = e
    if not results and refusal is not None:
        raise refusal
    return results.pop() if len(results) == 1 else None


def broadcast(ctx: Infer, values: Sequence[Value]) -> Shape | None:
    """The broadcast shape of the tensors among the operands."""
    return ctx.broadcast([v.shape for v in values if isinstance(v, Tensor)])


def rule(typing: Typing, numpy: str | None, check: Check | None = None) -> Callable[[Infer, Sequence[Value]], Tensor]:
    """The inference rule of an op that types its operands so; `numpy`: its kernel under NumPy's rules."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        shape = broadcast(ctx, operands[: typing.operands])
        if ctx.promotion is Promotion.NUMPY and numpy is not None:
            return Tensor(numpy_dtype(numpy, operands), shape)
        dtype = torch_dtype(typing, operands[: typing.promoting])
        if typing.scale is not None and len(operands) > typing.scale:
            factor = operands[typing.scale]
            check_scale(2.0 if isinstance(factor, Float) else True if isinstance(factor, Bool) else 1, dtype, typing.op)
        if check is not None:
            refuse(check, operands, dtype)
        return Tensor(dtype, shape)

    return infer


def fits(*which: int) -> Check:
    """The check that numbers among the operands are such as the result's dtype can hold."""

    def check(operands: Sequence[Any], dtype: DType | None) -> None:
        if dtype is not None:
            for number in [operands[i] for i in which if i < len(operands)]:
                check_number(number, dtype.numpy)

    return check


def refuse(check: Check, operands: Sequence[Value], dtype: DType | None) -> None:
    """Raise what a check raises for the operands, of which numbers and texts that are known are given as such."""
    try:
        check([_known(v) for v in operands], dtype)
    except ValueError as e:
        raise ShapeError(str(e)) from e


def _known(value: Value) -> Any:
    if isinstance(value, NoneValue):
        return None
    found = getattr(value, "value", None) if isinstance(value, (Bool, Int, Float, Str)) else None
    return found if isinstance(found, (bool, int, float, str)) else value


# --- element by element ------------------------------------------------------------------------------------------------


class PointwiseOp(DefinedOp[Any]):
    """An op of which each element of the result is made of one element of each operand, as `formula` says."""

    typing: Typing
    formula: Formula
    as_it_came: int | None  # an operand that the formula gets once more, last, as it came


def pointwise(
    *schemas: str, check: Check | None = None, numpy: Callable[..., Any] | None = None, form: str = "", exact: bool = False,
    as_it_came: int | None = None, no_gradient: str = "", **fields: Any,
) -> Callable[[Formula], PointwiseOp]:  # fmt: skip
    """Define ops by the formula that is decorated (elements.py), which is tier 0, and native code.

    `schemas`: the overloads. `check` raises for numbers that it refuses. `numpy`: what the op is in NumPy's Python, where its rules differ
    from torch's; `form`: how that is written in torch ops, where it is not what is usual for so many operands. `exact`: no rounding at all,
    or one that every tier does alike. `as_it_came`: an operand that the formula gets once more, last, as it came. `fields`: those of
    `Typing`, which say how operands are promoted, and of `Op`.
    """
    of_typing = {name: fields.pop(name) for name in Typing.__dataclass_fields__ if name in fields}
    named = [read_schema(schema) for schema in schemas]
    typing = Typing(named[0][0].removeprefix("aten.").partition(".")[0], **of_typing)
    fields.setdefault("tolerance", EXACT if exact else Tolerance())
    fields.update(no_gradient=no_gradient, differentiable=not no_gradient)

    def define(formula: Formula) -> PointwiseOp:
        place = place_of(formula, schemas[0])
        flavour = f"{place}.numpy_tier0" if numpy is not None else None
        infer, kernel = rule(typing, flavour, check), _tier0(typing, formula, check, as_it_came, fields.get("layout") is Layout.ROWS)
        made = [PointwiseOp(name, Kind.POINTWISE, f"{place}.tier0", infer, operands=operands, **fields) for name, operands in named]
        for op in made:
            op.tier0, op.typing, op.formula, op.as_it_came, op.overloads = kernel, typing, formula, as_it_came, tuple(made)
            op.__doc__ = formula.__doc__
            if numpy is not None:
                op.numpy, op.numpy_tier0, op.numpy_function = flavour, as_array(numpy), numpy
                op.numpy_form = form or ("unary" if getattr(numpy, "nin", 1) == 1 else "binary")
        return made[0]

    return define


def _tier0(typing: Typing, formula: Formula, check: Check | None, as_it_came: int | None, rows: bool) -> Kernel:
    on_arrays = partial(formula, ARRAYS)
    computed = kernel_of(typing, (lambda *operands: in_rows(on_arrays(*operands))) if rows else on_arrays)

    def kernel(*operands: Any) -> np.ndarray:
        if check is not None:
            check(operands, dtypes.from_numpy(plan(typing, operands).result))
        return computed(*operands) if as_it_came is None else computed(*operands, operands[as_it_came])

    return computed if check is None and as_it_came is None else kernel


def as_array(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """`function`, giving a rank-0 array where NumPy gives a scalar."""

    def kernel(*operands: Any) -> np.ndarray:
        return np.asarray(function(*operands))

    return kernel
