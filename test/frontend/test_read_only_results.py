"""Results that NumPy gives read-only are so in every tier: views in which an element shows more than once, and diagonals."""

import numpy as np
import pytest
from sampling import drawn

import tierup


def rows(x, m):
    return np.broadcast_to(x, (3, 2))


def one_row(x, m):
    return np.broadcast_to(x, (3, 2))[0], np.broadcast_to(x, (2,)), x[1:]


def turned(x, m):
    return np.broadcast_to(x[:, None], (2, 3)).T, m.T


def computed(x, m):
    return np.broadcast_to(x * 2, (3, 2)), x * 2, np.diagonal(m + 1)


def diagonals(x, m):
    return np.diagonal(m), m.diagonal()[1:], m


def copies(x, m):
    return np.broadcast_to(x, (3, 2)).copy(), np.broadcast_to(x, (3, 2)).reshape(6), np.diagonal(m) + 0


def sorted_between(x, m):
    """np.sort has no native code: the program is cut."""
    y = np.tanh(m @ m) * 2
    return np.broadcast_to(np.exp(np.sort(y, axis=1)) - 1, (2, 2, 2)), np.diagonal(m)


OPTIONS = ({}, {"executor": "specializing"}, {"speculate": "bailout"}, {"bailout_depth": 0})
CASES = [(f, options) for f in (rows, one_row, turned, computed, diagonals, copies, sorted_between) for options in OPTIONS]


@pytest.mark.parametrize(("function", "options"), drawn("read-only results", CASES, 2, lambda case: case[0]))
@pytest.mark.parametrize("entry", ["native", "python"])
def test_flags_are_what_numpy_gives(function, options, entry):
    jitted = tierup.jit(function, entry=entry, **options)
    for call in range(4):
        args = np.arange(2.0), np.arange(4.0).reshape(2, 2)
        for got, want in zip(_all(jitted(*args)), _all(function(*args)), strict=True):
            np.testing.assert_allclose(got, want)
            assert got.flags.writeable is want.flags.writeable, f"call {call}"
            assert [np.shares_memory(got, a) for a in args] == [np.shares_memory(want, a) for a in args]


def _all(results):
    return results if isinstance(results, tuple) else (results,)


def test_what_is_read_only_comes_from_native_code():
    jitted = tierup.jit(rows)
    results = [jitted(np.arange(2.0), np.eye(2)) for _ in range(3)]
    assert jitted.stats().hits == 2
    assert not any(r.flags.writeable for r in results)
