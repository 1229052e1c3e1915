"""How shape and dtype rules read their operands: a reader gives the known value or raises `Unknown`.

A rule is written as if everything were known; `or_unknown` around a piece of it turns `Unknown` into None, which says
"not known" in every field of an abstract value. Free of MLIR.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.dims import Dim
from tierup.dialect.facts.values import Bool, Float, Int, List, NoneValue, Opaque, Shape, Str, Tensor, Value
from tierup.dialect.optable.core import Infer, Promotion

P = ParamSpec("P")
T = TypeVar("T")


class Unknown(Exception):
    """Something that the rule needs is not known at compile time."""


def or_unknown(rule: Callable[P, T]) -> Callable[P, T | None]:
    """`rule`, answering None where it would need something unknown."""

    @wraps(rule)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return rule(*args, **kwargs)
        except Unknown:
            return None

    return guarded


def shape(value: Value) -> Shape:
    """A tensor's sizes."""
    if isinstance(value, Tensor) and value.shape is not None:
        return value.shape
    raise Unknown


def dtype(value: Value) -> DType:
    """A tensor's element type."""
    if isinstance(value, Tensor) and value.dtype is not None:
        return value.dtype
    raise Unknown


def dtype_of(value: Value) -> DType | None:
    """A tensor's element type, None when not known."""
    return value.dtype if isinstance(value, Tensor) else None


def size(value: Value) -> Dim:
    """An int that may be symbolic."""
    if isinstance(value, Int) and value.value is not None:
        return value.value
    if isinstance(value, Bool) and value.value is not None:
        return int(value.value)
    raise Unknown


def integer(value: Value) -> int:
    """A plain int: Unknown for a symbolic one."""
    found = size(value)
    if isinstance(found, int):
        return found
    raise Unknown


def flag(value: Value) -> bool:
    """A bool."""
    if isinstance(value, Bool) and value.value is not None:
        return value.value
    if isinstance(value, Int) and isinstance(value.value, int):
        return bool(value.value)
    raise Unknown


def number(value: Value) -> int | float | bool:
    """A Python number: an int, a float or a bool."""
    if isinstance(value, Float) and value.value is not None:
        return value.value
    if isinstance(value, Bool) and value.value is not None:
        return value.value
    return integer(value)


def text(value: Value) -> str:
    """A string."""
    if isinstance(value, Str) and value.value is not None:
        return value.value
    raise Unknown


def items(value: Value) -> tuple[Value, ...]:
    """A list's items."""
    if isinstance(value, List) and value.items is not None:
        return value.items
    raise Unknown


def lifted(operand: object) -> Value:
    """What is known of an array or a NumPy scalar (dtype and sizes), of a Python number, a string, None or a list of such. Other things
    are Opaque."""
    known = _LIFTED.get(type(operand))
    if known is not None:
        return known(operand)
    if isinstance(operand, np.generic):
        return Tensor(dtypes.from_numpy(operand.dtype), operand.shape)
    of_base = next((known for base, known in _LIFTED.items() if isinstance(operand, base)), None)
    return of_base(operand) if of_base is not None else operand if isinstance(operand, Value) else Opaque()


def plain(value: Value) -> Any:
    """A number, a string, None or a list of such as Python has it. Raises Unknown."""
    if isinstance(value, Str):
        return text(value)
    if isinstance(value, List):
        return [plain(v) for v in items(value)]
    return None if is_none(value) else number(value)


def example(value: Value, most: int) -> Any:
    """An operand of which this is what is known: arrays hold zeros. Raises Unknown, also for arrays of more than `most` elements."""
    if isinstance(value, Tensor):
        sizes = [d for d in value.shape or () if isinstance(d, int)]
        if value.dtype is None or value.shape is None or len(sizes) < len(value.shape) or math.prod(sizes) > most:
            raise Unknown
        return np.zeros(sizes, value.dtype.numpy)
    return [example(v, most) for v in items(value)] if isinstance(value, List) else plain(value)


_LIFTED: dict[type, Callable[[Any], Value]] = {
    np.ndarray: lambda x: Tensor(dtypes.from_numpy(x.dtype), x.shape), type(None): lambda _: NoneValue(), bool: Bool, int: Int,
    float: Float, list: lambda found: List(tuple(map(lifted, found))), tuple: lambda found: List(tuple(map(lifted, found))), str: Str,
}  # fmt: skip


def refuse_axes_of_rank_0(ctx: Infer, of: Shape, given: bool = True) -> None:
    """NumPy's functions take no axis of an array without any, where torch's take 0 and -1."""
    if given and not of and ctx.promotion is Promotion.NUMPY:
        raise IndexError("axis 0 is out of bounds for array of dimension 0")


def is_none(value: Value) -> bool:
    """Whether the operand is None. An optional that may be either is Unknown."""
    if isinstance(value, NoneValue):
        return True
    if isinstance(value, (Tensor, Int, Float, Bool, List, Str)):
        return False
    raise Unknown


def optional(read: Callable[[Value], T], value: Value) -> T | None:
    """`read(value)`, or None for the operand None."""
    return None if is_none(value) else read(value)


def sizes(value: Value) -> tuple[Dim, ...]:
    """A list of ints that may be symbolic; a single int counts as a list of one, as in torch's `int[1]`."""
    return (size(value),) if isinstance(value, Int) else tuple(size(v) for v in items(value))


def integers(value: Value) -> tuple[int, ...]:
    """A list of plain ints; a single int counts as a list of one."""
    return (integer(value),) if isinstance(value, Int) else tuple(integer(v) for v in items(value))


def dtype_argument(value: Value) -> DType | None:
    """torch's `ScalarType? dtype` operand. Raises TypeError for a type that programs cannot hold."""
    code = optional(integer, value)
    if code is None:
        return None
    if code not in dtypes.BY_CODE:
        raise TypeError(f"dtype with torch's number {code} is not supported")
    return dtypes.BY_CODE[code]


def sizes_or_none(value: Value) -> tuple[Dim | None, ...]:
    """A list of ints, None for one that is not known; Unknown when not even their number is."""
    return (value.value,) if isinstance(value, Int) else tuple(or_unknown(size)(v) for v in items(value))


def product(dims: Shape) -> Dim:
    """The number of elements of a shape."""
    return math.prod(dims)


def given(operands: Sequence[Value], i: int | None, default: int | None = None) -> Value:
    """Operand i, or the schema's default where it is left out: an int, or None."""
    if i is not None and i < len(operands):
        return operands[i]
    return NoneValue() if default is None else Int(default)


def of_first(rule: Callable[[Infer, Shape, Sequence[Value]], Shape]) -> Callable[[Infer, Sequence[Value]], Tensor]:
    """The rule of an op that gives one tensor of operand 0's dtype: `rule` says its shape from operand 0's and the other operands."""
    sized = or_unknown(lambda ctx, x, rest: rule(ctx, shape(x), rest))

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        return Tensor(dtype_of(operands[0]), sized(ctx, operands[0], operands[1:]))

    return infer


def whole(x: Value) -> Tensor:
    """A tensor operand as it is: what ops that keep dtype and shape give."""
    return Tensor(dtype_of(x), x.shape if isinstance(x, Tensor) else None)
