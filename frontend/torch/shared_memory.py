"""Results of a program that lie in the memory of another tensor: PyTorch has to know which they are views of.

An array says of itself where it lies. One that shares memory with an argument, or with another result, becomes a view of that tensor, made
by PyTorch under its autograd: then writes through either are seen by both, and gradients go through the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from tierup.dialect.kernels import torch_tensors

Array = np.ndarray[Any, Any]


def owner_of(result: Array, arrays: Sequence[Any]) -> int | None:
    """Which of some arrays a result lies in: the only one whose memory it is in. None for memory of its own, and where several may be."""
    if result.flags.owndata:
        return next((i for i, array in enumerate(arrays) if array is result), None)
    found = [i for i, array in enumerate(arrays) if array is result or (isinstance(array, np.ndarray) and result.base is array)]
    if not found:
        found = [i for i, array in enumerate(arrays) if isinstance(array, np.ndarray) and np.may_share_memory(result, array)]
    return found[0] if found and all(_is_same(arrays[found[0]], arrays[i]) for i in found) else None


def shares(result: Array, arrays: Sequence[Any]) -> bool:
    """Whether a result may lie in the memory of one of these."""
    return any(isinstance(array, np.ndarray) and np.may_share_memory(result, array) for array in arrays)


def is_whole(array: Array) -> bool:
    """Whether an array fills its memory from the first to the last element, so that what lies in between is made of its elements."""
    return array.flags.c_contiguous or array.flags.f_contiguous


def view(tensor: torch.Tensor, array: Array, result: Array) -> torch.Tensor:
    """`result`, which lies in the memory of `array`, as a view of the `tensor` that has this memory; the tensor itself where it is all."""
    if result.dtype != array.dtype:
        return torch_tensors.tensor(result)  # its bits as another dtype: there is no gradient of these
    if _is_same(array, result):
        return tensor
    size, away = result.itemsize, _address(result) - _address(array)
    strides = [s // size for s in result.strides]
    return tensor.as_strided(result.shape, strides, tensor.storage_offset() + away // size)


def is_at(tensor: torch.Tensor, array: Array) -> bool:
    """Whether a tensor has the memory of an array, not of a copy."""
    return tensor.data_ptr() == _address(array)


def _is_same(a: Array, b: Array) -> bool:
    return a is b or (_address(a) == _address(b) and a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype)


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]  # NumPy's interface is untyped
