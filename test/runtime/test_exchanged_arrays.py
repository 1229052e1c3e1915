"""Arrays that change names from round to round (`a, b = b, a`) are written where they lie: natively, and without a copy in any round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_stores_in_loops import copies_in_loops

import tierup


def two_arguments(a, b, n):
    for _ in range(n):
        for i in range(1, len(a) - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1])
        a, b = b, a
    return a


def slices_of_two(a, b, n):
    for i in range(n):
        b[1:-1] = (a[:-2] + a[2:]) * (0.5 + i)
        a, b = b, a


def three_levels(a, b, n):
    c = np.zeros_like(a)
    for _ in range(n):
        c[1:-1] = 1.5 * b[1:-1] - 0.75 * a[1:-1] + 0.125 * (b[2:] + b[:-2])
        a, b, c = b, c, a
    return a.sum() + 2 * b.sum()


def own_memory(a, b, n):
    before, after = a * 1.0, np.zeros_like(a)
    for i in range(n):
        after[0] = i
        for j in range(1, len(a)):
            after[j] = min(after[j - 1], before[j]) + b[j]
        before, after = after, before
    return before


def until_close(a, b, n):
    rounds, change = 0, 1.0
    while change > 10.0 ** -(n + 1) and rounds < 40:
        change = 0.0
        for i in range(1, len(a) - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1])
            change = max(change, abs(b[i] - a[i]))
        a, b = b, a
        rounds += 1
    return rounds, a.sum()


PROGRAMS = (two_arguments, slices_of_two, three_levels, own_memory, until_close)


@pytest.mark.parametrize("program", PROGRAMS)
def test_rounds_write_in_place_whatever_their_number(program: Callable[..., Any]):
    f = tierup.jit(program, weigh=False)
    rng = np.random.default_rng(8)
    for n in (4, 4, 4, 5, 5, 5, 3, 3, 0, 0, 1, 1, -1, -1, 6, 7):
        a, b = rng.random(300), rng.random(300)
        given, wanted = (a.copy(), b.copy()), (a.copy(), b.copy())
        got, expected = f(*given, n), program(*wanted, n)
        for one, other in zip(given, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        if expected is not None:
            np.testing.assert_allclose(got, expected, rtol=1e-11)
        assert [got is x for x in given] == [expected is x for x in wanted], n
    assert f.stats().hits >= 4
    assert not list(copies_in_loops(f.plan(stage="buffers")))
