"""Variances, norms, logsumexp: dialect/optable/families/statistics.py as loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.lowering.building.arith import Scalar, absolute, maximum, select
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering, axes_of
from tierup.lowering.ops.pointwise.context import NotHandled
from tierup.lowering.ops.reductions.extremes import extreme
from tierup.lowering.ops.reductions.sums import mean, shaped, total
from tierup.lowering.ops.tensors import Tensor, kept_axes, pointwise, widened


def _moments(x: Tensor, axes: Sequence[int], correction: float, dtype: DType) -> tuple[Tensor, Tensor]:
    """Variance and mean in `dtype`, two passes; the divisor is max(0, n - correction)."""
    center = mean(x, axes, dtype)
    kept = kept_axes(x.rank, axes)
    deviation = pointwise(x, [(x, range(x.rank)), (center, kept)], dtype, lambda v, m: v.cast(dtype) - m)
    squares = total(deviation, axes, dtype, lambda v: v * v)
    n = tensors.count(x, axes)
    divisor = max(0.0, n - correction) if isinstance(n, int) else maximum(n.cast(dtype) - float(correction), 0.0)
    return pointwise(squares, [(squares, range(squares.rank))], dtype, lambda v: v / divisor), center


def _variance(dims: int | None, correction: int, keepdim: int | None, *, root: bool = False, with_mean: bool = False) -> Lowering:
    """Positions of the operands; `unbiased` is a correction of 1 or 0, None means 1."""

    def lower(c: Call) -> list[Tensor]:
        x = c.tensor(0)
        axes = axes_of(None if dims is None else c.ints(dims), x.rank)
        given = c.known(correction)
        if isinstance(given, str):
            raise NotHandled
        dtype = widened(x.dtype) if c.in_numpys_steps else dtypes.f64
        variance, center = _moments(x, axes, 1 if given is None else float(given), dtype)
        if root:
            variance = pointwise(variance, [(variance, range(variance.rank))], dtype, lambda v: v.call("math.sqrt"))
        keep = keepdim is not None and bool(c.known(keepdim))
        made = [variance, center] if with_mean else [variance]
        return [shaped(m, x.dtype, x, axes, keep) for m in made]

    return lower


def _logsumexp(c: Call) -> list[Tensor]:
    x, target = c.tensor(0), c.dtype()
    axes = axes_of(c.ints(1), x.rank, empty_means_all=False)
    dtype = widened(target)
    keepdim = bool(c.known(2))
    if any(x.sizes[a] == 0 for a in axes):
        summed = total(x, axes, dtype)
        return [shaped(pointwise(summed, [(summed, range(summed.rank))], dtype, lambda v: v.call("math.log")), target, x, axes, keepdim)]
    wide = pointwise(x, [(x, range(x.rank))], dtype, lambda v: v.cast(target))
    largest = extreme(wide, axes, True)
    shift = pointwise(largest, [(largest, range(largest.rank))], dtype, lambda m: select(absolute(m).equals(math.inf), 0.0, m))
    kept = kept_axes(x.rank, axes)
    terms = pointwise(wide, [(wide, range(x.rank)), (shift, kept)], dtype, lambda v, m: (v - m).call("math.exp"))
    summed = total(terms, axes, dtype)
    every = range(summed.rank)
    made = pointwise(summed, [(summed, every), (shift, every)], dtype, lambda s, m: s.call("math.log") + m)
    return [shaped(made, target, x, axes, keepdim)]


def _norm(c: Call, order: float, axes: list[int], keepdim: bool) -> list[Tensor]:
    """(sum |x|**order)**(1/order), and the special orders of torch.linalg.vector_norm's table."""
    x, target = c.tensor(0), c.dtype()
    dtype = widened(target)

    def magnitude(v: Scalar) -> Scalar:
        return absolute(v.cast(target).cast(dtype))

    if order in (math.inf, -math.inf):
        sizes = pointwise(x, [(x, range(x.rank))], dtype, magnitude)
        return [shaped(extreme(sizes, axes, order > 0), target, x, axes, keepdim)]
    if order == 0:
        made = total(x, axes, dtype, lambda v: magnitude(v).differs(0.0).cast(dtype))
    elif order == 1:
        made = total(x, axes, dtype, magnitude)
    elif order == 2:
        made = total(x, axes, dtype, lambda v: magnitude(v) * magnitude(v))
        made = pointwise(made, [(made, range(made.rank))], dtype, lambda v: v.call("math.sqrt"))
    else:
        made = total(x, axes, dtype, lambda v: magnitude(v).call("math.powf", order))
        made = pointwise(made, [(made, range(made.rank))], dtype, lambda v: v.call("math.powf", 1.0 / order))
    return [shaped(made, target, x, axes, keepdim)]


def _order(c: Call, i: int) -> float:
    order = c.known(i)
    if isinstance(order, str):
        raise NotHandled
    return 2.0 if order is None else float(order)


def _vector_norm(c: Call) -> list[Tensor]:
    return _norm(c, _order(c, 1), axes_of(c.ints(2), c.tensor(0).rank), bool(c.known(3)))


def _norm_dims(c: Call) -> list[Tensor]:
    return _vector_norm(c)


def _norm_all(c: Call) -> list[Tensor]:
    return _norm(c, _order(c, 1), axes_of(None, c.tensor(0).rank), False)


def _frobenius(c: Call) -> list[Tensor]:
    return _norm(c, 2.0, axes_of(c.ints(1), c.tensor(0).rank), bool(c.known(2)))


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
    "aten.logsumexp": _logsumexp,
    "aten.linalg_vector_norm": _vector_norm,
    "aten.norm.Scalar": _norm_all,
    "aten.norm.ScalarOpt_dim": _norm_dims,
    "aten.frobenius_norm.dim": _frobenius,
}

