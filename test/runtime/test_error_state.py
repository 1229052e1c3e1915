"""Floating-point errors: in every tier as under np.errstate(all="ignore"), whatever the caller's error state and warning filters."""

import warnings

import numpy as np
import pytest

import tierup


def computed(x, y):
    x /= y
    z = np.zeros(2, np.float32)
    z[0] = 1e300
    z[1:] = x[:1] * 1e300
    for _ in range(2):
        z = z * z[0] / y[0]
    return np.log(y), np.power(x, 400), (x @ x) * 1e300, np.cumprod(x * 1e200), x[0] / y[0], np.float64(3.0) / y[1], z, np.linalg.norm(x * 1e300)


def with_few_elements(x, y):
    return np.mean(x[:0]), np.var(x[:1], ddof=1), np.std(np.stack([x, y]), axis=0, ddof=2), np.mean(np.zeros((0, 2)), axis=0)


def with_integers(x, y):
    n = (x * 7).astype(np.int64)
    return n // 0, n % 0, (x * 1e300).astype(np.float32)


def split(x, y):
    return np.exp(np.argpartition(x / y, -1) * 1e300 * 1e300) - 1


def through_masks(x, y):
    n = x[x > y] / y[0]
    return n * 1e300 * 1e300


PROGRAMS = (computed, with_few_elements, with_integers, split, through_masks)


@pytest.mark.parametrize("options", [{}, {"optimize": False}, {"executor": "specializing"}, {"speculate": "bailout"}], ids=str)
def test_the_callers_error_state_and_filters_reach_no_tier(options):
    x, y = np.array([1.0, 2.0]), np.zeros(2)
    hits = 0
    for program in PROGRAMS:
        function = tierup.jit(program, **options)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = program(x.copy(), y)
        for _ in range(3):
            with np.errstate(all="raise"), warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                got = function(x.copy(), y)
                assert set(np.geterr().values()) == {"raise"}
            for g, w in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, want)), strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-6)
        hits += function.stats().hits
    assert (hits > 0) == (options != {"optimize": False})
