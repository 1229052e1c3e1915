"""Bits of ints, whether 64 of them hold what Python's ints give, and positions that have been checked."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial

from tierup.dialect.facts.values import Bool, Counter, Int, Value
from tierup.dialect.ops.scalars.numbers import as_kind, of_known, wrap
from tierup.dialect.optable.core import EXACT, Infer, Kind
from tierup.dialect.optable.define import op

_known = partial(of_known, differentiable=False)


@_known("aten.__and__.int(int a, int b) -> int", otherwise=as_kind(Int))
def bits_and(a: int, b: int) -> int:
    return a & b


@_known("aten.__or__.int(int a, int b) -> int", otherwise=as_kind(Int))
def bits_or(a: int, b: int) -> int:
    return a | b


@_known("aten.__xor__.int(int a, int b) -> int", otherwise=as_kind(Int))
def bits_xor(a: int, b: int) -> int:
    return a ^ b


@_known("aten.__lshift__.int(int a, int b) -> int", otherwise=as_kind(Int), numpy=operator.lshift, form="ints")
def shift_left(a: int, b: int) -> int:
    """0 from 64 on, and for negative counts."""
    shifted: int = wrap(a << b) if 0 <= b < 64 else 0
    return shifted


@_known("aten.__rshift__.int(int a, int b) -> int", otherwise=as_kind(Int), numpy=operator.rshift, form="as_is")
def shift_right(a: int, b: int) -> int:
    """The sign from 64 on, and for negative counts."""
    return a >> (b if 0 <= b < 64 else 63)


# --- whether 64 bits hold what Python's ints give ------------------------------------------------------------------------


add_fits = _known("tierup.add_fits(int a, int b) -> bool", otherwise=as_kind(Bool))(lambda a, b: _fits(a + b))
sub_fits = _known("tierup.sub_fits(int a, int b) -> bool", otherwise=as_kind(Bool))(lambda a, b: _fits(a - b))
mul_fits = _known("tierup.mul_fits(int a, int b) -> bool", otherwise=as_kind(Bool))(lambda a, b: _fits(a * b))


@_known("tierup.lshift_fits(int a, int b) -> bool", otherwise=as_kind(Bool))
def lshift_fits(a: int, b: int) -> bool:
    """Of a count that is not negative."""
    return _fits(a << min(b, 64))


def _fits(number: int) -> bool:
    return bool(wrap(number) == number)


# --- positions -----------------------------------------------------------------------------------------------------------


def _infer_within(ctx: Infer, operands: Sequence[Value]) -> Int:
    count = operands[1].value if isinstance(operands[1], Int) else None
    return Int() if count is None else Int(None, Counter(ctx.given[0], count))


@op("tierup.within(int position, int count) -> int", kind=Kind.SCALAR, infer=_infer_within, tolerance=EXACT, differentiable=False)
def within(position: int, count: int) -> int:
    """A position that has been checked to be one of `count`, from 0: put there where it is not, so that nothing outside is read."""
    return max(min(position, count - 1), 0)
