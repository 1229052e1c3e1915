"""Numbers that are asked of a tensor: its only element, its sizes, its dtype. And what ends a run with an exception."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.exceptions import exception
from tierup.dialect.facts.dims import at_least
from tierup.dialect.facts.values import Bool, Float, Int, List, Number, Str, Tensor, Value
from tierup.dialect.ops.scalars.numbers import to_int
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Infer, InferRule, Kind, Promotion, ShapeError, TakesComplex, normalise_dim
from tierup.dialect.optable.define import op

_op = partial(op, kind=Kind.SCALAR, tolerance=EXACT, differentiable=False)


# --- the element ---------------------------------------------------------------------------------------------------------


def _element(result: type | None, rank_0: bool = False, integers: bool = False) -> InferRule:
    """The only element of a tensor, as a number of kind `result` (None: of the tensor's kind)."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Value:
        x = operands[0]
        shape, dtype = (x.shape, x.dtype) if isinstance(x, Tensor) else (None, None)
        if shape and ctx.promotion is Promotion.NUMPY and result in (Int, Float):
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        if shape is not None and rank_0 and shape:
            raise ShapeError("Cannot input a tensor of dimension other than 0 as a scalar argument")
        for d in shape or ():
            if d == 0 or at_least(d, 2):
                raise ShapeError(_not_one(read.product(shape or ()), result))
        if integers and dtype is not None and (dtype.is_float or dtype.name == "bool"):
            raise TypeError(f"Cannot input a tensor of type {dtype.name} as an integral argument")
        if result is not None:
            return result()  # type: ignore[no-any-return]  # Int, Float or Bool
        if dtype is None:
            return Number()
        return Float() if dtype.is_float else Bool() if dtype.name == "bool" else Int()

    return infer


def _not_one(size: object, result: type | None) -> str:
    """What is said of a tensor of so many elements that is to be one."""
    if result is Bool:
        return f"Boolean value of Tensor with {'no values' if size == 0 else 'more than one value'} is ambiguous"
    return f"a Tensor with {size} elements cannot be converted to Scalar"


@_op("aten.item(Tensor self) -> Scalar", infer=_element(None))
def item(x: np.ndarray) -> Any:
    """A Python number. ValueError unless there is exactly one element."""
    if x.size != 1:
        raise ValueError(_not_one(x.size, None))
    value = x.reshape(()).item()
    return value if isinstance(value, (bool, int, float)) else float(value)  # bfloat16 gives its own scalar


@_op("aten.Int.Tensor(Tensor a) -> int", infer=_element(Int))
def item_int(x: np.ndarray) -> int:
    return to_int(item(x))


item_int.under_numpy(form="ints")(int)


@_op("aten.Float.Tensor(Tensor a) -> float", infer=_element(Float))
def item_float(x: np.ndarray) -> float:
    return float(item(x))


item_float.under_numpy(form="as_is")(float)


@_op("aten.Bool.Tensor(Tensor a) -> bool", infer=_element(Bool))
def item_bool(x: np.ndarray) -> bool:
    if x.size != 1:
        raise ValueError(_not_one(x.size, Bool))
    return bool(item(x))


item_bool.under_numpy(form="as_is")(bool)


@_op("aten.IntImplicit(Tensor a) -> int", infer=_element(Int, rank_0=True, integers=True))
def implicit_int(x: np.ndarray) -> int:
    """Of a rank-0 integer tensor. TypeError for another dtype, ValueError for another rank."""
    implicit_int.checked(x)
    return int(item(x))


@_op("aten.FloatImplicit(Tensor a) -> float", infer=_element(Float, rank_0=True))
def implicit_float(x: np.ndarray) -> float:
    """Of a rank-0 tensor."""
    implicit_float.checked(x)
    return float(item(x))


@_op("aten.ScalarImplicit(Tensor a) -> Scalar", infer=_element(None, rank_0=True))
def implicit_number(x: np.ndarray) -> Any:
    """Of a rank-0 tensor."""
    implicit_number.checked(x)
    return item(x)


# --- sizes and dtype -----------------------------------------------------------------------------------------------------


def _sizes(ctx: Infer, operands: Sequence[Value]) -> Value:
    x = operands[0]
    if isinstance(x, Tensor) and x.shape is not None:
        return List(tuple(Int(d) for d in x.shape))
    return List(None, Int())


size = _op("aten.size(Tensor self) -> int[]", infer=_sizes, asks=True)(lambda x: list(x.shape))


def _size_int(ctx: Infer, operands: Sequence[Value]) -> Value:
    x, dim = operands[0], read.or_unknown(read.integer)(operands[1])
    if not isinstance(x, Tensor) or x.shape is None or dim is None:
        return Int()
    if not x.shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return Int(x.shape[normalise_dim(dim, len(x.shape))])


@_op("aten.size.int(Tensor self, int dim) -> int", infer=_size_int, asks=True)
def size_int(x: np.ndarray, dim: int) -> int:
    """IndexError for a rank-0 tensor."""
    if not x.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    size: int = x.shape[normalise_dim(dim, x.ndim)]
    return size


def _rank(ctx: Infer, operands: Sequence[Value]) -> Value:
    return Int(operands[0].rank if isinstance(operands[0], Tensor) else None)


@_op("aten.dim(Tensor self) -> int", infer=_rank, asks=True)
def rank(x: np.ndarray) -> int:
    return x.ndim


def _numel(ctx: Infer, operands: Sequence[Value]) -> Value:
    x = operands[0]
    return Int(read.product(x.shape)) if isinstance(x, Tensor) and x.shape is not None else Int()


numel = _op("aten.numel(Tensor self) -> int", infer=_numel, asks=True)(lambda x: x.size)


def _length(ctx: Infer, operands: Sequence[Value]) -> Value:
    x = operands[0]
    if isinstance(x, Tensor) and x.shape is not None:
        if not x.shape:
            raise ShapeError("len() of a 0-d tensor")
        return Int(x.shape[0])
    if isinstance(x, List) and x.items is not None:
        return Int(len(x.items))
    return Int(len(x.value)) if isinstance(x, Str) and x.value is not None else Int()


@_op("aten.len.Tensor(Tensor t) -> int", "aten.len.t(t[] a) -> int", "aten.len.str(str s) -> int", infer=_length)
def length(x: Any) -> int:
    """Of a tensor its first size (ValueError for rank 0)."""
    if isinstance(x, np.ndarray) and not x.ndim:
        raise ValueError("len() of a 0-d tensor")
    return len(x)


def _dtype(ctx: Infer, operands: Sequence[Value]) -> Value:
    dtype = read.dtype_of(operands[0])
    return Int(dtype.code if dtype else None)


@_op("prim.dtype(Tensor a) -> int", infer=_dtype, asks=True)
def dtype_code(x: np.ndarray) -> int:
    """torch's ScalarType number."""
    code = dtypes.code_of(x.dtype)
    if code is None:
        raise TypeError(f"arrays of dtype {x.dtype} are not supported")
    return code


def _is_float(ctx: Infer, operands: Sequence[Value]) -> Value:
    dtype = read.dtype_of(operands[0])
    return Bool(dtype.is_float if dtype else None)


@_op("aten.is_floating_point(Tensor self) -> bool", infer=_is_float)
def is_floating_point(x: np.ndarray) -> bool:
    known = dtypes.from_numpy(x.dtype)
    return known is not None and known.is_float


# --- exceptions ----------------------------------------------------------------------------------------------------------


_ASSERTION = "AssertionError: "
def _nothing(ctx: Infer, operands: Sequence[Value]) -> tuple[Value, ...]:
    return ()


@_op("prim.RaiseException(str msg, str? cls=None) -> ()", infer=_nothing, results=0, raises=True)
def raise_exception(message: str, cls: str | None = None) -> NoReturn:
    """The exception of that class, RuntimeError if there is none of that name; without arguments where a class is given and no message.
    TorchScript's `assert` says its class in the message."""
    if cls is None and message.startswith(_ASSERTION):
        raise AssertionError(message.removeprefix(_ASSERTION))
    raise exception(cls or "RuntimeError", *([message] if message or cls is None else []))


@_op("runtime.assert(bool condition, str message) -> ()", infer=_nothing, results=0, raises=True)
def check(condition: bool, message: str) -> None:
    """AssertionError unless the condition holds."""
    if not condition:
        raise AssertionError(message)


_check = partial(_op, infer=_nothing, results=0, raises=True, native=False, of_memory=True, takes_complex=TakesComplex.ALL)


@_check("tierup.check_writeable(Tensor self) -> ()")
def check_writeable(x: np.ndarray) -> None:
    """ValueError, as an assignment to items raises it before it looks at the index or the value."""
    if not x.flags.writeable:
        raise ValueError("assignment destination is read-only")


@_check("tierup.check_output(Tensor out, Tensor self, Tensor? other, Tensor? where) -> ()")
def check_output(out: np.ndarray, x: np.ndarray, y: np.ndarray | None = None, where: np.ndarray | None = None) -> None:
    """ValueError, as a ufunc that is given `out` for its result raises it before it computes: words name the shapes of all of these."""
    if not out.flags.writeable:
        raise ValueError("output array is read-only")
    given = [(x, ["readonly"]), (y, ["readonly"]), (out, ["writeonly", "no_broadcast"]), (where, ["readonly"])]
    arrays, flags = zip(*((array, flag) for array, flag in given if array is not None), strict=True)
    np.nditer(arrays, ["zerosize_ok"], flags)
