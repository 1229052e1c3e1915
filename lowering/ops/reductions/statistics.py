"""Variances, norms, logsumexp: dialect/ops/reductions/statistics.py as loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.lowering.building.arith import Scalar, absolute, maximum, select
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.pointwise.context import NotHandled, widened
from tierup.lowering.ops.reductions.extremes import extreme
from tierup.lowering.ops.reductions.sums import mean, over, total
from tierup.lowering.ops.tensors import Tensor, kept_axes, mapped, pointwise, whole


def _moments(x: Tensor, axes: Sequence[int], correction: float, dtype: DType) -> tuple[Tensor, Tensor]:
    """Variance and mean in `dtype`, two passes; the divisor is max(0, n - correction)."""
    center = mean(x, axes, dtype)
    operands = [whole(x), (center, kept_axes(x.rank, axes))]
    squares = total(pointwise(x.lengths, operands, dtype, lambda v, m: v.cast(dtype) - m), axes, dtype, lambda v: v * v)
    n = tensors.count(x, axes)
    divisor = max(0.0, n - correction) if isinstance(n, int) else maximum(n.cast(dtype) - float(correction), 0.0)
    return mapped(squares, dtype, lambda v: v / divisor), center


def _variance(dims: int | None, correction: int, keepdim: int | None, *, root: bool = False, with_mean: bool = False) -> Lowering:
    """Positions of the operands; `unbiased` is a correction of 1 or 0, None means 1."""

    def lower(c: Call, axes: list[int]) -> list[Tensor]:
        x, given = c.tensor(0), c.known(correction)
        if isinstance(given, str):
            raise NotHandled
        dtype = widened(x.dtype) if c.in_numpys_steps else dtypes.f64
        variance, center = _moments(x, axes, 1 if given is None else float(given), dtype)
        if root:
            variance = mapped(variance, dtype, lambda v: v.call("math.sqrt"))
        return [variance, center] if with_mean else [variance]

    return over(lower, dims, keepdim)


def _logsumexp(c: Call, axes: list[int]) -> Tensor:
    x, target = c.tensor(0), c.dtype()
    dtype = widened(target)
    if any(x.sizes[a] == 0 for a in axes):
        return mapped(total(x, axes, dtype), dtype, lambda v: v.call("math.log"))
    wide = mapped(x, dtype, lambda v: v.cast(target))
    shift = mapped(extreme(wide, axes, True), dtype, lambda m: select(absolute(m).equals(math.inf), 0.0, m))
    terms = pointwise(x.lengths, [whole(wide), (shift, kept_axes(x.rank, axes))], dtype, lambda v, m: (v - m).call("math.exp"))
    return pointwise(shift.lengths, [whole(total(terms, axes, dtype)), whole(shift)], dtype, lambda s, m: s.call("math.log") + m)


def _norm(c: Call, axes: list[int], order: float) -> Tensor:
    """(sum |x|**order)**(1/order), and the special orders of torch.linalg.vector_norm's table."""
    x, target = c.tensor(0), c.dtype()
    dtype = widened(target)

    def magnitude(v: Scalar) -> Scalar:
        return absolute(v.cast(target).cast(dtype))

    if order in (math.inf, -math.inf):
        return extreme(mapped(x, dtype, magnitude), axes, order > 0)
    if order == 0:
        return total(x, axes, dtype, lambda v: magnitude(v).differs(0.0).cast(dtype))
    if order == 1:
        return total(x, axes, dtype, magnitude)
    if order == 2:
        squares = total(x, axes, dtype, lambda v: magnitude(v) * magnitude(v))
        return mapped(squares, dtype, lambda v: v.call("math.sqrt"))
    powers = total(x, axes, dtype, lambda v: magnitude(v).call("math.powf", order))
    return mapped(powers, dtype, lambda v: v.call("math.powf", 1.0 / order))


def _vector_norm(c: Call, axes: list[int]) -> Tensor:
    order = c.known(1)
    if isinstance(order, str):
        raise NotHandled
    return _norm(c, axes, 2.0 if order is None else float(order))


LOWERINGS: dict[str, Lowering] = {
    "aten.var": _variance(None, 1, None),
    "aten.var.dim": _variance(1, 2, 3),
    "aten.var.correction": _variance(1, 2, 3),
    "aten.std": _variance(None, 1, None, root=True),
    "aten.std.dim": _variance(1, 2, 3, root=True),
    "aten.std.correction": _variance(1, 2, 3, root=True),
    "aten.var_mean": _variance(None, 1, None, with_mean=True),
    "aten.var_mean.dim": _variance(1, 2, 3, with_mean=True),
    "aten.var_mean.correction": _variance(1, 2, 3, with_mean=True),
    "aten.logsumexp": over(_logsumexp, 1, empty_means_all=False),
    "aten.linalg_vector_norm": over(_vector_norm, 2),
    "aten.norm.Scalar": over(_vector_norm),
    "aten.norm.ScalarOpt_dim": over(_vector_norm, 2),
    "aten.frobenius_norm.dim": over(lambda c, axes: _norm(c, axes, 2.0), 1),
}
