"""Tier-0 kernels of ops on numbers, and on tensors' sizes. torch's semantics: ints are int64 and wrap.

Division of floats by zero follows IEEE; of ints, and remainders, it is a ZeroDivisionError. Common errors: IndexError for
an index or dim out of range, ValueError for a tensor of more than one element where a number is wanted.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.kernels.axes import name_of
from tierup.dialect.optable.core import normalise_dim

Number = Any  # int, float or bool
_LOW, _MODULUS = -(1 << 63), 1 << 64


def wrap(value: int) -> int:
    """An int modulo 2**64, as int64 has it."""
    return value if _LOW <= value < -_LOW else (value - _LOW) % _MODULUS + _LOW


def _wrapping(name: str, function: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def kernel(*operands: Number) -> Number:
        result = function(*operands)
        return wrap(result) if type(result) is int else result

    kernel.__name__, kernel.__qualname__, kernel.__doc__ = name, name, doc
    return kernel


add = _wrapping("add", operator.add, "a + b.")
sub = _wrapping("sub", operator.sub, "a - b.")
mul = _wrapping("mul", operator.mul, "a * b.")
neg = _wrapping("neg", operator.neg, "-a.")
absolute = _wrapping("absolute", abs, "prim.abs.Scalar: |a|.")
floordiv = _wrapping("floordiv", operator.floordiv, "aten.floordiv.int: the floor of a / b. ZeroDivisionError for b == 0.")
remainder = _wrapping("remainder", operator.mod, "aten.remainder.int: a - b*floor(a/b). ZeroDivisionError for b == 0.")


def div(a: Number, b: Number) -> float:
    """aten.div of numbers: always a float; by zero, an infinity or NaN."""
    a, b = float(a), float(b)
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _quiet_nan(name: str, function: Callable[[float], float], at_zero: float) -> Callable[[Number], float]:
    def kernel(a: Number) -> float:
        if a < 0:
            return math.nan
        return at_zero if a == 0 else function(a)

    kernel.__name__, kernel.__qualname__, kernel.__doc__ = name, name, f"aten.{name}.int: NaN for negative numbers."
    return kernel


sqrt = _quiet_nan("sqrt", math.sqrt, 0.0)
log = _quiet_nan("log", math.log, -math.inf)


def power(a: Number, b: Number) -> float:
    """aten.pow.int_float: a**b as C's pow; NaN for a negative base and a fraction. ZeroDivisionError for 0 to a negative power."""
    if a == 0 and b < 0:
        raise ZeroDivisionError("0.0 cannot be raised to a negative power")
    with np.errstate(all="ignore"):
        return float(np.power(np.float64(a), np.float64(b)))


def to_int(a: Number) -> int:
    """aten.Int.*: the integer part; NaN and what int64 cannot hold give the least int64, as x86 converts."""
    if type(a) is float:
        return int(a) if _LOW <= a < -_LOW else _LOW
    return int(a)


def to_float(a: Any) -> float:
    """aten.Float.Scalar, aten.Float.str."""
    return float(a)


def to_bool(a: Number) -> bool:
    """aten.Bool.*: anything but 0, NaN included."""
    return bool(a)


def ceil(a: Number) -> int:
    """aten.ceil.float: the smallest int not below a."""
    return to_int(float(math.ceil(a))) if math.isfinite(a) else to_int(float(a))


def identity(a: Any) -> Any:
    """An op that changes nothing but the static type."""
    return a


eq, ne, lt, le, gt, ge = operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge
logical_not = operator.not_


def logical_and(a: bool, b: bool) -> bool:
    """aten.__and__.bool."""
    return a and b


def logical_or(a: bool, b: bool) -> bool:
    """aten.__or__.bool."""
    return a or b


def is_same(a: Any, b: Any) -> bool:
    """aten.__is__: for None and for lists and tensors, whether they are one object; numbers by value."""
    return a is b or (isinstance(a, (int, float)) and type(a) is type(b) and a == b)


def is_not_same(a: Any, b: Any) -> bool:
    """aten.__isnot__."""
    return not is_same(a, b)


# --- tensors -------------------------------------------------------------------------------------------------------------


def item(x: np.ndarray) -> Number:
    """aten.item: the only element, as a Python number. ValueError unless there is exactly one."""
    if x.size != 1:
        raise ValueError(f"a Tensor with {x.size} elements cannot be converted to Scalar")
    value = x.reshape(()).item()
    return value if isinstance(value, (bool, int, float)) else float(value)  # bfloat16 gives its own scalar


def item_int(x: np.ndarray) -> int:
    """aten.Int.Tensor."""
    return to_int(item(x))


def item_float(x: np.ndarray) -> float:
    """aten.Float.Tensor."""
    return float(item(x))


def item_bool(x: np.ndarray) -> bool:
    """aten.Bool.Tensor."""
    return bool(item(x))


def _rank_0(x: np.ndarray) -> Number:
    if x.ndim:
        raise ValueError("Cannot input a tensor of dimension other than 0 as a scalar argument")
    return item(x)


def implicit_int(x: np.ndarray) -> int:
    """aten.IntImplicit: a rank-0 integer tensor's value. TypeError for another dtype, ValueError for another rank."""
    value = _rank_0(x)
    if x.dtype.kind not in "iu":
        raise TypeError(f"Cannot input a tensor of type {name_of(x.dtype)} as an integral argument")
    return int(value)


def implicit_float(x: np.ndarray) -> float:
    """aten.FloatImplicit: a rank-0 tensor's value."""
    return float(_rank_0(x))


def implicit_number(x: np.ndarray) -> Number:
    """aten.ScalarImplicit: a rank-0 tensor's value."""
    return _rank_0(x)


def size(x: np.ndarray) -> list[int]:
    """aten.size: the sizes."""
    return list(x.shape)


def size_int(x: np.ndarray, dim: int) -> int:
    """aten.size.int: one size. IndexError for a rank-0 tensor."""
    if not x.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return x.shape[normalise_dim(dim, x.ndim)]


def rank(x: np.ndarray) -> int:
    """aten.dim."""
    return x.ndim


def numel(x: np.ndarray) -> int:
    """aten.numel."""
    return x.size


def length(x: Any) -> int:
    """aten.len: of a list or string; of a tensor, its first size (ValueError for rank 0)."""
    if isinstance(x, np.ndarray) and not x.ndim:
        raise ValueError("len() of a 0-d tensor")
    return len(x)


def dtype_code(x: np.ndarray) -> int:
    """prim.dtype: torch's ScalarType number."""
    code = dtypes.code_of(x.dtype)
    if code is None:
        raise TypeError(f"arrays of dtype {x.dtype} are not supported")
    return code


def is_floating_point(x: np.ndarray) -> bool:
    """aten.is_floating_point."""
    known = dtypes.from_numpy(x.dtype)
    return known is not None and known.is_float


# --- extremes and ranges -------------------------------------------------------------------------------------------------


def maximum(*numbers: Any) -> int:
    """prim.max.int, prim.max.self_int: the largest of two ints or of a list. ValueError for an empty list."""
    return max(*numbers)


def minimum(*numbers: Any) -> int:
    """prim.min.int, prim.min.self_int."""
    return min(*numbers)


def range_length(low: int, high: int, step: int) -> int:
    """aten.__range_length: len(range(low, high, step)). ValueError for step 0."""
    return len(range(low, high, step))


def derive_index(index: int, start: int, step: int) -> int:
    """aten.__derive_index: start + index*step."""
    return wrap(start + index * step)


# --- checks --------------------------------------------------------------------------------------------------------------


def raise_exception(message: str, cls: str | None = None) -> NoReturn:
    """prim.RaiseException: the exception of that (built-in) class, RuntimeError if it is not one. TorchScript's `assert` says its class in
    the message."""
    if cls is None and message.startswith(_ASSERTION):
        raise AssertionError(message.removeprefix(_ASSERTION))
    raise exception_named(cls or "RuntimeError")(message)


def exception_named(cls: str) -> type[Exception]:
    """The (built-in) class of that name, RuntimeError if there is none."""
    return _EXCEPTIONS.get(cls.rsplit(".", 1)[-1], RuntimeError)


_ASSERTION = "AssertionError: "
_EXCEPTIONS: dict[str, type[Exception]] = {
    name: cls for name, cls in vars(builtins).items() if isinstance(cls, type) and issubclass(cls, Exception)
} | {"AxisError": np.exceptions.AxisError}


def check(condition: bool, message: str) -> None:
    """runtime.assert: AssertionError unless the condition holds."""
    if not condition:
        raise AssertionError(message)
