"""The one way to build arithmetic: values with Python's operators, which know what their bits mean.

    at = here.block[0] * threads + here.thread[0]       arith.muli, arith.addi of index values
    with gpu.when(at < n): ...                          arith.cmpi ult: positions and sizes are not negative
    e = (-absolute(x)).call("math.exp")                 of floats: math.absf, arith.negf, math.exp
    y = select(x < 0, e, 1.0) / (1.0 + e)               numbers become constants of what they meet

A `Scalar` is an `ir.Value`, a scalar or a vector: whatever takes one takes it. Its DType tells unsigned, bool and signed integers apart,
which MLIR's signless integers do not, so that they get the right instruction. `of(value)` makes one of any value, `constant(number, dtype)`
of a number. Ops are built at the insertion point; constants too, unless the value has a `home`, which keeps those of a function.

Formulas of ops (pointwise/), math functions (math/), sizes (sizes.py), kernels (cuda/) and passes are written with it. `//` and `%` are
those of numbers that are not negative; of signed ones, say which division you mean: `x.call("arith.divsi", y)`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol, Union

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import Category, DType
from tierup.dialect.ir.attributes import i64
from tierup.dialect.ir.structure import maker
from tierup.dialect.mlir import ir

Number = Union[bool, int, float]
Operand = Union["Scalar", ir.Value, bool, int, float]  # a number takes the dtype of what it meets, and so does a value without a dtype


class CmpI(IntEnum):
    """The predicates of arith.cmpi."""

    EQ, NE, SLT, SLE, SGT, SGE, ULT, ULE, UGT, UGE = range(10)


class CmpF(IntEnum):
    """The predicates of arith.cmpf: those with O are false for a NaN, those with U true."""

    FALSE, OEQ, OGT, OGE, OLT, OLE, ONE, ORD, UEQ, UGT, UGE, ULT, ULE, UNE, UNO, TRUE = range(16)


_FLOAT = {"eq": CmpF.OEQ, "gt": CmpF.OGT, "ge": CmpF.OGE, "lt": CmpF.OLT, "le": CmpF.OLE, "ne": CmpF.UNE, "uno": CmpF.UNO}
_SIGNED = {"eq": CmpI.EQ, "ne": CmpI.NE, "lt": CmpI.SLT, "le": CmpI.SLE, "gt": CmpI.SGT, "ge": CmpI.SGE}
_UNSIGNED = {"eq": CmpI.EQ, "ne": CmpI.NE, "lt": CmpI.ULT, "le": CmpI.ULE, "gt": CmpI.UGT, "ge": CmpI.UGE}


def _kind(name: str, numpy: type[np.generic]) -> DType:
    return DType(name, name, np.dtype(numpy), Category.INT, -1)


# What programs have no dtype for: sizes and positions, not negative or perhaps so
INDEX, SIGNED_INDEX = _kind("index", np.uint64), _kind("signed index", np.int64)
_OF_BITS = {2: dtypes.u16, 4: dtypes.u32, 8: dtypes.u64}
_ELEMENTS = {
    "f16": ir.F16Type, "bf16": ir.BF16Type, "f32": ir.F32Type, "f64": ir.F64Type, "index": ir.IndexType, "signed index": ir.IndexType,
}  # fmt: skip


def element_type(dtype: DType) -> ir.Type:
    """The builtin type of elements: i1, i8 for both u8 and i8, f32, bf16, complex<f32>, ..."""
    if dtype.is_complex:
        return ir.ComplexType.get(element_type(dtype.part))
    known = _ELEMENTS.get(dtype.name)
    return ir.IntegerType.get_signless(_bits(dtype)) if known is None else known.get()


def dtype_of(type_: ir.Type) -> DType:
    """What values of a builtin type, or vectors of it, are: integers signed, index not."""
    if isinstance(type_, ir.ShapedType):
        return dtype_of(ir.ShapedType(type_).element_type)
    if isinstance(type_, ir.ComplexType):
        return dtypes.BY_MLIR[str(type_)]
    return INDEX if isinstance(type_, ir.IndexType) else dtypes.bool_ if (name := str(type_)) == "i1" else dtypes.BY_NAME[name]


def bytes_of(type_: ir.Type) -> int:
    """That a number, or an element of a vector, takes in memory: an i1 takes one."""
    return dtype_of(type_).itemsize


def of(value: ir.Value, dtype: DType | None = None) -> Scalar:
    """A value with operators; `dtype`: what it is, where its type alone does not say so."""
    return value if isinstance(value, Scalar) and dtype is None else Scalar(value, dtype_of(value.type) if dtype is None else dtype)


def lifted(values: Iterable[ir.Value]) -> list[Any]:
    """Values with operators where they are numbers or vectors, the others as they are."""
    numbers = (ir.IndexType, ir.IntegerType, ir.FloatType, ir.ComplexType, ir.VectorType)
    return [of(v) if isinstance(v.type, numbers) else v for v in values]


class Home(Protocol):
    """Where values that are made of a value find their constants, and types."""

    def constant(self, number: Number, dtype: DType) -> Scalar:
        """A number in a dtype, as a value."""

    def type(self, dtype: DType) -> ir.Type:
        """The type of values of a dtype: a scalar, or a vector of them."""


if TYPE_CHECKING:

    class _Value:
        """What is asked of an ir.Value here, whose bindings say no types: of an unknown class, 1.0 / Scalar would pass for a float."""

        type: ir.Type
        owner: Any

        def __init__(self, value: ir.Value) -> None: ...
else:
    _Value = ir.Value


Binary = Callable[["Scalar", "Operand"], "Scalar"]  # an operator, as a method


def _operator(name: str) -> Binary:
    return lambda x, other: x.call(name, other)


def _comparison(how: str) -> Binary:
    return lambda x, other: x.compare(how, other)


def _swapped(how: Callable[[Any, Any], Any]) -> Binary:
    return lambda x, other: how(x.like(other), x)


class Scalar(_Value):
    """An SSA value and what its bits mean."""

    __slots__ = ("dtype", "home")

    def __init__(self, value: ir.Value, dtype: DType, home: Home | None = None) -> None:
        super().__init__(value)
        self.dtype, self.home = dtype, home

    @property
    def is_float(self) -> bool:
        """Whether it is a float, of any width."""
        return self.dtype.is_float

    @property
    def is_bool(self) -> bool:
        """Whether it is a bool."""
        return self.dtype is dtypes.bool_

    @property
    def signed(self) -> bool:
        """Whether it is an integer with a sign."""
        return self.dtype.signed

    @property
    def is_complex(self) -> bool:
        """Whether it is a complex number."""
        return self.dtype.is_complex

    @property
    def real(self) -> Scalar:
        """The real part of a complex number; any other number itself."""
        return self._part("complex.re") if self.is_complex else self

    @property
    def imag(self) -> Scalar:
        """The imaginary part of a complex number; 0 of any other."""
        return self._part("complex.im") if self.is_complex else self.like(0)

    def _part(self, name: str) -> Scalar:
        made = self.owner
        if not isinstance(made, ir.Block) and made.operation.name == "complex.create":
            return Scalar(made.operation.operands[name == "complex.im"], self.dtype.part, self.home)
        return self.convert(name, self.dtype.part)

    # --- arithmetic: both sides of one dtype; integers wrap; bools: + is or, * is and. Of complex numbers as NumPy's loops do it

    # of sizes and positions + 0, - 0 and * 1 are no ops

    def __add__(self, other: Operand) -> Scalar:
        if self.dtype is INDEX and _is(other, 0):
            return self
        if self.is_complex:
            right = self.like(other)
            return complex_of(self.real + right.real, self.imag + right.imag)
        return self.call("arith.ori" if self.is_bool else "arith.addf" if self.is_float else "arith.addi", other)

    def __sub__(self, other: Operand) -> Scalar:
        if self.is_complex:
            right = self.like(other)
            return complex_of(self.real - right.real, self.imag - right.imag)
        return self if self.dtype is INDEX and _is(other, 0) else self.call("arith.subf" if self.is_float else "arith.subi", other)

    def __mul__(self, other: Operand) -> Scalar:
        if self.dtype is INDEX and _is(other, 1):
            return self
        if self.is_complex:
            return complex_product(self, self.like(other))
        return self.call("arith.andi" if self.is_bool else "arith.mulf" if self.is_float else "arith.muli", other)

    def __truediv__(self, other: Operand) -> Scalar:
        if self.is_complex:
            return _complex_quotient(self, self.like(other))
        if not self.is_float:
            raise TypeError("true division is of floats; cast first")
        return self.call("arith.divf", other)

    def __floordiv__(self, other: Operand) -> Scalar:
        return self._unsigned("arith.divui", other)

    def __mod__(self, other: Operand) -> Scalar:
        return self._unsigned("arith.remui", other)

    def __radd__(self, other: Operand) -> Scalar:
        return self if self.dtype is INDEX and _is(other, 0) else self.like(other) + self

    def __rmul__(self, other: Operand) -> Scalar:
        return self if self.dtype is INDEX and _is(other, 1) else self.like(other) * self

    __rsub__, __rtruediv__ = _swapped(operator.sub), _swapped(operator.truediv)
    __rfloordiv__, __rmod__ = _swapped(operator.floordiv), _swapped(operator.mod)

    def __neg__(self) -> Scalar:
        if self.is_complex:
            return complex_of(-self.real, -self.imag)
        return self._made("arith.negf", [self]) if self.is_float else self.like(0) - self

    # --- bits and truth

    __and__, __or__, __xor__ = _operator("arith.andi"), _operator("arith.ori"), _operator("arith.xori")
    __lshift__ = _operator("arith.shli")

    def __invert__(self) -> Scalar:
        return self ^ (True if self.is_bool else -1)

    def __rshift__(self, other: Operand) -> Scalar:
        return self.call("arith.shrsi" if self.signed else "arith.shrui", other)

    # --- comparisons give a bool; with NaN all are False but !=. `==` stays Python's: whether two are the same value

    def compare(self, how: str, other: Operand) -> Scalar:
        """`how`: eq, ne, lt, le, gt, ge; of floats also uno: whether either is NaN."""
        right = self.like(other)
        if self.is_complex:
            return _complex_comparison(self, how, right)
        name, known = ("arith.cmpf", _FLOAT) if self.is_float else ("arith.cmpi", _SIGNED if self.signed else _UNSIGNED)
        predicate = i64(known[how])
        return self._made(name, [self, right], dtypes.bool_, predicate=predicate)

    __lt__, __le__, __gt__, __ge__ = _comparison("lt"), _comparison("le"), _comparison("gt"), _comparison("ge")
    equals, differs = _comparison("eq"), _comparison("ne")

    # --- building blocks

    def like(self, other: Operand) -> Scalar:
        """`other` in this dtype: a scalar is converted, a number becomes a constant; a value without a dtype is one of this."""
        if isinstance(other, Scalar):
            return other if other.dtype is self.dtype else other.cast(self.dtype)
        if isinstance(other, ir.Value):
            return Scalar(other, self.dtype, self.home)
        if self.home is not None:
            return self.home.constant(other, self.dtype)
        return constant(other, self.dtype, self.type)

    def call(self, name: str, *others: Operand, **attributes: ir.Attribute) -> Scalar:
        """An op of operands and result of this dtype: `x.call("math.exp")`."""
        return self._made(name, [self, *map(self.like, others)], **attributes)

    def convert(self, name: str, dtype: DType) -> Scalar:
        """An op of this value whose result has another dtype: `x.convert("arith.bitcast", dtypes.u32)`."""
        return self._made(name, [self], dtype)

    def call_to(self, name: str, dtype: DType, *others: Operand) -> Scalar:
        """As `call`, of an op whose result has another dtype."""
        return self._made(name, [self, *map(self.like, others)], dtype)

    def _made(self, name: str, operands: list[Scalar], dtype: DType | None = None, **attributes: ir.Attribute) -> Scalar:
        if self.home is not None:
            type_ = self.home.type(dtype or self.dtype)
        else:
            type_ = self.type
            if dtype is not None:
                element = element_type(dtype)
                type_ = ir.VectorType.get(ir.VectorType(type_).shape, element) if isinstance(type_, ir.VectorType) else element
        made = ir.Operation.create(name, results=[type_], operands=operands, attributes=attributes or None)
        return Scalar(made.results[0], dtype or self.dtype, self.home)

    def _unsigned(self, name: str, other: Operand) -> Scalar:
        if self.dtype.numpy.kind != "u":
            raise TypeError(f"{name} is of numbers that are not negative")
        return self.call(name, other)

    def bits(self) -> Scalar:
        """A float's bits, as an integer without a sign; an integer's."""
        dtype = _OF_BITS[self.dtype.itemsize]
        return self.convert("arith.bitcast", dtype) if self.is_float else self.cast(dtype)

    def as_float(self) -> Scalar:
        """The float whose `bits` these 32 or 64 are."""
        return self.convert("arith.bitcast", {4: dtypes.f32, 8: dtypes.f64}[self.dtype.itemsize])

    def cast(self, dtype: DType) -> Scalar:
        """Converted as tier 0 converts (dialect/optable/kernels/arrays.py): to the halves by way of f32, floats to small integers by way
        of i64, NaN to True, integers wrap. A float that i64 (i32 for i32) cannot hold gives its least number, as x86 has it."""
        if dtype is self.dtype:
            return self
        if dtype.is_complex:
            return complex_of(self.real.cast(dtype.part), self.imag.cast(dtype.part))
        if self.is_float and dtype.is_float:
            return self._resized_float(dtype)
        if dtype is dtypes.bool_:
            return self.differs(0)
        if self.is_float:
            return self._float_to_integer(dtype)
        if dtype.is_float:
            wide = dtypes.f32 if dtype.itemsize == 2 else dtype
            return self.convert("arith.sitofp" if self.signed else "arith.uitofp", wide).cast(dtype)
        return self._resized_integer(dtype)

    def _resized_float(self, dtype: DType) -> Scalar:
        if self.dtype.itemsize == 2 or dtype.itemsize == 2:
            through = self._step_float(dtypes.f32) if self.dtype is not dtypes.f32 else self
            return through._step_float(dtype) if dtype is not dtypes.f32 else through
        return self._step_float(dtype)

    def _step_float(self, dtype: DType) -> Scalar:
        return self.convert("arith.extf" if dtype.itemsize > self.dtype.itemsize else "arith.truncf", dtype)

    def _float_to_integer(self, dtype: DType) -> Scalar:
        if self.dtype.itemsize == 2:
            return self.cast(dtypes.f32).cast(dtype)
        wide = dtype if dtype.signed and dtype.itemsize >= 4 else dtypes.i64
        least, bound = wide.range[0], -float(wide.range[0])
        if dtype is dtypes.u64:  # its upper half: what is left above the lower one, which is there the top bit
            upper = self >= bound
            return (select(upper, self - bound, self).cast(wide) ^ select(upper, constant(least, wide), 0)).cast(dtype)
        fits = (self >= -bound) & (self < bound)
        made = self.convert("arith.fptosi", wide)  # poison where it does not fit, and not chosen
        return select(fits, made, least).cast(dtype)

    def _resized_integer(self, dtype: DType) -> Scalar:
        if self.is_bool:
            return self.convert("arith.extui", dtype) if dtype.name not in _ELEMENTS else self.cast(dtypes.i64).cast(dtype)
        if (self.dtype.name in _ELEMENTS) != (dtype.name in _ELEMENTS):
            return self.convert("arith.index_cast" if self.signed or self.dtype.itemsize == 8 else "arith.index_castui", dtype)
        if _bits(dtype) == _bits(self.dtype):
            return Scalar(self, dtype, self.home)
        if _bits(dtype) < _bits(self.dtype):
            return self.convert("arith.trunci", dtype)
        return self.convert("arith.extsi" if self.signed else "arith.extui", dtype)


def _is(operand: Operand, number: int) -> bool:
    return type(operand) is int and operand == number


def _bits(dtype: DType) -> int:
    return 1 if dtype is dtypes.bool_ else dtype.itemsize * 8


def attribute(number: Number, dtype: DType) -> ir.Attribute:
    """A Python number in `dtype`: ints wrap, NaN is true, floats are rounded, to the halves by way of f32 as everywhere."""
    type_ = element_type(dtype)
    if dtype is dtypes.bool_:
        return ir.IntegerAttr.get(type_, -1 if number else 0)
    if dtype.is_float:
        through = dtypes.f32 if dtype.itemsize == 2 else dtype
        with np.errstate(over="ignore"):
            return ir.FloatAttr.get(type_, float(np.asarray(float(number)).astype(through.numpy).astype(dtype.numpy)))
    half = 1 << (_bits(dtype) - 1)
    return ir.IntegerAttr.get(type_, (int(number) + half) % (2 * half) - half)


def constant(number: Number, dtype: DType, type_: ir.Type | None = None) -> Scalar:
    """A Python number in `dtype`, as `attribute` has it. `type_`: a scalar's, which nobody needs to say, or a vector's."""
    if dtype.is_complex:
        return complex_of(constant(number, dtype.part), constant(0.0, dtype.part))
    value = attribute(number, dtype)
    if isinstance(type_, ir.VectorType):
        value = ir.DenseElementsAttr.get_splat(type_, value)
    made = ir.Operation.create("arith.constant", results=[type_ or element_type(dtype)], attributes={"value": value})
    return Scalar(made.results[0], dtype)


def complex_of(real: Scalar, imag: Scalar) -> Scalar:
    """The complex number of two parts, floats of one dtype."""
    dtype = dtypes.c64 if real.dtype is dtypes.f32 else dtypes.c128
    return real.call_to("complex.create", dtype, imag)


def complex_product(x: Scalar, y: Scalar, fused: bool = True) -> Scalar:
    """As NumPy's vector loops have it (loops_arithm_fp.dispatch.c.src): the first product of each part goes unrounded into the sum. Not
    `fused`: as its scalars have it, with two rounded products."""
    if not fused:
        return complex_of(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)
    real = x.real.call("math.fma", y.real, -(x.imag * y.imag))
    return complex_of(real, x.real.call("math.fma", y.imag, x.imag * y.real))


def _complex_quotient(x: Scalar, y: Scalar) -> Scalar:
    """Smith's algorithm, as NumPy's loops have it: by the larger part of the divisor; a divisor of 0 divides each part."""
    size_re, size_im = absolute(y.real), absolute(y.imag)
    by_real = size_re >= size_im
    larger, smaller = select(by_real, y.real, y.imag), select(by_real, y.imag, y.real)
    ratio = smaller / larger
    scale = 1.0 / (larger + smaller * ratio)
    first_re, second_re = select(by_real, x.real, x.imag), select(by_real, x.imag, x.real)
    real = (first_re + second_re * ratio) * scale
    turned = second_re - first_re * ratio  # x.imag - x.real * ratio, or its negative: x.imag * ratio - x.real
    imag = select(by_real, turned, first_re * ratio - second_re) * scale
    by_zero = size_re.equals(0) & size_im.equals(0)
    return complex_of(select(by_zero, x.real / size_re, real), select(by_zero, x.imag / size_re, imag))


def _complex_comparison(x: Scalar, how: str, y: Scalar) -> Scalar:
    """eq, ne: by both parts. The others, by the first part in which they differ, are none of native code's."""
    real, imag = x.real.compare(how, y.real), x.imag.compare(how, y.imag)
    if how not in ("eq", "ne"):
        raise TypeError("complex numbers have no order")
    return real & imag if how == "eq" else real | imag


def zero(type_: ir.Type) -> Scalar:
    """0 of a number's type, or a vector of it."""
    return constant(0, dtype_of(type_), type_)


def whole_power(x: Scalar, exponent: int) -> Scalar:
    """x to a power of at least 0, by squares."""
    result, square = None, x
    while exponent:
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        if exponent:
            square = square * square
    return x.like(1) if result is None else result


def known(value: ir.Value) -> Any:
    """The number that an arith.constant holds, alone or in all places of a vector; None for any other value."""
    made = value.owner
    if isinstance(made, ir.Block) or made.operation.name != "arith.constant":
        return None
    number = made.operation.attributes["value"]
    if isinstance(number, ir.DenseElementsAttr):
        return number.get_splat_value().value if number.is_splat else None
    return number.value


def conjuncts(condition: ir.Value) -> list[ir.Value]:
    """What must be true for a condition to be."""
    found, open_ = [], [condition]
    while open_:
        value = open_.pop()
        both = maker(value, "arith.andi")
        if both is None:
            found.append(value)
        else:
            open_ += list(both.operands)
    return found


def select(condition: ir.Value, yes: Operand, no: Operand) -> Scalar:
    """yes where condition, else no; at least one is a value, whose dtype the other takes."""
    kind = yes if isinstance(yes, Scalar) or not isinstance(no, ir.Value) else no
    assert isinstance(kind, ir.Value)
    kind = of(kind)
    if kind.is_complex:  # part by part, which vectorises
        first, second = kind.like(yes), kind.like(no)
        return complex_of(select(condition, first.real, second.real), select(condition, first.imag, second.imag))
    return kind._made("arith.select", [condition, kind.like(yes), kind.like(no)])


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


def halves_of_product(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """The low and the high bits of what two signed integers give, which has twice as many."""
    low, high = ir.Operation.create("arith.mulsi_extended", results=[x.type] * 2, operands=[x, y]).results
    return of(low, x.dtype), of(high, x.dtype)


def isnan(x: Scalar) -> Scalar:
    """Whether it, or a part of it, is a NaN: false for integers."""
    return x.differs(x) if x.is_float or x.is_complex else constant(False, dtypes.bool_)


def absolute(x: Scalar) -> Scalar:
    """|x|; the most negative integer stays."""
    if x.is_float:
        return x.call("math.absf")
    return x.call("math.absi") if x.signed else x
