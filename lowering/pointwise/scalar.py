"""Typed scalars for the bodies of pointwise loops: formulas are written with them as tier 0's are with NumPy.

Operators build `arith` and `math` ops at the insertion point. An element type is a DType, so that unsigned, bool and signed
integers, which MLIR's signless integers do not tell apart, get the right instruction.
"""

from __future__ import annotations

from typing import Union

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.dtypes import Category, DType
from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.lowering import builders as b

Number = Union[bool, int, float]
Operand = Union["Scalar", bool, int, float]  # a number takes the dtype of what it meets

_COMPARE_FLOAT = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}  # arith.cmpf: oeq ogt oge olt ole; une
_COMPARE_SIGNED = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
_COMPARE_UNSIGNED = {"eq": 0, "ne": 1, "lt": 6, "le": 7, "gt": 8, "ge": 9}


def element_type(dtype: DType) -> ir.Type:
    """The builtin type of elements: i1, i8 for both u8 and i8, f32, bf16, ..."""
    if dtype is dtypes.bool_:
        return b.integer_type(1)
    if dtype.is_float:
        return {"f16": ir.F16Type, "bf16": ir.BF16Type, "f32": ir.F32Type, "f64": ir.F64Type}[dtype.name].get()
    return b.integer_type(dtype.itemsize * 8)


@dataclass(frozen=True, eq=False)
class Scalar:
    """An SSA value and what its bits mean."""

    value: ir.Value
    dtype: DType

    @property
    def is_float(self) -> bool:
        return self.dtype.is_float

    @property
    def is_bool(self) -> bool:
        return self.dtype is dtypes.bool_

    @property
    def signed(self) -> bool:
        return self.dtype.category is Category.INT and self.dtype is not dtypes.u8

    # --- arithmetic: both sides of one dtype; integers wrap; bools: + is or, * is and

    def __add__(self, other: Operand) -> Scalar:
        return self._binary("arith.ori" if self.is_bool else "arith.addf" if self.is_float else "arith.addi", other)

    def __sub__(self, other: Operand) -> Scalar:
        return self._binary("arith.subf" if self.is_float else "arith.subi", other)

    def __mul__(self, other: Operand) -> Scalar:
        return self._binary("arith.andi" if self.is_bool else "arith.mulf" if self.is_float else "arith.muli", other)

    def __truediv__(self, other: Operand) -> Scalar:
        if not self.is_float:
            raise TypeError("true division is of floats; cast first")
        return self._binary("arith.divf", other)

    def __radd__(self, other: Number) -> Scalar:
        return self.like(other) + self

    def __rsub__(self, other: Number) -> Scalar:
        return self.like(other) - self

    def __rmul__(self, other: Number) -> Scalar:
        return self.like(other) * self

    def __rtruediv__(self, other: Number) -> Scalar:
        return self.like(other) / self

    def __neg__(self) -> Scalar:
        if self.is_float:
            return Scalar(b.value("arith.negf", [self.value], self.value.type), self.dtype)
        return self.like(0) - self

    # --- bits and truth

    def __and__(self, other: Operand) -> Scalar:
        return self._binary("arith.andi", other)

    def __or__(self, other: Operand) -> Scalar:
        return self._binary("arith.ori", other)

    def __xor__(self, other: Operand) -> Scalar:
        return self._binary("arith.xori", other)

    def __invert__(self) -> Scalar:
        return self ^ (True if self.is_bool else -1)

    # --- comparisons give a bool; with NaN all are False but !=

    def compare(self, how: str, other: Operand) -> Scalar:
        """`how`: eq, ne, lt, le, gt, ge."""
        right = self.like(other)
        table = _COMPARE_FLOAT if self.is_float else _COMPARE_SIGNED if self.signed else _COMPARE_UNSIGNED
        predicate = ir.IntegerAttr.get(b.integer_type(64), table[how])
        name = "arith.cmpf" if self.is_float else "arith.cmpi"
        return Scalar(b.value(name, [self.value, right.value], b.integer_type(1), predicate=predicate), dtypes.bool_)

    def __lt__(self, other: Operand) -> Scalar:
        return self.compare("lt", other)

    def __le__(self, other: Operand) -> Scalar:
        return self.compare("le", other)

    def __gt__(self, other: Operand) -> Scalar:
        return self.compare("gt", other)

    def __ge__(self, other: Operand) -> Scalar:
        return self.compare("ge", other)

    def equals(self, other: Operand) -> Scalar:
        return self.compare("eq", other)

    def differs(self, other: Operand) -> Scalar:
        return self.compare("ne", other)

    # --- building blocks

    def like(self, other: Operand) -> Scalar:
        """`other` in this dtype: a scalar is converted, a number becomes a constant."""
        if isinstance(other, Scalar):
            return other.cast(self.dtype)
        return constant(other, self.dtype)

    def call(self, name: str, *others: Operand) -> Scalar:
        """An op of operands and result of this dtype: `x.call("math.exp")`."""
        return Scalar(b.value(name, [self.value, *(self.like(o).value for o in others)], self.value.type), self.dtype)

    def _binary(self, name: str, other: Operand) -> Scalar:
        return self.call(name, other)

    def cast(self, dtype: DType) -> Scalar:
        """Converted as tier 0 converts (dialect/kernels/casts.py): to the halves by way of f32, floats to small integers by way
        of i64, NaN to True, integers wrap. A float that i64 (i32 for i32) cannot hold gives its least number, as x86 has it."""
        if dtype is self.dtype:
            return self
        if self.is_float and dtype.is_float:
            return self._resized_float(dtype)
        if dtype is dtypes.bool_:
            return self.differs(0)
        if self.is_float:
            return self._float_to_integer(dtype)
        if dtype.is_float:
            wide = dtypes.f32 if dtype.itemsize == 2 else dtype
            made = Scalar(b.value("arith.sitofp" if self.signed else "arith.uitofp", [self.value], element_type(wide)), wide)
            return made.cast(dtype)
        return self._resized_integer(dtype)

    def _resized_float(self, dtype: DType) -> Scalar:
        if self.dtype.itemsize == 2 or dtype.itemsize == 2:
            through = self._step_float(dtypes.f32) if self.dtype is not dtypes.f32 else self
            return through._step_float(dtype) if dtype is not dtypes.f32 else through
        return self._step_float(dtype)

    def _step_float(self, dtype: DType) -> Scalar:
        name = "arith.extf" if dtype.itemsize > self.dtype.itemsize else "arith.truncf"
        return Scalar(b.value(name, [self.value], element_type(dtype)), dtype)

    def _float_to_integer(self, dtype: DType) -> Scalar:
        if self.dtype.itemsize == 2:
            return self.cast(dtypes.f32).cast(dtype)
        wide = dtype if dtype.itemsize >= 4 else dtypes.i64
        bound = 2.0 ** (wide.itemsize * 8 - 1)
        fits = (self >= -bound) & (self < bound)
        made = Scalar(b.value("arith.fptosi", [self.value], element_type(wide)), wide)  # poison where it does not fit, and not chosen
        return select(fits, made, constant(-(1 << (wide.itemsize * 8 - 1)), wide)).cast(dtype)

    def _resized_integer(self, dtype: DType) -> Scalar:
        if dtype.itemsize * 8 == _bits(self.dtype):
            return Scalar(self.value, dtype)
        if dtype.itemsize * 8 < _bits(self.dtype):
            return Scalar(b.value("arith.trunci", [self.value], element_type(dtype)), dtype)
        return Scalar(b.value("arith.extsi" if self.signed else "arith.extui", [self.value], element_type(dtype)), dtype)


def _bits(dtype: DType) -> int:
    return 1 if dtype is dtypes.bool_ else dtype.itemsize * 8


def constant(number: Number, dtype: DType) -> Scalar:
    """A Python number in `dtype`; ints wrap."""
    type_ = element_type(dtype)
    if dtype is dtypes.bool_:
        # NaN is true
        attribute = ir.IntegerAttr.get(type_, -1 if number else 0)
    elif dtype.is_float:
        attribute = float_attribute(float(number), dtype)
    else:
        width = dtype.itemsize * 8
        wrapped = int(number) & ((1 << width) - 1)
        attribute = ir.IntegerAttr.get(type_, wrapped - (1 << width) if wrapped >> (width - 1) else wrapped)
    return Scalar(b.value("arith.constant", [], type_, value=attribute), dtype)


def float_attribute(number: float, dtype: DType) -> ir.Attribute:
    """A float rounded to `dtype`, to the halves by way of f32 as everywhere; NaN and infinities included."""
    through = dtypes.f32 if dtype.itemsize == 2 else dtype
    with np.errstate(over="ignore"):
        return ir.FloatAttr.get(element_type(dtype), float(np.asarray(number).astype(through.numpy).astype(dtype.numpy)))


def select(condition: Scalar, yes: Operand, no: Operand) -> Scalar:
    """yes where condition, else no; at least one is a Scalar, whose dtype the other takes."""
    kind = yes if isinstance(yes, Scalar) else no
    assert isinstance(kind, Scalar)
    a, c = kind.like(yes), kind.like(no)
    return Scalar(b.value("arith.select", [condition.value, a.value, c.value], a.value.type), kind.dtype)


def maximum(x: Scalar, y: Operand) -> Scalar:
    """The larger one; NaN when either is (np.maximum)."""
    if x.is_bool:
        return x | y
    return x.call("arith.maximumf" if x.is_float else "arith.maxsi" if x.signed else "arith.maxui", y)


def minimum(x: Scalar, y: Operand) -> Scalar:
    """The smaller one; NaN when either is (np.minimum)."""
    if x.is_bool:
        return x & y
    return x.call("arith.minimumf" if x.is_float else "arith.minsi" if x.signed else "arith.minui", y)


def isnan(x: Scalar) -> Scalar:
    return x.differs(x) if x.is_float else constant(False, dtypes.bool_)


def absolute(x: Scalar) -> Scalar:
    """|x|; the most negative integer stays."""
    if x.is_float:
        return x.call("math.absf")
    return x.call("math.absi") if x.signed else x
