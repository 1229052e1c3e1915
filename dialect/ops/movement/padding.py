"""Padding, triangles and diagonals. What is padded has the gradient of its place, or the sum of those of its copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.dims import Dim
from tierup.dialect.facts.values import NoneValue, Shape, Tensor, Value
from tierup.dialect.ops.movement import parts
from tierup.dialect.ops.movement.moving import by_positions, negated
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Infer, InferRule, Kind, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.arrays import Number, element
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.sizes import diagonal_length

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

_op = partial(op, kind=Kind.MOVEMENT, tolerance=EXACT)


# --- padding -----------------------------------------------------------------------------------------------------------


def _longer(of: Shape, pad: Sequence[Dim]) -> Shape:
    if len(pad) % 2:
        raise ShapeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * len(of):
        raise ShapeError(f"Length of pad should be no more than twice the number of dimensions of the input, but is {len(pad)}")
    out = list(of)
    for i, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        out[len(of) - 1 - i] += before + after
    return tuple(out)


def _padded(of: Shape, pad: Sequence[Dim]) -> Shape:
    result = _longer(of, pad)
    for size, before, after in zip(reversed(of), pad[::2], pad[1::2], strict=False):
        left = size + sum(p for p in (before, after) if isinstance(p, int) and p < 0)
        if isinstance(left, int) and left < 0:
            raise ShapeError(f"constant_pad_nd: padding of {before} and {after} leaves nothing of a dimension of size {size}")
    return result


def check_element(value: Value, dtype: DType | None) -> None:
    """Raises ShapeError, as the kernels' ValueError, for a number that the dtype cannot hold."""
    _check_converted(value, dtype, element)


@or_unknown
def _check_converted(value: Value, dtype: DType | None, convert: Callable[[Number, np.dtype], np.generic]) -> None:
    if dtype is not None and not isinstance(value, NoneValue):
        try:
            convert(read.number(value), dtype.numpy)
        except ValueError as e:
            raise ShapeError(str(e)) from None


def _assigned(value: Any, dtype: np.dtype) -> np.generic:
    """np.pad assigns the NumPy scalar that it makes of a number: signed integers refuse what they cannot hold."""
    made = np.zeros((), dtype)
    made[...] = np.asarray(value)[()]
    found: np.generic = made.flat[0]
    return found


def _constant_pad_nd(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    result = read.of_first(lambda ctx, of, rest: _padded(of, read.sizes(rest[0])))(ctx, operands)
    _check_converted(read.given(operands, 2), result.dtype, element if ctx.promotion is Promotion.TORCH else _assigned)
    return result


def _by_dim(x: np.ndarray, pad: Sequence[int]) -> list[tuple[int, int]]:
    """torch's pad list, last dim first, as (before, after) per dim, first dim first."""
    pairs = list(zip(pad[::2], pad[1::2], strict=True))
    return [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]


def _surrounded(x: np.ndarray, pad: Sequence[int], value: np.generic) -> np.ndarray:
    sizes: Any = _longer(x.shape, pad)
    result: np.ndarray = np.full(sizes, value, x.dtype)
    pairs = _by_dim(x, pad)
    source = tuple(slice(max(0, -before), size - max(0, -after)) for size, (before, after) in zip(x.shape, pairs, strict=True))
    target = tuple(slice(max(0, before), size - max(0, after)) for size, (before, after) in zip(result.shape, pairs, strict=True))
    result[target] = x[source]
    return result


@_op("aten.constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor", infer=_constant_pad_nd, note="negative amounts cut off")
def constant_pad_nd(x: np.ndarray, pad: Sequence[int], value: Number = 0) -> np.ndarray:
    """`value` around x. ValueError where more is cut off than there is, or where the dtype cannot hold `value`."""
    constant_pad_nd.checked(x, pad, value)
    return _surrounded(x, pad, element(value, x.dtype))


@constant_pad_nd.under_numpy(form="padded")
def _(x: np.ndarray, pad: Sequence[int], value: Number = 0) -> np.ndarray:
    """OverflowError, ValueError for NaN, where signed integers cannot hold the value."""
    constant_pad_nd.checked(x, pad)
    result = _surrounded(x, pad, _assigned(value, x.dtype))
    return np.asfortranarray(result) if x.flags.fnc else result


@constant_pad_nd.vjp(reads=("pad",))
def _cut_off(g: Backward) -> Gradients:
    return g.call("aten.constant_pad_nd", g.grad, negated(g, "pad"), 0.0)


def _pad(ctx: Infer, operands: Sequence[Value]) -> Tensor:
    mode = or_unknown(read.text)(operands[2]) if len(operands) > 2 else "constant"
    if mode is None:
        return Tensor(read.dtype_of(operands[0]))
    if mode == "constant":
        return _constant_pad_nd(ctx, [*operands[:2], *operands[3:4]])
    if mode not in _BORDERS:
        raise ShapeError(f"Unrecognised padding mode {mode}")
    if not isinstance(read.given(operands, 3), NoneValue):
        raise ShapeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    return read.of_first(lambda ctx, of, rest: _bordered(of, read.integers(rest[0]), mode))(ctx, operands)


def _bordered(of: Shape, pad: Sequence[int], mode: str) -> Shape:
    result, padded = _longer(of, pad), len(pad) // 2
    if not 1 <= padded <= 3 or len(of) - padded not in (1, 2):
        raise ShapeError(f"Padding size {len(pad)} is not supported for {len(of)}D input tensor with mode {mode}")
    for axis in range(len(of) - padded, len(of)):
        size, i = of[axis], len(of) - 1 - axis
        most = max(pad[2 * i], pad[2 * i + 1])
        allowed = {"reflect": size - 1, "circular": size + min(0, pad[2 * i]) + min(0, pad[2 * i + 1])}.get(mode)
        if isinstance(allowed, int) and most > allowed or size == 0 or isinstance(made := result[axis], int) and made < 1:
            raise ShapeError(f"Padding {list(pad)} is too large for dimension {axis} of size {size} with mode {mode}")
    return result


def _reflected(index: np.ndarray, size: int) -> np.ndarray:
    index = np.abs(index)
    return np.where(index >= size, 2 * (size - 1) - index, index)


_BORDERS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "reflect": _reflected,
    "replicate": lambda index, size: np.clip(index, 0, size - 1),
    "circular": lambda index, size: index % size,  # of what is kept
}


@_op('aten.pad(Tensor self, int[] pad, str mode="constant", float? value=None) -> Tensor', infer=_pad)
def pad(x: np.ndarray, amounts: Sequence[int], mode: str = "constant", value: float | None = None) -> np.ndarray:
    """constant, reflect (without the border), replicate or circular. All but constant pad the last 1, 2 or 3 dims of a tensor with one or
    two more."""
    if mode == "constant":
        return constant_pad_nd(x, amounts, 0.0 if value is None else value)
    pad.checked(x, amounts, mode, value)
    for axis, (before, after) in enumerate(_by_dim(x, amounts)):
        if axis < x.ndim - len(amounts) // 2:
            continue
        if mode == "circular" and min(before, after) < 0:  # what is cut off goes first, and is not what is repeated
            x = x[(*(slice(None),) * axis, slice(max(0, -before), x.shape[axis] - max(0, -after)))]
            before, after = max(0, before), max(0, after)
        size = x.shape[axis]
        x = np.take(x, _BORDERS[mode](np.arange(-before, size + after), size), axis)
    return np.ascontiguousarray(x)


@pad.vjp(reads=("pad",))
def _(g: Backward) -> Gradients:
    """What is not padded with a number repeats elements."""
    return _cut_off(g) if g.text("mode") == "constant" else by_positions(g, g.operands[1], g.like("mode"), None)


# --- triangles and diagonals -------------------------------------------------------------------------------------------


def _triangle(op: str) -> InferRule:
    def rule(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
        if ctx.promotion is Promotion.NUMPY and len(of) == 1:
            return (of[0], of[0])
        if len(of) < 2:
            raise ShapeError(f"{op}: input tensor must have at least 2 dimensions")
        return of

    return read.of_first(rule)


@_op("aten.tril(Tensor self, int diagonal=0) -> Tensor", infer=_triangle("tril"))
def tril(x: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """Zeros above a diagonal, of each matrix of a batch."""
    tril.checked(x)
    return np.asarray(np.tril(x, diagonal), order="C")


@tril.under_numpy(form="of_known_rank")
def _(x: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """A vector becomes the rows of a matrix."""
    return np.tril(x, diagonal)


@_op("aten.triu(Tensor self, int diagonal=0) -> Tensor", infer=_triangle("triu"))
def triu(x: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """Zeros below a diagonal, of each matrix of a batch."""
    triu.checked(x)
    return np.asarray(np.triu(x, diagonal), order="C")


@triu.under_numpy(form="of_known_rank")
def _(x: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """A vector becomes the rows of a matrix."""
    return np.triu(x, diagonal)


@tril.vjp(reads=("diagonal",))
@triu.vjp(reads=("diagonal",))
def _(g: Backward) -> Gradients:
    """NumPy makes a matrix of a vector's copies first."""
    grad = g.call(g.rule.op, g.grad, g.number("diagonal"))
    return g.sum_to(grad, "self") if g.numpy else grad


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


@_op("aten.diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", infer=read.of_first(_diag_embed))
def diag_embed(x: np.ndarray, offset: int = 0, dim1: int = -2, dim2: int = -1) -> np.ndarray:
    """x's last dim becomes a diagonal of dims 1 and 2 of the result, zeros elsewhere."""
    result = np.zeros(diag_embed.checked(x, offset, dim1, dim2).shape, x.dtype)
    parts.diagonal(result, offset, dim1, dim2)[...] = x
    return result


@diag_embed.vjp(reads=("offset", "dim1", "dim2"))
def _(g: Backward) -> Gradients:
    return g.call("aten.diagonal", g.grad, *(g.number(which) for which in ("offset", "dim1", "dim2")))


def _diag(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    offset = read.integer(read.given(rest, 0, 0))
    if len(of) == 1:
        return _embedded(of, offset, 0, 1)
    if len(of) == 2:
        return (diagonal_length(of[0], of[1], offset),)
    raise ShapeError(f"diag(): Supports 1D or 2D tensors. Got {len(of)}D")


@_op("aten.diag(Tensor self, int diagonal=0) -> Tensor", infer=read.of_first(_diag))
def diag(x: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """A vector's matrix, or a matrix's diagonal, copied."""
    diag.checked(x, diagonal)
    return diag_embed(x, diagonal) if x.ndim == 1 else parts.diagonal(x, diagonal).copy()


@diag.vjp(reads=("diagonal",))
def _(g: Backward) -> Gradients:
    """Of a vector a matrix, of a matrix its diagonal."""
    offset, rank = g.number("diagonal"), g.rank("self")
    is_vector: ir.Value | bool = rank == 1 if rank is not None else g.call(
        "aten.eq.int", g.call("aten.dim", g.like("self"), type_="!torch.int"), 1, type_="!torch.bool"
    )  # fmt: skip
    return g.choose(
        is_vector,
        lambda: g.call("aten.diagonal", g.grad, offset, 0, 1),
        lambda: g.call("aten.diagonal_scatter", g.zeros("self"), g.grad, offset, 0, 1),
    )
