"""NumPy's functions of numbers at equal distances, and of how many values lie between them, written as `numpy_rewritten.py` has them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

_BINS: Any = np.lib._histograms_impl  # private: what NumPy's own code calls


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0, *,
    device: Any = None,
) -> Any:  # fmt: skip
    """start + i * step, by NumPy's steps; the last is `stop` itself."""
    num = operator.index(num)
    if num < 0 or device is not None:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    div = num - 1 if endpoint else num
    of = np.result_type(start, stop, 1.0)
    start, stop = of.type(start), of.type(stop)
    delta = stop - start
    if retstep and div <= 0:
        raise ValueError(f"{num}")
    step = delta / of.type(max(div, 1))
    at = np.arange(0, num, dtype=of).reshape((-1,) + (1,) * np.ndim(delta))
    y = np.where(np.any(step == 0), at / max(div, 1) * delta, at * step) + start
    if endpoint:
        y = np.where(at == (div if num > 1 else -1), stop, y)
    if axis != 0:
        y = np.moveaxis(y, 0, axis)
    if dtype is not None:
        y = (np.floor(y) if np.issubdtype(dtype, np.integer) else y).astype(dtype, copy=False)
    return (y, step) if retstep else y


def arange(start_or_stop: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, like: Any = None) -> Any:
    """Of floats: NumPy adds multiples of what the second element is more than the first."""
    start, stop = (0, start_or_stop) if stop is None else (start_or_stop, stop)
    if type(start) is int and type(stop) is int and type(step) is int and device is None and like is None:
        return np.arange(start, stop, step, dtype)  # type: ignore[call-overload]  # whatever dtype it is
    of = np.dtype(np.float64 if dtype is None else dtype)
    length = (float(stop) - float(start)) / float(step)
    if of.kind != "f" or device is not None or like is not None or not -(2.0**40) < length < 2.0**40:
        raise ValueError(f"{length}")
    first, second = of.type(float(start)), of.type(float(start) + float(step))
    at = np.arange(0, max(int(np.ceil(length)), 0))
    return np.where(at == 0, first, np.where(at == 1, second, first + at.astype(of) * (second - first)))  # -0.0 + 0.0 is 0.0


def from_slices(key: Any, is_open: bool) -> Any:
    """The numbers of each slice along an axis of its own."""
    starts = [0 if s.start is None else s.start for s in key]
    steps = [1 if s.step is None else s.step for s in key]
    of = np.result_type(*starts, *steps, *[s.stop for s in key])
    sizes = [max(int(np.ceil((s.stop - start) / step)), 0) for s, start, step in zip(key, starts, steps)]  # noqa: B905 - as many
    rank = len(sizes)
    grids = [
        (np.arange(sizes[i]).astype(of) * steps[i] + starts[i]).reshape((1,) * i + (-1,) + (1,) * (rank - i - 1)) for i in range(rank)
    ]
    if is_open:
        return tuple(grids)
    ones: Any = 1
    for g in grids:
        ones = ones * np.ones_like(g)
    return np.stack([g * ones for g in grids])


def mgrid(key: Any) -> Any:
    """np.mgrid[key]."""
    if type(key) is slice:
        return np.arange(0 if key.start is None else key.start, key.stop, 1 if key.step is None else key.step)
    return from_slices(key, False)


def ogrid(key: Any) -> Any:
    """np.ogrid[key]."""
    return mgrid(key) if type(key) is slice else from_slices(key, True)


def rows(key: Any) -> Any:
    """np.r_[key], of vectors."""
    arrays = [np.asarray(part) for part in key]
    if any(type(part) is not np.ndarray or part.ndim != 1 for part in key):
        raise ValueError(f"{key}")
    return np.concatenate(arrays)


def columns(key: Any) -> Any:
    """np.c_[key], of vectors and matrices."""
    if any(type(part) is not np.ndarray or not 0 < part.ndim < 3 for part in key):
        raise ValueError(f"{key}")
    return np.column_stack(tuple(key))


def itself(key: Any) -> Any:
    """np.s_[key]."""
    return key


BY_KEY: dict[Any, Callable[..., Any]] = {np.mgrid: mgrid, np.ogrid: ogrid, np.r_: rows, np.c_: columns, np.s_: itself}
"""What stands for the objects of NumPy's that are indexed."""


def outer_edges(a: Any, range: Any) -> Any:
    """Between what a histogram counts. Of one int alone, and of nothing, NumPy makes floats, which its own code does."""
    if range is None and a.size == 0:
        raise ValueError(f"{a}")
    first, last = (a.min(), a.max()) if range is None else range
    if range is not None and first > last:
        raise ValueError("max must be larger than min in range parameter.")
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError(f"range of [{first}, {last}] is not finite")
    if np.result_type(first, last).kind == "f":
        first, last = first * 1.0, last * 1.0
        return (first - 0.5, last + 0.5) if first == last else (first, last)
    if first == last:
        raise ValueError(f"{first}")
    return first, last


def unsigned_subtract(a: Any, b: Any) -> Any:
    """a - b, where a >= b. Of ints one that 63 bits hold."""
    of = np.result_type(a, b)
    if of.kind != "i":
        return np.subtract(a, b, dtype=of)
    found = np.asarray(a).astype(np.int64) - np.asarray(b).astype(np.int64)
    if np.any(found < 0):
        raise ValueError(f"{found}")
    return found


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """How many values lie between the edges, or the sum of their weights."""
    a, weights = _BINS._ravel_and_check_weights(a, weights)
    edges, uniform = _BINS._get_bin_edges(a, bins, range, weights)
    if uniform is not None:
        n = _uniform_bins(a, weights, edges, *uniform)
    elif weights is None:
        n = np.diff(_BINS._search_sorted_inclusive(np.sort(a), edges))
    else:
        raise ValueError(f"{edges}")
    return (n / np.diff(edges).astype(np.float64) / n.sum() if density else n), edges


def _uniform_bins(a: Any, weights: Any, edges: Any, first: Any, last: Any, bins: int) -> Any:
    """A last bin has what lies outside. Weights are summed by the blocks that NumPy takes."""
    if weights is not None and (not np.can_cast(weights.dtype, np.float64) or len(a) > 65536):
        raise ValueError(f"{weights}")
    kept = (a >= first) & (a <= last)
    values = np.where(kept, a.astype(edges.dtype), edges[0])
    at = (unsigned_subtract(values, first) / unsigned_subtract(last, first) * bins).astype(np.intp)
    at = at - (at == bins)
    at = at - (values < edges[at])
    at = at + ((values >= edges[at + 1]) & (at != bins - 1))
    n = np.zeros(bins + 1, np.intp if weights is None else np.float64)
    np.add.at(n, np.where(kept, at, bins), 1 if weights is None else weights)
    return n[:bins].astype(np.intp if weights is None else weights.dtype)


OF_GRIDS: dict[Any, Callable[..., Any]] = {
    np.linspace: linspace, np.arange: arange, np.histogram: histogram, _BINS._get_outer_edges: outer_edges,
    _BINS._unsigned_subtract: unsigned_subtract,
}  # fmt: skip
