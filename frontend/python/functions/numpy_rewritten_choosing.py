"""NumPy's functions that pick, put and count by positions, written as `numpy_rewritten.py` has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_MOST = np.iinfo(np.intp).max
_SETS: Any = np.lib._arraysetops_impl  # private: what NumPy's own code calls


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Of each place the choice of that number. Python's numbers take the dtype of the arrays beside them."""
    a, parts, n = np.asarray(a), [c if type(c) in (int, float) else np.asarray(c) for c in choices], len(choices)
    dtype = np.result_type(*parts)
    if mode == "wrap":
        a = a % n
    elif mode == "clip":
        a = np.clip(a, 0, n - 1)
    elif np.any((a < 0) | (a >= n)):
        raise ValueError("invalid entry in choice array")
    if out is not None or a.dtype.kind not in "iu" or n > 32:
        raise ValueError(f"{a}")
    result = np.asarray(parts[-1]).astype(dtype)
    for i in reversed(range(n)):
        result = np.where(a == i, np.asarray(parts[i]).astype(dtype), result)
    return result


def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    """What stands where the condition holds, along an axis."""
    condition = np.asarray(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if out is not None:
        raise ValueError(f"{a}")
    return np.take(a, np.flatnonzero(condition), axis)


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write to places of a vector the values in turn. Where a place may be refused NumPy, by the vector's layout, has written some."""
    ind, v = np.asarray(ind).reshape(-1), np.asarray(v).reshape(-1)
    if a.ndim != 1 or ind.dtype.kind not in "iu" or mode not in ("wrap", "clip") or not np.can_cast(v.dtype, a.dtype):
        raise ValueError(f"{a}")
    n = len(a)
    if n == 0 and len(ind) > 0:
        raise IndexError("cannot replace elements of an empty array")
    if len(v) > 0:
        a[ind % n if mode == "wrap" else np.clip(ind, 0, n - 1)] = v[np.arange(len(ind)) % len(v)]


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write where the mask holds the values one after the other."""
    mask, vals = np.asarray(mask), np.asarray(vals).reshape(-1)
    if not np.can_cast(vals.dtype, arr.dtype):
        raise ValueError(f"{arr}")
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    if len(vals) > 0:
        which = (np.cumsum(mask.reshape(-1) != 0) - 1) % len(vals)
        arr[...] = np.where(mask.reshape(arr.shape), vals[which].reshape(arr.shape), arr)
    elif np.any(mask):
        raise ValueError("Cannot insert from an empty array!")


def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Write where the mask holds the values of the same places."""
    mask, values = np.asarray(mask), np.asarray(values).reshape(-1)
    if not np.can_cast(values.dtype, a.dtype):
        raise ValueError(f"{a}")
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if len(values) > 0:
        a[...] = np.where(mask.reshape(a.shape), values[np.arange(a.size) % len(values)].reshape(a.shape), a)


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """The value, or what the function gives, of the last condition that holds; of one more where none does."""
    x = np.asanyarray(x)
    if x.ndim == 0 or type(condlist) not in (list, tuple, np.ndarray):
        raise ValueError(f"{x}")
    conditions, n = list(condlist), len(funclist)
    if type(conditions[0]) is not np.ndarray or conditions[0].ndim != x.ndim or conditions[0].dtype != np.bool_:
        raise ValueError(f"{x}")
    if len(conditions) == n - 1:
        conditions = [*conditions, ~np.any(np.asarray(conditions), axis=0)]
    if len(conditions) != n:
        raise ValueError(f"{n}")
    y = np.zeros_like(x)
    for condition, function in zip(conditions, funclist):  # noqa: B905 - as many
        if type(function) in (int, float, bool, np.ndarray):
            y[condition] = function
        else:
            values = x[condition]
            if values.size > 0:
                y[condition] = function(values, *args, **kw)
    return y


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """Without what stands at these places of an axis."""
    arr = np.asarray(arr)
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    n = arr.shape[axis]
    if type(obj) is int:
        if obj < -n or obj >= n:
            raise IndexError(f"{obj}")
        along, at = (slice(None),) * (axis % arr.ndim), obj % n
        return np.concatenate((arr[(*along, slice(at))], arr[(*along, slice(at + 1, None))]), axis)
    obj = np.asarray(obj)
    if obj.dtype.kind not in "biu" or (obj.dtype == np.bool_ and obj.shape != (n,)):
        raise ValueError(f"{obj}")
    kept = np.ones(n, np.bool_)
    kept[obj] = False
    return arr[kept] if axis % arr.ndim == 0 else np.take(arr, np.flatnonzero(kept), axis)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Of a vector what lies between zeros at its ends."""
    if type(filt) is not np.ndarray or filt.ndim != 1 or axis is not None or trim.lower() not in ("fb", "bf", "f", "b"):
        raise ValueError(f"{filt}")
    end, there, n = np.ones(1, np.bool_), filt != 0, len(filt)
    start = int(np.argmax(np.concatenate((there, end)))) if "f" in trim.lower() else 0
    return filt[start : n - int(np.argmax(np.concatenate((there[::-1], end)))) if "b" in trim.lower() else n]


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """A vector with values before one of its elements."""
    arr = np.asarray(arr)
    arr, values, n = (arr.reshape(-1) if axis is None else arr), np.array(values, dtype=arr.dtype), arr.size
    if arr.ndim != 1 or type(obj) is not int or values.ndim > 1:
        raise ValueError(f"{arr}")
    if obj < -n or obj > n:
        raise IndexError(f"index {obj} is out of bounds for axis 0 with size {n}")
    at = obj + n if obj < 0 else obj
    return np.concatenate((arr[:at], values.reshape(-1), arr[at:]))


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """As many parts of about one size, or parts that end at these indices."""
    try:
        n = ary.shape[axis]
    except AttributeError:
        n = len(ary)
    given = indices_or_sections
    if isinstance(given, (int, float, np.generic)) or isinstance(given, np.ndarray) and given.ndim == 0:
        count = int(given)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, more = n // count, n % count
        points = [i * each + min(i, more) for i in range(count + 1)]
    else:
        points = [0, *given, n]
    moved = np.swapaxes(ary, axis, 0)
    return [np.swapaxes(moved[points[i] : points[i + 1]], axis, 0) for i in range(len(points) - 1)]


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False, *, kind: str | None = None) -> Any:
    """Which elements of one are among those of the other, by search, or of ints that lie together in a table."""
    ar1, ar2 = np.asarray(ar1).ravel(), np.asarray(ar2).ravel()
    if kind not in (None, "sort"):
        raise ValueError(f"{kind}")
    if len(ar2) == 0:
        return np.full(len(ar1), invert)
    if ar1.dtype.kind in "iu" and ar2.dtype.kind in "iu":
        low, high = int(ar2.min()), int(ar2.max())
        if high - low <= 6 * (len(ar1) + len(ar2)):  # as NumPy decides
            table, at = np.full(high - low + 1, invert), ar1.astype(np.int64)
            table[ar2.astype(np.int64) - low] = not invert
            is_inside = (at >= low) & (at <= high)
            return np.where(is_inside, table[np.where(is_inside, at - low, 0)], invert)
    ar2 = np.sort(ar2)
    found = ar2[np.minimum(np.searchsorted(ar2, ar1), len(ar2) - 1)] == ar1
    return ~found if invert else found


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    """The positions in the flat array of these indices along its axes."""
    arrays, size = [np.asarray(i) for i in multi_index], 1
    if len(arrays) != len(dims) or mode != "raise" or order != "C" or arrays[0].ndim == 0:
        raise ValueError(f"{dims}")
    for n in reversed(dims):
        size = size * n
        if size > _MOST:
            raise ValueError(f"{dims}")
    found = np.zeros(1, np.intp)
    for i, n in zip(arrays, dims):  # noqa: B905 - as many
        if i.dtype.kind not in "iu":
            raise TypeError(f"{i}")
        if np.any((i < 0) | (i >= n)):
            raise ValueError("invalid entry in coordinates array")
        found = found * n + i
    return found


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """The indices along each axis of these positions in the flat array."""
    left, shape = np.asarray(indices), ((shape,) if type(shape) is int else shape)
    if left.ndim == 0 or left.dtype.kind not in "iu" or order != "C" or len(shape) == 0:
        raise ValueError(f"{shape}")
    size = 1
    for n in shape:
        size = size * n
    if size > _MOST or np.any((left < 0) | (left >= size)):
        raise ValueError(f"{left}")
    found: tuple[Any, ...] = ()
    left = left.astype(np.intp)
    for n in reversed(shape[1:]):
        found, left = (left % n, *found), left // n
    return (left, *found)


def unpackbits(a: Any, axis: int | None = None, count: Any = None, bitorder: str = "big") -> Any:
    """The bits of each byte, the highest first or last."""
    if axis is not None or count is not None or bitorder not in ("big", "little") or a.dtype != np.uint8:
        raise ValueError(f"{a}")
    shifts = np.arange(8, dtype=np.uint8) if bitorder == "little" else np.uint8(7) - np.arange(8, dtype=np.uint8)
    return ((a.reshape(-1, 1) >> shifts) & np.uint8(1)).reshape(-1)


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Bytes of eight truths each."""
    a = np.asarray(a)
    if axis is not None or bitorder not in ("big", "little") or a.dtype.kind not in "biu":
        raise ValueError(f"{a}")
    shifts = np.arange(8, dtype=np.uint8) if bitorder == "little" else np.uint8(7) - np.arange(8, dtype=np.uint8)
    truths = np.pad((a.reshape(-1) != 0).astype(np.uint8), (0, -a.size % 8)).reshape(-1, 8)
    return np.sum(truths << shifts, axis=1, dtype=np.uint8)


OF_CHOOSING: dict[Any, Callable[..., Any]] = {
    np.choose: choose, np.compress: compress, np.put: put, np.place: place, np.putmask: putmask, np.piecewise: piecewise,
    np.delete: delete, np.trim_zeros: trim_zeros, np.ravel_multi_index: ravel_multi_index, np.unravel_index: unravel_index,
    np.insert: insert, np.array_split: array_split, _SETS._isin: in1d,
    np.unpackbits: unpackbits, np.packbits: packbits,
}  # fmt: skip
