"""Softmax and layer norm: dialect/kernels/normalisation.py as loops, the halves in f32."""

from __future__ import annotations

from tierup.lowering.pointwise.context import NotHandled
from tierup.lowering.pointwise.scalar import Scalar
from tierup.lowering.reductions.call import Call, Lowering, axes_of
from tierup.lowering.reductions.extremes import extreme
from tierup.lowering.reductions.sums import mean, shaped, total
from tierup.lowering.tensors import Operand, Tensor, kept_axes, pointwise, widened


def _all(x: Tensor) -> Operand:
    return x, range(x.rank)


def _softmax(logarithm: bool) -> Lowering:
    def lower(c: Call) -> list[Tensor]:
        x, target = c.tensor(0), c.dtype()
        dtype = widened(target)
        axes = axes_of(c.ints(1), x.rank)
        if any(size == 0 for size in x.sizes):
            return [pointwise(x, [_all(x)], target, lambda v: v)]
        kept = kept_axes(x.rank, axes)
        wide = x if x.dtype is dtype else pointwise(x, [_all(x)], dtype, lambda v: v.cast(target))
        largest = extreme(wide, axes, True)
        if logarithm:
            shifted = pointwise(wide, [_all(wide), (largest, kept)], dtype, lambda v, m: v - m)
            summed = total(shifted, axes, dtype, lambda v: v.call("math.exp"))
            return [pointwise(wide, [_all(shifted), (summed, kept)], target, lambda v, s: v - s.call("math.log"))]
        powers = pointwise(wide, [_all(wide), (largest, kept)], dtype, lambda v, m: (v - m).call("math.exp"))
        summed = total(powers, axes, dtype)
        return [pointwise(wide, [_all(powers), (summed, kept)], target, lambda e, s: e / s)]

    return lower


def _native_layer_norm(c: Call) -> list[Tensor]:
    x = c.tensor(0)
    sizes = c.ints(1)
    weight, bias, eps = c.optional_tensor(2), c.optional_tensor(3), c.parameter(4)
    if sizes is None or not isinstance(eps, (int, float)):
        raise NotHandled
    dtype = widened(x.dtype)
    axes = list(range(x.rank - len(sizes), x.rank))
    kept = kept_axes(x.rank, axes)
    center = mean(x, axes, dtype)
    deviation = pointwise(x, [_all(x), (center, kept)], dtype, lambda v, m: v.cast(dtype) - m)
    variance = mean(deviation, axes, dtype, lambda v: v * v)
    scale = pointwise(variance, [_all(variance)], dtype, lambda v: 1.0 / (v + float(eps)).call("math.sqrt"))
    operands: list[Operand] = [_all(deviation), (scale, kept)]
    operands += [(p, axes) for p in (weight, bias) if p is not None]

    def finish(v: Scalar, r: Scalar, *parameters: Scalar) -> Scalar:
        v = v * r
        rest = list(parameters)
        if weight is not None:
            v = v * rest.pop(0)
        return v + rest.pop(0) if bias is not None else v

    made = pointwise(x, operands, x.dtype, finish)
    if len(c.op.results) == 1:
        return [made]
    return [made, shaped(center, c.dtype(1), x, axes, True), shaped(scale, c.dtype(2), x, axes, True)]


LOWERINGS: dict[str, Lowering] = {
    "aten.softmax.int": _softmax(False),
    "aten._softmax": _softmax(False),
    "aten.log_softmax.int": _softmax(True),
    "aten._log_softmax": _softmax(True),
    "aten.layer_norm": _native_layer_norm,
    "aten.native_layer_norm": _native_layer_norm,
}

