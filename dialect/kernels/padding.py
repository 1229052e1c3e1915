"""Tier-0 kernels of padding, triangles and diagonals, with torch's semantics. Results are always fresh memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tierup.dialect.kernels.axes import axis_of
from tierup.dialect.kernels.filling import Number, element
from tierup.dialect.optable import parts


def _by_dim(x: np.ndarray, pad: Sequence[int]) -> list[tuple[int, int]]:
    """torch's pad list, last dim first, as (before, after) per dim, first dim first."""
    if len(pad) % 2:
        raise ValueError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * x.ndim:
        raise ValueError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)} "
            f"while the input has {x.ndim} dimensions."
        )
    pairs = list(zip(pad[::2], pad[1::2], strict=True))
    return [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]


def constant_pad_nd(
    x: np.ndarray, pad: Sequence[int], value: Number = 0, filler: Callable[[Number, np.dtype], np.generic] = element
) -> np.ndarray:
    """aten.constant_pad_nd: `value` around x; negative amounts cut off. ValueError where more is cut off than there is, or where
    the dtype cannot hold `value`."""
    source, target, shape = [], [], []
    for size, (before, after) in zip(x.shape, _by_dim(x, pad), strict=True):
        cut = slice(max(0, -before), size - max(0, -after))
        if cut.stop < cut.start:
            raise ValueError(f"constant_pad_nd: padding of {before} and {after} leaves nothing of a dimension of size {size}")
        source.append(cut)
        target.append(slice(max(0, before), max(0, before) + cut.stop - cut.start))
        shape.append(size + before + after)
    result = np.full(shape, filler(value, x.dtype), x.dtype)
    result[tuple(target)] = x[tuple(source)]
    return result


def _reflected(index: np.ndarray, size: int) -> np.ndarray:
    index = np.abs(index)
    return np.where(index >= size, 2 * (size - 1) - index, index)


_BORDERS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "reflect": _reflected,
    "replicate": lambda index, size: np.clip(index, 0, size - 1),
    "circular": lambda index, size: index % size,  # of what is kept
}


def pad(x: np.ndarray, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> np.ndarray:
    """aten.pad: constant, reflect (without the border), replicate or circular. All but constant pad the last 1, 2 or 3 dims of a
    tensor with one or two more."""
    if mode == "constant":
        return constant_pad_nd(x, pad, 0.0 if value is None else value)
    if mode not in _BORDERS:
        raise ValueError(f"Unrecognised padding mode {mode}")
    if value is not None:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    pairs = _by_dim(x, pad)
    padded = len(pad) // 2
    if not 1 <= padded <= 3 or x.ndim - padded not in (1, 2):
        raise ValueError(f"Padding size {len(pad)} is not supported for {x.ndim}D input tensor with mode {mode}")
    for axis in range(x.ndim - padded, x.ndim):
        before, after = pairs[axis]
        if mode == "circular" and min(before, after) < 0:  # what is cut off goes first, and is not what is repeated
            x = x[(*(slice(None),) * axis, slice(max(0, -before), x.shape[axis] - max(0, -after)))]
            before, after = max(0, before), max(0, after)
        size = x.shape[axis]
        most = {"reflect": size - 1, "circular": size}.get(mode)
        if most is not None and max(before, after) > most:
            raise ValueError(
                f"Padding size ({before}, {after}) is too large for dimension {axis} of input {list(x.shape)} with mode {mode}"
            )
        if size == 0 or size + before + after < 1:
            raise ValueError(f"Padding ({before}, {after}) is not possible for dimension {axis} of input {list(x.shape)}")
        x = np.take(x, _BORDERS[mode](np.arange(-before, size + after), size), axis)
    return np.ascontiguousarray(x)


def _needs_a_matrix(op: str, x: np.ndarray) -> None:
    if x.ndim < 2:
        raise ValueError(f"{op}: input tensor must have at least 2 dimensions")


def tril(x: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """aten.tril: zeros above a diagonal, of each matrix of a batch."""
    _needs_a_matrix("tril", x)
    return np.tril(x, diagonal)


def triu(x: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """aten.triu: zeros below a diagonal, of each matrix of a batch."""
    _needs_a_matrix("triu", x)
    return np.triu(x, diagonal)


def diag_embed(x: np.ndarray, offset: int = 0, dim1: int = -2, dim2: int = -1) -> np.ndarray:
    """aten.diag_embed: x's last dim becomes a diagonal of dims 1 and 2 of the result, zeros elsewhere."""
    if not x.ndim:
        raise IndexError("diag_embed: a 0-dim tensor has no dimension to embed")
    rank = x.ndim + 1
    a, b = axis_of(dim1, rank), axis_of(dim2, rank)
    if a == b:
        raise ValueError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = x.shape[-1] + abs(offset)
    shape = list(x.shape[:-1])
    for axis in sorted((a, b)):
        shape.insert(axis, size)
    result = np.zeros(shape, x.dtype)
    parts.diagonal(result, offset, a, b)[...] = x
    return result


def diag(x: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """aten.diag: a vector's matrix, or a matrix's diagonal, copied."""
    if x.ndim == 1:
        return diag_embed(x, diagonal)
    if x.ndim == 2:
        return parts.diagonal(x, diagonal).copy()
    raise ValueError(f"diag(): Supports 1D or 2D tensors. Got {x.ndim}D")
