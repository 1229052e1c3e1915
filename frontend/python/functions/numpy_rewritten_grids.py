"""NumPy's functions of numbers at equal distances, and of how many values lie between them, written as `numpy_rewritten.py` has them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

_BINS: Any = np.lib._histograms_impl  # private: what NumPy's own code calls
_INTS = (int, np.integer)


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0, *,
    device: Any = None,
) -> Any:  # fmt: skip
    """start + i * step, by NumPy's steps; the last is `stop` itself."""
    num = operator.index(num)
    if num < 0 or device is not None or start is None or stop is None or isinstance(start, str) or isinstance(stop, str):
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
    """Of floats, of which NumPy adds multiples of what the second element is more than the first, and of arrays of rank 0."""
    start, stop = (0, start_or_stop) if stop is None else (start_or_stop, stop)
    if type(start) is int and type(stop) is int and type(step) is int and device is None and like is None:
        return np.arange(start, stop, step, dtype)  # type: ignore[call-overload]  # whatever dtype it is
    kinds = (int, float, np.integer, np.floating)
    numbers = [isinstance(v, kinds) or isinstance(v, np.ndarray) and v.ndim == 0 for v in (start, stop, step)]
    if device is not None or like is not None or not all(numbers) or type(stop) is np.timedelta64:
        raise ValueError(f"{dtype}")
    if any(np.result_type(v).kind == "b" for v in (start, stop, step)) or step == 0:  # what NumPy's operators make of them
        raise ValueError(f"{step}")
    of = np.result_type(start, stop, step, np.int64) if dtype is None else np.dtype(dtype)
    if of == np.int64 and dtype is None:
        return np.arange(int(start), int(stop), int(step))
    if of.kind != "f":
        raise ValueError(f"{of}")
    delta, by = float(stop) - float(start), float(step)
    length = delta / by
    if not -(2.0**40) < length < 2.0**40:
        raise ValueError(f"{length}")
    count = max(int(np.ceil(length)), 0)
    if length == 0 and delta != 0 and (delta > 0) == (by > 0):
        count = 1  # so far is the first step
    first, second = of.type(float(start)), of.type(float(start) + by)
    at = np.arange(0, count)
    return np.where(at == 0, first, np.where(at == 1, second, first + at.astype(of) * (second - first)))  # -0.0 + 0.0 is 0.0


def from_slices(key: Any, is_open: bool) -> Any:
    """The numbers of each slice along an axis of its own."""
    starts = [0 if s.start is None else s.start for s in key]
    steps = [1 if s.step is None else s.step for s in key]
    of = np.result_type(*starts, *steps, *[s.stop for s in key])
    sizes = [max(int(np.ceil((s.stop - start) / step)), 0) for s, start, step in zip(key, starts, steps)]  # noqa: B905 - as many
    rank = len(sizes)
    grids = [(np.arange(sizes[i]).astype(of) * steps[i] + starts[i]).reshape((1,) * i + (-1,) + (1,) * (rank - i - 1)) for i in range(rank)]
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
    parts = key if type(key) is tuple else (key,)
    arrays = [np.asarray(part) for part in parts]
    if any(type(part) is not np.ndarray or part.ndim != 1 for part in parts):
        raise ValueError(f"{key}")
    return np.concatenate(arrays)


def columns(key: Any) -> Any:
    """np.c_[key], of vectors and matrices."""
    parts = key if type(key) is tuple else (key,)
    if any(type(part) is not np.ndarray or not 0 < part.ndim < 3 for part in parts):
        raise ValueError(f"{key}")
    return np.column_stack(parts)


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


def _places(values: Any, edges: Any, first: Any, last: Any, bins: int) -> Any:
    """Between which of about uniform edges each value from `first` to `last` lies, up to roundings of the edges."""
    at = (unsigned_subtract(values, first) / unsigned_subtract(last, first) * bins).astype(np.intp)
    at = at - (at == bins)
    at = at - (values < edges[at])
    return at + ((values >= edges[at + 1]) & (at != bins - 1))


def _uniform_bins(a: Any, weights: Any, edges: Any, first: Any, last: Any, bins: int) -> Any:
    """A last bin has what lies outside. Weights are summed by the blocks that NumPy takes."""
    if weights is not None and (not np.can_cast(weights.dtype, np.float64) or len(a) > 65536):
        raise ValueError(f"{weights}")
    kept = (a >= first) & (a <= last)
    at = _places(np.where(kept, a.astype(edges.dtype), edges[0]), edges, first, last, bins)
    n = np.zeros(bins + 1, np.intp if weights is None else np.float64)
    np.add.at(n, np.where(kept, at, bins), 1 if weights is None else weights)
    return n[:bins].astype(np.intp if weights is None else weights.dtype)


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """How many pairs lie between the edges of two axes, or the sum of their weights."""
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    sample, ranges = np.stack((x, y)), (None, None) if range is None else range
    each = (bins, bins) if type(bins) is int or type(bins) is np.ndarray else bins
    if len(each) != 2 or len(ranges) != 2 or sample.ndim != 2:
        raise ValueError(f"{bins}")
    edges, at, counts = [], [], []
    for values, of, limits in zip((sample[0], sample[1]), each, ranges):  # noqa: B905 - two
        if type(of) is int:
            if of < 1:
                raise ValueError(f"{of}")
            low, high = _BINS._get_outer_edges(values, limits)
            borders = np.linspace(low, high, of + 1)
            first, last = borders[0], borders[-1]
            if not 0 < last - first < np.inf:
                raise ValueError(f"{borders}")
            kept = (values >= first) & (values <= last)
            inside = np.where(kept, values.astype(borders.dtype), first)
            place = _places(inside, borders, first, last, of)
            if np.any((inside < borders[place]) | ((inside >= borders[place + 1]) & (place != of - 1))):
                raise ValueError(f"{borders}")
            at.append(np.where(kept, place + 1, 0))
        else:
            borders = np.asarray(of)
            if borders.ndim != 1 or np.any(borders[:-1] > borders[1:]):
                raise ValueError(f"{of}")
            at.append(np.searchsorted(borders, values, side="right") - (values == borders[-1]))
        edges.append(borders)
        counts.append(len(borders) + 1)
    n, m = counts
    found = np.zeros(n * m)
    np.add.at(found, at[0] * m + at[1], 1 if weights is None else weights)
    found = found.reshape((n, m))[1:-1, 1:-1]
    if density:
        total = found.sum()
        found = found / np.diff(edges[0]).reshape(-1, 1) / np.diff(edges[1]) / total
    return found, edges[0], edges[1]


def positions(length: int, before: int, after: int, mode: str) -> Any:
    """Which elements of an axis, padded with its own, stand at each place."""
    at = np.arange(-before, length + after)
    if mode == "edge":
        return np.clip(at, 0, length - 1)
    if mode == "wrap":
        return at % length
    last = 2 * length - (1 if mode == "symmetric" else 2)  # of a period there and back
    at = at % (last + (mode == "symmetric") + (last == 0))
    return np.where(at < length, at, last - at)


def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """Axis after axis: elements of the axis, a ramp from each edge to a number, a statistic of all along it, or a number on either side."""
    array = np.asarray(array)
    statistics: dict[str, Any] = {"maximum": np.amax, "minimum": np.amin, "mean": np.mean, "median": np.median}
    given = ((pad_width, pad_width),) if type(pad_width) is int else pad_width
    if type(given) not in (tuple, list) or len(given) == 0:
        raise ValueError(f"{given}")
    widths: Any = given if type(given[0]) in (tuple, list) else (given,)
    for pair in tuple(widths):
        if type(pair) not in (tuple, list) or len(pair) != 2 or not all(issubclass(type(n), _INTS) for n in pair):
            raise ValueError(f"{widths}")
    named = {"constant": "constant_values", "linear_ramp": "end_values"}.get(mode, "stat_length")
    ends: Any = 0 if named == "stat_length" else kwargs.get(named, 0)
    ends = (ends, ends) if type(ends) in (int, float) else ends
    wanted = type(ends) in (tuple, list) and len(ends) == 2 and type(ends[0]) in (int, float) and type(ends[-1]) in (int, float)
    if mode in ("edge", "reflect", "symmetric", "wrap"):
        if len(kwargs) > 0 or len(widths) not in (1, array.ndim):
            raise ValueError(f"{kwargs}")
        for axis in tuple(range(array.ndim)):
            before, after = widths[0] if len(widths) == 1 else widths[axis]
            if before < 0 or after < 0:
                raise ValueError("index can't contain negative values")
            if array.shape[axis] == 0 and before + after > 0:
                raise ValueError("can't extend empty axis " + str(axis) + " using modes other than 'constant' or 'empty'")
            array = np.take(array, positions(array.shape[axis], before, after, mode), axis)
        return array
    if mode not in ("constant", "linear_ramp") and (mode not in statistics or kwargs.get(named, None) is not None) or array.size == 0:
        raise ValueError(f"{mode}")
    if not wanted or any(name != named for name in kwargs):
        raise ValueError(f"{mode}")
    ends = np.asarray(ends)
    for axis in tuple(range(array.ndim)):
        before, after = widths[0] if len(widths) == 1 else widths[axis]
        if before < 0 or after < 0 or len(widths) not in (1, array.ndim):
            raise ValueError(f"{widths}")
        if mode == "linear_ramp":
            first, last = np.take(array, 0, axis), np.take(array, -1, axis)
            left = np.linspace(ends[0], first, before, endpoint=False, dtype=array.dtype, axis=axis)
            right = np.flip(np.linspace(ends[1], last, after, endpoint=False, dtype=array.dtype, axis=axis), axis)
        else:
            one = np.take(array, [0], axis) if mode == "constant" else statistics[mode](array, axis=axis, keepdims=True)
            one = (np.round(one) if array.dtype.kind in "iu" else one).astype(array.dtype)
            left, right = np.repeat(one, before, axis), np.repeat(one, after, axis)
            if mode == "constant":
                left[...], right[...] = ends[0], ends[1]
        array = np.concatenate((left, array, right), axis)
    return array


OF_GRIDS: dict[Any, Callable[..., Any]] = {
    np.linspace: linspace, np.arange: arange, np.histogram: histogram, _BINS._get_outer_edges: outer_edges,
    _BINS._unsigned_subtract: unsigned_subtract,
    np.histogram2d: histogram2d, np.pad: pad,
}  # fmt: skip
