"""Tier-0 kernels of in-place ops, with torch's semantics: the functional op's result, written into operand 0, which is returned.

A kernel `add__Tensor` (of aten.add_.Tensor) is made of the functional op's kernel when first asked for: the op table says
which one. Errors besides the functional op's: TypeError where the result's category does not fit into operand 0's dtype
(float into int, int into bool), ValueError where its shape is not operand 0's, operand 0 is read-only, or its memory is such
as PyTorch refuses to write (`overlap.py`). Nothing is written when an error is raised.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tierup.dialect import dtypes, kernels, optable
from tierup.dialect.kernels import overlap
from tierup.dialect.kernels.axes import name_of
from tierup.dialect.kernels.casts import cast
from tierup.dialect.kernels.filling import Number, element
from tierup.dialect.optable.casts import copy


def check_category(result: np.dtype, target: np.dtype) -> None:
    """torch's TypeError for a result that an in-place op may not convert to its operand's dtype (c10/core/ScalarType.h: canCast)."""
    a, b = dtypes.from_numpy(result), dtypes.from_numpy(target)
    if a is not None and b is not None and a.category > b.category:
        raise TypeError(f"result type {name_of(result)} can't be cast to the desired output type {name_of(target)}")


def _check_shape(shape: tuple[int, ...], target: np.ndarray) -> None:
    if shape != target.shape:
        raise ValueError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}")


def _twin(functional: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The in-place kernel of a functional one."""

    fills = functional.__name__.startswith("masked_fill")  # one value, wherever: PyTorch takes tensors that show elements more than once

    def kernel(x: np.ndarray, *rest: object) -> np.ndarray:
        if not fills:
            overlap.refuse(x, *rest)
        result = functional(x, *rest)
        check_category(result.dtype, x.dtype)
        _check_shape(result.shape, x)
        np.copyto(x, cast(result, x.dtype), where=rest[0] if fills else True)  # type: ignore[arg-type]  # the mask
        return x

    kernel.__name__, kernel.__doc__ = f"{functional.__name__}_", f"{functional.__name__}, written into operand 0."
    return kernel


def __getattr__(name: str) -> Callable[..., np.ndarray]:
    """The twin called `name` in the op table, made when first asked for."""
    for op in optable.table().values():
        if op.kernel == f"inplace.{name}" and op.functional is not None:
            twin = _twin(kernels.resolve(optable.table()[op.functional].kernel))
            return globals().setdefault(name, twin)  # type: ignore[no-any-return]  # what was put there
    raise AttributeError(f"module {__name__} has no attribute {name}")


def copy_if_can_cast(x: np.ndarray, source: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    """What x would hold after an in-place op whose functional twin gives source, fresh. Raises as the in-place op does."""
    check_category(source.dtype, x.dtype)
    _check_shape(source.shape, x)
    return copy(x, source)


# --- writes that no functional op is worth computing for ---------------------------------------------------------------


def copy_(x: np.ndarray, source: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    """aten.copy_: source broadcast to x's shape and converted to its dtype, whatever that loses. ValueError for
    memory that PyTorch refuses to write (overlap.py), but of a copy to itself, which it leaves."""
    if source is x:
        return x
    try:
        shape = np.broadcast_shapes(x.shape, source.shape)
    except ValueError:
        raise ValueError(
            f"The size of tensor a {list(x.shape)} must match the size of tensor b {list(source.shape)} at non-singleton dimensions"
        ) from None
    _check_shape(shape, x)
    overlap.refuse(x, source)
    x[...] = cast(source, x.dtype)
    return x


def fill_(x: np.ndarray, value: Number | np.ndarray) -> np.ndarray:
    """aten.fill_.Scalar, fill_.Tensor: every element `value`, a number (ValueError where the dtype cannot hold it) or a rank-0 tensor."""
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise ValueError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
        x[...] = cast(value, x.dtype)
    else:
        x[...] = element(value, x.dtype)
    return x


def zero_(x: np.ndarray) -> np.ndarray:
    """aten.zero_."""
    x[...] = 0
    return x
