"""Tier-0 kernels of views, with torch's semantics. A view shares its operand's memory: what is written through one is seen
through the other.

Common errors: IndexError for a dim or index out of range, ValueError for sizes that do not fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tierup.dialect.kernels.axes import axis_of

# --- the same elements in another shape --------------------------------------------------------------------------------


def resolve_sizes(sizes: Sequence[int], count: int) -> tuple[int, ...]:
    """`sizes` for `count` elements, with the one -1 among them replaced. ValueError as torch's when they do not fit."""
    unknown = [i for i, s in enumerate(sizes) if s == -1]
    if len(unknown) > 1:
        raise ValueError("only one dimension can be inferred")
    for i, s in enumerate(sizes):
        if s < -1:
            raise ValueError(f"invalid shape dimension {s} at index {i} of shape {list(sizes)}")
    known = math.prod(s for s in sizes if s != -1)
    if unknown:
        if known == 0:
            if count == 0:
                raise ValueError(
                    f"cannot reshape tensor of 0 elements into shape {list(sizes)} because the unspecified dimension size -1 "
                    "can be any value and is ambiguous"
                )
            raise ValueError(f"shape '{list(sizes)}' is invalid for input of size {count}")
        if count % known == 0:
            return tuple(count // known if s == -1 else s for s in sizes)
    elif known == count:
        return tuple(sizes)
    raise ValueError(f"shape '{list(sizes)}' is invalid for input of size {count}")


def view(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """aten.view: ValueError where the strides allow no view of these sizes."""
    wanted = resolve_sizes(sizes, x.size)
    try:
        return np.reshape(x, wanted, copy=False)
    except ValueError:
        raise ValueError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        ) from None


def reshape(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """aten.reshape: a view where strides allow one, else a copy."""
    return x.reshape(resolve_sizes(sizes, x.size))


def reshape_alias(x: np.ndarray, sizes: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """aten._reshape_alias: a view of these sizes, whose strides (in elements) the caller has computed. ValueError where the
    view has others."""
    result = view(x, sizes)
    for size, stride, wanted in zip(result.shape, result.strides, strides, strict=True):
        if size > 1 and stride != wanted * x.itemsize:
            raise ValueError(f"_reshape_alias: strides {list(strides)} are not those of a view of sizes {list(sizes)}")
    return result


def reshape_as(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    """aten.reshape_as."""
    return reshape(x, other.shape)


def flatten(x: np.ndarray, start: int = 0, end: int = -1) -> np.ndarray:
    """aten.flatten.using_ints: dims start to end become one; rank 0 becomes rank 1. A view where strides allow one."""
    first, last = axis_of(start, x.ndim), axis_of(end, x.ndim)
    if first > last:
        raise ValueError("flatten() has invalid args: start_dim cannot come after end_dim")
    return x.reshape(*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def unflatten(x: np.ndarray, dim: int, sizes: Sequence[int]) -> np.ndarray:
    """aten.unflatten.int: one dim becomes several; one size may be -1."""
    axis = axis_of(dim, x.ndim)
    if not sizes:
        raise ValueError("unflatten: sizes must be non-empty")
    if not x.ndim:
        raise IndexError("unflatten() cannot be applied to a 0-dim tensor")
    try:
        wanted = resolve_sizes(sizes, x.shape[axis])
    except ValueError:
        raise ValueError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {axis} ({x.shape[axis]}) in the input tensor"
        ) from None
    return np.reshape(x, (*x.shape[:axis], *wanted, *x.shape[axis + 1 :]), copy=False)


def squeeze(x: np.ndarray) -> np.ndarray:
    """aten.squeeze: all dims of size 1 go."""
    return x.squeeze()


def squeeze_dim(x: np.ndarray, dim: int) -> np.ndarray:
    """aten.squeeze.dim: the dim goes if its size is 1."""
    axis = axis_of(dim, x.ndim)
    return x.squeeze(axis) if x.ndim and x.shape[axis] == 1 else x.view()


def unsqueeze(x: np.ndarray, dim: int) -> np.ndarray:
    """aten.unsqueeze: a dim of size 1, at `dim` of the result."""
    return x.reshape(*x.shape[: (axis := axis_of(dim, x.ndim + 1))], 1, *x.shape[axis:], copy=False)


def atleast_1d(x: np.ndarray) -> np.ndarray:
    """aten.atleast_1d."""
    return np.atleast_1d(x)


def atleast_2d(x: np.ndarray) -> np.ndarray:
    """aten.atleast_2d: a vector becomes a row."""
    return np.atleast_2d(x)


# --- dims in another order ---------------------------------------------------------------------------------------------


def transpose(x: np.ndarray, dim0: int, dim1: int) -> np.ndarray:
    """aten.transpose.int: two dims change places."""
    a, b = axis_of(dim0, x.ndim), axis_of(dim1, x.ndim)
    return x.swapaxes(a, b) if x.ndim else x.view()


def t(x: np.ndarray) -> np.ndarray:
    """aten.t: a matrix's transpose; ranks 0 and 1 as they are."""
    if x.ndim > 2:
        raise ValueError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")
    return x.T


def numpy_T(x: np.ndarray) -> np.ndarray:
    """aten.numpy_T: all dims in reverse order."""
    return x.T


def permute(x: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """aten.permute: dim i of the result is dim dims[i] of x."""
    if len(dims) != x.ndim:
        raise ValueError(f"permute(): input.dim() = {x.ndim} is not equal to len(dims) = {len(dims)}")
    axes = [axis_of(d, x.ndim) for d in dims]
    if len(set(axes)) != len(axes):
        raise ValueError("permute(): duplicate dims are not allowed.")
    return x.transpose(axes)


def movedim(x: np.ndarray, source: int, destination: int) -> np.ndarray:
    """aten.movedim.int: one dim goes elsewhere, the others keep their order."""
    a, b = axis_of(source, x.ndim), axis_of(destination, x.ndim)
    return np.moveaxis(x, a, b) if x.ndim else x.view()


# --- repeating without copying -----------------------------------------------------------------------------------------


def expand(x: np.ndarray, sizes: Sequence[int], implicit: bool = False) -> np.ndarray:
    """aten.expand: dims of size 1 become any size, -1 keeps one, new dims come in front. Whoever writes is to ask
    whether an element shows more than once (`overlap.py`)."""
    new = len(sizes) - x.ndim
    if new < 0:
        raise ValueError(
            f"expand: the number of sizes provided ({len(sizes)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({x.ndim})"
        )
    wanted = list(sizes)
    for i, size in enumerate(sizes):
        if size == -1 and i < new:
            raise ValueError(f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}")
        old = x.shape[i - new] if i >= new else 1
        if size == -1:
            wanted[i] = old
        elif size < 0 or (size != old and old != 1):
            raise ValueError(
                f"The expanded size of the tensor ({size}) must match the existing size ({old}) at non-singleton dimension {i}.  "
                f"Target sizes: {list(sizes)}.  Tensor sizes: {list(x.shape)}"
            )
    if math.prod(wanted) == x.size:
        return np.reshape(x, wanted, copy=False)
    steps = [0] * new + [s if n == m else 0 for n, m, s in zip(x.shape, wanted[new:], x.strides, strict=True)]
    return np.lib.stride_tricks.as_strided(x, wanted, steps, writeable=x.flags.writeable)


def expand_as(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    """aten.expand_as."""
    return expand(x, other.shape)


def broadcast_to(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """aten.broadcast_to."""
    return expand(x, sizes)


def broadcast_tensors(tensors: Sequence[np.ndarray]) -> list[np.ndarray]:
    """aten.broadcast_tensors: each expanded to their common shape."""
    try:
        shape = np.broadcast_shapes(*(x.shape for x in tensors))
    except ValueError as e:
        raise ValueError(f"broadcast_tensors: {e}") from None
    return [expand(x, shape) for x in tensors]


def meshgrid(tensors: Sequence[np.ndarray], indexing: str = "ij") -> list[np.ndarray]:
    """aten.meshgrid: vectors and scalars of one dtype expanded along a dim each; "xy" exchanges the first two dims."""
    if not tensors:
        raise ValueError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise ValueError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for x in tensors:
        if x.ndim > 1:
            raise ValueError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x.ndim}D")
        if x.dtype != tensors[0].dtype:
            raise TypeError("meshgrid expects all tensors to have the same dtype")
    order = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        order[:2] = [1, 0]
    shape = [tensors[i].size for i in order]
    rank = len(shape)
    return [expand(x.reshape([-1 if order[d] == i else 1 for d in range(rank)], copy=False), shape) for i, x in enumerate(tensors)]
