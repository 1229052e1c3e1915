"""Tensors made from numbers: dialect/optable/families/factories.py as loops. `empty` is zeros, so that every run gives the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import items_of
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import Scalar, constant, select
from tierup.lowering.building.sizes import Size
from tierup.lowering.building.sizes import value as size_value
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call
from tierup.lowering.ops.pointwise.context import NotHandled, Parameter, parameter
from tierup.lowering.ops.tensors import Tensor


def _filled(c: Call, value: Parameter, lengths: Sequence[Size]) -> Tensor:
    known, dtype = c.sizes(), c.dtype()
    if len(lengths) != len(known) or value is None:
        raise NotHandled
    number = value.cast(dtype) if isinstance(value, Scalar) else constant(value, dtype)
    dynamic = [size_value(v) for v, size in zip(lengths, known, strict=True) if size is None]
    return Tensor(tensors.filled(known, dynamic, number), dtype, known)


def _of_sizes(listed: int, value: int | None, number: int = 0) -> Callable[[Call], Tensor]:
    """Operand `listed` is the list of sizes; operand `value` the number, or `number` is."""
    return lambda c: _filled(c, number if value is None else c.parameter(value), c.sizes_list(listed))


def _like(value: int | None, number: int = 0) -> Callable[[Call], Tensor]:
    def lower(c: Call) -> Tensor:
        x = c.tensor(0)
        return _filled(c, number if value is None else c.parameter(value), x.lengths)

    return lower


def _number(c: Call, i: int | None, default: int, dtype: DType) -> Scalar:
    value = default if i is None else c.parameter(i)
    if value is None:
        value = default
    return value.cast(dtype) if isinstance(value, Scalar) else constant(value, dtype)


def _arange(start: int | None, end: int, step: int | None) -> Callable[[Call], Tensor]:
    """start + i*step, in int64 for an integer result and in float64 for others; operands by position."""

    def lower(c: Call) -> Tensor:
        target, known = c.dtype(), c.sizes()
        compute = dtypes.f64 if target.is_float else dtypes.i64
        first, by = _number(c, start, 0, compute), _number(c, step, 1, compute)
        length: Size = known[0] if known[0] is not None else _arange_length(c, start, end, step)

        def body(at: list[Scalar]) -> Scalar:
            return (at[0].cast(dtypes.i64).cast(compute) * by) + first

        return tensors.made(known, [length], target, body)

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
    target, known = c.dtype(), c.sizes()
    if known[0] is None:
        raise NotHandled
    steps = known[0]
    compute = dtypes.f32 if target in (dtypes.f16, dtypes.bf16, dtypes.f32) else dtypes.f64
    ends = [_number(c, i, 0, dtypes.i64 if not target.is_float else dtypes.f64) for i in (0, 1)]
    first, last = (v.cast(compute) for v in ends)
    if steps < 2:
        return tensors.made(known, [steps], target, lambda at: first)
    step = (last - first) / float(steps - 1)

    def body(at: list[Scalar]) -> Scalar:
        index = at[0].cast(dtypes.i64)
        back = constant(steps - 1, dtypes.i64) - index
        return select(index < steps // 2, first + step * index.cast(compute), last - step * back.cast(compute))

    return tensors.made(known, [steps], target, body)


def _eye(c: Call) -> Tensor:
    target, known = c.dtype(), c.sizes()
    lengths = [c.position(0), c.position(0 if len(c.op.operands) == 5 else 1)]
    values = [known_size if known_size is not None else length for known_size, length in zip(known, lengths, strict=True)]
    if any(v is None for v in values):
        raise NotHandled

    def body(at: list[Scalar]) -> Scalar:
        row, column = (i.cast(dtypes.i64) for i in at)
        return row.equals(column)

    return tensors.made(known, [v for v in values if v is not None], target, body)


def _from_list(c: Call) -> Tensor:
    """A number, or a (nested) list of numbers."""
    target, known = c.dtype(), c.sizes()
    elements = [v.cast(target) if isinstance(v, Scalar) else constant(v, target) for v in _numbers(c.op.operands[0])]
    if None in known or math.prod(s or 0 for s in known) != len(elements):
        raise NotHandled
    if not elements:
        return Tensor(tensors.empty(known, [], target), target, known)
    made = b.value("tensor.from_elements", elements, tensors.empty(known, [], target).type)
    return Tensor(made, target, known)


def _numbers(value: ir.Value) -> list[Parameter]:
    items = items_of(value)
    if items is not None:
        return [number for item in items for number in _numbers(item)]
    found = parameter(value)
    if found is None or isinstance(found, str):
        raise NotHandled
    return [found]


def _from_number(c: Call) -> Tensor:
    return _filled(c, c.parameter(0), [])


LOWERINGS: dict[str, Callable[[Call], Tensor]] = {
    "aten.zeros": _of_sizes(0, None),
    "aten.ones": _of_sizes(0, None, 1),
    "aten.empty.memory_format": _of_sizes(0, None),
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
