"""Tensors made from numbers: dialect/ops/scalars/factories.py as loops. `empty` is zeros, so that every run gives the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.ir.attributes import UNREAD
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import items_of
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import Scalar, constant, select
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call
from tierup.lowering.ops.pointwise.context import NotHandled, Parameter, parameter, widened
from tierup.lowering.ops.tensors import Tensor


def _filled(lengths: Callable[[Call], Sequence[Size]], value: int | None, number: int = 0) -> Callable[[Call], Tensor]:
    """Operand `value` is the number, or `number` is."""

    def lower(c: Call) -> Tensor:
        found = c.fitted(lengths(c))
        return tensors.filled(found, constant(number, c.dtype()) if value is None else c.number(value, c.dtype()))

    return lower


def _of_sizes(listed: int, value: int | None, number: int = 0) -> Callable[[Call], Tensor]:
    """Operand `listed` is the list of sizes."""
    return _filled(lambda c: c.sizes_list(listed), value, number)


def _like(value: int | None, number: int = 0) -> Callable[[Call], Tensor]:
    return _filled(lambda c: c.tensor(0).lengths, value, number)


def _arange(start: int | None, end: int, step: int | None) -> Callable[[Call], Tensor]:
    """start + i*step, in int64 for an integer result and in float64 for others; operands by position."""

    def lower(c: Call) -> Tensor:
        target, known = c.dtype(), c.sizes()
        compute = dtypes.f64 if target.is_float else dtypes.i64
        first = constant(0, compute) if start is None else c.number(start, compute, 0)
        by = constant(1, compute) if step is None else c.number(step, compute, 1)
        length: Size = known[0] if known[0] is not None else _arange_length(c, start, end, step)
        return tensors.made([length], target, lambda at: (at[0].cast(dtypes.i64).cast(compute) * by) + first)

    return lower


def _arange_length(c: Call, start: int | None, end: int, step: int | None) -> Size:
    """How many numbers lie between ints that the run computes, by a step of a constant sign. Raises NotHandled for floats."""
    by = 1 if step is None else c.parameter(step)
    if type(by) is not int or by <= 0:
        raise NotHandled
    low = 0 if start is None else c.position(start)
    high = c.position(end)
    if low is None or high is None:
        raise NotHandled
    return (sizes.greatest(high - low, 0) + (by - 1)) // by


def _linspace(c: Call) -> Tensor:
    """The second half is counted back from the end (ATen/native/cpu/RangeFactoriesKernel.cpp)."""
    target, steps = c.dtype(), c.sizes()[0]
    if steps is None:
        raise NotHandled
    compute = dtypes.f32 if widened(target) is dtypes.f32 else dtypes.f64
    first, last = (c.number(i, dtypes.f64 if target.is_float else dtypes.i64, 0).cast(compute) for i in (0, 1))
    if steps < 2:
        return tensors.made([steps], target, lambda at: first)
    step = (last - first) / float(steps - 1)

    def body(at: list[Scalar]) -> Scalar:
        index = at[0].cast(dtypes.i64)
        back = constant(steps - 1, dtypes.i64) - index
        return select(index < steps // 2, first + step * index.cast(compute), last - step * back.cast(compute))

    return tensors.made([steps], target, body)


def _eye(c: Call) -> Tensor:
    lengths = [k if k is not None else c.position(i) for k, i in zip(c.sizes(), (0, 0 if len(c.op.operands) == 5 else 1), strict=True)]
    if any(v is None for v in lengths):
        raise NotHandled

    def body(at: list[Scalar]) -> Scalar:
        row, column = (i.cast(dtypes.i64) for i in at)
        return row.equals(column)

    return tensors.made([v for v in lengths if v is not None], c.dtype(), body)


def _from_list(c: Call) -> Tensor:
    """A number, or a (nested) list of numbers."""
    target, known = c.dtype(), c.sizes()
    elements = [v.cast(target) if isinstance(v, Scalar) else constant(v, target) for v in _numbers(c.op.operands[0])]
    lengths = [size for size in known if size is not None]
    if len(lengths) < len(known) or math.prod(lengths) != len(elements):
        raise NotHandled
    out = tensors.empty(lengths, target)
    return out.holding(b.value("tensor.from_elements", elements, out.value.type)) if elements else out


def _numbers(value: ir.Value) -> list[Parameter]:
    items = items_of(value)
    if items is not None:
        return [number for item in items for number in _numbers(item)]
    found = parameter(value)
    if found is None or isinstance(found, str):
        raise NotHandled
    return [found]


def _empty(c: Call) -> Tensor:
    """Zeros, but of what nobody reads before it was written."""
    if UNREAD in c.op.attributes:
        return tensors.empty(c.fitted(c.sizes_list(0)), c.dtype())
    return _of_sizes(0, None)(c)


_from_number = _filled(lambda c: [], 0)

LOWERINGS: dict[str, Callable[[Call], Tensor]] = {
    "aten.zeros": _of_sizes(0, None),
    "aten.ones": _of_sizes(0, None, 1),
    "aten.empty.memory_format": _empty,
    "aten.full": _of_sizes(0, 1),
    "aten.zeros_like": _like(None),
    "aten.zero": _like(None),
    "aten.ones_like": _like(None, 1),
    "aten.empty_like": _like(None),
    "aten.full_like": _like(1),
    "aten.new_zeros": _of_sizes(1, None),
    "aten.new_ones": _of_sizes(1, None, 1),
    "aten.new_empty": _of_sizes(1, None),
    "aten.new_full": _of_sizes(1, 2),
    "aten.arange": _arange(None, 0, None),
    "aten.arange.start": _arange(0, 1, None),
    "aten.arange.start_step": _arange(0, 1, 2),
    "aten.linspace": _linspace,
    "aten.eye": _eye,
    "aten.eye.m": _eye,
    **{f"aten.tensor.{kind}": _from_number for kind in ("int", "float", "bool")},
    "aten.tensor": _from_list,
    "aten.scalar_tensor": _from_number,
    "prim.NumToTensor.Scalar": _from_number,
}
