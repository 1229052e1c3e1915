"""How a pointwise kernel is made from a formula: promotion before, rounding to the result's dtype after.

A formula sees its leading operands in the dtype that is computed in, as arrays or NumPy scalars, and the other operands
as they came.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from tierup.dialect import kernels
from tierup.dialect.kernels.axes import quiet
from tierup.dialect.kernels.casts import cast
from tierup.dialect.kernels.promotion import Kernel, Typing, plan

_I64 = np.dtype(np.int64)


def operand(x: Any, dtype: np.dtype) -> Any:
    """An operand in `dtype`; a Python number becomes a NumPy scalar, wrapping if it is an int too large."""
    if isinstance(x, np.ndarray):
        return x if x.dtype == dtype else cast(x, dtype)
    if x is None:
        return None
    if dtype.kind == "f" or dtype.kind == "b":
        return dtype.type(x)
    return dtype.type(np.asarray(x, _I64).astype(dtype))


def pointwise(typing: Typing) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a formula a kernel. The kernel's attribute `typing` is what inference reads (see `typing_of`)."""
    count = typing.operands

    def decorate(formula: Callable[..., Any]) -> Kernel:
        @wraps(formula)
        def kernel(*operands: Any) -> np.ndarray:
            compute, dtype = plan(typing, operands)
            with quiet:
                result = formula(*[operand(x, compute) for x in operands[:count]], *operands[count:])
                if not isinstance(result, np.ndarray):
                    result = np.asarray(result)
                return result if result.dtype == dtype else cast(result, dtype)

        return typed(typing)(kernel)

    return decorate


def typed(typing: Typing) -> Callable[[Kernel], Kernel]:
    """Say how a kernel that is written out types its operands."""

    def decorate(kernel: Kernel) -> Kernel:
        kernel.typing = typing  # type: ignore[attr-defined]  # read by typing_of
        return kernel

    return decorate


def typing_of(name: str) -> Typing:
    """How the pointwise kernel "module.function" types its operands."""
    return kernels.resolve(name).typing  # type: ignore[attr-defined,no-any-return]  # set by `typed`
