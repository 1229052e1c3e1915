"""Assumptions in mid-program on the emulated device, lost at each evaluation: what an exit hands over was written, and the rest of the program
gives what the program gives. No kernel here has run on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated_bailouts import Emulated
from sampling import IS_EXHAUSTIVE

RNG = np.random.default_rng(29)


def f32(*sizes: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(sizes).astype(np.float32)


def rows_and_branches(x, w):
    y = x * w
    e = np.exp(y - y.max(axis=1, keepdims=True)) if y.shape[1] else y
    if (x * x).sum() >= 0:
        y = y.T * 2.0
        z = y[:, ::-1]
    else:
        z = y.T
    flags = z > 0
    return z + e.sum(), flags, x


@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 1), (5, 7), (33, 2)] if IS_EXHAUSTIVE else [(2, 3)])
def test_each_guard_is_lost_for_sizes_that_no_tile_divides(n: int, m: int) -> None:
    arguments = [f32(n, m), f32(m)]
    native = Emulated(rows_and_branches, [arguments], arguments, force=True)
    assert native.assert_same(arguments) == []
    exits, errors = native.losing_each(arguments)
    assert exits > 8 and not errors


def carried(x, n):
    total = x * 0
    for i in range(n):
        above = np.tanh(x[x > i])
        total = total + above.sum()
        x = x - 0.5
    return total


def test_an_assumption_in_a_loop_is_lost_where_the_size_is_another() -> None:
    start = np.array([8, 9, 10], np.float32)
    native = Emulated(carried, [[start, 2]], [start, 2])
    assert native.assert_same([start, 3]) == []
    x = np.array([1.2, 19, 20], np.float32)
    assert native.assert_same([x, 1]) == []
    [where] = native.assert_same([x, 3])
    assert where in [site.index for site in native.artifact.exits]
    assert native.artifact.host.synchronises
