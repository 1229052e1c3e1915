"""Numbers, strings, and the sizes of tensors. Ints carry symbolic sizes through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tierup.dialect import kernels
from tierup.dialect.inference import dims
from tierup.dialect.inference.dims import Dim
from tierup.dialect.ir.values import Bool, Float, Int, List, NoneValue, Number, Opaque, Str, Tensor, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Infer, InferRule, Kind, Op, Promotion, ShapeError, normalise_dim

_size = read.or_unknown(read.size)
_plain = read.or_unknown(read.integer)


def python_value(value: Value) -> object:
    """The Python number, string or None that a value is known to be; raises Unknown otherwise."""
    if isinstance(value, NoneValue):
        return None
    if isinstance(value, Str):
        return read.text(value)
    if isinstance(value, List):
        return [python_value(v) for v in read.items(value)]
    return read.number(value)


def _abstract(result: object) -> Value:
    if isinstance(result, bool):
        return Bool(result)
    if isinstance(result, int):
        return Int(result)
    return Float(result) if isinstance(result, float) else Str(result) if isinstance(result, str) else Opaque()


def folded(kernel: str, otherwise: Callable[[Sequence[Value]], Value], numpy: str | None = None) -> InferRule:
    """Known numbers: what the kernel of the current promotion gives. Unknown ones: what `otherwise` says of them."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Value:
        try:
            known = [python_value(v) for v in operands]
        except read.Unknown:
            return otherwise(operands)
        try:
            flavour = numpy if numpy and ctx.promotion is Promotion.NUMPY else kernel
            return _abstract(kernels.resolve(flavour)(*known))
        except ValueError as e:
            raise ShapeError(str(e)) from e

    return infer


# --- arithmetic on ints that may be sizes --------------------------------------------------------------------------------

Combine = Callable[[Dim, Dim], "Dim | None"]


def _number_kind(operands: Sequence[Value]) -> Value:
    if any(isinstance(v, Float) for v in operands):
        return Float()
    return Int() if all(isinstance(v, (Int, Bool)) for v in operands) else Number()


def _symbolic(combine: Combine) -> Callable[[Sequence[Value]], Value]:
    """Two ints of which one is symbolic or counts a loop; anything else is a number of known kind."""

    def otherwise(operands: Sequence[Value]) -> Value:
        kind = _number_kind(operands)
        a, b = (_size(v) for v in operands[:2])
        if not isinstance(kind, Int):
            return kind
        if a is not None and b is not None:
            return Int(combine(a, b))
        if b is not None and combine in (_PLUS, _MINUS):
            return _moved(operands[0], combine(0, b))
        return _moved(operands[1], a) if a is not None and combine is _PLUS else kind

    return otherwise


def _moved(value: Value, by: Dim | None) -> Int:
    counter = value.counter if isinstance(value, Int) else None
    return Int() if counter is None or by is None else Int(None, replace(counter, offset=counter.offset + by))


def _quotient(a: Dim, b: Dim) -> Dim | None:
    return dims.floordiv(a, b) if dims.at_least(b, 1) else None


def _modulus(a: Dim, b: Dim) -> Dim | None:
    return dims.mod(a, b) if dims.at_least(b, 1) else None


def _arithmetic(name: str, function: str, combine: Combine, numpy: bool = False, raises: bool = False) -> Op:
    return _fold_row(name, function, _symbolic(combine), numpy, raises)


def _negated(operands: Sequence[Value]) -> Value:
    a = _size(operands[0])
    return _number_kind(operands) if a is None or not isinstance(operands[0], Int) else Int(-1 * a)


def _as(kind: type) -> Callable[[Sequence[Value]], Value]:
    """A number of this kind whose value is not known."""
    return lambda operands: kind()


def _identity_or(kind: type) -> Callable[[Sequence[Value]], Value]:
    return lambda operands: operands[0] if isinstance(operands[0], kind) else kind()


def _number(operands: Sequence[Value]) -> Value:
    return _number_kind(operands)


# --- comparisons: decided where bounds prove them -------------------------------------------------------------------------


def _known_order(a: Dim, b: Dim, strict: bool) -> bool | None:
    """a < b (strict) or a <= b, when the symbols' bounds decide it."""
    if dims.at_least(b - a, 1 if strict else 0):
        return True
    return False if dims.at_least(a - b, 0 if strict else 1) else None


def _known_equal(a: Dim, b: Dim) -> bool | None:
    if a == b:
        return True
    return False if dims.at_least(a - b, 1) or dims.at_least(b - a, 1) else None


_ORDER: dict[str, Callable[[Dim, Dim], bool | None]] = {
    "eq": _known_equal,
    "ne": lambda a, b: None if _known_equal(a, b) is None else not _known_equal(a, b),
    "lt": lambda a, b: _known_order(a, b, strict=True),
    "le": lambda a, b: _known_order(a, b, strict=False),
    "gt": lambda a, b: _known_order(b, a, strict=True),
    "ge": lambda a, b: _known_order(b, a, strict=False),
}


def _decided(op: str) -> Callable[[Sequence[Value]], Value]:
    def otherwise(operands: Sequence[Value]) -> Value:
        if all(isinstance(v, Int) for v in operands[:2]):
            a, b = (_size(v) for v in operands[:2])
            if a is not None and b is not None:
                return Bool(_ORDER[op](a, b))
        return Bool()

    return otherwise


def _comparison(op: str, kind: str) -> Op:
    return _row(f"aten.{op}.{kind}", op, folded(f"scalars.{op}", _decided(op)))


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


# --- tensors ---------------------------------------------------------------------------------------------------------------


def _sizes(ctx: Infer, operands: Sequence[Value]) -> Value:
    x = operands[0]
    if isinstance(x, Tensor) and x.shape is not None:
        return List(tuple(Int(d) for d in x.shape))
    return List(None, Int())


def _size_int(ctx: Infer, operands: Sequence[Value]) -> Value:
    x, dim = operands[0], _plain(operands[1])
    if not isinstance(x, Tensor) or x.shape is None or dim is None:
        return Int()
    if not x.shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return Int(x.shape[normalise_dim(dim, len(x.shape))])


def _rank(ctx: Infer, operands: Sequence[Value]) -> Value:
    return Int(operands[0].rank if isinstance(operands[0], Tensor) else None)


def _numel(ctx: Infer, operands: Sequence[Value]) -> Value:
    x = operands[0]
    return Int(read.product(x.shape)) if isinstance(x, Tensor) and x.shape is not None else Int()


def _length(ctx: Infer, operands: Sequence[Value]) -> Value:
    x = operands[0]
    if isinstance(x, Tensor) and x.shape is not None:
        if not x.shape:
            raise ShapeError("len() of a 0-d tensor")
        return Int(x.shape[0])
    if isinstance(x, List) and x.items is not None:
        return Int(len(x.items))
    return Int(len(x.value)) if isinstance(x, Str) and x.value is not None else Int()


def _dtype_code(ctx: Infer, operands: Sequence[Value]) -> Value:
    dtype = read.dtype_of(operands[0])
    return Int(dtype.code if dtype else None)


def _is_floating_point(ctx: Infer, operands: Sequence[Value]) -> Value:
    dtype = read.dtype_of(operands[0])
    return Bool(dtype.is_float if dtype else None)


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
            if d == 0 or dims.at_least(d, 2):
                raise ShapeError(f"a Tensor with {read.product(shape or ())} elements cannot be converted to Scalar")
        if integers and dtype is not None and (dtype.is_float or dtype.name == "bool"):
            raise TypeError(f"Cannot input a tensor of type {dtype.name} as an integral argument")
        if result is not None:
            return result()  # type: ignore[no-any-return]  # Int, Float or Bool
        if dtype is None:
            return Number()
        return Float() if dtype.is_float else Bool() if dtype.name == "bool" else Int()

    return infer


# --- extremes and ranges -----------------------------------------------------------------------------------------------------


def _extreme(pick: Callable[[Dim, Dim], Dim], kernel: str) -> InferRule:
    def infer(ctx: Infer, operands: Sequence[Value]) -> Value:
        values = list(operands)
        if isinstance(values[0], List):
            if values[0].items is None:
                return Int()
            values = list(values[0].items)
            if not values:
                raise ShapeError(f"{kernel}() arg is an empty sequence")
        best = _size(values[0])
        for value in values[1:]:
            other = _size(value)
            best = None if best is None or other is None else pick(best, other)
        return Int(best)

    return infer


def _range_length(operands: Sequence[Value]) -> Value:
    low, high, step = (_size(v) for v in operands)
    if low is None or high is None or step != 1:
        return Int()
    return Int(dims.maximum(high - low, 0))


def _derive_index(operands: Sequence[Value]) -> Value:
    index, start, step = (_size(v) for v in operands)
    if index is None and step == 1:
        return _moved(operands[0], start)
    return Int() if index is None or start is None or step is None else Int(start + index * step)


def _nothing(ctx: Infer, operands: Sequence[Value]) -> tuple[Value, ...]:
    return ()


# --- rows --------------------------------------------------------------------------------------------------------------------


def _row(
    name: str, function: str, infer: InferRule, results: int = 1, numpy: bool = False, native: bool = True, raises: bool = False,
    note: str = "",
) -> Op:  # fmt: skip
    flavour = f"numpy_scalars.{function}" if numpy else None
    return Op(
        name, Kind.SCALAR, f"scalars.{function}", infer, results=results, numpy=flavour, native=native, raises=raises,
        tolerance=EXACT, note=note, differentiable=False,
    )  # fmt: skip


def _fold_row(name: str, function: str, otherwise: Callable[[Sequence[Value]], Value], numpy: bool = False, raises: bool = False) -> Op:
    infer = folded(f"scalars.{function}", otherwise, f"numpy_scalars.{function}" if numpy else None)
    return _row(name, function, infer, numpy=numpy, raises=raises)


_COMPARISONS = {
    "eq": ("int", "float", "bool", "str", "int_list"), "ne": ("int", "bool", "str", "int_list", "float_int"),
    "lt": ("int", "float", "float_int"), "le": ("int",), "gt": ("int", "float", "float_int"), "ge": ("int", "float", "float_int"),
}  # fmt: skip
_PLUS: Combine = lambda a, b: a + b  # noqa: E731
_MINUS: Combine = lambda a, b: a - b  # noqa: E731
_TIMES: Combine = lambda a, b: a * b  # noqa: E731

ROWS = [
    *(_arithmetic(f"aten.add{k}", "add", _PLUS, numpy=True) for k in ("", ".int", ".float", ".float_int")),
    *(_arithmetic(f"aten.sub{k}", "sub", _MINUS, numpy=True) for k in ("", ".int", ".float")),
    *(_arithmetic(f"aten.mul{k}", "mul", _TIMES, numpy=True) for k in ("", ".int", ".float", ".int_float", ".float_int")),
    *(_fold_row(f"aten.div{k}", "div", _as(Float), numpy=True) for k in ("", ".int", ".float")),
    _arithmetic("aten.floordiv.int", "floordiv", _quotient, numpy=True, raises=True),
    _arithmetic("aten.remainder.int", "remainder", _modulus, numpy=True, raises=True),
    *(_fold_row(f"aten.neg.{k}", "neg", _negated, numpy=True) for k in ("int", "float")),
    _fold_row("prim.abs.Scalar", "absolute", _number, numpy=True),
    _fold_row("aten.pow.int_float", "power", _as(Float), numpy=True),
    _fold_row("aten.sqrt.int", "sqrt", _as(Float), numpy=True),
    _fold_row("aten.log.int", "log", _as(Float), numpy=True),
    *(_fold_row(f"aten.ceil.{k}", "ceil", _as(Int)) for k in ("float", "Scalar")),
    *(_fold_row(f"aten.Int.{k}", "to_int", _identity_or(Int)) for k in ("Scalar", "bool", "float")),
    _fold_row("aten.Float.Scalar", "to_float", _identity_or(Float)),
    _row("aten.Float.str", "to_float", folded("scalars.to_float", _as(Float)), native=False),
    *(_fold_row(f"aten.Bool.{k}", "to_bool", _as(Bool)) for k in ("int", "float")),
    *(_comparison(op, kind) for op, kinds in _COMPARISONS.items() for kind in kinds),
    _fold_row("aten.__and__.bool", "logical_and", _as(Bool)),
    _fold_row("aten.__or__.bool", "logical_or", _as(Bool)),
    _fold_row("aten.__not__", "logical_not", _as(Bool)),
    _row("aten.__is__", "is_same", _identity_test(negated=False)),
    _row("aten.__isnot__", "is_not_same", _identity_test(negated=True)),
    _row("aten.item", "item", _element(None)),
    _row("aten.Int.Tensor", "item_int", _element(Int), numpy=True),
    _row("aten.Float.Tensor", "item_float", _element(Float), numpy=True),
    _row("aten.Bool.Tensor", "item_bool", _element(Bool), numpy=True),
    _row("aten.IntImplicit", "implicit_int", _element(Int, rank_0=True, integers=True)),
    _row("aten.FloatImplicit", "implicit_float", _element(Float, rank_0=True)),
    _row("aten.ScalarImplicit", "implicit_number", _element(None, rank_0=True)),
    _row("aten.size", "size", _sizes),
    _row("aten.size.int", "size_int", _size_int),
    _row("aten.dim", "rank", _rank),
    _row("aten.numel", "numel", _numel),
    *(_row(f"aten.len.{k}", "length", _length) for k in ("Tensor", "t", "str")),
    _row("prim.dtype", "dtype_code", _dtype_code),
    _row("aten.is_floating_point", "is_floating_point", _is_floating_point),
    *(_row(f"prim.max.{k}", "maximum", _extreme(dims.maximum, "max")) for k in ("int", "self_int")),
    *(_row(f"prim.min.{k}", "minimum", _extreme(dims.minimum, "min")) for k in ("int", "self_int")),
    _fold_row("aten.__range_length", "range_length", _range_length),
    _fold_row("aten.__derive_index", "derive_index", _derive_index),
    _row("prim.RaiseException", "raise_exception", _nothing, results=0, raises=True),
    _row("runtime.assert", "check", _nothing, results=0, raises=True),
]
