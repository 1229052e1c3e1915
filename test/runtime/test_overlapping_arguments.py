"""Arguments whose elements lie in one another's memory, and that the program writes: what one element is given, others have, too. Programs
whose writes were made values do not see that, so no executor may take such a call to one."""

from itertools import product

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from sampling import drawn

import tierup


def stores_one(a, b):
    a[0, 1] = 5
    return a[1, 0] + b[0, 0]


def stores_a_row(a, b):
    a[0] = a[1] * 2
    return a.copy() + b


def adds_to_all(a, b):
    a += 1
    return a * b


def adds_row_by_row(a, b):
    for i in range(a.shape[0]):
        a[i] += b[i]
    return a.sum()


def sorts_between(a, b):
    a[0] = np.sort(a[1])[::-1]
    return np.tanh(a) + b


def windows():
    base = np.arange(6.0)
    return base, sliding_window_view(base, 3, writeable=True), np.ones((4, 3))


def one_row_thrice():
    base = np.arange(6.0)
    return base, as_strided(base, (4, 3), (0, 8)), np.ones((4, 3))


def the_same_twice():
    base = np.arange(12.0).reshape(4, 3)
    return base, base, base


def shifted_by_a_row():
    base = np.arange(15.0).reshape(5, 3)
    return base, base[:-1], base[1:]


def reversed_rows():
    base = np.arange(12.0).reshape(4, 3)
    return base, base, base[::-1]


def apart():
    base = np.arange(12.0).reshape(4, 3)
    return base, base, np.ones((4, 3))


LAYOUTS = (windows, one_row_thrice, the_same_twice, shifted_by_a_row, reversed_rows, apart)
FUNCTIONS = (stores_one, stores_a_row, adds_to_all, adds_row_by_row, sorts_between)
OPTIONS = ({}, {"speculate": "bailout"}, {"executor": "specializing"}, {"num_profiled_runs": 0}, {"bailout_depth": 0}, {"entry": "python"})


@pytest.mark.parametrize(
    ("layout", "function", "options"),
    drawn("overlapping arguments", list(product(LAYOUTS, FUNCTIONS, OPTIONS)), 4, lambda row: row[:2]),
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_writes_are_seen_through_every_argument_that_shares_the_memory(layout, function, options):
    fast = tierup.jit(function, level=0, **options)
    for make in (layout, layout, apart, apart, apart, layout):
        (base, a, b), (expected_base, expected_a, expected_b) = make(), make()
        given, expected = fast(a, b), function(expected_a, expected_b)
        np.testing.assert_allclose(given, expected, rtol=1e-12)
        np.testing.assert_array_equal(base, expected_base)
    if options != {"bailout_depth": 0}:
        assert fast.stats().hits, fast.explain()  # of those whose memory lies apart
