"""A small language to write math functions in: Python operators on values that become `arith` ops.

A function is written once, over `Float` values, and serves f32 and f64: what differs (constants, degrees) is in the
`Format` of the value's type. Values may be scalars or vectors; constants are shared by all that is expanded in one function.

No op carries fastmath flags, so LLVM keeps every rounding step: the error-compensated steps of double_word.py rely on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Union

from tierup.dialect.mlir import ir
from tierup.lowering.math import coefficients
from tierup.lowering.math.constants import F32, F64, Constants, known_number

Number = Union["Float", float]
Integer = Union["Int", int]

_CMPF = {"==": 1, ">": 2, ">=": 3, "<": 4, "<=": 5, "!=": 13, "ordered": 7, "unordered": 14}
_CMPI = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}


class Emit:
    """Where and how to emit: insertion point, constants, one format. `like` is the type of the values (scalar or vector).

    `fused`: the target has fused multiply-add. Without it `math.fma` would become a call to libm, so products are split.
    `narrow`: f64 arithmetic on behalf of an f32 result; the shorter coefficient tables will do.
    """

    def __init__(
        self, ip: ir.InsertionPoint, loc: ir.Location, constants: Constants, like: ir.Type, fused: bool = True, narrow: bool = False
    ) -> None:
        self.ip, self.loc, self.constants, self.fused, self.narrow = ip, loc, constants, fused, narrow
        element = ir.ShapedType(like).element_type if isinstance(like, ir.ShapedType) else like
        self.format = F32 if isinstance(element, ir.F32Type) else F64
        self.float_type = like
        self.int_type = _with_element(like, ir.IntegerType.get_signless(self.format.bits))
        self.bool_type = _with_element(like, ir.IntegerType.get_signless(1))
        self._wide: Emit | None = None
        self._floats: dict[float, Float] = {}

    # -- constants and tables

    def coefficients(self, name: str) -> tuple[float, ...]:
        """The table of that name for this format."""
        grade = "f32" if self.format is F32 else "narrow" if self.narrow else "f64"
        return coefficients.TABLES[name][grade]

    def number(self, x: Number) -> Float:
        if isinstance(x, Float):
            return x
        if x == 0.0:  # 0.0 and -0.0 are one dict key
            return Float(self, self.constants.get(self.float_type, float(x)))
        if x not in self._floats:
            self._floats[x] = Float(self, self.constants.get(self.float_type, float(self.format.numpy(x))))
        return self._floats[x]

    def integer(self, n: Integer) -> Int:
        if isinstance(n, Int):
            return n
        wrapped = (n + (1 << (self.format.bits - 1))) % (1 << self.format.bits) - (1 << (self.format.bits - 1))
        return Int(self, self.constants.get(self.int_type, wrapped))

    # -- ops

    def op(self, name: str, type_: ir.Type, *operands: Value, **attributes: ir.Attribute) -> ir.Value:
        made = ir.Operation.create(
            name, results=[type_], operands=[o.value for o in operands], attributes=attributes or None, ip=self.ip, loc=self.loc
        )
        return made.results[0]

    def select(self, condition: Bool, yes: Number, no: Number) -> Float:
        return Float(self, self.op("arith.select", self.float_type, condition, self.number(yes), self.number(no)))

    def select_int(self, condition: Bool, yes: Integer, no: Integer) -> Int:
        return Int(self, self.op("arith.select", self.int_type, condition, self.integer(yes), self.integer(no)))

    def compare(self, predicate: str, a: Float, b: Number) -> Bool:
        i64 = ir.IntegerType.get_signless(64)
        attr = ir.IntegerAttr.get(i64, _CMPF[predicate])
        return Bool(self, self.op("arith.cmpf", self.bool_type, a, self.number(b), predicate=attr))

    def compare_int(self, predicate: str, a: Int, b: Integer) -> Bool:
        attr = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _CMPI[predicate])
        return Bool(self, self.op("arith.cmpi", self.bool_type, a, self.integer(b), predicate=attr))

    def mad(self, a: Number, b: Number, c: Number) -> Float:
        """a * b + c, rounded once where the target can, else twice."""
        if not self.fused:
            return self.number(a) * b + c
        return Float(self, self.op("math.fma", self.float_type, self.number(a), self.number(b), self.number(c)))

    def horner(self, x: Float, table: Sequence[float]) -> Float:
        """The polynomial with these coefficients, lowest first."""
        total = self.number(table[-1])
        for coefficient in reversed(table[:-1]):
            total = self.mad(total, x, coefficient)
        return total

    def sqrt(self, x: Float) -> Float:
        return Float(self, self.op("math.sqrt", self.float_type, x))

    def abs(self, x: Float) -> Float:
        return Float(self, self.op("math.absf", self.float_type, x))

    def copysign(self, x: Number, sign: Float) -> Float:
        return Float(self, self.op("math.copysign", self.float_type, self.number(x), sign))

    def roundeven(self, x: Float) -> Float:
        """To the nearest integer, any magnitude. `round_small` is cheaper and portable."""
        return Float(self, self.op("math.roundeven", self.float_type, x))

    def floor(self, x: Float) -> Float:
        return Float(self, self.op("math.floor", self.float_type, x))

    def round_small(self, x: Float) -> Float:
        """To the nearest integer, |x| < 2**(mantissa - 1)."""
        return (x + self.format.magic) - self.format.magic

    def clamp(self, x: Float, low: float, high: float) -> Float:
        """x within [low, high]; NaN stays NaN."""
        x = self.select(x < low, low, x)
        return self.select(x > high, high, x)

    def power_of_two(self, k: Float) -> Float:
        """2**k for an integer k of min_exponent .. exponent_bias."""
        m = self.format.mantissa
        return (((k + self.format.magic).bits() << m) + (self.format.exponent_bias << m)).as_float()

    # -- between f32 and f64

    @property
    def wide(self) -> Emit:
        """f64 on behalf of this f32."""
        if self._wide is None:
            like = _with_element(self.float_type, ir.F64Type.get())
            self._wide = Emit(self.ip, self.loc, self.constants, like, self.fused, narrow=True)
        return self._wide

    def widen(self, x: Float) -> Float:
        return Float(self.wide, self.op("arith.extf", self.wide.float_type, x))

    def narrowed(self, x: Float) -> Float:
        """An f64 value of `wide`, rounded to f32."""
        return Float(self, self.op("arith.truncf", self.float_type, x))

    def through_f64(self, build: Callable[..., Float], *operands: Float) -> Float:
        """`build` in f64: as it stands for f64, on widened operands with its result rounded for f32."""
        if self.format is F64:
            return build(self, *operands)
        return self.narrowed(build(self.wide, *[self.widen(x) for x in operands]))


class Value:
    """An `ir.Value` with the emitter that can use it."""

    __slots__ = ("e", "value")

    def __init__(self, e: Emit, value: ir.Value) -> None:
        self.e, self.value = e, value


class Bool(Value):
    """A condition. `&`, `|`, `^` with another; `~` is not."""

    __slots__ = ()

    def __and__(self, other: Bool) -> Bool:
        return Bool(self.e, self.e.op("arith.andi", self.e.bool_type, self, other))

    def __or__(self, other: Bool) -> Bool:
        return Bool(self.e, self.e.op("arith.ori", self.e.bool_type, self, other))

    def __xor__(self, other: Bool) -> Bool:
        return Bool(self.e, self.e.op("arith.xori", self.e.bool_type, self, other))

    def __invert__(self) -> Bool:
        return self ^ Bool(self.e, self.e.constants.get(self.e.bool_type, True))


class Int(Value):
    """The bits of a float as an integer: wraps, `>>` shifts in zeros."""

    __slots__ = ()

    def _binary(self, name: str, other: Integer) -> Int:
        return Int(self.e, self.e.op(name, self.e.int_type, self, self.e.integer(other)))

    def __add__(self, other: Integer) -> Int:
        return self._binary("arith.addi", other)

    def __sub__(self, other: Integer) -> Int:
        return self._binary("arith.subi", other)

    def __and__(self, other: Integer) -> Int:
        return self._binary("arith.andi", other)

    def __or__(self, other: Integer) -> Int:
        return self._binary("arith.ori", other)

    def __xor__(self, other: Integer) -> Int:
        return self._binary("arith.xori", other)

    def __lshift__(self, other: Integer) -> Int:
        return self._binary("arith.shli", other)

    def __rshift__(self, other: Integer) -> Int:
        return self._binary("arith.shrui", other)

    def as_float(self) -> Float:
        return Float(self.e, self.e.op("arith.bitcast", self.e.float_type, self))

    def equals(self, other: Integer) -> Bool:
        return self.e.compare_int("==", self, other)


class Float(Value):
    """An IEEE number. Comparisons are ordered (false for NaN), except `differs`; use `equals`, as `==` stays Python's."""

    __slots__ = ()

    def _binary(self, name: str, a: Number, b: Number) -> Float:
        return Float(self.e, self.e.op(name, self.e.float_type, self.e.number(a), self.e.number(b)))

    def __add__(self, other: Number) -> Float:
        return self._binary("arith.addf", self, other)

    def __radd__(self, other: float) -> Float:
        return self._binary("arith.addf", other, self)

    def __sub__(self, other: Number) -> Float:
        return self._binary("arith.subf", self, other)

    def __rsub__(self, other: float) -> Float:
        return self._binary("arith.subf", other, self)

    def __mul__(self, other: Number) -> Float:
        return self._binary("arith.mulf", self, other)

    def __rmul__(self, other: float) -> Float:
        return self._binary("arith.mulf", other, self)

    def __truediv__(self, other: Number) -> Float:
        return self._binary("arith.divf", self, other)

    def __rtruediv__(self, other: float) -> Float:
        return self._binary("arith.divf", other, self)

    def __neg__(self) -> Float:
        return Float(self.e, self.e.op("arith.negf", self.e.float_type, self))

    def __lt__(self, other: Number) -> Bool:
        return self.e.compare("<", self, other)

    def __le__(self, other: Number) -> Bool:
        return self.e.compare("<=", self, other)

    def __gt__(self, other: Number) -> Bool:
        return self.e.compare(">", self, other)

    def __ge__(self, other: Number) -> Bool:
        return self.e.compare(">=", self, other)

    def equals(self, other: Number) -> Bool:
        return self.e.compare("==", self, other)

    def differs(self, other: Number) -> Bool:
        """True as well when either is NaN."""
        return self.e.compare("!=", self, other)

    @property
    def constant(self) -> float | None:
        """The number, where it is known: a constant, a splat, or one that was converted between float types."""
        return known_number(self.value)

    def bits(self) -> Int:
        return Int(self.e, self.e.op("arith.bitcast", self.e.int_type, self))


def _with_element(like: ir.Type, element: ir.Type) -> ir.Type:
    if not isinstance(like, ir.VectorType):
        return element
    vector = ir.VectorType(like)
    return ir.VectorType.get(vector.shape, element)
