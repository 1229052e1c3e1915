"""Numbers, truth values and strings. Under torch's rules ints are int64 and wrap, floats divide by zero; under NumPy's they are Python's:
ints of any size in tier 0, and native code leaves to it what 64 bits do not hold (`fits`; rewriting/numpy_rules/ints.py).

Ints carry symbolic sizes through, and what a loop counts. Of ints, division and remainder by zero are a ZeroDivisionError.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.base.exceptions import ValueUnanswerable
from tierup.dialect.facts import dims
from tierup.dialect.facts.dims import Dim
from tierup.dialect.facts.values import Bool, Float, Int, Number, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Infer, Kind, Promotion, ShapeError
from tierup.dialect.optable.define import DefinedOp, Kernel, R, op

Rest = Callable[[Sequence[Value]], Value]  # what is known of a result where the operands are not
Combine = Callable[[Dim, Dim], "Dim | None"]
_LOW, _MODULUS = -(1 << 63), 1 << 64

_size = read.or_unknown(read.size)


def of_known(
    *schemas: str, otherwise: Rest, numpy: Kernel | None = None, form: str = "none", **fields: Any
) -> Callable[[Callable[..., R]], DefinedOp[R]]:
    """An op on numbers, strings and lists of them: of known ones its rule gives what tier 0 does, of others what `otherwise` says of them.
    `numpy`: tier 0 under NumPy's rules; `form`: what native code makes of these."""

    def define(kernel: Callable[..., R]) -> DefinedOp[R]:
        def infer(ctx: Infer, operands: Sequence[Value]) -> Value:
            try:
                known = [read.plain(v) for v in operands]
            except read.Unknown:
                return otherwise(operands)
            try:
                found = (numpy if numpy and ctx.promotion is Promotion.NUMPY else kernel)(*known)
            except (ValueError, OverflowError, RuntimeError) as e:  # tier 0 raises it when the op runs
                raise ShapeError(str(e)) from e
            beyond = type(found) is int and found != wrap(found)
            return Int() if beyond else read.lifted(found)  # no pass holds an int of more than 64 bits

        made = op(*schemas, kind=Kind.SCALAR, infer=infer, tolerance=EXACT, **fields)(kernel)
        if numpy is not None:
            made.under_numpy(form=form)(numpy)
        return made

    return define


_known = partial(of_known, differentiable=False)


def as_kind(kind: type) -> Rest:
    """A number of this kind whose value is not known."""
    return lambda operands: kind()


def _itself_or(kind: type) -> Rest:
    return lambda operands: operands[0] if isinstance(operands[0], kind) else kind()


# --- arithmetic on ints that may be sizes --------------------------------------------------------------------------------


def wrap(value: Any) -> Any:
    """An int modulo 2**64, as int64 has it; a float as it is."""
    return value if type(value) is not int or _LOW <= value < -_LOW else (value - _LOW) % _MODULUS + _LOW


def _number_kind(operands: Sequence[Value]) -> Value:
    if any(isinstance(v, Float) for v in operands):
        return Float()
    return Int() if all(isinstance(v, (Int, Bool)) for v in operands) else Number()


def _symbolic(combine: Combine) -> Rest:
    """Two ints of which one is symbolic or counts a loop; anything else is a number of known kind."""

    def otherwise(operands: Sequence[Value]) -> Value:
        kind = _number_kind(operands)
        a, b = (_size(v) for v in operands[:2])
        if not isinstance(kind, Int):
            return kind
        if a is not None and b is not None:
            return Int(combine(a, b))
        if b is not None and combine in (operator.add, operator.sub):
            return _moved(operands[0], combine(0, b))
        return _moved(operands[1], a) if a is not None and combine is operator.add else kind

    return otherwise


def _moved(value: Value, by: Dim | None) -> Int:
    counter = value.counter if isinstance(value, Int) else None
    return Int() if counter is None or by is None else Int(None, replace(counter, offset=counter.offset + by))


def _quotient(a: Dim, b: Dim) -> Dim | None:
    return dims.floordiv(a, b) if dims.at_least(b, 1) else None


def _modulus(a: Dim, b: Dim) -> Dim | None:
    return dims.mod(a, b) if dims.at_least(b, 1) else None


def _negated(operands: Sequence[Value]) -> Value:
    a = _size(operands[0])
    return _number_kind(operands) if a is None or not isinstance(operands[0], Int) else Int(-1 * a)


@_known(
    "aten.add(Scalar a, Scalar b) -> Scalar", "aten.add.int(int a, int b) -> int", "aten.add.float(float a, float b) -> float",
    "aten.add.float_int(float a, int b) -> float", otherwise=_symbolic(operator.add), numpy=operator.add, form="ints",
)  # fmt: skip
def add(a: Any, b: Any) -> Any:
    return wrap(a + b)


@_known(
    "aten.sub(Scalar a, Scalar b) -> Scalar", "aten.sub.int(int a, int b) -> int", "aten.sub.float(float a, float b) -> float",
    otherwise=_symbolic(operator.sub), numpy=operator.sub, form="ints",
)  # fmt: skip
def sub(a: Any, b: Any) -> Any:
    return wrap(a - b)


@_known(
    "aten.mul(Scalar a, Scalar b) -> Scalar", "aten.mul.int(int a, int b) -> int", "aten.mul.float(float a, float b) -> float",
    "aten.mul.int_float(int a, float b) -> float", "aten.mul.float_int(float a, int b) -> float",
    otherwise=_symbolic(operator.mul), numpy=operator.mul, form="ints",
)  # fmt: skip
def mul(a: Any, b: Any) -> Any:
    return wrap(a * b)


@_known(
    "aten.div(Scalar a, Scalar b) -> float", "aten.div.int(int a, int b) -> float", "aten.div.float(float a, float b) -> float",
    otherwise=as_kind(Float), numpy=operator.truediv,
)  # fmt: skip
def div(a: Any, b: Any) -> float:
    """Always a float; by zero, an infinity or NaN."""
    x, y = float(a), float(b)
    if y == 0:
        return math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1.0, y)
    return x / y


@_known("aten.floordiv.int(int a, int b) -> int", otherwise=_symbolic(_quotient), numpy=operator.floordiv, form="ints", raises=True)
def floordiv(a: int, b: int) -> int:
    quotient: int = wrap(a // b)
    return quotient


@_known("aten.remainder.int(int a, int b) -> int", otherwise=_symbolic(_modulus), numpy=operator.mod, form="as_is", raises=True)
def remainder(a: int, b: int) -> int:
    return a % b


@_known("aten.neg.int(int a) -> int", "aten.neg.float(float a) -> float", otherwise=_negated, numpy=operator.neg, form="ints")
def neg(a: Any) -> Any:
    return wrap(-a)


@_known(
    "prim.abs.Scalar(Scalar a) -> Scalar", "prim.abs.int(int a) -> int", "prim.abs.float(float a) -> float", otherwise=_number_kind,
    numpy=abs,
)
def absolute(a: Any) -> Any:
    return wrap(abs(a))


def _numpy_power(a: Any, b: Any) -> float:
    """ValueError where Python gives a complex number."""
    result: float = float(a) ** float(b)
    if isinstance(result, complex):
        raise ValueUnanswerable(f"{a} ** {b} is complex: complex numbers are not supported")
    return result


@_known(
    "aten.pow.int_float(int a, float b) -> float", "aten.pow.int(int a, int b) -> float", "aten.pow.float(float a, float b) -> float",
    "aten.pow.float_int(float a, int b) -> float", otherwise=as_kind(Float), numpy=_numpy_power, refuses_some=True,
)  # fmt: skip
def power(a: Any, b: Any) -> float:
    """As C's pow; NaN for a negative base and a fraction. ZeroDivisionError for 0 to a negative power."""
    if a == 0 and b < 0:
        raise ZeroDivisionError("0.0 cannot be raised to a negative power")
    try:
        return math.pow(a, b)
    except (ValueError, OverflowError):
        with np.errstate(all="ignore"):
            return float(np.power(np.float64(a), np.float64(b)))


@_known("aten.sqrt.int(int a) -> float", "aten.sqrt.float(float a) -> float", otherwise=as_kind(Float), numpy=math.sqrt)
def sqrt(a: Any) -> float:
    """NaN for negative numbers."""
    return math.nan if a < 0 else math.sqrt(a)


def _whole(rounded: Callable[[Any], int], a: Any) -> int:
    """RuntimeError, as PyTorch has it, for a float that is no int of 64 bits."""
    if not _LOW <= a < -_LOW:
        raise RuntimeError(f"Cannot convert float {a} to integer")
    return rounded(a)


@_known(
    "aten.ceil.float(float a) -> int", "aten.ceil.Scalar(Scalar a) -> Scalar", "aten.ceil.int(int a) -> int", otherwise=as_kind(Int),
    numpy=math.ceil, form="ints", refuses_some=True,
)  # fmt: skip
def ceil(a: Any) -> int:
    return _whole(math.ceil, a)


@_known("aten.floor.float(float a) -> int", "aten.floor.int(int a) -> int", otherwise=as_kind(Int), refuses_some=True)
def floor(a: Any) -> int:
    return _whole(math.floor, a)


# --- from one kind to another --------------------------------------------------------------------------------------------


@_known(
    "aten.Int.Scalar(Scalar a) -> int", "aten.Int.bool(bool a) -> int", "aten.Int.float(float a) -> int", otherwise=_itself_or(Int),
    numpy=int, form="ints",
)  # fmt: skip
def to_int(a: Any) -> int:
    """The integer part; NaN and what int64 cannot hold give the least int64, as x86 converts."""
    if type(a) is float:
        return int(a) if _LOW <= a < -_LOW else _LOW
    return int(a)


@_known("aten.Float.Scalar(Scalar a) -> float", otherwise=_itself_or(Float))
def to_float(a: Any) -> float:
    return float(a)


@_known("aten.Float.str(str a) -> float", otherwise=as_kind(Float), native=False, refuses_some=True)
def text_to_float(a: str) -> float:
    return float(a)


@_known("aten.Bool.int(int a) -> bool", "aten.Bool.float(float a) -> bool", otherwise=as_kind(Bool))
def to_bool(a: Any) -> bool:
    """Anything but 0, NaN included."""
    return bool(a)


# --- how far a range goes ------------------------------------------------------------------------------------------------


def _range_length(operands: Sequence[Value]) -> Value:
    low, high, step = (_size(v) for v in operands)
    if low is None or high is None or step != 1:
        return Int()
    return Int(dims.maximum(high - low, 0))


def _numpy_range_length(low: int, high: int, step: int) -> int:
    return max(0, (high - low + step - (1 if step > 0 else -1)) // step) if step else len(range(low, high, step))


@_known(
    "aten.__range_length(int lo, int hi, int step) -> int", otherwise=_range_length, numpy=_numpy_range_length, form="ints",
    refuses_some=True,
)  # fmt: skip
def range_length(low: int, high: int, step: int) -> int:
    """ValueError for step 0."""
    return len(range(low, high, step))


def _derive_index(operands: Sequence[Value]) -> Value:
    index, start, step = (_size(v) for v in operands)
    if index is None and step == 1:
        return _moved(operands[0], start)
    return Int() if index is None or start is None or step is None else Int(start + index * step)


@_known(
    "aten.__derive_index(int index, int start, int step) -> int", otherwise=_derive_index,
    numpy=lambda index, start, step: start + index * step, form="as_is",
)  # fmt: skip
def derive_index(index: int, start: int, step: int) -> int:
    found: int = wrap(start + index * step)
    return found
