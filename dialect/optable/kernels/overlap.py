"""What PyTorch refuses to write: a tensor of which two elements are one, and memory that another operand shows in part or otherwise.

As in ATen/MemoryOverlap.cpp only what is seen at once is refused: a step of 0, and two tensors that each fill their memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tierup.dialect.facts.memory_order import elementwise_order

Array = np.ndarray[Any, Any]


def fills_memory(x: Array) -> bool:
    """Whether an array's elements fill one piece of memory, each once, in whatever order of its dims."""
    if x.flags.c_contiguous or x.flags.f_contiguous:
        return True
    step = x.itemsize
    for stride, size in sorted((s, n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if stride != step:
            return False
        step *= size
    return True


def repeats(x: Array) -> bool:
    """Whether an array shows elements more than once, as expanded ones do."""
    return 0 in x.strides and x.size > 0 and any(s == 0 and n > 1 for s, n in zip(x.strides, x.shape, strict=True))


def refuse(written: Array, *operands: object) -> None:
    """Raise ValueError where an op that goes element by element may not write its operand 0, reading the others."""
    refuse_repeats(written)
    for other in operands:
        if isinstance(other, np.ndarray) and other is not written and _overlap(written, other) and not is_same(written, other):
            _refuse_shared()


def refuse_shared(written: Array, *operands: object) -> None:
    """The same where an op reads elements while it writes others: it may not read what it writes."""
    if any(isinstance(other, np.ndarray) and (other is written or _overlap(written, other)) for other in operands):
        _refuse_shared()


def refuse_repeats(written: Array) -> None:
    """Raises ValueError for an array that shows memory more than once, which is to be written."""
    if repeats(written):
        raise ValueError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() "
            "the tensor before performing the operation."
        )


def _refuse_shared() -> None:
    raise ValueError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
        "Please clone() the tensor before performing the operation."
    )


def _overlap(x: Array, y: Array) -> bool:
    return np.may_share_memory(x, y) and x.size > 0 and y.size > 0 and fills_memory(x) and fills_memory(y)


def is_same(x: Array, y: Array) -> bool:
    """Whether two arrays show the same elements in the same order."""
    return x.ctypes.data == y.ctypes.data and x.dtype == y.dtype and x.shape == y.shape and x.strides == y.strides


def empty_like(x: Array, dtype: np.dtype[Any] | None = None) -> Array:
    """New memory with the dims in the order that PyTorch gives what it makes of a tensor. NumPy takes expanded dims for the innermost."""
    if 0 not in x.strides:
        return np.empty_like(x, dtype, subok=False)
    order = elementwise_order(x.shape, [(x.shape, x.strides)])
    assert order is not None, "sizes are numbers"
    made = np.empty([x.shape[d] for d in order], dtype or x.dtype)
    return made.transpose(np.argsort(order))


def copy(x: Array, dtype: np.dtype[Any] | None = None) -> Array:
    """A copy that lies in memory as PyTorch's does."""
    result = empty_like(x, dtype)
    np.copyto(result, x, casting="unsafe")
    return result


def same_strides(x: Array) -> Array:
    """New memory for an array of x's sizes and very strides, gaps included, for what is written of a tensor lies as the tensor does. An
    array that shows elements more than once gets each of them."""
    if fills_memory(x) or repeats(x) or any(s < 0 or s % x.itemsize for s in x.strides):
        return empty_like(x)
    span = 1 + sum((n - 1) * (s // x.itemsize) for n, s in zip(x.shape, x.strides, strict=True))
    if span < math.prod(x.shape):  # windows over each other
        return empty_like(x)
    return np.ndarray(x.shape, x.dtype, np.empty(span * x.itemsize, np.uint8), 0, x.strides)
