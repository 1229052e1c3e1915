"""Tier-0 kernels of losses: the formulas of dialect/losses on arrays, with the kernels of their ops.

Common errors: ValueError for sizes that do not fit and numbers out of range, TypeError for dtypes, IndexError for a class out of range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect import dtypes, kernels, optable
from tierup.dialect.ir.values import Tensor
from tierup.dialect.kernels.axes import quiet
from tierup.dialect.losses import LOSSES
from tierup.dialect.losses.core import TENSOR, Ops
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
    formula = LOSSES[name].formula

    def kernel(*operands: Any) -> Any:
        try:
            with quiet:
                return formula(_ARRAYS, *operands)
        except ShapeError as e:
            raise ValueError(str(e)) from None

    kernel.__doc__ = f"{name}: {formula.__doc__ or 'see dialect/losses.'}"
    return kernel


mse_loss, l1_loss = _kernel("aten.mse_loss"), _kernel("aten.l1_loss")
smooth_l1_loss, huber_loss = _kernel("aten.smooth_l1_loss"), _kernel("aten.huber_loss")
soft_margin_loss, hinge_embedding_loss = _kernel("aten.soft_margin_loss"), _kernel("aten.hinge_embedding_loss")
margin_ranking_loss, poisson_nll_loss = _kernel("aten.margin_ranking_loss"), _kernel("aten.poisson_nll_loss")
kl_div = _kernel("aten.kl_div")
binary_cross_entropy = _kernel("aten.binary_cross_entropy")
binary_cross_entropy_with_logits = _kernel("aten.binary_cross_entropy_with_logits")
nll_loss, nll_loss_nd, nll_loss2d = _kernel("aten.nll_loss"), _kernel("aten.nll_loss_nd"), _kernel("aten.nll_loss2d")
nll_loss_forward, nll_loss2d_forward = _kernel("aten.nll_loss_forward"), _kernel("aten.nll_loss2d_forward")
cross_entropy_loss = _kernel("aten.cross_entropy_loss")
