"""Memrefs as host programs have them: memory, whatever it is, and where the elements lie in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierup.dialect.base.records import dataclass


@dataclass(frozen=True)
class Buffer:
    """A memref: memory, MLIR's name of its elements' type, and offset, sizes and strides in elements."""

    memory: Any
    dtype: str
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def field(self, number: int) -> Any:
        """A field of the descriptor as kernels take it: 0 and 1 the memory, 2 the offset, then sizes, then strides."""
        if number < 2:
            return self.memory
        return (self.offset, *self.sizes, *self.strides)[number - 2]

    def element(self, at: Sequence[int]) -> int:
        """Where in memory the element at these indices is, counted in elements."""
        return self.offset + sum(i * stride for i, stride in zip(at, self.strides, strict=True))


def dense(memory: Any, dtype: str, sizes: Sequence[int]) -> Buffer:
    """A buffer in C order."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return Buffer(memory, dtype, 0, tuple(sizes), tuple(reversed(strides)))
