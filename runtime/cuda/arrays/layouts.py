"""How an array lies: dtype, shape and strides. Arrays that lie alike share one Layout, which inline caches compare by identity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

_KEPT = 4096  # one that was forgotten is made anew: a cache that knew it misses once


class Layout:
    """Get one by `layout`. `strides` and `nbytes` count bytes, `steps` are strides in elements. `is_whole`: whether strides are multiples
    of the element's size."""

    __slots__ = ("dtype", "is_contiguous", "is_whole", "itemsize", "nbytes", "shape", "size", "steps", "strides")

    def __init__(self, dtype: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.dtype, self.shape, self.strides, self.itemsize = dtype, shape, strides, dtype.itemsize
        self.size = math.prod(shape)
        self.nbytes = self.size * self.itemsize
        dense = contiguous_strides(shape, self.itemsize)
        self.is_contiguous = not self.size or all(s == c or n == 1 for s, c, n in zip(strides, dense, shape, strict=True))
        self.is_whole = not any(s % self.itemsize for s, n in zip(strides, shape, strict=True) if n > 1)
        self.steps = tuple([s // self.itemsize for s in strides])


@lru_cache(maxsize=_KEPT)
def layout(dtype: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> Layout:
    """The one Layout of such arrays; in C order without `strides`."""
    if strides is None:
        return layout(dtype, shape, contiguous_strides(shape, dtype.itemsize))
    return Layout(dtype, shape, strides)


def contiguous_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Those of C order, in bytes."""
    strides, step = [], itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
