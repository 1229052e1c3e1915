"""What generated source calls besides kernels: copies and checks. Free of MLIR."""

from __future__ import annotations

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.profiled import is_unset
from tierup.runtime.interpreter.parameters import fits, shape_text


def copy(tensor: np.ndarray) -> np.ndarray:
    """A tensor with memory of its own."""
    return tensor.copy()


def overwrite(target: np.ndarray, value: np.ndarray) -> None:
    """Give `target` the contents of `value`. Raises ValueError or TypeError when shape or dtype differ."""
    if target.shape != value.shape:
        raise ValueError(f"cannot overwrite a tensor of shape {target.shape} with one of shape {value.shape}")
    np.copyto(target, value, casting="no")


def static_cast(tensor: np.ndarray, dtype: str | None, sizes: tuple[int | None, ...] | None) -> np.ndarray:
    """`tensor`, checked to be what the program's types say; what stands for no value is not looked at. Raises TypeError for a dtype and
    ValueError for a shape that is not."""
    if is_unset(tensor):
        return tensor
    if dtype is not None and tensor.dtype != dtypes.BY_NAME[dtype].numpy:
        raise TypeError(f"expected a tensor of dtype {dtypes.BY_NAME[dtype].numpy.name}, got {tensor.dtype.name}")
    if sizes is not None and not fits(tensor.shape, sizes):
        raise ValueError(f"expected a tensor of shape {shape_text(sizes)}, got {shape_text(tensor.shape)}")
    return tensor


def only(items: list[object] | tuple[object, ...]) -> object:
    """The one item of a list. Raises ValueError for another length."""
    (item,) = items
    return item
