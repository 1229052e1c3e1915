"""Max and average pooling, adaptive pooling, resizing. windows.py has their shapes."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect import dtypes
from tierup.dialect.dtypes import Category, DType
from tierup.dialect.ir.values import Shape, Tensor, Value
from tierup.dialect.optable import windows
from tierup.dialect.optable.core import EXACT, Infer, InferRule, Kind, Op, ShapeError, Tolerance
from tierup.dialect.optable.operands import (
    Unknown,
    dtype_of,
    flag,
    given,
    integer,
    integers,
    is_none,
    items,
    number,
    optional,
    or_unknown,
    shape,
    sizes,
)  # fmt: skip


def _floats(op: str, dtype: DType | None, *also: DType) -> DType | None:
    """The dtype, refused unless it is a float or one of `also`."""
    if dtype is not None and not dtype.is_float and dtype not in also:
        raise TypeError(f'"{op}" not implemented for {dtype.name!r}')
    return dtype


def _of(op: str, spatial: int, operands: Sequence[Value], dilation: int | None, ceil: int) -> windows.Pooling:
    """(self, kernel_size, stride, padding, [dilation,] ceil_mode, ...); `dilation` and `ceil`: where these stand."""
    stride = integers(operands[2]) if len(operands) > 2 else ()
    spread = integers(given(operands, dilation, 1)) if dilation is not None else (1,)
    padding, rounded_up = integers(given(operands, 3, 0)), flag(given(operands, ceil, 0))
    return windows.pooling(op, spatial, integers(operands[1]), stride, padding, spread, rounded_up)


# --- max ---------------------------------------------------------------------------------------------------------------


def _max(op: str, spatial: int, indices: bool) -> InferRule:
    @or_unknown
    def result(ctx: Infer, operands: Sequence[Value]) -> Shape:
        return windows.pooled(ctx, op, shape(operands[0]), _of(op, spatial, operands, 4, 5))

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor | tuple[Tensor, Tensor]:
        dtype, found = dtype_of(operands[0]), result(ctx, operands)
        if spatial == 1 and not indices:
            _floats(op, dtype)
        elif dtype is not None and dtype.category is Category.BOOL:
            raise TypeError(f'"{op}" not implemented for {dtype.name!r}')
        return (Tensor(dtype, found), Tensor(dtypes.i64, found)) if indices else Tensor(dtype, found)

    return infer


# --- averages ----------------------------------------------------------------------------------------------------------


@or_unknown
def _check_divisor(op: str, operands: Sequence[Value]) -> None:
    if optional(integer, given(operands, 6)) == 0:
        raise ShapeError(f"{op}: divisor must be not zero")


def _avg(op: str, spatial: int) -> InferRule:
    @or_unknown
    def result(ctx: Infer, operands: Sequence[Value]) -> Shape:
        return windows.pooled(ctx, op, shape(operands[0]), _of(op, spatial, operands, None, 4))

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        if spatial > 1:
            _check_divisor(op, operands)
        return Tensor(_floats(op, dtype_of(operands[0]), dtypes.i64), result(ctx, operands))

    return infer


def _avg_backward(op: str, spatial: int) -> InferRule:
    """The rule of the gradient: the input's shape, which the incoming gradient must fit."""
    forward = _avg(op, spatial)

    @or_unknown
    def fits(ctx: Infer, grad: Value, pooled: Value) -> None:
        given_, wanted = shape(grad), shape(pooled)
        if len(given_) != len(wanted):
            raise ShapeError(f"{op}_backward: expected a gradient of rank {len(wanted)}, but got one of rank {len(given_)}")
        for a, b in zip(given_, wanted, strict=True):
            ctx.equal(a, b, f"{op}_backward: the gradient has not the result's shape")

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        pooled = forward(ctx, operands[1:])
        assert isinstance(pooled, Tensor)
        fits(ctx, operands[0], pooled)
        _same_dtype(f"{op}_backward", operands[0], operands[1])
        return Tensor(pooled.dtype, operands[1].shape if isinstance(operands[1], Tensor) else None)

    return infer


def _same_dtype(op: str, a: Value, b: Value) -> None:
    known = [d for d in (dtype_of(a), dtype_of(b)) if d is not None]
    if len(set(known)) > 1:
        raise TypeError(f"{op}: expected a gradient of the input's dtype, but got: {', '.join(d.name for d in known)}")


# --- adaptive ----------------------------------------------------------------------------------------------------------


def _adaptive(op: str, spatial: int, indices: bool) -> InferRule:
    @or_unknown
    def result(ctx: Infer, operands: Sequence[Value]) -> Shape:
        return windows.adaptively_pooled(ctx, op, shape(operands[0]), sizes(operands[1]), spatial, no_channels=not indices)

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor | tuple[Tensor, Tensor]:
        dtype, found = _floats(op, dtype_of(operands[0])), result(ctx, operands)
        return (Tensor(dtype, found), Tensor(dtypes.i64, found)) if indices else Tensor(dtype, found)

    return infer


def _adaptive_backward(op: str, spatial: int) -> InferRule:
    @or_unknown
    def result(ctx: Infer, grad: Shape, x: Shape) -> Shape:
        if len(grad) != len(x):
            raise ShapeError(f"{op}: expected a gradient of rank {len(x)}, but got one of rank {len(grad)}")
        for a, b in zip(grad[:-spatial], x[:-spatial], strict=True):
            ctx.equal(a, b, f"{op}: the gradient has not the input's channels")
        windows.adaptively_pooled(ctx, op, x, grad[-spatial:], spatial)
        return x

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        grad, x = operands[:2]
        _same_dtype(op, grad, x)
        dtype = _floats(op, dtype_of(x))
        known = isinstance(grad, Tensor) and grad.shape is not None and isinstance(x, Tensor) and x.shape is not None
        return Tensor(dtype, result(ctx, shape(grad), shape(x)) if known else None)

    return infer


# --- resizing ----------------------------------------------------------------------------------------------------------


@or_unknown
def _resized(ctx: Infer, x: Value, to: Value) -> Shape:
    return windows.resized(ctx, "upsample_nearest2d", shape(x), sizes(to), 2)


def _upsample(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return Tensor(_floats("upsample_nearest2d", dtype_of(operands[0]), dtypes.u8), _resized(ctx, operands[0], operands[1]))


@or_unknown
def _resized_by(ctx: Infer, x: Value, to: Value, factors: Value) -> Shape:
    if is_none(to) == is_none(factors):
        raise ShapeError("upsample_nearest2d: Must specify exactly one of output_size and scale_factors")
    if not is_none(to):
        return windows.resized(ctx, "upsample_nearest2d", shape(x), sizes(to), 2)
    of, by = shape(x), [number(f) for f in items(factors)]
    if len(by) != 2 or len(of) != 4:
        raise ShapeError("upsample_nearest2d: expected a factor for each of two spatial dimensions of (N, C, H, W)")
    made = []
    for size, factor in zip(of[2:], by, strict=True):
        if factor == int(factor):
            made.append(size * int(factor))
        elif isinstance(size, int):
            made.append(int(size * factor))
        else:
            raise Unknown
    return windows.resized(ctx, "upsample_nearest2d", of, made, 2)


def _upsample_vec(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return Tensor(_floats("upsample_nearest2d", dtype_of(operands[0]), dtypes.u8), _resized_by(ctx, *operands[:3]))


@or_unknown
def _unresized(ctx: Infer, grad: Value, to: Value, of: Value) -> Shape:
    made = windows.resized(ctx, "upsample_nearest2d_backward", sizes(of), sizes(to), 2)
    given_ = shape(grad)
    if len(given_) != 4:
        raise ShapeError(f"upsample_nearest2d_backward: expected a gradient of rank 4, but got one of rank {len(given_)}")
    for a, b in zip(given_, made, strict=True):
        ctx.equal(a, b, "upsample_nearest2d_backward: the gradient has not the result's shape")
    return sizes(of)


def _upsample_backward(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    return Tensor(_floats("upsample_nearest2d_backward", dtype_of(operands[0]), dtypes.u8), _unresized(ctx, *operands[:3]))


# --- rows --------------------------------------------------------------------------------------------------------------

_SUMMED = Tolerance(4.0, 1.0)


_NOT_NATIVE = ("_adaptive_avg_pool3d_backward",)  # the torch dialect has no such op


def _row(name: str, kernel: str, infer: InferRule, *, results: int = 1, tolerance: Tolerance = _SUMMED, note: str = "") -> Op:
    native = name not in _NOT_NATIVE
    return Op(f"aten.{name}", Kind.REDUCTION, kernel, infer, results=results, tolerance=tolerance, native=native, note=note)


_SPATIAL = (1, 2, 3)
_INDEX = "of equal values the first stands for all, of NaNs the last"

ROWS = (
    *(_row(f"max_pool{n}d", f"pooling.max_pool{n}d", _max(f"max_pool{n}d", n, False), tolerance=EXACT) for n in _SPATIAL),
    *(_row(f"max_pool{n}d_with_indices", f"pooling.max_pool{n}d_with_indices", _max(f"max_pool{n}d", n, True), results=2, tolerance=EXACT,
           note=_INDEX) for n in _SPATIAL),
    *(_row(f"avg_pool{n}d", f"pooling.avg_pool{n}d", _avg(f"avg_pool{n}d", n)) for n in _SPATIAL),
    *(_row(f"avg_pool{n}d_backward", f"pooling.avg_pool{n}d_backward", _avg_backward(f"avg_pool{n}d", n)) for n in (2, 3)),
    *(_row(f"adaptive_avg_pool{n}d", f"adaptive.adaptive_avg_pool{n}d", _adaptive(f"adaptive_avg_pool{n}d", n, False)) for n in _SPATIAL),
    *(_row(f"_adaptive_avg_pool{n}d", f"adaptive.adaptive_avg_pool{n}d", _adaptive(f"adaptive_avg_pool{n}d", n, False)) for n in (2, 3)),
    *(_row(f"_adaptive_avg_pool{n}d_backward", f"adaptive.adaptive_avg_pool{n}d_backward",
           _adaptive_backward(f"_adaptive_avg_pool{n}d_backward", n)) for n in (2, 3)),
    *(_row(f"adaptive_max_pool{n}d", f"adaptive.adaptive_max_pool{n}d", _adaptive(f"adaptive_max_pool{n}d", n, True), results=2,
           tolerance=EXACT, note=_INDEX) for n in _SPATIAL),
    _row("upsample_nearest2d", "adaptive.upsample_nearest2d", _upsample, tolerance=EXACT),
    _row("upsample_nearest2d.vec", "adaptive.upsample_nearest2d_vec", _upsample_vec, tolerance=EXACT),
    _row("upsample_nearest2d_backward", "adaptive.upsample_nearest2d_backward", _upsample_backward),
)  # fmt: skip
