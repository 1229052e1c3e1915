"""Adaptive pooling, whose windows share the input out among as many positions as are asked for.

Window i of n over a size s is [floor(i * s / n), ceil((i + 1) * s / n)). Errors as in pooling.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.ops.windows.pooling import INDEX, SUMMED, as_rows, floats, same_dtype, spatial_of, to_where_it_stands
from tierup.dialect.optable import windows
from tierup.dialect.optable.core import EXACT, Infer, Kind, ShapeError
from tierup.dialect.optable.define import DefinedOp, define, read_schema
from tierup.dialect.optable.kernels.arrays import quiet, rounded, widened
from tierup.dialect.optable.operands import dtype_of, or_unknown, shape, sizes, sizes_or_none

if TYPE_CHECKING:
    from tierup.dialect.ops.gradients.core import Backward, Gradients


def windows_over(size: int, count: int) -> list[tuple[int, int]]:
    """Where each of `count` windows begins and ends."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _part(x: np.ndarray, axis: int, start: int, end: int) -> np.ndarray:
    return x[(slice(None),) * axis + (slice(start, end),)]


def _counts(sizes: Sequence[int], counts: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """How many elements each window holds."""
    total = np.ones((), dtype)
    for size, count in zip(sizes, counts, strict=True):
        total = total[..., None] * np.array([end - start for start, end in windows_over(size, count)], dtype)
    return total


def _averaged(x: np.ndarray, found: Sequence[int], spatial: int) -> np.ndarray:
    """Sums over one dim after the other, divided at the end."""
    total = widened(x)
    with quiet:
        for axis in range(x.ndim - spatial, x.ndim):
            along = np.empty((*total.shape[:axis], found[axis], *total.shape[axis + 1 :]), total.dtype)
            for i, (start, end) in enumerate(windows_over(x.shape[axis], found[axis])):
                np.sum(_part(total, axis, start, end), axis=axis, out=_part(along, axis, i, i + 1).squeeze(axis))
            total = along
        return rounded(total / _counts(x.shape[-spatial:], found[-spatial:], total.dtype), x.dtype)


def _largest(x: np.ndarray, found: Sequence[int], spatial: int) -> tuple[np.ndarray, np.ndarray]:
    """Also where each value stands in its image, int64: h * W + w."""
    over, wide = x.shape[-spatial:], widened(x)
    result, indices = np.empty(found, wide.dtype), np.empty(found, np.int64)
    positions = np.arange(int(np.prod(over))).reshape(over)
    parts = [list(enumerate(windows_over(size, count))) for size, count in zip(over, found[-spatial:], strict=True)]
    for window in product(*parts):
        inner: tuple[Any, ...] = tuple(slice(start, end) for _, (start, end) in window)
        seen = wide[(..., *inner)].reshape(*x.shape[:-spatial], positions[inner].size)
        nan = seen != seen
        last = seen.shape[-1] - 1 - np.argmax(nan[..., ::-1], axis=-1)
        chosen = np.where(nan.any(axis=-1), last, np.argmax(seen, axis=-1))[..., None]
        at: tuple[Any, ...] = (..., *(i for i, _ in window))
        result[at] = np.take_along_axis(seen, chosen, -1)[..., 0]
        indices[at] = positions[inner].reshape(-1)[chosen[..., 0]]
    return rounded(result, x.dtype), indices


def _adaptive(schema: str) -> DefinedOp[Any]:
    """(N, C, *spatial) or (C, *spatial) to `output_size`."""
    said = read_schema(schema)[0].removeprefix("aten.").lstrip("_")
    spatial, indices = spatial_of(said), "max" in said
    any_if_empty = said in ("adaptive_avg_pool1d", "adaptive_avg_pool2d")  # but for the average of all, which is a mean there

    @or_unknown
    def result(ctx: Infer, operands: Sequence[Value]) -> Shape:
        return windows.adaptively_pooled(ctx, said, shape(operands[0]), sizes(operands[1]), spatial)

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor | tuple[Tensor, Tensor]:
        dtype = dtype_of(operands[0])
        if not any_if_empty or set(or_unknown(sizes_or_none)(operands[1]) or ()) == {1}:
            dtype = floats(said, dtype)
        found = result(ctx, operands)
        if found is not None and all(isinstance(n, int) and n > 0 for n in found):
            dtype = floats(said, dtype)
        return (Tensor(dtype, found), Tensor(dtypes.i64, found)) if indices else Tensor(dtype, found)

    def tier0(x: np.ndarray, output_size: Sequence[int]) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        made = defined.checked(x, output_size)
        return _largest(x, made[0].shape, spatial) if indices else _averaged(x, made.shape, spatial)

    fields: dict[str, Any] = {"results": 2, "tolerance": EXACT, "note": INDEX} if indices else {"tolerance": SUMMED}
    defined = define(schema, tier0, kind=Kind.REDUCTION, infer=infer, **fields)
    return defined


adaptive_avg_pool1d = _adaptive("aten.adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor")


@adaptive_avg_pool1d.vjp()
def _(g: Backward) -> Gradients:
    made = g.call("aten._adaptive_avg_pool2d_backward", as_rows(g, g.grad), as_rows(g, g.zeros("self")))
    return g.call("aten.squeeze.dim", made, -2)


adaptive_avg_pool2d = _adaptive("aten.adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor")
adaptive_avg_pool3d = _adaptive("aten.adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor")
_adaptive_avg_pool2d = _adaptive("aten._adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor")
_adaptive_avg_pool3d = _adaptive("aten._adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor")


@adaptive_avg_pool2d.vjp()
@adaptive_avg_pool3d.vjp()
@_adaptive_avg_pool2d.vjp()
@_adaptive_avg_pool3d.vjp()
def _(g: Backward) -> Gradients:
    return g.call(f"aten._adaptive_avg_pool{spatial_of(g.rule.op)}d_backward", g.grad, g.zeros("self"))


adaptive_max_pool1d = _adaptive("aten.adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)")
adaptive_max_pool2d = _adaptive("aten.adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)")
adaptive_max_pool3d = _adaptive("aten.adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)")

for _each in (adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d):
    _each.vjp(reads=("result1",))(to_where_it_stands)


def _backward(schema: str, native: bool = True) -> DefinedOp[Any]:
    """The gradient of the input, whose sizes alone are read."""
    said = read_schema(schema)[0].removeprefix("aten.")
    spatial = spatial_of(said)

    def result(ctx: Infer, grad: Shape, x: Shape) -> Shape:
        if len(grad) != len(x):
            raise ShapeError(f"{said}: expected a gradient of rank {len(x)}, but got one of rank {len(grad)}")
        for a, b in zip(grad[:-spatial], x[:-spatial], strict=True):
            ctx.equal(a, b, f"{said}: the gradient has not the input's channels")
        windows.adaptively_pooled(ctx, said, x, grad[-spatial:], spatial)
        return x

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        grad, x = operands[:2]
        same_dtype(said, grad, x)
        return Tensor(floats(said, dtype_of(x)), or_unknown(lambda: result(ctx, shape(grad), shape(x)))())

    def tier0(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
        defined.checked(grad, x)
        with quiet:
            each = widened(grad) / _counts(x.shape[-spatial:], grad.shape[-spatial:], widened(grad).dtype)
            for axis in range(x.ndim - spatial, x.ndim):
                room = np.zeros((*each.shape[:axis], x.shape[axis], *each.shape[axis + 1 :]), each.dtype)
                for i, (start, end) in enumerate(windows_over(x.shape[axis], grad.shape[axis])):
                    _part(room, axis, start, end)[...] += _part(each, axis, i, i + 1)
                each = room
            return rounded(each, x.dtype)

    defined = define(schema, tier0, kind=Kind.REDUCTION, infer=infer, tolerance=SUMMED, native=native)
    return defined


_adaptive_avg_pool2d_backward = _backward("aten._adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor")
_adaptive_avg_pool3d_backward = _backward(
    "aten._adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor", native=False  # the torch dialect has no such op
)  # fmt: skip


@_adaptive_avg_pool2d_backward.vjp()
@_adaptive_avg_pool3d_backward.vjp()
def _(g: Backward) -> Gradients:
    spatial = spatial_of(g.rule.op)
    return g.call(f"aten.adaptive_avg_pool{spatial}d", g.grad, [g.size_of(g.like("grad_output"), d) for d in range(-spatial, 0)])
