"""Conversions and copies: values as torch converts them (kernels/casts.py). In gradients what went through integers is zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.facts.values import NoneValue, Tensor, Value
from tierup.dialect.kernels import overlap
from tierup.dialect.kernels.axes import dtype_named
from tierup.dialect.kernels.casts import cast
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Aliasing, Infer, InferRule, Kind, Layout, Promotion, ShapeError, format_shape, like
from tierup.dialect.optable.define import op

if TYPE_CHECKING:
    from tierup.dialect.gradients.core import Backward, Gradients
    from tierup.dialect.mlir import ir

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


_CONTIGUOUS = 0  # torch's number of contiguous_format, the one MemoryFormat that asks for an order


def _convert(x: np.ndarray, dtype: np.dtype, copy: bool, memory_format: int | None) -> np.ndarray:
    result = cast(x, dtype)
    if result is x and copy:
        return clone(x, memory_format)
    return contiguous(result) if memory_format == _CONTIGUOUS else result


@op(
    "aten.to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    kind=Kind.POINTWISE, infer=_to(1), aliasing=Aliasing.MAY_VIEW, tolerance=EXACT,
    note=_OUT_OF_RANGE,
)  # fmt: skip
def to_dtype(
    x: np.ndarray, dtype: int | None, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """x itself when nothing changes and no copy is asked for."""
    return _convert(x, x.dtype if dtype is None else dtype_named(dtype), copy, memory_format)


@to_dtype.under_numpy(form="as_is")
def _(
    x: np.ndarray, dtype: int | None, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """x.astype(dtype, copy=copy)."""
    return x.astype(x.dtype if dtype is None else dtype_named(dtype), copy=copy)


def _is_float(g: Backward) -> bool | ir.Value:
    dtype = g.tensor(g.grad).dtype
    return dtype.is_float if dtype is not None else g.call("aten.is_floating_point", g.grad, type_="!torch.bool")


@to_dtype.vjp()
def _cast_gradient(g: Backward) -> Gradients:
    """The cast's dtype may be for the run to say: then so is whether there is a gradient."""
    return g.choose(_is_float(g), lambda: g.cast_to(g.grad, 0), lambda: g.zeros(0))


@op(
    "aten.to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    kind=Kind.POINTWISE, infer=_to(1), aliasing=Aliasing.MAY_VIEW, tolerance=EXACT,
    note=_OUT_OF_RANGE,
)  # fmt: skip
def to_dtype_layout(
    x: np.ndarray, dtype: int | None = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """layout, device and pinning say nothing here."""
    return to_dtype(x, dtype, non_blocking, copy, memory_format)


@to_dtype_layout.under_numpy(form="as_is")
def _(
    x: np.ndarray, dtype: int | None = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """As to_dtype."""
    return to_dtype.numpy_tier0(x, dtype, non_blocking, copy)


to_dtype_layout.vjp()(_cast_gradient)


@op(
    "aten.to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    kind=Kind.POINTWISE, infer=_to(2), aliasing=Aliasing.MAY_VIEW, tolerance=EXACT,
    note=_OUT_OF_RANGE,
)  # fmt: skip
def to_device(
    x: np.ndarray, device: Any, dtype: int, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """There is one device."""
    return to_dtype(x, dtype, non_blocking, copy, memory_format)


@to_device.under_numpy(form="as_is")
def _(
    x: np.ndarray, device: Any, dtype: int, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """As to_dtype."""
    return to_dtype.numpy_tier0(x, dtype, non_blocking, copy)


@to_device.vjp()
def _same_gradient(g: Backward) -> Gradients:
    return g.cast_to(g.grad, 0)


@op(
    "aten.to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
    kind=Kind.POINTWISE, infer=_to(2), aliasing=Aliasing.MAY_VIEW, tolerance=EXACT,
    note=_OUT_OF_RANGE,
)  # fmt: skip
def to_prim_device(x: np.ndarray, device: Any, dtype: int | None = None, non_blocking: bool = False, copy: bool = False) -> np.ndarray:
    return to_dtype(x, dtype, non_blocking, copy)


@to_prim_device.under_numpy(form="as_is")
def _(x: np.ndarray, device: Any, dtype: int | None = None, non_blocking: bool = False, copy: bool = False) -> np.ndarray:
    """As to_dtype."""
    return to_dtype.numpy_tier0(x, dtype, non_blocking, copy)


to_prim_device.vjp()(_same_gradient)


def _to_other(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return like(_tensor(operands[0]), dtype=read.dtype_of(operands[1]))


@op(
    "aten.to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    kind=Kind.POINTWISE, infer=_to_other, aliasing=Aliasing.MAY_VIEW, tolerance=EXACT, looked_at=(1,),
    note=_OUT_OF_RANGE,
)  # fmt: skip
def to_other(
    x: np.ndarray, other: np.ndarray, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """x in other's dtype."""
    return _convert(x, other.dtype, copy, memory_format)


@to_other.under_numpy(form="as_is")
def _(
    x: np.ndarray, other: np.ndarray, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """x.astype(other.dtype, copy=copy)."""
    return x.astype(other.dtype, copy=copy)


to_other.vjp()(_cast_gradient)


@op(
    "aten.type_as(Tensor self, Tensor other) -> Tensor",
    kind=Kind.POINTWISE, infer=_to_other, aliasing=Aliasing.MAY_VIEW, tolerance=EXACT, looked_at=(1,),
    note=_OUT_OF_RANGE,
)  # fmt: skip
def type_as(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    """x in other's dtype, itself when it has it."""
    return cast(x, other.dtype)


@type_as.under_numpy(form="as_is")
def _(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    """x.astype(other.dtype, copy=False)."""
    return x.astype(other.dtype, copy=False)


type_as.vjp()(_cast_gradient)


@op(
    "aten._to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    kind=Kind.POINTWISE, infer=_to(1), tolerance=EXACT,
    note=_OUT_OF_RANGE,
)  # fmt: skip
def to_copy(
    x: np.ndarray, dtype: int | None = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """Always fresh."""
    return to_dtype(x, dtype, non_blocking, True, memory_format)


@to_copy.under_numpy(form="as_is")
def _(
    x: np.ndarray, dtype: int | None = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, memory_format: int | None = None,
) -> np.ndarray:  # fmt: skip
    """x.astype(dtype)."""
    return to_dtype.numpy_tier0(x, dtype, non_blocking, True)


to_copy.vjp()(_cast_gradient)


@op(
    "prims.convert_element_type(Tensor a, ScalarType dtype) -> Tensor",
    kind=Kind.POINTWISE, infer=_to(1), tolerance=EXACT,
    note=_OUT_OF_RANGE,
)  # fmt: skip
def convert_element_type(x: np.ndarray, dtype: int) -> np.ndarray:
    """Always fresh."""
    return to_dtype(x, dtype, False, True)


@convert_element_type.under_numpy(form="as_is")
def _(x: np.ndarray, dtype: int) -> np.ndarray:
    """x.astype(dtype)."""
    return to_dtype.numpy_tier0(x, dtype, False, True)


convert_element_type.vjp()(_cast_gradient)


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
    kind=Kind.POINTWISE, infer=_copy, tolerance=EXACT,
    note=_OUT_OF_RANGE,
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
    """What was there before is gone: its gradient is zero, which is what None says."""
    return None, g.sum_to(g.grad, "src")


def _same(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return _tensor(operands[0])


@op(
    "aten.clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", "aten.lift_fresh_copy(Tensor self) -> Tensor",
    kind=Kind.POINTWISE, infer=_same, tolerance=EXACT,
)  # fmt: skip
def clone(x: np.ndarray, memory_format: int | None = None) -> np.ndarray:
    """a fresh copy; strides kept in order unless contiguous_format is asked for."""
    return x.copy() if memory_format == _CONTIGUOUS else overlap.copy(x)


@clone.under_numpy(form="as_is")
def _(x: np.ndarray, memory_format: int | None = None) -> np.ndarray:
    """np.copy(x), or x.copy() where contiguous_format is asked for."""
    return x.copy(order="C" if memory_format == _CONTIGUOUS else "K")


clone.vjp()(_same_gradient)


@op(
    "aten.contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
    kind=Kind.POINTWISE, infer=_same, aliasing=Aliasing.MAY_VIEW, layout=Layout.ROWS, tolerance=EXACT,
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
