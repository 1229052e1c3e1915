"""NumPy's functions of sorted values, written as `numpy_rewritten.py` has them: medians, quantiles, what is there once.

NumPy partitions, which gives the same values at the places that are read, but of 0.0 and -0.0 another one perhaps: where that could be seen
the call is NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

_SETS: Any = np.lib._arraysetops_impl  # private, as the next two
_NANS: Any = np.lib._nanfunctions_impl
_OWN: Any = np.lib._function_base_impl  # private: what NumPy's own code calls


def only_one_zero(values: Any, result: Any) -> None:
    """Leaves the call to NumPy where a result is zero and the values have zeros of both signs."""
    if values.dtype.kind == "f" and np.any(result == 0) and np.any((values == 0) & np.signbit(values)):
        raise ValueError(f"{result}")


def reduced(a: Any, func: Any, keepdims: Any = False, **kwargs: Any) -> Any:
    """What a function of one axis, or of all elements, gives of several axes: they become one, the last."""
    a = np.asanyarray(a)
    axis, rank, shape = kwargs.get("axis", None), a.ndim, a.shape
    if kwargs.get("out", None) is not None:
        raise ValueError(f"{axis}")
    over = tuple(range(rank)) if axis is None else normalize_axis_tuple(axis, rank)
    if axis is not None and len(over) == 1:
        kwargs["axis"] = over[0]
    elif axis is not None:
        if kwargs.get("weights", None) is not None:
            raise ValueError(f"{axis}")
        kept = tuple(i for i in range(rank) if i not in over)
        a = np.transpose(a, kept + over).reshape((*[shape[i] for i in kept], -1))
        kwargs["axis"] = -1
    found = func(a, **kwargs)
    if keepdims is np._NoValue or not keepdims:  # private: what stands for nothing
        return found
    ones = tuple(1 if i in over else shape[i] for i in range(rank))
    return np.asarray(found).reshape((*np.shape(found)[: np.ndim(found) - rank + len(over)], *ones))


def median(a: Any, axis: int | None = None, out: Any = None, overwrite_input: bool = False) -> Any:
    """The mean of the two values in the middle, or of the one."""
    a = np.asanyarray(a)
    if out is not None or overwrite_input or a.ndim == 0:
        raise ValueError(f"{a}")
    values = np.sort(a, axis=None) if axis is None else np.moveaxis(np.sort(a, axis=axis), axis, 0)
    n = len(values)
    found = np.mean(values[n // 2 : n // 2 + 1], axis=0) if n % 2 == 1 else np.mean(values[n // 2 - 1 : n // 2 + 1], axis=0)
    if n == 0:
        return found  # NaN, the mean of nothing
    only_one_zero(values, found)
    if values.dtype.kind == "f":
        return np.where(np.isnan(values[-1]), values[-1], found)[()]
    return found


def quantile(
    a: Any, q: Any, weights: Any, axis: int | None = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    weak_q: bool = False,
) -> Any:  # fmt: skip
    """Between the two values at (n - 1) * q, or one of them."""
    rounds: dict[str, Any] = {"linear": None, "lower": np.floor, "higher": np.ceil, "nearest": np.around}
    if (
        weights is not None
        or out is not None
        or overwrite_input
        or method not in rounds
        or a.dtype.kind == "b"
        or a.ndim == 0
        or q.ndim > 2
    ):
        raise ValueError(f"{a}")
    values = np.sort(a, axis=None) if axis is None else np.moveaxis(np.sort(a, axis=axis), axis, 0)
    n, last = len(values), values[-1:]
    if n == 0:
        raise ValueError(f"{a}")
    places = np.asanyarray((n - 1) * q)
    if method != "linear":
        places = rounds[method](places).astype(np.intp)
    if places.dtype.kind != "f":
        found = np.take(values, places, axis=0)
    else:
        before = np.where(places >= n - 1, -1.0, np.floor(places))
        after = np.where(places >= n - 1, -1.0, before + 1)
        share = places - before
        low, high = np.take(values, before.astype(np.intp), axis=0), np.take(values, after.astype(np.intp), axis=0)
        t = float(share) if weak_q else share.reshape(places.shape + (1,) * (values.ndim - 1))
        step = high - low
        found = np.where(t >= 0.5, high - step * (1 - t), low + step * t)
    only_one_zero(values, found)
    if values.dtype.kind != "f":
        return found[()]
    nans = np.isnan(last[0])
    if found.dtype != values.dtype:
        if found.ndim == 0 and np.any(nans):
            raise ValueError(f"{a}")
        return np.where(nans, last[0].astype(found.dtype), found)[()]
    return np.where(nans, last[0], found)[()]


def quantile_is_valid(q: Any) -> Any:
    """Whether all are from 0 to 1."""
    return np.all((q >= 0) & (q <= 1))


def without_nans(arr1d: Any, second_arr1d: Any = None, overwrite_input: bool = False) -> Any:
    """The elements of a vector that are numbers."""
    if second_arr1d is not None or arr1d.dtype.kind != "f":
        raise ValueError(f"{arr1d}")
    return arr1d[~np.isnan(arr1d)], None, overwrite_input


def nanmedian(a: Any, axis: int | None = None, out: Any = None, overwrite_input: bool = False) -> Any:
    """Of each lane without its NaNs the mean of the two values in the middle, or the one."""
    if axis is None or a.ndim == 1:
        return _NANS._nanmedian1d(a.ravel(), overwrite_input)
    if out is not None or a.dtype.kind != "f" or a.size == 0:
        raise ValueError(f"{a}")
    values = np.moveaxis(np.sort(a, axis=axis), axis, 0)
    counts = np.sum(~np.isnan(values), axis=0)
    low, high = (np.take_along_axis(values, (np.maximum(counts - less, 0) // 2)[None], axis=0)[0] for less in (1, 0))
    only_one_zero(values, low)
    only_one_zero(values, high)
    found = (low + high) / 2
    return np.where(counts % 2 == 1, low, found) if len(values) >= 600 else found


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, *, equal_nan: bool = True,
    inverse_shape: Any = None, axis: Any = None, sorted: bool = True,
) -> Any:  # fmt: skip
    """Each number once, and where it was."""
    ar = np.asanyarray(ar).reshape(-1)
    n, is_float = len(ar), ar.dtype.kind == "f"
    if axis is not None or not sorted or n == 0:
        raise ValueError(f"{ar}")
    if return_index or return_inverse:
        places = np.argsort(ar, kind="mergesort" if return_index else "quicksort")
        values = ar[places]
    else:
        places, values = ar, np.sort(ar)
    differ = values[1:] != values[:-1]
    if is_float and equal_nan:
        differ = differ & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    is_first = np.concatenate((np.ones(1, np.bool_), differ))
    once = values[is_first]
    if is_float and not (return_index or return_inverse or return_counts):
        only_one_zero(ar, once)
    found: tuple[Any, ...] = (once,)
    if return_index:
        found += (places[is_first],)
    if return_inverse:
        inverse = np.empty(n, np.intp)
        inverse[places] = np.cumsum(is_first) - 1
        found += (inverse.reshape(inverse_shape),)
    if return_counts:
        found += (np.diff(np.concatenate((np.flatnonzero(is_first), np.asarray([n])))),)
    return found


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The order by the last of the keys, of equal ones by the one before, and so on: each sorted stably, the last one last."""
    parts = [np.asarray(key) for key in keys]
    if len(parts) == 0 or parts[0].ndim == 0:
        raise ValueError(f"{len(parts)}")
    places = np.argsort(parts[0], axis, kind="stable")
    for part in parts[1:]:
        if part.shape != parts[0].shape:
            raise ValueError("all keys need to be the same shape")
        places = np.take_along_axis(places, np.argsort(np.take_along_axis(part, places, axis), axis, kind="stable"), axis)
    return places


OF_SORTED: dict[Any, Callable[..., Any]] = {
    _SETS._unique1d: unique,
    _OWN._ureduce: reduced, _OWN._median: median, _OWN._quantile_ureduce_func: quantile, _OWN._quantile_is_valid: quantile_is_valid,
    _NANS._remove_nan_1d: without_nans, _NANS._nanmedian: nanmedian, np.lexsort: lexsort,
}  # fmt: skip
