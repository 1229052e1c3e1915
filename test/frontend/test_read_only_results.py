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
    """np.partition has no native code: the program is cut."""
    y = np.tanh(m @ m) * 2
    return np.broadcast_to(np.exp(np.partition(y, -1, axis=1)) - 1, (2, 2, 2)), np.diagonal(m)


# On one path only: which it is, a call's numbers decide (`n`), or the contents of its arrays.


def one_way_returned(x, m, n):
    v = np.diagonal(m).T[1:]
    if n > 1:
        return [v]
    return m + 1


def one_way_left_alone(x, m, n):
    v = np.diagonal(m)
    if m.max() > 0:
        v = np.concatenate([v, v])
    return v, m


def one_way_chosen(x, m, n):
    v = np.broadcast_to(m, (2, 2, 2))[0] if m.max() > 0 else x[1:]
    return v[1:]


def one_way_computed(x, m, n):
    v = np.diagonal(m * 2)
    w = m[0] + 1 if n > 1 else v
    return w if m.max() > 0 else v


def in_a_loop(x, m, n):
    v = m[0] + 1
    for _ in range(n):
        v = np.diagonal(m + 1)
    return v


def behind_a_loop(x, m, n):
    v = np.diagonal(m)
    for _ in range(n):
        v = v + 1
    return v


def reshaped(x, m, n):
    v = np.diagonal(m).reshape(2, 1) if n > 1 else np.diagonal(m + 1).reshape(1, 2)
    return v, np.split(v, 1)[0]


def both_ways(x, m, n):
    w = np.diagonal(m).copy() if n > 1 else np.diagonal(m)
    v = np.diagonal(m) if n > 1 else m * 2
    return v, w


OPTIONS = ({}, {"executor": "specializing"}, {"speculate": "bailout"}, {"bailout_depth": 0})
CASES = [(f, options) for f in (rows, one_row, turned, computed, diagonals, copies, sorted_between) for options in OPTIONS]


@pytest.mark.parametrize(("function", "options"), drawn("read-only results", CASES, 4, lambda case: case[0]))
@pytest.mark.parametrize("entry", ["native", "python"])
def test_flags_are_what_numpy_gives(function, options, entry):
    jitted = tierup.jit(function, entry=entry, **options)
    for call in range(4):
        args = np.arange(2.0), np.arange(4.0).reshape(2, 2)
        for got, want in zip(_all(jitted(*args)), _all(function(*args)), strict=True):
            np.testing.assert_allclose(got, want)
            assert got.flags.writeable is want.flags.writeable, f"call {call}"
            assert [np.shares_memory(got, a) for a in args] == [np.shares_memory(want, a) for a in args]


ONE_WAY = (
    one_way_returned, one_way_left_alone, one_way_chosen, one_way_computed, in_a_loop, behind_a_loop, reshaped, both_ways,
)  # fmt: skip
MODES = (*OPTIONS, {"testing": True, "speculate": "bailout"}, {"optimize": False}, {"fusion_strategy": [("dynamic", 4)]})
WAYS = [(f, options) for f in ONE_WAY for options in MODES]


@pytest.mark.parametrize(("function", "options"), drawn("read-only results on one path", WAYS, 6, lambda case: case[0]))
def test_flags_on_each_path_are_what_numpy_gives(function, options):
    jitted = tierup.jit(function, **options)
    for call, (n, sign) in enumerate([(2, 1), (2, 1), (2, -1), (0, 1), (0, -1), (0, -1), (2, -1), (2, -1), (2, 1), (0, 1)]):
        want, args = ((np.arange(2.0), np.arange(1.0, 5.0).reshape(2, 2) * sign, n) for _ in range(2))
        expected, got = _all(function(*want)), _all(jitted(*args))
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_allclose(a, b)
            assert a.flags.writeable is b.flags.writeable, f"call {call}"
            assert np.shares_memory(a, args[1]) == np.shares_memory(b, want[1]), f"call {call}"


def test_what_is_read_only_on_one_path_comes_from_native_code_where_numbers_decide():
    jitted = tierup.jit(one_way_returned)
    results = [jitted(np.arange(2.0), np.eye(2), 2)[0] for _ in range(5)]
    assert jitted.stats().hits >= 3
    assert not any(r.flags.writeable for r in results)


def test_what_lives_on_where_a_speculation_is_lost_stays_read_only():
    jitted = tierup.jit(one_way_left_alone, speculate="bailout")
    ones = np.ones((2, 2))
    flags = [jitted(ones[0], ones * sign, 2)[0].flags.writeable for sign in (1, 1, 1, -1)]
    assert jitted.stats().bailouts == 1
    assert flags == [True, True, True, False]


def _all(results):
    return results if isinstance(results, (tuple, list)) else (results,)


def test_what_is_read_only_comes_from_native_code():
    jitted = tierup.jit(rows)
    results = [jitted(np.arange(2.0), np.eye(2)) for _ in range(3)]
    assert jitted.stats().hits == 2
    assert not any(r.flags.writeable for r in results)
