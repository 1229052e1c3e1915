"""Comparisons and truth values of numbers, strings and lists of numbers, and the largest and the least. Of sizes they are decided where
bounds prove them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tierup.dialect.facts import dims
from tierup.dialect.facts.dims import Dim
from tierup.dialect.facts.values import Bool, Int, List, NoneValue, Opaque, Value
from tierup.dialect.ops.scalars.numbers import Rest, as_kind, of_known
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Infer, InferRule, Kind, ShapeError
from tierup.dialect.optable.define import op

_size = read.or_unknown(read.size)
_op = partial(op, kind=Kind.SCALAR, tolerance=EXACT, differentiable=False)
_known = partial(of_known, differentiable=False)


def _decided(decide: Callable[[Dim, Dim], bool | None]) -> Rest:
    def otherwise(operands: Sequence[Value]) -> Value:
        if all(isinstance(v, List) for v in operands):
            return Bool(_decided_lists(decide, operands))
        if all(isinstance(v, Int) for v in operands[:2]):
            a, b = (_size(v) for v in operands[:2])
            if a is not None and b is not None:
                return Bool(decide(a, b))
        return Bool()

    return otherwise


def _not_above(a: Dim, b: Dim, by: int = 0) -> bool | None:
    """a + by <= b, when the symbols' bounds decide it."""
    return True if dims.at_least(b - a, by) else False if dims.at_least(a - b, 1 - by) else None


def _equal(a: Dim, b: Dim) -> bool | None:
    if a == b:
        return True
    return False if dims.at_least(a - b, 1) or dims.at_least(b - a, 1) else None


def _unequal(a: Dim, b: Dim) -> bool | None:
    known = _equal(a, b)
    return None if known is None else not known


def _decided_lists(decide: Callable[[Dim, Dim], bool | None], lists: Sequence[Value]) -> bool | None:
    """Of lists of sizes: equal, or not, item by item."""
    x, y = (v.items if isinstance(v, List) else None for v in lists)
    if x is None or y is None:
        return None
    apart = decide is _unequal
    if len(x) != len(y):
        return apart
    pairs = zip(map(_size, x), map(_size, y), strict=True)
    found = {None if a is None or b is None else decide(a, b) for a, b in pairs}
    return apart if apart in found else None if None in found else not apart


@_known(
    "aten.eq.int(int a, int b) -> bool", "aten.eq.float(float a, float b) -> bool", "aten.eq.bool(bool a, bool b) -> bool",
    "aten.eq.str(str a, str b) -> bool", "aten.eq.int_list(int[] a, int[] b) -> bool", otherwise=_decided(_equal),
)  # fmt: skip
def eq(a: object, b: object) -> bool:
    return a == b


@_known(
    "aten.ne.int(int a, int b) -> bool", "aten.ne.bool(bool a, bool b) -> bool", "aten.ne.str(str a, str b) -> bool",
    "aten.ne.int_list(int[] a, int[] b) -> bool", "aten.ne.float_int(float a, int b) -> bool", otherwise=_decided(_unequal),
)  # fmt: skip
def ne(a: object, b: object) -> bool:
    return a != b


@_known(
    "aten.lt.int(int a, int b) -> bool", "aten.lt.float(float a, float b) -> bool", "aten.lt.float_int(float a, int b) -> bool",
    otherwise=_decided(lambda a, b: _not_above(a, b, 1)),
)  # fmt: skip
def lt(a: float, b: float) -> bool:
    return a < b


le = _known("aten.le.int(int a, int b) -> bool", otherwise=_decided(_not_above))(lambda a, b: a <= b)


@_known(
    "aten.gt.int(int a, int b) -> bool", "aten.gt.float(float a, float b) -> bool", "aten.gt.float_int(float a, int b) -> bool",
    otherwise=_decided(lambda a, b: _not_above(b, a, 1)),
)  # fmt: skip
def gt(a: float, b: float) -> bool:
    return a > b


@_known(
    "aten.ge.int(int a, int b) -> bool", "aten.ge.float(float a, float b) -> bool", "aten.ge.float_int(float a, int b) -> bool",
    otherwise=_decided(lambda a, b: _not_above(b, a)),
)  # fmt: skip
def ge(a: float, b: float) -> bool:
    return a >= b


@_known("aten.__and__.bool(bool a, bool b) -> bool", otherwise=as_kind(Bool))
def logical_and(a: bool, b: bool) -> bool:
    return a and b


@_known("aten.__or__.bool(bool a, bool b) -> bool", otherwise=as_kind(Bool))
def logical_or(a: bool, b: bool) -> bool:
    return a or b


@_known("aten.__not__(bool self) -> bool", otherwise=as_kind(Bool))
def logical_not(a: bool) -> bool:
    return not a


def _identity_test(negated: bool) -> InferRule:
    """`x is None`: decided by the types; of two numbers only when both are known."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Value:
        a, b = operands
        if isinstance(a, NoneValue) and isinstance(b, NoneValue):
            return Bool(not negated)
        if isinstance(a, NoneValue) is not isinstance(b, NoneValue) and not any(isinstance(v, Opaque) for v in operands):
            return Bool(negated)
        return Bool()

    return infer


@_op("aten.__is__(t1 self, t2 obj) -> bool", infer=_identity_test(negated=False))
def is_same(a: Any, b: Any) -> bool:
    """For None and for lists and tensors, whether they are one object; numbers by value."""
    return a is b or (isinstance(a, (int, float)) and type(a) is type(b) and a == b)


@_op("aten.__isnot__(t1 self, t2 obj) -> bool", infer=_identity_test(negated=True))
def is_not_same(a: Any, b: Any) -> bool:
    return not is_same(a, b)


# --- extremes ----------------------------------------------------------------------------------------------------------


def _extreme(pick: Callable[[Dim, Dim], Dim], name: str) -> InferRule:
    def infer(ctx: Infer, operands: Sequence[Value]) -> Value:
        values = list(operands)
        if isinstance(values[0], List):
            if values[0].items is None:
                return Int()
            values = list(values[0].items)
            if not values:
                raise ShapeError(f"{name}() arg is an empty sequence")
        best = _size(values[0])
        for value in values[1:]:
            other = _size(value)
            best = None if best is None or other is None else pick(best, other)
        return Int(best)

    return infer


@_op("prim.max.int(int a, int b) -> int", infer=_extreme(dims.maximum, "max"))
def maximum(*numbers: int) -> int:
    return max(*numbers)


@_op("prim.max.self_int(int[] self) -> int", infer=_extreme(dims.maximum, "max"), refuses_some=True)
def greatest(numbers: Sequence[int]) -> int:
    """Of a list, which must not be empty."""
    return max(numbers)


@_op("prim.min.int(int a, int b) -> int", infer=_extreme(dims.minimum, "min"))
def minimum(*numbers: int) -> int:
    return min(*numbers)


@_op("prim.min.self_int(int[] self) -> int", infer=_extreme(dims.minimum, "min"), refuses_some=True)
def least(numbers: Sequence[int]) -> int:
    return min(numbers)
