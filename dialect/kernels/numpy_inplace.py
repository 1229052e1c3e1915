"""In-place ops under NumPy's rules: what `x += y` and `x[...] = y` do, casting errors (UFuncTypeError) included.

A kernel is a ufunc with `out=x` where NumPy has one for the op, else the NumPy flavour of the functional op, written into x
when `same_kind` casting allows it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect import kernels, optable

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "fmod": np.fmod,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift,
}  # fmt: skip
_ROUNDED = {"floor": np.floor_divide, None: np.true_divide}


def _with_ufunc(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    def kernel(x: np.ndarray, y: Any, alpha: float = 1) -> np.ndarray:
        return ufunc(x, y if alpha == 1 else np.multiply(y, alpha), out=x)

    return kernel


def _with_mode(functional: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    written = _written(functional)

    def kernel(x: np.ndarray, y: Any, mode: str | None) -> np.ndarray:
        return _ROUNDED[mode](x, y, out=x) if mode in _ROUNDED else written(x, y, mode)

    return kernel


def _written(functional: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def kernel(x: np.ndarray, *rest: Any) -> np.ndarray:
        result = functional(x, *rest)
        if result.shape != x.shape:
            raise ValueError(f"non-broadcastable output operand with shape {x.shape} doesn't match the broadcast shape {result.shape}")
        np.copyto(x, result, casting="same_kind")
        return x

    return kernel


def copy_if_same_kind(x: np.ndarray, source: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    """What x would hold after an in-place op whose functional twin gives source, fresh. Raises TypeError and ValueError as it does."""
    return _written(lambda x: source)(x.copy(order="K"))


def __getattr__(name: str) -> Callable[..., np.ndarray]:
    """The kernel called `name` in the op table, made when first asked for."""
    for op in optable.table().values():
        if op.numpy == f"numpy_inplace.{name}" and op.functional is not None:
            return globals().setdefault(name, _made(op.functional))  # type: ignore[no-any-return]  # what was put there
    raise AttributeError(f"module {__name__} has no attribute {name}")


def _made(functional: str) -> Callable[..., np.ndarray]:
    base, _, overload = functional.removeprefix("aten.").partition(".")
    if base in _UFUNCS and not overload.endswith("_mode"):
        return _with_ufunc(_UFUNCS[base])
    row = optable.table()[functional]
    kernel = kernels.resolve(row.numpy or row.kernel)
    return _with_mode(kernel) if overload.endswith("_mode") else _written(kernel)


def copy_(x: np.ndarray, source: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    """x[...] = source."""
    x[...] = source
    return x


def fill_(x: np.ndarray, value: Any) -> np.ndarray:
    """x[...] = value, a number or, of rank 0, a NumPy scalar. Integers refuse what they cannot hold: OverflowError, ValueError for NaN."""
    x[...] = value[()] if isinstance(value, np.ndarray) else value
    return x
