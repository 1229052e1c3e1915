"""How a pointwise kernel is made from a formula: promotion before, rounding to the result's dtype after.

A formula sees its leading operands in the dtype that is computed in, as arrays or NumPy scalars, and the other operands
as they came.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.memory_order import elementwise_order
from tierup.dialect.optable.kernels import overlap
from tierup.dialect.optable.kernels.arrays import cast
from tierup.dialect.optable.kernels.promotion import Kernel, Plan, Typing, check_scale, plan

_I64 = np.dtype(np.int64)


def number(x: Any, dtype: np.dtype) -> Any:
    """A Python number as a NumPy scalar, wrapping if it is an int too large."""
    return dtype.type(x) if dtype.kind in "fbc" else dtype.type(np.asarray(x, _I64).astype(dtype))


def operand(x: Any, common: np.dtype, compute: np.dtype) -> Any:
    """An operand in the dtype that is computed in, by way of the common one; None stays."""
    if isinstance(x, np.ndarray):
        return x if x.dtype is compute and common is compute else cast(cast(x, common), compute)
    if x is None:
        return None
    return number(x, compute) if common is compute else cast(cast(np.asarray(x), common), compute)[()]


def _as_eager_lies(result: np.ndarray, operands: list[np.ndarray]) -> np.ndarray:
    """Where operands lie otherwise than one another, NumPy gives a result another order of dims in memory than PyTorch."""
    if all(x.flags.c_contiguous for x in operands) or all(x.shape == result.shape and x.strides == operands[0].strides for x in operands):
        return result
    order = elementwise_order(result.shape, [(x.shape, x.strides) for x in operands])
    return result if order is None else np.array(result.transpose(order), order="C", copy=None).transpose(np.argsort(order))


def kernel_of(typing: Typing, formula: Callable[..., Any]) -> Kernel:
    """The kernel that computes a formula: its leading operands in the dtype that `typing` says, the others as they come."""
    count, scale, promoting = typing.operands, typing.scale, typing.promoting
    plans: dict[tuple[Any, ...], Plan] = {}  # by what `plan` depends on: a call of known dtypes costs one look-up

    @np.errstate(all="ignore")  # torch gives no floating-point warnings
    def kernel(*operands: Any) -> np.ndarray:
        key = tuple([(x.dtype, x.ndim > 0) if isinstance(x, np.ndarray) else type(x) for x in operands[:promoting]])
        types = plans.get(key)
        if types is None:
            try:
                types = plans[key] = plan(typing, operands)
            except TypeError:
                np.broadcast_shapes(*(x.shape for x in operands[:count] if isinstance(x, np.ndarray)))  # torch asks for shapes first
                raise
        common, compute = types.common, types.compute
        converted = [operand(x, common, compute) for x in operands[:count]]
        if types.exact_second:
            converted[1] = operand(operands[1], compute, compute)
        rest = operands[count:]
        if scale is not None and len(operands) > scale and not (type(operands[scale]) is int and operands[scale] == 1):
            check_scale(operands[scale], dtypes.from_numpy(common), typing.op)
            rest = (operand(operands[scale], common, compute), *rest[scale - count + 1 :])
        result = formula(*converted, *rest)
        if not isinstance(result, np.ndarray):
            result = np.asarray(result)
        elif any(result is x for x in operands):
            result = overlap.copy(result)
        if result.ndim > 1 and len(converted) > 1:
            result = _as_eager_lies(result, [x for x in operands[:count] if isinstance(x, np.ndarray)])
        return result if result.dtype is types.result else cast(result, types.result)

    return kernel
