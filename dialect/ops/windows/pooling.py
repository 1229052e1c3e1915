"""Max and average pooling: one pass over the result for each place in the window. windows.py has the shapes.

What stands for a window gets the window's gradient; an average shares it out among the window. ValueError for windows that do not fit,
TypeError for dtypes that an op refuses, as in PyTorch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import Category, DType
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.optable import windows
from tierup.dialect.optable.core import EXACT, Infer, Kind, ShapeError, Tolerance
from tierup.dialect.optable.define import DefinedOp, define, read_schema
from tierup.dialect.optable.kernels.arrays import quiet, rounded, widened
from tierup.dialect.optable.operands import dtype_of, flag, given, integer, integers, lifted, optional, or_unknown, shape
from tierup.dialect.optable.windows import Pooling

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

SUMMED = Tolerance(4.0, 1.0)
INDEX = "of equal values the first stands for all, of NaNs the last"


def floats(op: str, dtype: DType | None, *also: DType) -> DType | None:
    """The dtype, refused unless it is a float or one of `also`."""
    if dtype is not None and not dtype.is_float and dtype not in also:
        raise TypeError(f'"{op}" not implemented for {dtype.name!r}')
    return dtype


def same_dtype(op: str, a: Value, b: Value) -> None:
    """Raises TypeError where a gradient is not of its input's dtype."""
    known = [d for d in (dtype_of(a), dtype_of(b)) if d is not None]
    if len(set(known)) > 1:
        raise TypeError(f"{op}: expected a gradient of the input's dtype, but got: {', '.join(d.name for d in known)}")


def spatial_of(name: str) -> int:
    """How many spatial dims an op has by its name."""
    found = re.search(r"pool(\d)d", name)
    assert found is not None
    return int(found[1])


def as_rows(g: Backward, value: ir.Value) -> ir.Value:
    """As an image of one row."""
    return g.call("aten.unsqueeze", value, -2)


def _window(op: str, spatial: int, operands: Sequence[Value], dilation: int | None, ceil: int) -> Pooling:
    """(self, kernel_size, stride, padding, [dilation,] ceil_mode, ...); `dilation` and `ceil`: where these stand."""
    stride = integers(operands[2]) if len(operands) > 2 else ()
    spread = integers(given(operands, dilation, 1)) if dilation is not None else (1,)
    padding, rounded_up = integers(given(operands, 3, 0)), flag(given(operands, ceil, 0))
    return windows.pooling(op, spatial, integers(operands[1]), stride, padding, spread, rounded_up)


# --- windows over arrays -------------------------------------------------------------------------------------------------


def _places(of: Pooling, shape: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """Each place in the window, with what of the padded input it meets."""
    for at in product(*map(range, of.kernel)):
        first = [i * d for i, d in zip(at, of.dilation, strict=True)]
        yield at, (..., *(slice(f, f + (n - 1) * s + 1, s) for f, n, s in zip(first, shape[-of.spatial :], of.stride, strict=True)))


def _room(of: Pooling, x: np.ndarray, shape: Sequence[int], filler: object) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Memory for the input and all that windows reach beyond it, and where the input stands in it."""
    n = of.spatial
    inner = tuple(slice(p, p + size) for p, size in zip(of.padding, x.shape[-n:], strict=True))
    reach = ((count - 1) * s + span for count, s, span in zip(shape[-n:], of.stride, of.span, strict=True))
    sizes = tuple(max(r, p + size) for r, p, size in zip(reach, of.padding, x.shape[-n:], strict=True))
    return np.full((*x.shape[:-n], *sizes), filler, x.dtype), (..., *inner)


def _padded(of: Pooling, x: np.ndarray, shape: Sequence[int], filler: object) -> np.ndarray:
    room, inner = _room(of, x, shape, filler)
    if room.shape == x.shape:
        return x
    room[inner] = x
    return room


# --- the largest ---------------------------------------------------------------------------------------------------------


def _least(dtype: np.dtype) -> object:
    """The number below all others."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else dtype.type(-np.inf)


def _largest(x: np.ndarray, of: Pooling, shape: Sequence[int]) -> np.ndarray:
    wide = widened(x)
    result = np.full(shape, _least(wide.dtype), wide.dtype)
    padded = _padded(of, wide, shape, _least(wide.dtype))
    for _, where in _places(of, shape):
        np.maximum(result, padded[where], out=result)
    return rounded(result, x.dtype)


def _largest_and_where(x: np.ndarray, of: Pooling, shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Also where each value stands in its image, int64: h * W + w."""
    wide, spatial = widened(x), of.spatial
    result = np.full(shape, _least(wide.dtype), wide.dtype)
    first = [np.arange(n) * s - p for n, s, p in zip(shape[-spatial:], of.stride, of.padding, strict=True)]
    within = [f + np.maximum(-(f // d), 0) * d for f, d in zip(first, of.dilation, strict=True)]  # the first place of the input
    indices = np.broadcast_to(_flat(within, x.shape[-spatial:]), shape).copy()
    padded = _padded(of, wide, shape, _least(wide.dtype))
    for at, where in _places(of, shape):
        seen = padded[where]
        larger = (seen > result) | (seen != seen)
        positions = _flat([f + i * d for f, i, d in zip(first, at, of.dilation, strict=True)], x.shape[-spatial:])
        np.copyto(result, seen, where=larger)
        np.copyto(indices, positions, where=larger)
    return rounded(result, x.dtype), indices


def _flat(positions: Sequence[np.ndarray], sizes: tuple[int, ...]) -> np.ndarray:
    """Positions along each dim as one number for each combination."""
    total = np.zeros((1,) * len(sizes), np.int64)
    for i, (along, size) in enumerate(zip(positions, sizes, strict=True)):
        total = total * size + along.reshape(-1, *(1,) * (len(sizes) - 1 - i))
    return total


def _max_pool(schema: str) -> DefinedOp[Any]:
    """(N, C, *spatial) or (C, *spatial). NaN stays."""
    name = read_schema(schema)[0].removeprefix("aten.")
    said, indices, spatial = name.removesuffix("_with_indices"), name.endswith("_with_indices"), spatial_of(name)

    @or_unknown
    def result(ctx: Infer, operands: Sequence[Value]) -> Shape:
        return windows.pooled(ctx, said, shape(operands[0]), _window(said, spatial, operands, 4, 5))

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor | tuple[Tensor, Tensor]:
        dtype, found = dtype_of(operands[0]), result(ctx, operands)
        if spatial == 1 and not indices:
            floats(said, dtype)
        elif dtype is not None and dtype.category is Category.BOOL:
            raise TypeError(f'"{said}" not implemented for {dtype.name!r}')
        return (Tensor(dtype, found), Tensor(dtypes.i64, found)) if indices else Tensor(dtype, found)

    def tier0(x: np.ndarray, *rest: Any) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        made = defined.checked(x, *rest)
        of = _window(said, spatial, [lifted(v) for v in (x, *rest)], 4, 5)
        return _largest_and_where(x, of, made[0].shape) if indices else _largest(x, of, made.shape)

    fields: dict[str, Any] = {"results": 2, "note": INDEX} if indices else {}
    defined = define(schema, tier0, kind=Kind.REDUCTION, infer=infer, tolerance=EXACT, **fields)
    return defined


max_pool1d = _max_pool(
    "aten.max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, "
    "bool ceil_mode=False) -> Tensor"
)
max_pool2d = _max_pool(
    "aten.max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
    "bool ceil_mode=False) -> Tensor"
)
max_pool3d = _max_pool(
    "aten.max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, "
    "bool ceil_mode=False) -> Tensor"
)


@max_pool1d.vjp(reads=("self",))
@max_pool2d.vjp(reads=("self",))
@max_pool3d.vjp(reads=("self",))
def _(g: Backward) -> Gradients:
    """Where the values stand is found again: the op does not say it."""
    kernel = g.ints("kernel_size") or []
    operands = [kernel, g.ints("stride") or kernel, g.ints("padding") or [], g.ints("dilation") or []]
    name = f"{g.rule.op}_with_indices"
    _, indices = g.several(name, g.operands[0], *operands, bool(g.constant("ceil_mode")), types=["!torch.vtensor"] * 2)
    return scattered(g, indices)


max_pool1d_with_indices = _max_pool(
    "aten.max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, "
    "bool ceil_mode=False) -> (Tensor, Tensor)"
)
max_pool2d_with_indices = _max_pool(
    "aten.max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
    "bool ceil_mode=False) -> (Tensor, Tensor)"
)
max_pool3d_with_indices = _max_pool(
    "aten.max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, "
    "bool ceil_mode=False) -> (Tensor, Tensor)"
)


@max_pool1d_with_indices.vjp(reads=("result1",))
@max_pool2d_with_indices.vjp(reads=("result1",))
@max_pool3d_with_indices.vjp(reads=("result1",))
def to_where_it_stands(g: Backward) -> Gradients:
    return scattered(g, g.results[1]) if g.grads[0] is not None else None


def scattered(g: Backward, indices: ir.Value) -> ir.Value:
    """Each window's gradient goes to where its value stands."""
    spatial = spatial_of(g.rule.op)
    zeros, where, values = (g.call("aten.flatten.using_ints", v, -spatial, -1) for v in (g.zeros("self"), indices, g.grad))
    return g.call("aten.reshape", g.call("aten.scatter_add", zeros, -1, where, values), g.operand_size("self"))


# --- averages ------------------------------------------------------------------------------------------------------------


@or_unknown
def _check_divisor(op: str, operands: Sequence[Value]) -> None:
    if optional(integer, given(operands, 6)) == 0:
        raise ShapeError(f"{op}: divisor must be not zero")


@or_unknown
def _averaged_shape(ctx: Infer, op: str, operands: Sequence[Value]) -> Shape:
    return windows.pooled(ctx, op, shape(operands[0]), _window(op, spatial_of(op), operands, None, 4))


def _averaged(ctx: Infer, op: str, operands: Sequence[Value]) -> Tensor:
    _check_divisor(op, operands)
    return Tensor(floats(op, dtype_of(operands[0]), dtypes.i64), _averaged_shape(ctx, op, operands))


def _divided(total: np.ndarray, of: Pooling, sizes: Sequence[int], include_pad: bool = True, override: int | None = None) -> np.ndarray:
    """total by the number of places of each window that stand in the input, or in it and its padding; of integers the quotient towards
    zero. `sizes`: the input's."""
    by: Any = prod(of.kernel) if override is None else override
    if override is None:
        counts = []
        for size, count, k, s, p in zip(sizes[-of.spatial :], total.shape[-of.spatial :], of.kernel, of.stride, of.padding, strict=True):
            start = np.arange(count) * s - p
            end = np.minimum(start + k, size + p)
            counts.append(end - start if include_pad else np.minimum(end, size) - np.maximum(start, 0))
        if any((c != k).any() for c, k in zip(counts, of.kernel, strict=True)):
            by = counts[0]
            for more in counts[1:]:
                by = by[..., None] * more
    found: np.ndarray
    if total.dtype.kind != "i":
        found = total / np.asarray(by, total.dtype)
    else:
        quotient = np.abs(total) // np.abs(by)
        found = np.where((total < 0) == (np.asarray(by) < 0), quotient, -quotient)
    return found


def _avg_pool(schema: str) -> DefinedOp[Any]:
    """(N, C, *spatial) or (C, *spatial)."""
    said = read_schema(schema)[0].removeprefix("aten.")

    def tier0(x: np.ndarray, *rest: Any) -> np.ndarray:
        found = defined.checked(x, *rest).shape
        of, wide = _window(said, spatial_of(said), [lifted(v) for v in (x, *rest)], None, 4), widened(x)
        padded = _padded(of, wide, found, 0)
        total = np.zeros(found, wide.dtype)
        with quiet:
            for _, where in _places(of, found):
                total += padded[where]
            return rounded(_divided(total, of, x.shape, *rest[4:]), x.dtype)

    defined = define(schema, tier0, kind=Kind.REDUCTION, infer=lambda ctx, operands: _averaged(ctx, said, operands), tolerance=SUMMED)
    return defined


avg_pool1d = _avg_pool(
    "aten.avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, "
    "bool count_include_pad=True) -> Tensor"
)


@avg_pool1d.vjp()
def _(g: Backward) -> Gradients:
    grad, like = as_rows(g, g.grad), as_rows(g, g.zeros("self"))
    kernel, stride, padding = ([neutral, *(g.ints(which) or [])] for which, neutral in (("kernel_size", 1), ("stride", 1), ("padding", 0)))
    if len(stride) == 1:
        stride = kernel
    flags = bool(g.constant("ceil_mode")), bool(g.constant("count_include_pad"))
    return g.call("aten.squeeze.dim", g.call("aten.avg_pool2d_backward", grad, like, kernel, stride, padding, *flags, None), -2)


avg_pool2d = _avg_pool(
    "aten.avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, "
    "bool count_include_pad=True, int? divisor_override=None) -> Tensor"
)
avg_pool3d = _avg_pool(
    "aten.avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, "
    "bool count_include_pad=True, int? divisor_override=None) -> Tensor"
)


@avg_pool2d.vjp()
@avg_pool3d.vjp()
def _(g: Backward) -> Gradients:
    return g.call(f"{g.rule.op}_backward", g.grad, g.zeros("self"), *_averaging(g))


def _averaging(g: Backward) -> list[list[int] | bool | int | None]:
    kernel = g.ints("kernel_size") or []
    lists: list[list[int] | bool | int | None] = [kernel, g.ints("stride") or kernel, g.ints("padding") or []]
    divisor = None if g.is_none("divisor_override") else int(g.constant("divisor_override"))
    return [*lists, bool(g.constant("ceil_mode")), bool(g.constant("count_include_pad")), divisor]


def _avg_pool_backward(schema: str) -> DefinedOp[Any]:
    """The gradient of the input, whose sizes alone are read."""
    said = read_schema(schema)[0].removeprefix("aten.")
    pooled = said.removesuffix("_backward")

    @or_unknown
    def fits(ctx: Infer, grad: Value, pooled: Value) -> None:
        found, wanted = shape(grad), shape(pooled)
        if len(found) != len(wanted):
            raise ShapeError(f"{said}: expected a gradient of rank {len(wanted)}, but got one of rank {len(found)}")
        for a, b in zip(found, wanted, strict=True):
            ctx.equal(a, b, f"{said}: the gradient has not the result's shape")

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        grad, x = operands[:2]
        forward = _averaged(ctx, pooled, operands[1:])
        fits(ctx, grad, forward)
        same_dtype(said, grad, x)
        return Tensor(forward.dtype, x.shape if isinstance(x, Tensor) else None)

    def tier0(grad: np.ndarray, x: np.ndarray, *rest: Any) -> np.ndarray:
        defined.checked(grad, x, *rest)
        of = _window(pooled, spatial_of(said), [lifted(v) for v in (x, *rest)], None, 4)
        room, inner = _room(of, widened(x), grad.shape, 0)
        with quiet:
            each = _divided(widened(grad), of, x.shape, *rest[4:])
            for _, where in _places(of, grad.shape):
                room[where] += each
            return rounded(room[inner], x.dtype).copy()

    defined = define(schema, tier0, kind=Kind.REDUCTION, infer=infer, tolerance=SUMMED)
    return defined


avg_pool2d_backward = _avg_pool_backward(
    "aten.avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, "
    "bool count_include_pad, int? divisor_override) -> Tensor"
)
avg_pool3d_backward = _avg_pool_backward(
    "aten.avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, "
    "bool count_include_pad, int? divisor_override) -> Tensor"
)


@avg_pool2d_backward.vjp()
@avg_pool3d_backward.vjp()
def _(g: Backward) -> Gradients:
    """The average."""
    return g.call(g.rule.op.removesuffix("_backward"), g.grad, *_averaging(g))
