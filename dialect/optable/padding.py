"""Padding, triangles and diagonals. `movement` has the rows of all that moves elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tierup.dialect.dtypes import DType
from tierup.dialect.inference.dims import Dim
from tierup.dialect.ir.values import NoneValue, Shape, Tensor, Value
from tierup.dialect.kernels import numpy_movement
from tierup.dialect.kernels.filling import element
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Infer, InferRule, Kind, Op, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.sizes import diagonal_length


def _padded(of: Shape, pad: Sequence[Dim]) -> Shape:
    if len(pad) % 2:
        raise ShapeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * len(of):
        raise ShapeError(f"Length of pad should be no more than twice the number of dimensions of the input, but is {len(pad)}")
    out = list(of)
    for i, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        size = of[len(of) - 1 - i]
        left = size + sum(p for p in (before, after) if isinstance(p, int) and p < 0)
        if isinstance(left, int) and left < 0:
            raise ShapeError(f"constant_pad_nd: padding of {before} and {after} leaves nothing of a dimension of size {size}")
        out[len(of) - 1 - i] = size + before + after
    return tuple(out)


def _constant_pad(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    return _padded(of, read.sizes(rest[0]))


@or_unknown
def check_element(value: Value, dtype: DType | None) -> None:
    """Raises ShapeError, as the kernels' ValueError, for a number that the dtype cannot hold."""
    if dtype is not None and not isinstance(value, NoneValue):
        try:
            element(read.number(value), dtype.numpy)
        except ValueError as e:
            raise ShapeError(str(e)) from None


def _constant_pad_nd(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    result = read.of_first(_constant_pad)(ctx, operands)
    if ctx.promotion is Promotion.TORCH:
        check_element(read.given(operands, 2), result.dtype)
    elif result.dtype is not None:
        _check_assigned(read.given(operands, 2), result.dtype)
    return result


@or_unknown
def _check_assigned(value: Value, dtype: DType) -> None:
    """What np.pad refuses, as its kernel does."""
    number = 0 if isinstance(value, NoneValue) else read.number(value)
    try:
        numpy_movement.constant_pad_nd(np.zeros(0, dtype.numpy), (0, 0), number)
    except (OverflowError, ValueError) as e:
        raise ShapeError(str(e)) from None


def _pad(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    mode = or_unknown(read.text)(operands[2]) if len(operands) > 2 else "constant"
    if mode is None:
        return Tensor(read.dtype_of(operands[0]))
    if mode == "constant":
        return _constant_pad_nd(ctx, [*operands[:2], *operands[3:4]])
    if mode not in ("reflect", "replicate", "circular"):
        raise ShapeError(f"Unrecognised padding mode {mode}")
    if not isinstance(read.given(operands, 3), NoneValue):
        raise ShapeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    return read.of_first(lambda ctx, of, rest: _bordered(of, read.integers(rest[0]), mode))(ctx, operands)


def _bordered(of: Shape, pad: Sequence[int], mode: str) -> Shape:
    result = _padded(of, pad)
    padded = len(pad) // 2
    if not 1 <= padded <= 3 or len(of) - padded not in (1, 2):
        raise ShapeError(f"Padding size {len(pad)} is not supported for {len(of)}D input tensor with mode {mode}")
    for axis in range(len(of) - padded, len(of)):
        size, i = of[axis], len(of) - 1 - axis
        most = max(pad[2 * i], pad[2 * i + 1])
        allowed = {"reflect": size - 1, "circular": size + min(0, pad[2 * i]) + min(0, pad[2 * i + 1])}.get(mode)
        if isinstance(allowed, int) and most > allowed or size == 0 or isinstance(result[axis], int) and result[axis] < 1:
            raise ShapeError(f"Padding {list(pad)} is too large for dimension {axis} of size {size} with mode {mode}")
    return result


def _triangle(op: str) -> InferRule:
    def rule(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
        if ctx.promotion is Promotion.NUMPY and len(of) == 1:
            return (of[0], of[0])
        if len(of) < 2:
            raise ShapeError(f"{op}: input tensor must have at least 2 dimensions")
        return of

    return read.of_first(rule)


def _embedded(of: Shape, offset: int, dim1: int, dim2: int) -> Shape:
    if not of:
        raise IndexError("diag_embed: a 0-dim tensor has no dimension to embed")
    a, b = (normalise_dim(d, len(of) + 1) for d in (dim1, dim2))
    if a == b:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    out = list(of[:-1])
    for axis in sorted((a, b)):
        out.insert(axis, of[-1] + abs(offset))
    return tuple(out)


def _diag_embed(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    return _embedded(of, *(read.integer(read.given(rest, i, default)) for i, default in enumerate((0, -2, -1))))


def _diag(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    offset = read.integer(read.given(rest, 0, 0))
    if len(of) == 1:
        return _embedded(of, offset, 0, 1)
    if len(of) == 2:
        return (diagonal_length(of[0], of[1], offset),)
    raise ShapeError(f"diag(): Supports 1D or 2D tensors. Got {len(of)}D")


def _row(name: str, infer: InferRule, *, numpy: bool = False, note: str = "") -> Op:
    flavour = f"numpy_movement.{name}" if numpy else None
    return Op(f"aten.{name}", Kind.MOVEMENT, f"padding.{name}", infer, numpy=flavour, tolerance=EXACT, note=note)


ROWS = (
    _row("constant_pad_nd", _constant_pad_nd, numpy=True, note="negative amounts cut off"),
    _row("pad", _pad),
    _row("tril", _triangle("tril"), numpy=True),
    _row("triu", _triangle("triu"), numpy=True),
    _row("diag_embed", read.of_first(_diag_embed)),
    _row("diag", read.of_first(_diag)),
)
