"""strict=True: an exception of the user's own, or with words that the run makes, is the one that plain Python raises."""

from __future__ import annotations

import numpy as np
import pytest

import tierup


class Refused(Exception):
    def __init__(self, what, by=2):
        super().__init__(what)
        self.by = by


def raising(x, n):
    y = x * 2
    if y.sum() > 0:
        raise Refused("positive", by=n)
    return y


def asserting(x, n):
    assert n != 2, f"two {n}"
    return x * 2


def complex_power(x, n):
    return x * float(n) ** 0.5


@pytest.mark.parametrize("optimize", [True, False])
def test_a_strict_program_raises_the_users_own_exceptions(optimize):
    f, g = tierup.jit(raising, strict=True, optimize=optimize), tierup.jit(asserting, strict=True, optimize=optimize)
    for n in (1, 3, 5):
        assert np.array_equal(f(-np.ones(2), n), -2 * np.ones(2)) and np.array_equal(g(np.ones(2), n), 2 * np.ones(2))
        with pytest.raises(Refused, match="positive") as raised:
            f(np.ones(2), n)
        assert raised.value.by == n and raised.value.__context__ is None
        with pytest.raises(AssertionError, match="^two 2"):
            g(np.ones(2), 2)


def test_a_strict_program_gives_no_value_that_only_python_has():
    f = tierup.jit(complex_power, strict=True)
    for n in (4, 9, 16):
        assert f(np.ones(2), n)[0] == n**0.5
    with pytest.raises(ValueError, match="complex"):
        f(np.ones(2), -4)
