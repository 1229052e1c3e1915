"""np.searchsorted and np.interp give what NumPy gives: of vectors in order and not, of none and one, with NaN on either side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tierup

Array = np.ndarray[Any, Any]


def searched(bounds: Array, keys: Array) -> tuple[Array, Array]:
    return np.searchsorted(bounds, keys), np.searchsorted(bounds, keys, side="right")


def interpolated(x: Array, xp: Array, fp: Array) -> tuple[Array, Array]:
    return np.interp(x, xp, fp), np.interp(x, xp, fp, left=-1.0, right=9.0)


def vectors(dtype: Any, chance: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """Some to search in, and keys: numbers that come several times, and lie between."""
    unit = 0.5 if np.dtype(dtype).kind == "f" else 1
    for sizes in ((7, 40), (7, 40), (7, 40), (0, 5), (1, 5), (1, 5), (12, 4), (70, 100), (70, 100), (9, 0)):
        for is_sorted in (True, False):
            bounds, keys = ((chance.integers(0, 11, n) * unit).astype(dtype) for n in sizes)
            yield np.sort(bounds) if is_sorted else bounds, keys
            if unit == 0.5 and bounds.size and keys.size:
                with_nan, strange = bounds.copy(), keys.copy()
                with_nan[-1], strange[:3] = np.nan, (np.nan, np.inf, -0.0)
                yield bounds, strange
                yield np.sort(with_nan), strange
                yield np.sort(bounds), strange


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int64, np.uint8])
def test_numbers_of_what_comes_before_keys_are_numpys(dtype: Any) -> None:
    f = tierup.jit(searched)
    for bounds, keys in vectors(dtype, np.random.default_rng(3)):
        for ours, numpys in zip(f(bounds, keys), searched(bounds, keys), strict=True):
            np.testing.assert_array_equal(ours, numpys)
    assert f.stats().hits >= 10


def test_lines_between_points_are_numpys() -> None:
    f, chance = tierup.jit(interpolated), np.random.default_rng(4)
    for size in (5, 5, 5, 1, 2, 9, 70, 5, 5):
        x = np.concatenate([chance.integers(-3, 14, 30) * 0.5, [np.nan, np.inf, -np.inf]])
        xp, fp = np.sort(chance.integers(0, 9, size) * 0.5), chance.normal(size=size)
        for points in (xp, xp, xp[::-1].copy(), np.append(xp[:-1], np.nan)) if size == 70 else (xp, xp + 0.25):
            for ours, numpys in zip(f(x, points, fp), interpolated(x, points, fp), strict=True):
                np.testing.assert_array_equal(ours, numpys)
    assert f.stats().hits >= 10
