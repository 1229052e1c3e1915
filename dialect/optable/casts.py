"""Conversions and copies."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.ir.values import NoneValue, Tensor, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import (
    EXACT,
    Aliasing,
    Infer,
    InferRule,
    Kind,
    Op,
    Promotion,
    ShapeError,
    format_shape,
    like,
    without_gradient,
)

_OUT_OF_RANGE = "a float that an integer dtype cannot hold converts to an unspecified integer, as in torch and NumPy"


def _tensor(value: Value) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor()


def _to(index: int) -> InferRule:
    """Operand 0 in the dtype that operand `index` names; None keeps it."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        x = _tensor(operands[0])
        argument = operands[index] if index < len(operands) else NoneValue()
        try:
            return like(x, dtype=read.dtype_argument(argument) or x.dtype)
        except read.Unknown:
            return like(x, dtype=None)

    return infer


def _to_other(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return like(_tensor(operands[0]), dtype=read.dtype_of(operands[1]))


def _same(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return _tensor(operands[0])


def _copy(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    x, source = _tensor(operands[0]), _tensor(operands[1])
    if x.shape is not None and source.shape is not None:
        given = source.shape
        while ctx.promotion is Promotion.NUMPY and len(given) > len(x.shape) and given[0] == 1:
            given = given[1:]  # NumPy's assignment drops leading ones
        what = f"output with shape {format_shape(x.shape)} doesn't match the broadcast shape of {format_shape(given)}"
        if len(given) > len(x.shape):
            raise ShapeError(what)
        for have, size in zip(x.shape[len(x.shape) - len(given) :], given, strict=True):
            if size != 1:
                ctx.equal(have, size, what)
    return x


def _row(name: str, function: str, infer: InferRule, aliasing: Aliasing, numpy: str | None = None, note: str = "") -> Op:
    kind = Kind.VIEW if aliasing is Aliasing.VIEW else Kind.POINTWISE
    return Op(name, kind, f"casts.{function}", infer, aliasing=aliasing, numpy=numpy, tolerance=EXACT, note=note)


def _conversion(name: str, function: str, infer: InferRule, aliasing: Aliasing = Aliasing.MAY_VIEW) -> Op:
    return _row(name, function, infer, aliasing, f"numpy_casts.{function}", _OUT_OF_RANGE)


ROWS = [
    _conversion("aten.to.dtype", "to_dtype", _to(1)),
    _conversion("aten.to.dtype_layout", "to_dtype_layout", _to(1)),
    _conversion("aten.to.device", "to_device", _to(2)),
    _conversion("aten.to.prim_Device", "to_prim_device", _to(2)),
    _conversion("aten.to.other", "to_other", _to_other),
    _conversion("aten.type_as", "type_as", _to_other),
    _conversion("aten._to_copy", "to_copy", _to(1), Aliasing.FRESH),
    _conversion("prims.convert_element_type", "convert_element_type", _to(1), Aliasing.FRESH),
    _conversion("aten.copy", "copy", _copy, Aliasing.FRESH),
    _row("aten.clone", "clone", _same, Aliasing.FRESH),
    _row("aten.lift_fresh_copy", "clone", _same, Aliasing.FRESH),
    _row("aten.contiguous", "contiguous", _same, Aliasing.MAY_VIEW),
    without_gradient(_row("aten.detach", "view_of", _same, Aliasing.VIEW)),
    _row("aten.alias", "view_of", _same, Aliasing.VIEW),
    _row("prims.view_of", "view_of", _same, Aliasing.VIEW),
]
