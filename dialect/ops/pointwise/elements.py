"""What formulas of pointwise ops compute with: one formula serves tier 0, native code and the GPU.

    @pointwise("aten.hardswish(Tensor self) -> Tensor", accepts=Accepts.FLOAT)
    def hardswish(m: Elements, x: Element) -> Element:
        return x * m.minimum(m.maximum(x + 3, 0), 6) / 6

An `Element` is an array or NumPy scalar in tier 0, a typed SSA value in the body of a native loop (lowering/building/arith.py). It has
+ - * / & | ^ ~ < <= > >=, between two of one dtype, or one and a Python number that its dtype holds; all else is a method of `m`.
Integers wrap; bools add by or, multiply by and.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.optable.kernels.apply import number

Element = Any
Parameter = Any  # an operand as it came: a Python value, or an Element when the program computes it
Unary = Callable[[Element], Element]
Binary = Callable[[Element, Element], Element]
Formula = Callable[
    ..., Element
]  # (m, *operands): the leading operands are Elements in the dtype that is computed in, the others Parameters


class Elements:
    """Functions of elements. Of floats: those up to `fmod`; a halved dtype is computed in float32."""

    exp: Unary
    exp2: Unary
    expm1: Unary
    log: Unary
    log2: Unary
    log10: Unary
    log1p: Unary
    sin: Unary
    cos: Unary
    tan: Unary
    asin: Unary
    acos: Unary
    atan: Unary
    sinh: Unary
    cosh: Unary
    tanh: Unary
    asinh: Unary
    acosh: Unary
    atanh: Unary
    sqrt: Unary
    cbrt: Unary
    erf: Unary
    erfc: Unary
    floor: Unary
    ceil: Unary
    trunc: Unary
    rint: Unary  # ties to even
    atan2: Binary
    copysign: Binary
    power: Binary  # C's pow
    logaddexp: Binary
    logaddexp2: Binary
    fmod: Binary  # with the sign of the first; of integers too, with a divisor as below
    # of all dtypes
    maximum: Binary  # NaN when either is
    minimum: Binary
    fmax: Binary  # NaN when both are
    fmin: Binary
    absolute: Unary  # the most negative integer stays
    negative: Unary
    product: Binary  # of complex scalars NumPy rounds otherwise than of arrays
    equal: Binary
    differ: Binary
    is_nan: Unary  # False for integers
    # of complex numbers; the parts of any other are itself and 0
    real: Unary
    imag: Unary
    complex: Binary  # of two floats of one dtype
    # of integers
    gcd: Binary  # of their absolute values
    integer_power: Binary  # wraps; for a negative exponent 0, but 1 for base 1 and +-1 for base -1
    floor_quotient: Binary  # a divisor of 0 is a ZeroDivisionError: native code has it checked before (tierup-insert-bounds-checks)
    floor_remainder: Binary  # what floor_quotient leaves, with the sign of the divisor
    trunc_quotient: Binary
    left_shift: Binary  # 0 for a shift below 0 or at least the width
    right_shift: Binary  # arithmetic; 0 or -1 there

    def whole_power(self, x: Element, exponent: int) -> Element:
        """An integer to a known power of at least 0."""
        return self.integer_power(x, self.number(exponent, x))

    def select(self, condition: Element, yes: Element, no: Element) -> Element:
        """yes where condition, else no. One of them may be a number."""
        raise NotImplementedError

    def dtype(self, x: Element) -> DType:
        """The dtype of an element."""
        raise NotImplementedError

    def cast(self, x: Element, dtype: DType) -> Element:
        """As aten.to does."""
        raise NotImplementedError

    def number(self, value: Parameter, like: Element) -> Element:
        """A parameter in the dtype of an element; ints wrap."""
        raise NotImplementedError

    def is_number(self, value: Parameter) -> bool:
        """Whether a parameter is a Python number: known when code is made."""
        return isinstance(value, (bool, int, float))

    def is_float(self, x: Element) -> bool:
        """Whether an element is of a floating dtype."""
        return self.dtype(x).is_float

    def is_complex(self, x: Element) -> bool:
        """Whether an element is a complex number."""
        return self.dtype(x).is_complex

    def is_bool(self, x: Element) -> bool:
        """Whether an element is a truth value."""
        return self.dtype(x) is dtypes.bool_


def _integer_power(x: Element, y: Element) -> Element:
    negative = np.less(y, 0)
    if not np.any(negative):
        return np.power(x, y)
    one = np.ones((), np.asarray(x).dtype)
    minus = np.where(np.bitwise_and(y, one) == one, -one, one)
    inverse = np.where(np.equal(x, 1), one, np.where(np.equal(x, -one), minus, np.zeros_like(one)))
    return np.where(negative, inverse, np.power(x, np.where(negative, np.zeros_like(one), y)))


def _refuse_zero(x: Element, y: Element) -> None:
    """ZeroDivisionError when integers are divided by a zero that some element meets."""
    if np.asarray(y).dtype.kind in "iu" and np.size(x) and np.any(np.equal(y, 0)):
        raise ZeroDivisionError("integer division or modulo by zero")


def _fmod(x: Element, y: Element) -> Element:
    _refuse_zero(x, y)
    return np.fmod(x, y)


def _floor_quotient(x: Element, y: Element) -> Element:
    _refuse_zero(x, y)
    return np.floor_divide(x, y)


def _floor_remainder(x: Element, y: Element) -> Element:
    _refuse_zero(x, y)
    return np.remainder(x, y)


def _trunc_quotient(x: Element, y: Element) -> Element:
    _refuse_zero(x, y)
    quotient = np.floor_divide(x, y)
    inexact = np.not_equal(np.multiply(quotient, y), x)
    return np.add(quotient, np.logical_and(inexact, np.less(x, 0) != np.less(y, 0)).astype(quotient.dtype), dtype=quotient.dtype)


def _float_power(x: Element, y: Element) -> Element:
    """Of a single exponent 0.5 np.power makes a root, which gives -0.0 for -0.0 and NaN for -inf."""
    return np.power(x, y) if np.size(y) != 1 else np.float_power(x, y).astype(y.dtype)


def _complex(real: Element, imag: Element) -> Element:
    made = np.empty(np.broadcast(real, imag).shape, np.result_type(real, imag, np.complex64))
    made.real, made.imag = real, imag
    return made


def _error_function(name: str) -> Unary:
    def compute(x: Element) -> Element:
        from tierup.dialect.ops.pointwise import erf

        return getattr(erf, name)(x)

    return compute


class Arrays(Elements):
    """Tier 0: NumPy's functions. Its float32 and float64 loops are within 4 ulp of the truth."""

    exp, exp2, expm1, log, log2, log10, log1p = np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p
    sin, cos, tan, asin, acos, atan = np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan
    sinh, cosh, tanh, asinh, acosh, atanh = np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh
    sqrt, cbrt, floor, ceil, trunc, rint, gcd = np.sqrt, np.cbrt, np.floor, np.ceil, np.trunc, np.rint, np.gcd
    erf, erfc = staticmethod(_error_function("erf")), staticmethod(_error_function("erfc"))
    atan2, copysign, logaddexp, logaddexp2 = np.arctan2, np.copysign, np.logaddexp, np.logaddexp2
    power, integer_power = staticmethod(_float_power), staticmethod(_integer_power)
    maximum, minimum, fmax, fmin = np.maximum, np.minimum, np.fmax, np.fmin
    absolute, negative, product, equal, differ = np.absolute, np.negative, np.multiply, np.equal, np.not_equal
    fmod, floor_quotient, trunc_quotient = staticmethod(_fmod), staticmethod(_floor_quotient), staticmethod(_trunc_quotient)
    floor_remainder = staticmethod(_floor_remainder)
    left_shift, right_shift = np.left_shift, np.right_shift
    real, imag = staticmethod(lambda x: x.real), staticmethod(lambda x: x.imag)
    complex = staticmethod(_complex)

    def is_nan(self, x: Element) -> Element:
        """Where an array is NaN; nowhere, for integers and truth values."""
        return np.isnan(x) if np.asarray(x).dtype.kind in "fc" else np.zeros(np.shape(x), np.bool_)

    def select(self, condition: Element, yes: Element, no: Element) -> Element:
        """yes where condition, else no, broadcast against each other. One of them may be a number."""
        return np.where(condition, yes, no)

    def dtype(self, x: Element) -> DType:
        """The dtype of an array, which must be one that programs can hold."""
        found = dtypes.from_numpy(x.dtype)
        assert found is not None, x.dtype
        return found

    def cast(self, x: Element, dtype: DType) -> Element:
        """An array in another dtype, with the values that aten.to gives."""
        from tierup.dialect.optable.kernels.arrays import cast

        return cast(np.asarray(x), dtype.numpy)

    def number(self, value: Parameter, like: Element) -> Element:
        """A parameter as a number of an array's dtype; ints wrap."""
        return number(value, like.dtype)


ARRAYS = Arrays()
