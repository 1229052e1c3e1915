"""Tier-0 kernels of ops made of others: the formulas of dialect/formulas on arrays, with the kernels of their ops.

Common errors: ValueError for sizes that do not fit and numbers out of range, TypeError for dtypes, IndexError for a class out of range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect import dtypes, kernels, optable
from tierup.dialect.formulas import FORMULAS
from tierup.dialect.formulas.core import TENSOR, Ops
from tierup.dialect.ir.values import Tensor
from tierup.dialect.kernels.axes import quiet
from tierup.dialect.optable.core import ShapeError


class _Arrays(Ops[Any]):
    def call(self, name: str, *operands: Any, type_: str = TENSOR) -> Any:
        row = optable.lookup(name)
        assert row is not None, name
        return kernels.resolve(row.kernel)(*operands)

    def known(self, x: Any) -> Tensor:
        return Tensor(dtypes.from_numpy(x.dtype), tuple(x.shape))

    def unknown(self) -> Exception:
        return AssertionError("all is known of an array")

    def is_tensor(self, x: Any) -> bool:
        return isinstance(x, np.ndarray)

    def equal(self, x: Any, i: int, y: Any, j: int, what: str) -> None:
        if x.shape[i] != y.shape[j]:
            raise ShapeError(what)

    def check(self, condition: Any, message: str) -> None:
        if not condition.all():
            raise ValueError(message)


_ARRAYS = _Arrays()


def _kernel(name: str) -> Callable[..., Any]:
    formula = FORMULAS[name].compute

    def kernel(*operands: Any) -> Any:
        try:
            with quiet:
                found = formula(_ARRAYS, *operands)
        except ShapeError as e:
            raise ValueError(str(e)) from None
        if isinstance(found, np.ndarray) and any(isinstance(x, np.ndarray) and np.may_share_memory(found, x) for x in operands):
            return found.copy()  # views of views that came to be one of the operand: what a formula gives is new
        return found

    kernel.__doc__ = f"{name}: {formula.__doc__ or 'see dialect/formulas.'}"
    return kernel


globals().update({name.removeprefix("aten.").replace(".", "_"): _kernel(name) for name in FORMULAS})
