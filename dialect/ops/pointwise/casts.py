"""Conversions and copies: values as torch converts them (kernels/arrays.py). In gradients what went through integers is zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.facts.profiled import is_unset
from tierup.dialect.facts.values import NoneValue, Tensor, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import (
    EITHER,
    EXACT,
    KEPT_COMPLEX,
    Aliasing,
    GradientRule,
    Infer,
    Kind,
    Layout,
    Promotion,
    ShapeError,
    format_shape,
    like,
)
from tierup.dialect.optable.define import DefinedOp, define, op, read_schema
from tierup.dialect.optable.kernels import overlap
from tierup.dialect.optable.kernels.arrays import cast, dtype_named

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_OUT_OF_RANGE = "a float that an integer dtype cannot hold converts to an unspecified integer, as in torch and NumPy"


def _tensor(value: Value) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor()


_CONTIGUOUS = 0  # torch's number of contiguous_format, the one MemoryFormat that asks for an order


def _is_float(g: Backward) -> bool | ir.Value:
    dtype = g.tensor(g.grad).dtype
    return dtype.is_float if dtype is not None else g.call("aten.is_floating_point", g.grad, type_="!torch.bool")


def _cast_gradient(g: Backward) -> Gradients:
    """The cast's dtype may be for the run to say: then so is whether there is a gradient."""
    return g.choose(_is_float(g), lambda: g.cast_to(g.grad, 0), lambda: g.zeros(0))


def _same_gradient(g: Backward) -> Gradients:
    return g.cast_to(g.grad, 0)


def _conversion(schema: str, *, fresh: bool = False, gradient: GradientRule = _cast_gradient, **fields: Any) -> DefinedOp[np.ndarray]:
    """The op that gives operand 0 in a dtype, itself when nothing changes and no copy is asked for, unless it is to be `fresh`. What its
    operands are the schema's names say: `dtype`, a number, or None for operand 0's own; `other`, a tensor that has the dtype; `copy`;
    `memory_format`. The others say nothing here: there is one device. NumPy says x.astype(dtype, copy=copy)."""
    names = read_schema(schema)[1]

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        x, asked = _tensor(operands[0]), dict(zip(names, operands, strict=False))
        try:
            wanted = read.dtype_of(asked["other"]) if "other" in asked else read.dtype_argument(asked.get("dtype", NoneValue())) or x.dtype
        except read.Unknown:
            wanted = None
        return like(x, dtype=wanted)

    def wanted(x: np.ndarray, asked: dict[str, Any]) -> tuple[np.dtype, bool]:
        """The dtype, and whether there is to be a copy."""
        code = asked.get("dtype")
        dtype = asked["other"].dtype if "other" in asked else x.dtype if code is None else dtype_named(code)
        return dtype, asked.get("copy", fresh)

    def tier0(x: np.ndarray, *more: Any) -> np.ndarray:
        asked = dict(zip(names[1:], more, strict=False))
        (dtype, copy), memory_format = wanted(x, asked), asked.get("memory_format")
        result = cast(x, dtype)
        if result is x and copy:
            return clone(x, memory_format)
        return contiguous(result) if memory_format == _CONTIGUOUS else result

    def numpy_tier0(x: np.ndarray, *more: Any) -> np.ndarray:
        dtype, copy = wanted(x, dict(zip(names[1:], more, strict=False)))
        return x.astype(dtype, copy=copy)

    aliasing = Aliasing.FRESH if fresh else Aliasing.MAY_VIEW
    made = define(schema, tier0, kind=Kind.POINTWISE, infer=infer, aliasing=aliasing, may_be_operand=EITHER,
                  tolerance=EXACT, note=_OUT_OF_RANGE, **KEPT_COMPLEX, **fields)  # fmt: skip
    made.under_numpy(form="as_is")(numpy_tier0)
    made.vjp()(gradient)
    return made


to_dtype = _conversion(
    "aten.to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)"
)
to_dtype_layout = _conversion(
    "aten.to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)"
)
to_device = _conversion(
    "aten.to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    gradient=_same_gradient,
)
to_prim_Device = _conversion(
    "aten.to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
    gradient=_same_gradient,
)
to_other = _conversion(
    "aten.to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    looked_at=(1,),
)
type_as = _conversion("aten.type_as(Tensor self, Tensor other) -> Tensor", looked_at=(1,))
_to_copy = _conversion(
    "aten._to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    fresh=True,
)
convert_element_type = _conversion("prims.convert_element_type(Tensor a, ScalarType dtype) -> Tensor", fresh=True)


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


@op(
    "aten.copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
    kind=Kind.POINTWISE, infer=_copy, layout=Layout.KEPT, tolerance=EXACT,
    note=_OUT_OF_RANGE, **KEPT_COMPLEX,
)  # fmt: skip
def copy(x: np.ndarray, source: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    """Source broadcast to x's shape and converted to its dtype, fresh, and laid out as x is, so that what can be viewed of x can
    be viewed of it. ValueError when it does not broadcast."""
    result = overlap.same_strides(x)
    result[...] = np.broadcast_to(cast(source, x.dtype), x.shape)
    return result


@copy.under_numpy(form="copied")
def _(x: np.ndarray, source: Any, non_blocking: bool = False) -> np.ndarray:
    """What x would hold after `x[...] = source`, laid out as x is. ValueError when source does not broadcast to x."""
    result = np.empty_like(x)
    result[...] = source
    return result


@copy.vjp()
def _(g: Backward) -> Gradients:
    """What was there before is gone: its gradient is zero, which is what None says. What an in-place op gives was not broadcast."""
    return None, (g.cast_to if g.is_of_inplace_op else g.sum_to)(g.grad, "src")


def _same(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return _tensor(operands[0])


@op(
    "aten.clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", "aten.lift_fresh_copy(Tensor self) -> Tensor",
    kind=Kind.POINTWISE, infer=_same, tolerance=EXACT, **KEPT_COMPLEX,
)  # fmt: skip
def clone(x: np.ndarray, memory_format: int | None = None) -> np.ndarray:
    """a fresh copy; strides kept in order unless contiguous_format is asked for."""
    if is_unset(x):
        return x  # no value has no copy
    return x.copy() if memory_format == _CONTIGUOUS else overlap.copy(x)


@clone.under_numpy(form="as_is")
def _(x: np.ndarray, memory_format: int | None = None) -> np.ndarray:
    """np.copy(x), or x.copy() where contiguous_format is asked for."""
    if is_unset(x):
        return x
    return x.copy(order="C" if memory_format == _CONTIGUOUS else "K")


clone.vjp()(_same_gradient)


@op(
    "aten.contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
    kind=Kind.POINTWISE, infer=_same, aliasing=Aliasing.MAY_VIEW, may_be_operand=EITHER, layout=Layout.ROWS, tolerance=EXACT,
    **KEPT_COMPLEX,
)  # fmt: skip
def contiguous(x: np.ndarray, memory_format: int = _CONTIGUOUS) -> np.ndarray:
    """x itself when it is C-contiguous, else a C-contiguous copy."""
    return x if x.flags.c_contiguous else x.copy(order="C")


contiguous.vjp()(_same_gradient)


@op(
    "aten.detach(Tensor(a) self) -> Tensor(a)",
    kind=Kind.VIEW, infer=_same, aliasing=Aliasing.VIEW, layout=Layout.KEPT, tolerance=EXACT, differentiable=False,
    no_gradient="stopped by wish",
)  # fmt: skip
def detach(x: np.ndarray) -> np.ndarray:
    """Another array over the same memory."""
    return x.view()


@op(
    "aten.alias(Tensor(a) self) -> Tensor(a)", "prims.view_of(Tensor(a) a) -> Tensor(a)",
    kind=Kind.VIEW, infer=_same, aliasing=Aliasing.VIEW, layout=Layout.KEPT, tolerance=EXACT,
)  # fmt: skip
def alias(x: np.ndarray) -> np.ndarray:
    """Another array over the same memory."""
    return x.view()


alias.vjp()(_same_gradient)
