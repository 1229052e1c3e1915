"""Python's complex numbers whose value only the run knows: two floats, computed as Python does.

Sources of the formulas: Python's language reference (a real operand becomes a complex number; from 3.14 on it stays real), and for division
R. L. Smith, Algorithm 116: Complex division, CACM 5(8), 1962. What 3.14 does about products and quotients of infinities is left to Python.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable

import numpy as np

from tierup.dialect.mlir import ir
from tierup.frontend.python.building.branch import in_arm, select
from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.knowledge import dtype_of
from tierup.frontend.python.building.values import (
    Array,
    Complex,
    Const,
    Scalar,
    Value,
    describe,
    is_complex_number,
    is_number,
    parts_of_complex,
)  # fmt: skip
from tierup.frontend.python.operations import scalars
from tierup.frontend.python.operations.scalars import FOLD, SYMBOLS, not_, python_says, raise_if, through_arrays, to_float

_STAYS_REAL = sys.version_info >= (3, 14)
_MOST_MULTIPLICATIONS = 100  # up to which Python multiplies, too
ZERO, ONE = Const(0.0), Const(1.0)


class _Arithmetic:
    """Of floats, known now or later, in one place of a program."""

    def __init__(self, frame: Frame, node: ast.AST) -> None:
        self.frame, self.node, self.em = frame, node, frame.em

    def op(self, op: type, a: Value, b: Value) -> Value:
        """`a op b`; a quotient by zero is no error."""
        if op is ast.Div:
            return Scalar(self.em.scalar("aten.div.float", [self.ssa(a), self.ssa(b)], self.em.types.float), "float")
        if isinstance(a, Const) and isinstance(b, Const):
            return Const(FOLD[op](a.value, b.value))
        return scalars.binary(self.frame, self.node, op, a, b)

    def add(self, a: Value, b: Value) -> Value:
        return self.op(ast.Add, a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return self.op(ast.Sub, a, b)

    def mul(self, a: Value, b: Value) -> Value:
        return self.op(ast.Mult, a, b)

    def div(self, a: Value, b: Value) -> Value:
        return self.op(ast.Div, a, b)

    def neg(self, a: Value) -> Value:
        if isinstance(a, Const):
            return Const(-a.value)
        return Scalar(self.em.scalar("aten.neg.float", [self.ssa(a)], self.em.types.float), "float")

    def ssa(self, a: Value) -> ir.Value:
        return to_float(self.frame, a)

    def holds(self, how: str, a: Value, b: Value) -> ir.Value:
        return self.em.scalar(f"aten.{how}.float", [self.ssa(a), self.ssa(b)], self.em.types.bool)

    def both(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.em.scalar("aten.__and__.bool", [a, b], self.em.types.bool)

    def is_finite(self, a: Value) -> ir.Value:
        return self.both(self.holds("gt", a, Const(-math.inf)), self.holds("lt", a, Const(math.inf)))

    def size(self, a: Value) -> Value:
        """|a|"""
        if isinstance(a, Const):
            return Const(abs(a.value))
        assert isinstance(a, Scalar)
        return scalars.absolute(self.frame, self.node, a)


def binary(frame: Frame, node: ast.AST, op: type, a: Value, b: Value) -> Value:
    """`a op b` of two Python numbers, one of them complex, of which one is known at run time only."""
    of = _Arithmetic(frame, node)
    if op is ast.Pow:
        return _power(of, a, b)
    rules: dict[type, Callable[..., Complex]] = {ast.Add: _sum, ast.Sub: _difference, ast.Mult: _product, ast.Div: _quotient}
    if op not in rules:
        raise frame.error(node, f"`{SYMBOLS[op]}` of {describe(a)} and {describe(b)}")
    return rules[op](of, *_parts(of, a), *_parts(of, b))


def as_real(frame: Frame, node: ast.AST, value: Value) -> Value | None:
    """A scalar of float64, which is a float of Python's, on the right of a complex number, which it leaves to compute; None for others."""
    if isinstance(value, Const) and isinstance(value.value, np.float64):
        return Const(float(value.value))
    if not isinstance(value, Array) or not value.may_be_scalar or dtype_of(frame, node, value) != np.float64:
        return None
    if value.rank != 0 or value.decays is not True:
        raise frame.error(node, "a Python complex number before what may be a scalar of float64")
    return Scalar(frame.em.numpy("aten.Float.Tensor", [value.ssa], frame.em.types.float), "float")


def _parts(of: _Arithmetic, value: Value) -> tuple[Value, Value | None]:
    """The parts of an operand; a real one has no imaginary part where it stays real."""
    if is_complex_number(value):
        return parts_of_complex(value)
    return as_float(of.frame, value), None if _STAYS_REAL else ZERO


def as_float(frame: Frame, value: Value) -> Value:
    """A real number as a float."""
    return Const(float(value.value)) if isinstance(value, Const) else Scalar(to_float(frame, value), "float")


def _sum(of: _Arithmetic, a: Value, b: Value | None, c: Value, d: Value | None) -> Complex:
    imag = d if b is None else b if d is None else of.add(b, d)
    assert imag is not None
    return Complex(of.add(a, c), imag)


def _difference(of: _Arithmetic, a: Value, b: Value | None, c: Value, d: Value | None) -> Complex:
    if b is None:
        assert d is not None
        return Complex(of.sub(a, c), of.neg(d))
    return Complex(of.sub(a, c), b if d is None else of.sub(b, d))


def _product(of: _Arithmetic, a: Value, b: Value | None, c: Value, d: Value | None) -> Complex:
    if b is None:
        assert d is not None
        return Complex(of.mul(a, c), of.mul(a, d))
    if d is None:
        return Complex(of.mul(a, c), of.mul(b, c))
    return _known_to_python(of, Complex(of.sub(of.mul(a, c), of.mul(b, d)), of.add(of.mul(a, d), of.mul(b, c))))


def _known_to_python(of: _Arithmetic, found: Complex) -> Complex:
    """What 3.14 makes of NaN in both parts is its own."""
    if _STAYS_REAL:
        undefined = of.both(*(not_(of.frame, of.holds("eq", part, part)) for part in (found.real, found.imag)))
        raise_if(of.frame, undefined, "ValueUnanswerable", "infinities in a complex product or quotient")
    return found


def _quotient(of: _Arithmetic, a: Value, b: Value | None, c: Value, d: Value | None) -> Complex:
    """Smith's: scaled by the larger part of the divisor."""
    if d is None:
        assert b is not None
        raise_if(of.frame, of.holds("eq", c, ZERO), "ZeroDivisionError", python_says(lambda: 1j / 0.0))
        return Complex(of.div(a, c), of.div(b, c))
    is_zero = of.both(of.holds("eq", c, ZERO), of.holds("eq", d, ZERO))
    raise_if(of.frame, is_zero, "ZeroDivisionError", python_says(lambda: 1j / 0j))

    def by_real() -> Complex:
        ratio = of.div(d, c)
        denominator = of.add(c, of.mul(d, ratio))
        if b is None:
            return Complex(of.div(a, denominator), of.div(of.mul(of.neg(a), ratio), denominator))
        return Complex(of.div(of.add(a, of.mul(b, ratio)), denominator), of.div(of.sub(b, of.mul(a, ratio)), denominator))

    def by_imaginary() -> Complex:
        ratio = of.div(c, d)
        denominator = of.add(of.mul(c, ratio), d)
        if b is None:
            return Complex(of.div(of.mul(a, ratio), denominator), of.div(of.neg(a), denominator))
        return Complex(of.div(of.add(of.mul(a, ratio), b), denominator), of.div(of.sub(of.mul(b, ratio), a), denominator))

    found = select(of.frame, of.node, of.holds("ge", of.size(c), of.size(d)), by_real, by_imaginary)
    assert isinstance(found, Complex)
    return _known_to_python(of, found)


def _power(of: _Arithmetic, base: Value, exponent: Value) -> Complex:
    """By squaring, as Python takes whole powers that are small."""
    n = exponent.value if isinstance(exponent, Const) and is_number(exponent) else 0
    if not 1 <= n <= _MOST_MULTIPLICATIONS or n != int(n):
        what = f"{describe(base)} to the power of {describe(exponent)}"
        raise of.frame.error(of.node, what, f"powers of 1 to {_MOST_MULTIPLICATIONS} that are written out are native")
    n, square = int(n), Complex(*parts_of_complex(base))
    result, bit = Complex(ONE, ZERO), 1
    while bit <= n:
        if n & bit:
            result = _product(of, result.real, result.imag, square.real, square.imag)
        bit *= 2
        if bit <= n:
            square = _product(of, square.real, square.imag, square.real, square.imag)
    exact = of.both(of.is_finite(result.real), of.is_finite(result.imag))
    raise_if(of.frame, not_(of.frame, exact), "ValueUnanswerable", "a complex power that overflows")
    return result


def compare(frame: Frame, node: ast.AST, op: type, a: Value, b: Value) -> Scalar:
    """`a == b` or `a != b` of two Python numbers, one of them complex."""
    of = _Arithmetic(frame, node)
    if op not in (ast.Eq, ast.NotEq):
        raise frame.error(node, f"`{SYMBOLS[op]}` of {describe(a)} and {describe(b)}")
    (real, imag), (other, rest) = ((v, ZERO) if is_number(v) else parts_of_complex(v) for v in (a, b))
    same = of.both(scalars.compare(frame, ast.Eq, real, other).ssa, of.holds("eq", imag, rest))
    return Scalar(same if op is ast.Eq else not_(frame, same), "bool")


def truth(frame: Frame, node: ast.AST | None, value: Complex) -> ir.Value:
    """bool(value) as !torch.bool."""
    of = _Arithmetic(frame, node or ast.Pass())
    return not_(frame, of.both(of.holds("eq", value.real, ZERO), of.holds("eq", value.imag, ZERO)))


def unary(frame: Frame, node: ast.AST, op: type, a: Complex) -> Value:
    """`+a` or `-a`."""
    of = _Arithmetic(frame, node)
    if op is ast.UAdd:
        return a
    if op is ast.USub:
        return Complex(of.neg(a.real), of.neg(a.imag))
    raise frame.error(node, f"`{SYMBOLS[op]}` of {describe(a)}")


def absolute(frame: Frame, node: ast.AST, a: Complex) -> Scalar:
    """abs(), by C's hypot. Raises OverflowError in the run where finite parts have a size that is not."""
    of = _Arithmetic(frame, node)
    size = Scalar(through_arrays(frame, "aten.hypot", of.ssa(a.real), of.ssa(a.imag)), "float")
    with in_arm(frame, of.holds("eq", size, Const(math.inf))):
        raise_if(frame, of.both(of.is_finite(a.real), of.is_finite(a.imag)), "OverflowError", "absolute value too large")
    return size


def conjugate(frame: Frame, node: ast.AST, owner: Complex) -> Complex:
    """`owner.conjugate()`"""
    return Complex(owner.real, _Arithmetic(frame, node).neg(owner.imag))
